// Command hcloud-go shows one record with hcloud-go.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

func main() {
	client := hcloud.NewClient(hcloud.WithEndpoint(os.Getenv("BENCH_URL")), hcloud.WithToken(os.Getenv("BENCH_KEY")))
	image, _, err := client.Image.GetByID(context.Background(), 7)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(image.Name)
}
