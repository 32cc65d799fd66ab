// Package integration has tests that go across the files of the SDK. They use it as a program does.
package integration

import (
	"context"
	"maps"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

var (
	quick      = aicontent.RetryPolicy{MaxAttempts: 3, MinBackoff: time.Nanosecond, MaxBackoff: time.Nanosecond}
	oneAttempt = aicontent.RetryPolicy{MaxAttempts: 1}
	aStore     = aicontent.ImageStoreParams{Name: "n", Description: "d", Resolution: aicontent.Resolution256x256}
)

// allTen are the ten operations and both iterators.
func allTen(c *aicontent.Client) map[string]func(context.Context, ...aicontent.CallOption) error {
	wav := aicontent.FileFromBytes("a.wav", []byte("RIFF\x04\x00\x00\x00WAVE"))
	calls := fakes.Calls("images", c.Images, aStore, aicontent.ImageUpdateParams{Favorite: new(true)})
	maps.Copy(calls, fakes.Calls("transcriptions", c.Transcriptions,
		aicontent.TranscriptionStoreParams{Name: "n", File: wav}, aicontent.TranscriptionUpdateParams{Result: new("r")}))
	return calls
}

// requestsOf returns how many requests of an operation have reached the service.
func requestsOf(srv *aicontenttest.Server, op aicontenttest.Operation) (n int) {
	for _, r := range srv.Requests() {
		if r.Operation == op {
			n++
		}
	}
	return n
}
