package recipes

import (
	"context"
	"log/slog"
	"time"

	"gocloud.dev/blob"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// transcribeObject transcribes an object of a bucket, and logs how much of it is sent. The name must be unique to the
// object's content.
func transcribeObject(
	ctx context.Context, names *once.Client, bucket *blob.Bucket, key, name string, log *slog.Logger,
) (*aicontent.Transcription, error) {
	transcription, _, err := names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: name,
		File: aicontent.FileFromFS(bucket, key),
	}, logProgress(log.With("object", key)))
	return transcription, err
}

// logProgress logs every ten seconds how much of a file is sent, and the end of a complete upload whose size is known.
// Use it for one call.
func logProgress(log *slog.Logger) aicontent.CallOption {
	last := time.Now()
	return aicontent.WithProgress(func(p aicontent.Progress) {
		if p.Sent != p.Total && time.Since(last) < 10*time.Second {
			return
		}
		last = time.Now()
		log.Info("upload", "sent", p.Sent, "of", p.Total, "attempt", p.Attempt)
	})
}
