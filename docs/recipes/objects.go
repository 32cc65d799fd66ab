package recipes

import (
	"context"

	"gocloud.dev/blob"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// transcribeObject transcribes an object of a bucket. The name must be unique to the object's content.
func transcribeObject(
	ctx context.Context, names *once.Client, bucket *blob.Bucket, key, name string,
) (*aicontent.Transcription, error) {
	transcription, _, err := names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: name,
		File: aicontent.FileFromFS(bucket, key),
	})
	return transcription, err
}
