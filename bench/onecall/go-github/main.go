// Command go-github shows one record with go-github.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/google/go-github/v92/github"
)

func main() {
	url := os.Getenv("BENCH_URL") + "/"
	client, err := github.NewClient(github.WithURLs(&url, &url), github.WithAuthToken(os.Getenv("BENCH_KEY")))
	if err != nil {
		log.Fatal(err)
	}
	milestone, _, err := client.Issues.GetMilestone(context.Background(), "o", "r", 7)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(milestone.GetTitle())
}
