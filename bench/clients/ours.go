package clients

import (
	"context"
	"errors"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

type ours struct {
	client *aicontent.Client
	names  *once.Client // of creates; nil without retries
}

// newOurs sets as many retries as openai-go gets, and stores creates once.
func newOurs(s Settings) (Client, error) {
	var opts []aicontent.Option
	if given := s.httpClient(); given != nil {
		opts = append(opts, aicontent.WithHTTPClient(given))
	}
	if s.Retries {
		opts = append(opts, aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 6}))
	}
	client, err := aicontent.NewClient(s.URL+"/tenant", key, opts...)
	if err != nil || !s.Retries {
		return &ours{client: client}, err
	}
	var settle []once.Option
	if s.Settle > 0 {
		settle = append(settle, once.WithSettleTime(s.Settle))
	}
	names, err := once.New(client, once.InMemory(), settle...)
	return &ours{client, names}, err
}

func (c *ours) Show(ctx context.Context) error {
	image, err := c.client.Images.Show(ctx, "7")
	if err != nil {
		return err
	}
	return complete(string(image.ID), image.Description)
}

func (c *ours) List(ctx context.Context) (int, error) {
	page, err := c.client.Images.List(ctx, aicontent.ImageListParams{PerPage: aicontent.PerPage100})
	if err != nil {
		return 0, err
	}
	return len(page.Items), nil
}

func (c *ours) Walk(ctx context.Context) (int, error) {
	n := 0
	for _, err := range c.client.Images.All(ctx, aicontent.ImageListParams{PerPage: aicontent.PerPage100}) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Create calls again, where retries are asked for, for as long as the error says that this may help and not before it
// does, as a job queue does.
func (c *ours) Create(ctx context.Context, name string) error {
	params := aicontent.ImageStoreParams{Name: name, Description: "a tower", Resolution: aicontent.Resolution512x512}
	if c.names == nil {
		_, err := c.client.Images.Store(ctx, params)
		return err
	}
	for {
		_, _, err := c.names.Images.Store(ctx, params)
		failed, ok := errors.AsType[*once.Error](err)
		if !ok || !aicontent.Retryable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Until(failed.Until)):
		}
	}
}

func (c *ours) Upload(ctx context.Context, path string) error {
	_, err := c.client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: "audio", File: aicontent.FileFromPath(path),
	})
	return err
}
