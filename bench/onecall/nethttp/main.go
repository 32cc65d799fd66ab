// Command nethttp shows one record with net/http and encoding/json alone: what a program costs without an SDK.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

type image struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, os.Getenv("BENCH_URL")+"/tenant/api/v1/images/7", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("BENCH_KEY"))
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	var answer struct {
		Data image `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	fmt.Println(answer.Data.Name)
	return nil
}
