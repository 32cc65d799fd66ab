// Command go-openai shows one record with go-openai.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/sashabaranov/go-openai"
)

func main() {
	config := openai.DefaultConfig(os.Getenv("BENCH_KEY"))
	config.BaseURL = os.Getenv("BENCH_URL") + "/v1"
	batch, err := openai.NewClientWithConfig(config).RetrieveBatch(context.Background(), "batch_7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(batch.InputFileID)
}
