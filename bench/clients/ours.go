package clients

import (
	"context"
	"time"

	"github.com/aicontent/aicontent-go"
)

type ours struct{ client *aicontent.Client }

func newOurs(s Settings) (Client, error) {
	var opts []aicontent.Option
	if own := s.httpClient(); own != nil {
		opts = append(opts, aicontent.WithHTTPClient(own))
	}
	if s.Retries {
		policy := aicontent.DefaultRetryPolicy()
		policy.SettleTime = time.Second
		opts = append(opts, aicontent.WithOnce(), aicontent.WithRetryPolicy(policy))
	}
	client, err := aicontent.NewClient(s.URL+"/tenant", key, opts...)
	return &ours{client}, err
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
	})
	return err
}

func (c *ours) Upload(ctx context.Context, path string) error {
	_, err := c.client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{Name: "audio", File: aicontent.FileFromPath(path)})
	return err
}
