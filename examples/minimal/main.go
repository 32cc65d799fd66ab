// Minimal stores one image on the deployment that the environment names.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aicontent/aicontent-go"
)

func main() {
	// Reads AICONTENT_BASE_URL, such as https://content.example.com, and AICONTENT_API_KEY.
	client, err := aicontent.NewClientFromEnv()
	if err != nil {
		log.Fatal(err)
	}
	image, err := client.Images.Store(context.Background(), aicontent.ImageStoreParams{
		Name:        "Lighthouse",
		Description: "A lighthouse on a cliff at dusk, seen from the sea",
		Resolution:  aicontent.Resolution1024x1024,
		Style:       aicontent.StyleIllustration,
	})
	if err != nil {
		log.Fatalf("outcome %v: %v", aicontent.OutcomeOf(err), err) // unknown: wait and look before you store again
	}
	fmt.Println(image.ID, image.URL)
}
