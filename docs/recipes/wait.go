package recipes

import (
	"context"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// picture stores an image once, and waits for its picture. Some services respond to Store before they have drawn it.
func picture(
	ctx context.Context, client *aicontent.Client, names *once.Client, params aicontent.ImageStoreParams,
) (*aicontent.Image, error) {
	image, _, err := names.Images.Store(ctx, params)
	if err != nil || image.URL != "" {
		return image, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	return client.Images.Wait(ctx, image.ID)
}

// text stores a recording once, and waits for its text. A silent recording may never get one: after ten minutes, the
// error matches context.DeadlineExceeded, and the transcription is without a Result.
func text(
	ctx context.Context, client *aicontent.Client, names *once.Client, params aicontent.TranscriptionStoreParams,
) (*aicontent.Transcription, error) {
	transcription, _, err := names.Transcriptions.Store(ctx, params)
	if err != nil || transcription.Result != "" {
		return transcription, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	return client.Transcriptions.Wait(ctx, transcription.ID)
}
