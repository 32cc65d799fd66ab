// Package illustrate is a job of some news service: every article gets one picture. It shows how such code is tested,
// see illustrate_test.go.
package illustrate

import (
	"context"
	"fmt"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// Illustrate has a picture drawn for an article and returns its address. A queue may run it for an article as often as
// it likes, also after a crash if names has a ledger that survives it: there is one picture, and it is paid for once.
// Some services respond before they have drawn a picture: Illustrate waits for it for up to ten minutes.
func Illustrate(
	ctx context.Context, client *aicontent.Client, names *once.Client, article, headline string,
) (string, error) {
	image, _, err := names.Images.Store(ctx, aicontent.ImageStoreParams{
		Name:        "article " + article,
		Description: headline,
		Resolution:  aicontent.Resolution512x512,
		Style:       aicontent.StyleIllustration,
	})
	if err == nil && image.URL == "" {
		waiting, cancel := context.WithTimeout(ctx, 10*time.Minute)
		defer cancel()
		image, err = client.Images.Wait(waiting, image.ID)
	}
	if err != nil {
		return "", fmt.Errorf("illustrate article %s: %w", article, err)
	}
	return image.URL, nil
}
