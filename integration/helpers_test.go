// Package integration has tests that go across the files of the SDK. They use it as a program does.
package integration

import (
	"context"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

var (
	quick      = aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 3, MinBackoff: 1, MaxBackoff: 1})
	oneAttempt = aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1})
	aStore     = aicontent.ImageStoreParams{Name: "n", Description: "d", Resolution: aicontent.Resolution256x256}
)

// allTen are the ten operations and both iterators.
func allTen(c *aicontent.Client) map[string]func(context.Context, ...aicontent.CallOption) error {
	calls := fakes.Calls("images", c.Images, aStore, aicontent.ImageUpdateParams{Favorite: new(true)})
	text := aicontent.TranscriptionStoreParams{Name: "n", File: wav(0)}
	update := aicontent.TranscriptionUpdateParams{Result: new("r")}
	maps.Copy(calls, fakes.Calls("transcriptions", c.Transcriptions, text, update))
	return calls
}

// newClient returns a client of a service.
func newClient(t testing.TB, baseURL, key string, opts ...aicontent.Option) *aicontent.Client {
	t.Helper()
	c, err := aicontent.NewClient(baseURL, key, opts...)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// through makes a client send through a function. nowhere is the base URL of its service.
func through(respond func(*http.Request) (*http.Response, error)) aicontent.Option {
	return over(fakes.RoundTripper(respond))
}

const nowhere = "https://content.example.com"

// over makes a client send through a transport of the caller's.
func over(transport http.RoundTripper) aicontent.Option {
	return aicontent.WithHTTPClient(&http.Client{Transport: transport})
}
