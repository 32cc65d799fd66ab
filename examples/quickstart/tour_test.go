package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whichever request is refused, the step is named and nothing is left behind; the key is not shown.
func TestAFailingStepLeavesNothingBehind(t *testing.T) {
	for _, test := range []struct {
		step      string
		operation aicontenttest.Operation
		skip      int // requests of the operation that succeed before
	}{
		{"store the images", aicontenttest.ImagesStore, 0},
		{"store the images", aicontenttest.ImagesStore, 1},
		{"list with a filter", aicontenttest.ImagesList, 0},
		{"walk all pages", aicontenttest.ImagesList, 1},
		{"show an image", aicontenttest.ImagesShow, 0},
		{"make an image a favorite", aicontenttest.ImagesUpdate, 0},
		{"upload the recording", aicontenttest.TranscriptionsStore, 0},
		{"correct the result", aicontenttest.TranscriptionsUpdate, 0},
	} {
		t.Run(test.step, func(t *testing.T) {
			srv := deployment(t)
			untouched(t, srv)
			seen := 0
			srv.FaultWhen(func(r *aicontenttest.Request) bool {
				if r.Operation != test.operation {
					return false
				}
				seen++
				return seen == test.skip+1
			}, 1, aicontenttest.Status(http.StatusForbidden, `{"message":"Not with this plan."}`))
			err := run(t.Context(), []string{"-out", t.TempDir()}, io.Discard)
			assert.ErrorContains(t, err, test.step+": "+string(test.operation)+": 403: Not with this plan.")
			assert.NotContains(t, err.Error(), srv.APIKey)
		})
	}
}

// A store that was carried out, and whose response was lost, is found by its name and deleted.
func TestALostStoreLeavesNothingBehind(t *testing.T) {
	for step, operation := range map[string]aicontenttest.Operation{
		"store the images": aicontenttest.ImagesStore, "upload the recording": aicontenttest.TranscriptionsStore,
	} {
		t.Run(step, func(t *testing.T) {
			srv := deployment(t)
			untouched(t, srv)
			srv.FaultOn(operation, 1, aicontenttest.LoseResponse())
			var out bytes.Buffer
			err := run(t.Context(), []string{"-out", t.TempDir()}, &out)
			assert.ErrorContains(t, err, step+": "+string(operation))
			assert.NotContains(t, err.Error(), "clean up")
			assert.Contains(t, out.String(), "deleted ")
		})
	}
}

// A search that finds too much must not cost somebody else's records.
func TestOnlyOwnRecordsAreDeleted(t *testing.T) {
	srv := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if strings.HasSuffix(string(r.Request.Operation), ".list") {
			r.SetJSON(map[string]any{"data": []any{map[string]any{"id": 1, "name": "quickstart of somebody else"}}})
		}
	}))
	srv.AddImage(aicontenttest.Image{Name: "quickstart of somebody else"})
	srv.AddTranscription(aicontenttest.Transcription{Name: "quickstart of somebody else"})
	srv.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.ActThenStatus(http.StatusBadGateway))
	err := run(t.Context(), []string{"-out", t.TempDir()}, io.Discard)
	assert.ErrorContains(t, err, "store the images: images.store: 502")
	for _, request := range srv.Requests() {
		if request.Method == http.MethodDelete {
			assert.Equal(t, "/tenant/api/v1/transcriptions/2", request.Path, "the one that this run has made")
		}
	}
	require.Len(t, srv.Images(), 2)
	require.Len(t, srv.Transcriptions(), 1)
}

// The picture of an earlier run is worth more than no picture.
func TestAFailedDownloadLeavesTheEarlierPicture(t *testing.T) {
	for name, fault := range map[string]aicontenttest.Fault{
		"refused": aicontenttest.Status(http.StatusNotFound, "gone"), "cut off": aicontenttest.CloseMidResponse(),
	} {
		t.Run(name, func(t *testing.T) {
			srv, dir := deployment(t), t.TempDir()
			path := filepath.Join(dir, "quickstart-coast.png")
			require.NoError(t, os.WriteFile(path, []byte("of an earlier run"), 0o600))
			srv.FaultOn(aicontenttest.ImagesDownload, 9, fault)
			var out strings.Builder
			require.NoError(t, run(t.Context(), []string{"-out", dir}, &out))
			assert.Contains(t, out.String(), "saved      nothing: ")
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "of an earlier run", string(kept))
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Len(t, files, 1, "nothing else is left")
		})
	}
}

