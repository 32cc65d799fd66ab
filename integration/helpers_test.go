// Package integration has tests that go across the files of the SDK. They use it as a program does.
package integration

import (
	"context"
	"maps"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/once"
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

// storeOnce makes a Store call of package once like one of allTen.
func storeOnce(ctx context.Context, names *once.Client, op aicontent.Operation) (found bool, err error) {
	if op == aicontent.ImagesStore {
		_, found, err = names.Images.Store(ctx, aStore)
		return found, err
	}
	wav := aicontent.FileFromBytes("a.wav", []byte("RIFF\x04\x00\x00\x00WAVE"))
	_, found, err = names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{Name: "n", File: wav})
	return found, err
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
