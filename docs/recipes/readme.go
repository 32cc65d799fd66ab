package recipes

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// storeOnce is the excerpt on package once in README.
func storeOnce(ctx context.Context, client *aicontent.Client) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	names, err := once.New(client, once.Dir("ledger")) // or once.InMemory(), created once in a single process
	if err != nil {
		return err
	}
	image, found, err := names.Images.Store(ctx, aicontent.ImageStoreParams{
		Name:        "order-4711", // unique, such as a job's ID
		Description: "A lighthouse on a cliff at dusk",
		Resolution:  aicontent.Resolution512x512,
	})
	if err != nil {
		return err // if aicontent.Retryable(err), call Store again: that creates no second image
	}
	fmt.Println(image.ID, found) // found: it existed, and this call created and billed nothing
	return nil
}

// download is the excerpt on pictures in README.
func download(ctx context.Context, client *aicontent.Client, image *aicontent.Image) error {
	file, err := os.Create("lighthouse.png")
	if err != nil {
		return err
	}
	_, err = client.Images.Download(ctx, image, file) // image is from Show, Store or a list
	return errors.Join(err, file.Close())
}

// transcribe is the excerpt on uploads in README.
func transcribe(ctx context.Context, client *aicontent.Client) (*aicontent.Transcription, error) {
	transcription, err := client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name:     "Lighthouse keeper",
		File:     aicontent.FileFromPath("interview.mp3"), // also FileFromFS, FileFromBytes, FileFromReader
		Language: "GB",                                    // the API asks for a country: ISO 3166-1 alpha-2
	})
	return transcription, err
}

// sketches is the excerpt on lists in README.
func sketches(ctx context.Context, client *aicontent.Client) error {
	for image, err := range client.Images.All(ctx, aicontent.ImageListParams{Style: aicontent.StyleSketch}) {
		if err != nil {
			return err
		}
		fmt.Println(image.ID, image.Name)
	}
	return nil
}

// report is the excerpt on an APIError in docs/errors.md.
func report(err error) {
	var refused *aicontent.APIError // a response with a status other than 2xx
	if errors.As(err, &refused) {
		log.Println(refused.StatusCode, refused.RequestID, refused.Message, refused.Fields)
	}
}

// ready reports whether the deployment responds, and accepts the key. It creates nothing.
func ready(ctx context.Context, client *aicontent.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := client.Images.List(ctx, aicontent.ImageListParams{PerPage: aicontent.PerPage10},
		aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	return err
}
