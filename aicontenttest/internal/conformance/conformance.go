// Package conformance checks a service against the documented API, through the SDK.
package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	aicontent "github.com/aicontent/aicontent-go"
)

// TB is what the suite needs of a test.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A Suite is one run of the scenarios.
type Suite struct {
	client    *aicontent.Client
	newClient func(...aicontent.Option) *aicontent.Client
	// run is how the names of its records begin, and no other's.
	run string

	images, transcriptions []aicontent.ID // in the order of creation

	mu     sync.Mutex
	remove []func(context.Context) error
}

// A Scenario is one thing that the API promises.
type Scenario struct {
	Name string
	Run  func(TB)
}

// New returns a suite that gets its clients from newClient. The names of its records begin with run.
func New(run string, newClient func(...aicontent.Option) *aicontent.Client) *Suite {
	return &Suite{client: newClient(), newClient: newClient, run: run}
}

// Scenarios returns the scenarios in their order: later ones use records of earlier ones.
func (s *Suite) Scenarios() []Scenario {
	return slices.Concat(s.imageScenarios(), s.transcriptionScenarios(), s.errorScenarios())
}

// after makes all scenarios but the first fail if the first has not created the records that they use.
func after(scenarios []Scenario, created func() bool) []Scenario {
	for i, scenario := range scenarios[1:] {
		scenarios[i+1].Run = func(t TB) {
			if !created() {
				t.Fatalf("not run: %q has not created all of its records", scenarios[0].Name)
			}
			scenario.Run(t)
		}
	}
	return scenarios
}

// created has the record removed at the end.
func (s *Suite) created(remove func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove = append(s.remove, remove)
}

// RemoveAll deletes the records of the run.
func (s *Suite) RemoveAll(t TB) {
	for _, remove := range s.remove {
		if err := remove(context.Background()); err != nil && !errors.Is(err, aicontent.ErrNotFound) {
			t.Errorf("a record of %q was not deleted: %v", s.run, err)
		}
	}
}

func (s *Suite) name(format string, args ...any) string {
	return s.run + " " + fmt.Sprintf(format, args...)
}

func (s *Suite) storeImage(t TB, params aicontent.ImageStoreParams) *aicontent.Image {
	t.Helper()
	image, err := s.client.Images.Store(context.Background(), params)
	if err != nil {
		t.Fatalf("store %+v: %v", params, err)
	}
	s.created(func(ctx context.Context) error { return s.client.Images.Delete(ctx, image.ID) })
	return image
}

func (s *Suite) storeTranscription(t TB, params aicontent.TranscriptionStoreParams) *aicontent.Transcription {
	t.Helper()
	transcription, err := s.client.Transcriptions.Store(context.Background(), params)
	if err != nil {
		t.Fatalf("store %q: %v", params.Name, err)
	}
	s.created(func(ctx context.Context) error { return s.client.Transcriptions.Delete(ctx, transcription.ID) })
	return transcription
}

// listedImages returns the ids of the images of this run that the parameters select.
func (s *Suite) listedImages(t TB, params aicontent.ImageListParams) []aicontent.ID {
	t.Helper()
	params.Search, params.PerPage = cmp.Or(params.Search, s.run), cmp.Or(params.PerPage, aicontent.PerPage100)
	images, err := aicontent.Collect(s.client.Images.All(context.Background(), params))
	if err != nil {
		t.Fatalf("list images %+v: %v", params, err)
	}
	return ids(images, func(image *aicontent.Image) aicontent.ID { return image.ID })
}

// listedTranscriptions does the same for transcriptions.
func (s *Suite) listedTranscriptions(t TB, params aicontent.TranscriptionListParams) []aicontent.ID {
	t.Helper()
	params.Search, params.PerPage = cmp.Or(params.Search, s.run), aicontent.PerPage100
	transcriptions, err := aicontent.Collect(s.client.Transcriptions.All(context.Background(), params))
	if err != nil {
		t.Fatalf("list transcriptions %+v: %v", params, err)
	}
	return ids(transcriptions, func(transcription *aicontent.Transcription) aicontent.ID { return transcription.ID })
}

func ids[T any](records []*T, id func(*T) aicontent.ID) (list []aicontent.ID) {
	for _, record := range records {
		list = append(list, id(record))
	}
	return list
}

// same compares ids and their order.
func same(t TB, what string, want, got []aicontent.ID) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("%s: want %v, got %v", what, want, got)
	}
}

// sent compares a member with what was stored. Deployments may leave out a member, but must not send
// another value.
func sent[V ~string](t TB, raw json.RawMessage, name string, want, got V) {
	t.Helper()
	if hasMember(raw, name) && got != want {
		t.Errorf("%s: want %q, got %q", name, want, got)
	}
}

func hasMember(raw json.RawMessage, name string) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // the SDK takes nothing but objects for records
	_, ok := members[name]
	return ok
}

// reversed returns the ids in reverse order.
func reversed(ids []aicontent.ID) []aicontent.ID {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	return ids
}

// fails checks that err matches the sentinel.
func fails(t TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: want an error that matches %q, got %v", what, want, err)
	}
}
