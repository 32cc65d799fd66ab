package aicontenttest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	aicontent "github.com/aicontent/aicontent-go"
)

// conformance is one run of [TestService].
type conformance struct {
	client    *aicontent.Client
	newClient func(...aicontent.Option) *aicontent.Client
	// run begins the name of every record made, and no other record's.
	run string

	images, transcriptions []aicontent.ID // as stored, oldest first

	mu     sync.Mutex
	remove []func(context.Context) error
}

// scenario is one thing that the interface promises. The later ones build on records that the
// earlier ones have stored.
type scenario struct {
	name string
	run  func(TB)
}

// TestService runs the scenarios of the interface through clients from newClient, against
// whatever address they call, as subtests of t. It asks for one client, and for others with
// options to be added to its own.
//
// The records that it makes begin with "aicontenttest" and a random part, and are removed at
// the end, also when a scenario fails. Other records in the collections do not disturb it, nor
// does any personality. It stores 16 images and 3 recordings of half a second.
func TestService[T interface {
	TB
	Run(name string, f func(T)) bool
}](t T, newClient func(...aicontent.Option) *aicontent.Client) {
	t.Helper()
	c := &conformance{client: newClient(), newClient: newClient, run: "aicontenttest " + rand.Text()[:10]}
	t.Cleanup(func() { c.removeAll(t) })
	for _, s := range slices.Concat(c.imageScenarios(), c.transcriptionScenarios(), c.errorScenarios()) {
		t.Run(s.name, func(t T) { s.run(t) })
	}
}

// made has the record removed at the end.
func (c *conformance) made(remove func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove = append(c.remove, remove)
}

func (c *conformance) removeAll(t TB) {
	for _, remove := range c.remove {
		if err := remove(context.Background()); err != nil && !errors.Is(err, aicontent.ErrNotFound) {
			t.Errorf("a record of %q is left behind: %v", c.run, err)
		}
	}
}

func (c *conformance) name(format string, args ...any) string {
	return c.run + " " + fmt.Sprintf(format, args...)
}

func (c *conformance) storeImage(t TB, params aicontent.ImageStoreParams) *aicontent.Image {
	t.Helper()
	image, err := c.client.Images.Store(context.Background(), params)
	if err != nil {
		t.Fatalf("store %+v: %v", params, err)
	}
	c.made(func(ctx context.Context) error { return c.client.Images.Delete(ctx, image.ID) })
	return image
}

func (c *conformance) storeTranscription(t TB, params aicontent.TranscriptionStoreParams) *aicontent.Transcription {
	t.Helper()
	transcription, err := c.client.Transcriptions.Store(context.Background(), params)
	if err != nil {
		t.Fatalf("store %q: %v", params.Name, err)
	}
	c.made(func(ctx context.Context) error { return c.client.Transcriptions.Delete(ctx, transcription.ID) })
	return transcription
}

// listedImages are the ids of all images of this run that the parameters select.
func (c *conformance) listedImages(t TB, params aicontent.ImageListParams) []aicontent.ID {
	t.Helper()
	if params.Search == "" {
		params.Search = c.run
	}
	if params.PerPage == 0 {
		params.PerPage = aicontent.PerPage100
	}
	var ids []aicontent.ID
	for image, err := range c.client.Images.All(context.Background(), params) {
		if err != nil {
			t.Fatalf("list images %+v: %v", params, err)
		}
		ids = append(ids, image.ID)
	}
	return ids
}

// listedTranscriptions is the same for transcriptions.
func (c *conformance) listedTranscriptions(t TB, params aicontent.TranscriptionListParams) []aicontent.ID {
	t.Helper()
	if params.Search == "" {
		params.Search = c.run
	}
	params.PerPage = aicontent.PerPage100
	var ids []aicontent.ID
	for transcription, err := range c.client.Transcriptions.All(context.Background(), params) {
		if err != nil {
			t.Fatalf("list transcriptions %+v: %v", params, err)
		}
		ids = append(ids, transcription.ID)
	}
	return ids
}

// same compares ids in their order.
func same(t TB, what string, want, got []aicontent.ID) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("%s: want %v, got %v", what, want, got)
	}
}

// sent compares a member with what was stored. Deployments may leave members out, but not
// empty what they send.
func sent[V ~string](t TB, raw json.RawMessage, name string, want, got V) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Errorf("the record is no object: %v", err)
		return
	}
	if _, ok := members[name]; ok && got != want {
		t.Errorf("%s: want %q, got %q", name, want, got)
	}
}

// reversed is the list from its end.
func reversed(ids []aicontent.ID) []aicontent.ID {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	return ids
}

// fails wants a call to fail with the sentinel.
func fails(t TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: want an error that is %q, got %v", what, want, err)
	}
}
