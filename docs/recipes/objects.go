package recipes

import (
	"context"

	"gocloud.dev/blob"

	"github.com/aicontent/aicontent-go"
)

// transcribeObject transcribes an object of a bucket. The name must be unique to the object's content.
func transcribeObject(
	ctx context.Context, client *aicontent.Client, bucket *blob.Bucket, key, name string,
) (*aicontent.Transcription, error) {
	return client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: name,
		File: aicontent.FileFromFS(bucket, key),
	}, aicontent.WithOnce())
}
