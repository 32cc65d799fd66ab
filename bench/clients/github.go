package clients

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/google/go-github/v92/github"
)

type gitHub struct {
	client  *github.Client
	retries bool
}

func newGitHub(s Settings) (Client, error) {
	url := s.URL + "/"
	opts := []github.ClientOptionsFunc{github.WithURLs(&url, &url), github.WithAuthToken(key)}
	if s.Transport != nil {
		opts = append(opts, github.WithTransport(s.Transport))
	}
	client, err := github.NewClient(opts...)
	return &gitHub{client, s.Retries}, err
}

func (c *gitHub) Show(ctx context.Context) error {
	m, _, err := c.client.Issues.GetMilestone(ctx, "o", "r", 7)
	if err != nil {
		return err
	}
	return complete(strconv.FormatInt(m.GetID(), 10), m.GetDescription())
}

func (c *gitHub) options() *github.MilestoneListOptions {
	return &github.MilestoneListOptions{ListOptions: github.ListOptions{PerPage: 100}}
}

func (c *gitHub) List(ctx context.Context) (int, error) {
	page, _, err := c.client.Issues.ListMilestones(ctx, "o", "r", c.options())
	return len(page), err
}

func (c *gitHub) Walk(ctx context.Context) (int, error) {
	n := 0
	for _, err := range c.client.Issues.ListMilestonesIter(ctx, "o", "r", c.options()) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Create waits as long as a rate limit's error says, where retries are asked for: the SDK leaves that to its caller.
func (c *gitHub) Create(ctx context.Context, name string) error {
	for {
		_, _, err := c.client.Issues.CreateMilestone(ctx, "o", "r", github.CreateMilestoneRequest{Title: name})
		var limited *github.AbuseRateLimitError
		if !c.retries || !errors.As(err, &limited) || limited.RetryAfter == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(*limited.RetryAfter):
		}
	}
}

func (c *gitHub) Upload(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, _, err = c.client.Repositories.UploadReleaseAsset(ctx, "o", "r", 1, &github.UploadOptions{Name: "audio.wav"}, f)
	return err
}
