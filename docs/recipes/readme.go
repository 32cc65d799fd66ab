package recipes

import (
	"context"
	"fmt"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// storeOnce is what README shows of package once.
func storeOnce(ctx context.Context, client *aicontent.Client) error {
	names, err := once.New(client, once.InMemory()) // once.Dir(path) where it must survive a restart
	if err != nil {
		return err
	}
	image, found, err := names.Images.Store(ctx, aicontent.ImageStoreParams{
		Name:        "order-4711", // unique, such as a job's ID
		Description: "A lighthouse on a cliff at dusk",
		Resolution:  aicontent.Resolution512x512,
	})
	if err != nil {
		return err // call again if aicontent.Temporary(err): there will never be a second image
	}
	fmt.Println(image.ID, found) // found: it was there, and this call created and billed nothing
	return nil
}

// transcribe is what README shows of uploads.
func transcribe(ctx context.Context, client *aicontent.Client) error {
	transcription, err := client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name:     "Lighthouse keeper",
		File:     aicontent.FileFromPath("interview.mp3"),
		Language: "GB", // the API asks for a country: ISO 3166-1 alpha-2
	}, aicontent.WithProgress(func(p aicontent.Progress) { fmt.Println(p.Sent, "of", p.Total) }))
	if err != nil {
		return err
	}
	fmt.Println(transcription.Result)
	return nil
}

// sketches is what README shows of lists.
func sketches(ctx context.Context, client *aicontent.Client) error {
	params := aicontent.ImageListParams{Style: aicontent.StyleSketch, PerPage: aicontent.PerPage100}
	for image, err := range client.Images.All(ctx, params) {
		if err != nil {
			return err
		}
		fmt.Println(image.ID, image.Name)
	}
	return nil
}

// ready reports whether the deployment responds, and accepts the key. It creates nothing.
func ready(ctx context.Context, client *aicontent.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := client.Images.List(ctx, aicontent.ImageListParams{PerPage: aicontent.PerPage10},
		aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	return err
}