// A link at the picture's place is replaced: what it points to is not the quickstart's.
func TestAPictureIsNotWrittenThroughALink(t *testing.T) {
	deployment(t)
	dir := t.TempDir()
	other, path := filepath.Join(t.TempDir(), "other"), filepath.Join(dir, "quickstart-coast.png")
	require.NoError(t, os.WriteFile(other, []byte("of somebody else"), 0o600))
	if err := os.Symlink(other, path); err != nil {
		t.Skip(err) // Windows may not allow it.
	}
	require.NoError(t, run(t.Context(), []string{"-out", dir}, io.Discard))
	kept, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Equal(t, "of somebody else", string(kept))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular())
}

// The host of the pictures is not the deployment, so it must not get the API key. What it says is not saved as a
// picture.
func TestThePicturesHostGetsNoKey(t *testing.T) {
	var asked []http.Header
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header)
		http.NotFound(w, r)
	}))
	defer host.Close()
	srv := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontenttest.ImagesStore {
			r.SetJSON(map[string]any{"data": map[string]any{"id": r.Request.RecordID, "url": host.URL + "/coast.png"}})
		}
	}))
	untouched(t, srv)
	dir := t.TempDir()
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"-out", dir}, &out))
	assert.Contains(t, out.String(), "nothing: images.download: 404")
	require.Len(t, asked, 1)
	assert.NotContains(t, asked[0], "Authorization")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, files)
}

// A picture that cannot be written is a failing step like any other.
func TestAPictureThatCannotBeSaved(t *testing.T) {
	dir := t.TempDir()
	var once sync.Once
	srv := deployment(t, aicontenttest.OnRequest(func(aicontenttest.Request) {
		// Somebody makes a folder in the picture's place after the program has looked.
		once.Do(func() { assert.NoError(t, os.Mkdir(filepath.Join(dir, "quickstart-coast.png"), 0o700)) })
	}))
	untouched(t, srv)
	err := run(t.Context(), []string{"-out", dir}, io.Discard)
	assert.ErrorContains(t, err, "save a picture: ")
}

// What could not be deleted is named, so that the user can do it, and the rest is deleted all the same.
func TestACleanUpThatFails(t *testing.T) {
	srv := deployment(t)
	srv.FaultWhen(func(r *aicontenttest.Request) bool { return r.Method == http.MethodDelete }, 1,
		aicontenttest.Status(http.StatusForbidden, `{"message":"Records are kept."}`))
	err := run(t.Context(), []string{"-out", t.TempDir()}, io.Discard)
	assert.ErrorContains(t, err, "clean up: image 1 is still there: images.delete: 403: Records are kept.")
	require.Len(t, srv.Images(), 1)
	assert.Equal(t, "1", srv.Images()[0].ID)
	assert.Empty(t, srv.Transcriptions())
}

// An interrupt in the middle still cleans up.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	srv := deployment(t, aicontenttest.OnRequest(func(r aicontenttest.Request) {
		if r.Operation == aicontenttest.ImagesShow {
			interrupt()
		}
	}))
	untouched(t, srv)
	err := run(ctx, []string{"-out", t.TempDir()}, io.Discard)
	assert.ErrorIs(t, err, context.Canceled)
}

// A Store call that is interrupted may still create its record, which the user can only find by its name. The process
// that is interrupted ends as a shell expects.
func TestAnInterruptedStoreIsNamed(t *testing.T) {
	for operation, name := range map[aicontenttest.Operation]string{
		aicontenttest.ImagesStore: "coast", aicontenttest.TranscriptionsStore: "recording",
	} {
		t.Run(name, func(t *testing.T) {
			srv := deployment(t, aicontenttest.LatencyOn(operation, time.Hour))
			untouched(t, srv)
			received := func(r aicontenttest.Request) bool { return r.Operation == operation && r.Form != nil }
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-out", t.TempDir())
			cmd.Env = append(os.Environ(), modeVariable+"=program")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Start())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait()
			}()
			// An upload that is cut off creates nothing, so the whole request must have arrived.
			for !slices.ContainsFunc(srv.Requests(), received) {
				select {
				case <-ended:
					require.FailNow(t, "it ended before it sent the request", stderr.String())
				default:
					runtime.Gosched()
				}
			}
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			<-ended
			assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
			assert.Regexp(t, `unknown    whether "quickstart \w+, `+name+`" was created: looking for it`, stdout.String())
			assert.Contains(t, stderr.String(), "quickstart failed to ")
			assert.Regexp(t, `clean up: "quickstart \w+, `+name+`" may still appear, and be billed`, stderr.String())
		})
	}
}
