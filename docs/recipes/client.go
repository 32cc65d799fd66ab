package recipes

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

func limitedClient(baseURL, apiKey string) (*aicontent.Client, error) {
	return aicontent.NewClient(baseURL, apiKey,
		aicontent.WithRateLimiter(rate.NewLimiter(rate.Every(time.Second), 5)), // one request a second, five at once
		aicontent.WithRetryBudget(20),
	)
}

// patient is for a deployment with transcriptions of up to twenty minutes.
func patient(baseURL, apiKey string) (*once.Client, error) {
	client, err := aicontent.NewClient(baseURL, apiKey,
		aicontent.WithStoreTimeout(20*time.Minute),
		aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 6}),
	)
	if err != nil {
		return nil, err
	}
	return once.New(client, once.InMemory(), once.WithSettleTime(45*time.Minute)) // twice as long, and the lists lag
}

// rotating reads the key from a file that another program replaces, such as a mounted secret.
func rotating(baseURL, keyFile string) (*aicontent.Client, error) {
	return aicontent.NewClient(baseURL, "", aicontent.WithAPIKeySource(func(context.Context) (string, error) {
		key, err := os.ReadFile(keyFile)
		return strings.TrimSpace(string(key)), err
	}))
}

func loggingClient(baseURL, apiKey string) (*aicontent.Client, error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return aicontent.NewClient(baseURL, apiKey, aicontent.WithLogger(logger))
}
