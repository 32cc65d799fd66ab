// Command openai-go shows one record with openai-go.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	client := openai.NewClient(
		option.WithBaseURL(os.Getenv("BENCH_URL")+"/v1/"),
		option.WithAPIKey(os.Getenv("BENCH_KEY")),
	)
	batch, err := client.Batches.Get(context.Background(), "batch_7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(batch.InputFileID)
}
