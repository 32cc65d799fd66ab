package recipes

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// onceClient returns a client of package once with a ledger of its own.
func onceClient(t *testing.T, srv *aicontenttest.Server) *once.Client {
	names, err := once.New(srv.Client(), once.InMemory())
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Illustrator is what the newsroom needs from an image service.
type Illustrator interface {
	Store(context.Context, aicontent.ImageStoreParams, ...option) (*aicontent.Image, error)
	Delete(context.Context, aicontent.ID, ...option) error
}

type option = aicontent.CallOption

var _ Illustrator = (*aicontent.ImagesService)(nil)

// Newsroom is the code under test.
type Newsroom struct{ Images Illustrator }

// Replace illustrates an article afresh and deletes its old image.
func (n Newsroom) Replace(ctx context.Context, old aicontent.ID, params aicontent.ImageStoreParams) error {
	if _, err := n.Images.Store(ctx, params); err != nil {
		return err
	}
	return n.Images.Delete(ctx, old)
}

// refusing is an Illustrator whose Store fails, and which records what is deleted.
type refusing struct{ deleted []aicontent.ID }

func (r *refusing) Store(context.Context, aicontent.ImageStoreParams, ...option) (*aicontent.Image, error) {
	return nil, failure{&aicontent.APIError{StatusCode: http.StatusForbidden}, aicontent.OutcomeNotExecuted, false}
}

// failure gives an error what OutcomeOf and Retryable say of it. To them, an error that a program made is Unknown.
type failure struct {
	error
	outcome   aicontent.Outcome
	retryable bool
}

func (f failure) Outcome() aicontent.Outcome { return f.outcome }
func (f failure) Retryable() bool            { return f.retryable }
func (f failure) Unwrap() error              { return f.error }

func (r *refusing) Delete(_ context.Context, id aicontent.ID, _ ...option) error {
	r.deleted = append(r.deleted, id)
	return nil
}

func TestReplaceKeepsTheOldImageWithoutANewOne(t *testing.T) {
	images := &refusing{}
	err := Newsroom{images}.Replace(t.Context(), "7", aicontent.ImageStoreParams{Name: "Whale"})
	if !errors.Is(err, aicontent.ErrForbidden) || len(images.deleted) > 0 {
		t.Error(err, images.deleted)
	}
	if aicontent.OutcomeOf(err) != aicontent.OutcomeNotExecuted || aicontent.Retryable(err) {
		t.Error("no outcome of a fake:", err)
	}
}

func TestHTTPClientOfTheServerTrustsItsCertificate(t *testing.T) {
	srv := aicontenttest.NewServer(t, aicontenttest.TLS())
	client, err := aicontent.NewClient(srv.URL, srv.APIKey,
		aicontent.WithHTTPClient(srv.HTTPClient()),
		aicontent.WithResponseTimeout(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Images.List(t.Context(), aicontent.ImageListParams{})
	if err != nil {
		t.Error(err)
	}
}

func TestRecordsCompareByTheirFields(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	srv.AddImage(aicontent.Image{ID: "7", Name: "Lighthouse", CreatedAt: time.Unix(1714817472, 0)})
	got, err := srv.Client().Images.Show(t.Context(), "7")
	if err != nil {
		t.Fatal(err)
	}
	want := aicontent.Image{
		ID: "7", Name: "Lighthouse", Result: "7.png", URL: srv.URL + "/pictures/7.png",
		CreatedAt: time.Unix(1714817472, 0), UpdatedAt: time.Unix(1714817472, 0),
	}
	assert.True(t, got.Equal(want), "got %s", got.Raw())
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
}
