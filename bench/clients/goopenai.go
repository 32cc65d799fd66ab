package clients

import (
	"context"

	"github.com/sashabaranov/go-openai"
)

type goOpenAI struct{ client *openai.Client }

// newGoOpenAI has nothing to set for retries: the SDK has none, and its documentation speaks of none.
func newGoOpenAI(s Settings) (Client, error) {
	config := openai.DefaultConfig(key)
	config.BaseURL = s.URL + "/v1"
	if given := s.httpClient(); given != nil {
		config.HTTPClient = given
	}
	return &goOpenAI{openai.NewClientWithConfig(config)}, nil
}

func (c *goOpenAI) Show(ctx context.Context) error {
	batch, err := c.client.RetrieveBatch(ctx, "batch_7")
	if err != nil {
		return err
	}
	return complete(batch.ID, batch.InputFileID)
}

func (c *goOpenAI) List(ctx context.Context) (int, error) {
	limit := 100
	page, err := c.client.ListBatch(ctx, nil, &limit)
	return len(page.Data), err
}

func (c *goOpenAI) Walk(ctx context.Context) (int, error) {
	n, limit := 0, 100
	var after *string
	for {
		page, err := c.client.ListBatch(ctx, after, &limit)
		if err != nil {
			return n, err
		}
		n += len(page.Data)
		if !page.HasMore {
			return n, nil
		}
		after = &page.LastID
	}
}

func (c *goOpenAI) Create(ctx context.Context, name string) error {
	_, err := c.client.CreateBatch(ctx, openai.CreateBatchRequest{
		InputFileID: name, Endpoint: openai.BatchEndpointChatCompletions,
	})
	return err
}

func (c *goOpenAI) Upload(ctx context.Context, path string) error {
	_, err := c.client.CreateTranscription(ctx, openai.AudioRequest{Model: openai.Whisper1, FilePath: path})
	return err
}
