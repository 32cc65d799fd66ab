package recipes

import (
	"log"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestALostResponseCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a bubble, in which waiting takes no time
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
		srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.LoseResponse())
		names, _ := once.New(srv.Client(), once.InMemory())
		params := aicontent.ImageStoreParams{Name: "order-4711", Description: "A whale", Resolution: "512x512"}
		_, found, err := names.Images.Store(t.Context(), params) // or your code, given names
		if n := len(srv.Created()); n != 1 || err != nil {
			t.Errorf("%d images were created and billed; found %t, error %v", n, found, err)
		}
	})
}

func TestTheProgramsOfREADMEWork(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	client := srv.Client()
	t.Chdir(t.TempDir())
	srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.InvalidJSON())
	for range 3 { // The record of the first call is found, though that call could not read its response.
		require.NoError(t, storeOnce(t.Context(), client))
	}
	assert.Len(t, srv.Records(), 1)
	require.NoError(t, sketches(t.Context(), client))

	require.NoError(t, os.WriteFile("interview.mp3", []byte("ID3 a recording"), 0o600))
	transcription, err := transcribe(t.Context(), client)
	require.NoError(t, err)
	assert.NotEmpty(t, transcription.Result)

	page, err := client.Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)
	image := page.Items[0]
	require.NoError(t, download(t.Context(), client, image))
	picture, err := os.Stat("lighthouse.png")
	require.NoError(t, err)
	assert.NotZero(t, picture.Size())
}

// What a program writes down of an error is what the service said, and what a support ticket needs.
func TestReportNamesStatusAndRequest(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	refusal := aicontenttest.Status(http.StatusForbidden, `{"message":"No credit."}`)
	srv.Fault(refusal.WithHeader("X-Request-Id", "req-7"))
	_, err := srv.Client().Images.List(t.Context(), aicontent.ImageListParams{})
	var lines strings.Builder
	log.SetOutput(&lines)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	report(err)
	assert.Contains(t, lines.String(), "403 req-7 No credit.")
}

// A check of the deployment's health must not retry, nor hide a key that is refused.
func TestReadyNeitherRetriesNorHidesARefusedKey(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	require.NoError(t, ready(t.Context(), srv.Client()))
	srv.Fault(aicontenttest.Status(http.StatusServiceUnavailable, `{"message":"Back soon."}`))
	require.ErrorIs(t, ready(t.Context(), srv.Client()), aicontent.ErrServer)
	stranger, err := aicontent.NewClient(srv.URL, "another-key")
	require.NoError(t, err)
	require.ErrorIs(t, ready(t.Context(), stranger), aicontent.ErrUnauthorized)
	assert.Len(t, srv.Requests(), 3)
}
