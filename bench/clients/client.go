// Package clients makes the same five calls with each SDK, through its methods.
package clients

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aicontent/aicontent-go/bench/service"
)

// Client is one SDK's client, made ready for one server.
type Client interface {
	// Show retrieves record 7.
	Show(ctx context.Context) error
	// List retrieves the first page and returns its number of records.
	List(ctx context.Context) (int, error)
	// Walk goes over all records and returns their number.
	Walk(ctx context.Context) (int, error)
	// Create makes a small record.
	Create(ctx context.Context, name string) error
	// Upload sends the file at path.
	Upload(ctx context.Context, path string) error
}

// Settings say how a client is made.
type Settings struct {
	URL string // of the server, without a path
	// Transport replaces the SDK's transport; nil leaves the SDK its default client.
	Transport http.RoundTripper
	// Retries sets retries as the SDK's documentation shows; false leaves the defaults.
	Retries bool
	// Settle is the settle time of this SDK's package once; 0 is its default.
	Settle time.Duration
}

// httpClient is nil where the SDK is to use its default.
func (s Settings) httpClient() *http.Client {
	if s.Transport == nil {
		return nil
	}
	return &http.Client{Transport: s.Transport}
}

// SDK is one of those that are measured.
type SDK struct {
	Name    string // in tables and flags
	Module  string // the module whose version is shown; empty for the reference and this SDK
	Wire    service.Wire
	Streams bool   // uploads in memory that does not grow with the file
	Form    bool   // uploads in a multipart form, not the bare file
	Retries string // what its documentation says to set; empty where it has none
	New     func(Settings) (Client, error)
}

// The names by which reports speak of the reference and of this SDK.
const (
	Reference = "net/http"
	Ours      = "aicontent"
)

// All lists the SDKs, the reference first.
func All() []SDK {
	return []SDK{
		{Name: Reference, Wire: service.Native, Streams: true, Form: true, New: newByHand},
		{
			Name: "openai-go", Module: "github.com/openai/openai-go/v3", Wire: service.OpenAI, Form: true,
			Retries: "option.WithMaxRetries(5)", New: newOpenAI,
		},
		{
			Name: "go-openai", Module: "github.com/sashabaranov/go-openai", Wire: service.OpenAI, Form: true,
			New: newGoOpenAI,
		},
		{
			Name: "go-github", Module: "github.com/google/go-github/v92", Wire: service.GitHub, Streams: true,
			Retries: "AbuseRateLimitError.RetryAfter", New: newGitHub,
		},
		{
			Name: "resty", Module: "github.com/go-resty/resty/v2", Wire: service.Native, Form: true,
			Retries: "SetRetryCount(3), AddRetryCondition", New: newResty,
		},
		{
			Name: "hcloud-go", Module: "github.com/hetznercloud/hcloud-go/v2", Wire: service.Hetzner, Streams: true,
			Retries: "WithRetryOpts", New: newHetzner,
		},
		{
			Name: Ours, Wire: service.Native, Streams: true, Form: true,
			Retries: "WithRetryPolicy, package once", New: newOurs,
		},
	}
}

// Named finds an SDK.
func Named(name string) (SDK, error) {
	for _, sdk := range All() {
		if sdk.Name == name {
			return sdk, nil
		}
	}
	return SDK{}, fmt.Errorf("no SDK is named %q", name)
}

// complete refuses a record that came back without what it should hold, so that no client is fast by reading nothing.
func complete(id, text string) error {
	if id == "" || id == "0" || text == "" {
		return fmt.Errorf("the record is empty: id %q, text %q", id, text)
	}
	return nil
}
