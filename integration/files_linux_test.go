package integration

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

// receivingFiles returns a client of a service that reads each upload, and the bodies that it has read whole.
func receivingFiles(t *testing.T) (*aicontent.Client, <-chan string) {
	bodies := make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			bodies <- string(body)
			_, _ = io.WriteString(w, `{"data":{"id":7}}`)
		}
	}))
	t.Cleanup(srv.Close)
	c := newClient(t, srv.URL, fakes.Key, oneAttempt)
	t.Cleanup(c.CloseIdleConnections)
	return c, bodies
}

// A file on a network disk that is gone must not keep a Store call beyond its deadline or stall limit: its Read returns
// no more, and nothing can end it.
func TestStoreLeavesAHangingFileBehind(t *testing.T) {
	t.Parallel()
	const limit = 20 * time.Millisecond
	for name, row := range map[string]struct {
		hangs    int           // the file that hangs, of those that the call opens one after the other
		deadline time.Duration // of the context
		stall    time.Duration
		text     string
	}{
		"looked at, deadline": {1, limit, 0, "context deadline exceeded"},
		"looked at, stall":    {1, time.Hour, limit, "no progress for 20ms (WithStallTimeout)"},
		"sent, deadline":      {2, limit, 0, "context deadline exceeded"},
		"sent, stall":         {2, time.Hour, limit, "no progress for 20ms (WithStallTimeout)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hanging, opened := fakes.HangingFile(t), 0
			fsys := fakes.FS(func(name string) (fs.File, error) {
				if opened++; opened == row.hangs {
					return hanging, nil
				}
				return fstest.MapFS{"a.wav": {Data: []byte("RIFF\x04\x00\x00\x00WAVE")}}.Open(name)
			})
			c, bodies := receivingFiles(t)
			ctx, cancel := context.WithTimeout(t.Context(), row.deadline)
			defer cancel()
			params := aicontent.TranscriptionStoreParams{Name: "n", File: aicontent.FileFromFS(fsys, "a.wav")}
			_, err := c.Transcriptions.Store(ctx, params, aicontent.WithStallTimeout(row.stall))
			require.ErrorContains(t, err, row.text)
			assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err))
			assert.Empty(t, bodies)
		})
	}
}

// A file of /proc says that it is empty. Its content is sent all the same.
func TestFilesThatSayTheyAreEmptyAreSent(t *testing.T) {
	t.Parallel()
	c, bodies := receivingFiles(t)
	params := aicontent.TranscriptionStoreParams{Name: "n", File: aicontent.FileFromPath("/proc/self/status")}
	_, err := c.Transcriptions.Store(t.Context(), params)
	require.NoError(t, err)
	assert.Contains(t, <-bodies, "\nVmSize:")
}
