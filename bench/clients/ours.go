package clients

import (
	"context"
	"time"

	"github.com/aicontent/aicontent-go"
)

type ours struct {
	client *aicontent.Client
	create []aicontent.CallOption // of creates
}

// newOurs sets as many retries as openai-go gets. WithOnce is an option of Store calls alone.
func newOurs(s Settings) (Client, error) {
	var opts []aicontent.Option
	var create []aicontent.CallOption
	if given := s.httpClient(); given != nil {
		opts = append(opts, aicontent.WithHTTPClient(given))
	}
	if s.Retries {
		opts = append(opts, aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 6}),
			aicontent.WithSettleTime(time.Second))
		create = append(create, aicontent.WithOnce())
	}
	if s.ReadAhead > 0 {
		opts = append(opts, aicontent.WithReadAhead(s.ReadAhead))
	}
	client, err := aicontent.NewClient(s.URL+"/tenant", key, opts...)
	return &ours{client, create}, err
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

func (c *ours) Create(ctx context.Context, name string) error {
	_, err := c.client.Images.Store(ctx, aicontent.ImageStoreParams{
		Name: name, Description: "a tower", Resolution: aicontent.Resolution512x512,
	}, c.create...)
	return err
}

func (c *ours) Upload(ctx context.Context, path string) error {
	_, err := c.client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: "audio", File: aicontent.FileFromPath(path),
	})
	return err
}
