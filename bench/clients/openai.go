package clients

import (
	"context"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// key is the API key that every client sends.
const key = "bench-key-0123456789"

type openAI struct{ client openai.Client }

func newOpenAI(s Settings) (Client, error) {
	opts := []option.RequestOption{option.WithBaseURL(s.URL + "/v1/"), option.WithAPIKey(key)}
	if given := s.httpClient(); given != nil {
		opts = append(opts, option.WithHTTPClient(given))
	}
	if s.Retries {
		opts = append(opts, option.WithMaxRetries(5))
	}
	return &openAI{openai.NewClient(opts...)}, nil
}

func (c *openAI) Show(ctx context.Context) error {
	batch, err := c.client.Batches.Get(ctx, "batch_7")
	if err != nil {
		return err
	}
	return complete(batch.ID, batch.InputFileID)
}

func (c *openAI) List(ctx context.Context) (int, error) {
	page, err := c.client.Batches.List(ctx, openai.BatchListParams{Limit: openai.Int(100)})
	if err != nil {
		return 0, err
	}
	return len(page.Data), nil
}

func (c *openAI) Walk(ctx context.Context) (int, error) {
	n := 0
	pager := c.client.Batches.ListAutoPaging(ctx, openai.BatchListParams{Limit: openai.Int(100)})
	for pager.Next() {
		n++
	}
	return n, pager.Err()
}

func (c *openAI) Create(ctx context.Context, name string) error {
	_, err := c.client.Batches.New(ctx, openai.BatchNewParams{
		InputFileID: name, Endpoint: openai.BatchNewParamsEndpointV1ChatCompletions,
		CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
	})
	return err
}

func (c *openAI) Upload(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	params := openai.AudioTranscriptionNewParams{File: f, Model: openai.AudioModelGPTTranscribe}
	_, err = c.client.Audio.Transcriptions.New(ctx, params)
	return err
}
