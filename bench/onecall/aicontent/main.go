// Command aicontent shows one record with this SDK.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/aicontent/aicontent-go"
)

func main() {
	client, err := aicontent.NewClient(os.Getenv("BENCH_URL")+"/tenant", os.Getenv("BENCH_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	image, err := client.Images.Show(context.Background(), "7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(image.Name)
}
