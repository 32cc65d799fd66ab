// Command resty shows one record with resty.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/go-resty/resty/v2"
)

type image struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

func main() {
	var answer struct {
		Data image `json:"data"`
	}
	client := resty.New().SetBaseURL(os.Getenv("BENCH_URL") + "/tenant/api/v1").SetAuthToken(os.Getenv("BENCH_KEY"))
	resp, err := client.R().SetResult(&answer).Get("/images/7")
	if err != nil {
		log.Fatal(err)
	}
	if resp.IsError() {
		log.Fatal(resp.Status())
	}
	fmt.Println(answer.Data.Name)
}
