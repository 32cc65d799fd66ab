package upload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// Opening a named pipe waits for its writer: the call would hang where it promises an error.
func TestNamedPipesAreRefusedUnopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.wav")
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip("mkfifo is missing: ", err)
	}
	_, problems, err := File{Name: "pipe.wav", Source: Path(path)}.Inspect(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0].Reason, "use FileFromReader")
}

// A process that uploads for weeks must not run out of file descriptors: whatever an attempt comes to, no file stays open.
func TestFilesAreClosedOnEveryPath(t *testing.T) {
	data := recording(1 << 20)
	whole := func() *guarded { return &guarded{FS: fstest.MapFS{"a.wav": {Data: data}}} }
	failing := func(err error) *guarded {
		return changing(data, func() io.Reader { return io.MultiReader(bytes.NewReader(data[:1000]), iotest.ErrReader(err)) })
	}
	refusing := func(status int, read bool) string {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			if read {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		})
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]struct {
		address string
		fsys    *guarded
	}{
		"success":       {newService(t).url, whole()},
		"refused":       {refusing(401, true), whole()},
		"refused early": {refusing(422, false), whole()},
		"redirected":    {refusing(307, true), whole()},
		"read error":    {newService(t).url, failing(errors.New("bad sector"))},
		"shrunk":        {newService(t).url, failing(io.EOF)},
		"no response":   {serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), whole()},
		"no connection": {gone.URL, whole()},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _ = post(t.Context(), c.address, bodyOf(t, File{Name: "a.wav", Source: FS(c.fsys, "a.wav")}))
			opened, open := c.fsys.counts()
			assert.Equal(t, 2, opened)
			assert.Zero(t, open, "left open")
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		g := whole()
		ctx, cancel := context.WithCancel(t.Context())
		address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				<-r.Context().Done() // A response might be there before the client notices.
			}
		})
		_, _, err := post(ctx, address, bodyOf(t, File{Name: "a.wav", Source: FS(g, "a.wav")}))
		require.ErrorIs(t, err, context.Canceled)
		_, open := g.counts()
		assert.Zero(t, open)
	})
	t.Run("a directory", func(t *testing.T) {
		g := &guarded{FS: fstest.MapFS{"a/b.wav": {}}}
		_, problems, err := File{Name: "a", Source: FS(g, "a")}.Inspect(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, problems, 1)
		_, open := g.counts()
		assert.Zero(t, open)
	})
}

// A file that goes away after it was looked at is an error before anything is sent.
func TestFilesThatGoAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, recording(100), 0o600))
	body := bodyOf(t, File{Name: path, Source: Path(path)})
	require.NoError(t, os.Remove(path))
	ctx, attempt := wire.Watch(t.Context(), wire.Limits{Upload: true})
	defer attempt.Stop()
	_, err := body.Attach(httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), attempt, nil)
	var failed *ReadError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "a.wav", failed.Name)
	assert.Zero(t, failed.Offset)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, `file "a.wav": at byte 0`)
}

// hangingFS hangs when the nth file is opened, until it is freed.
type hangingFS struct {
	*guarded
	nth  int
	free chan struct{}
}

func (h *hangingFS) Open(name string) (fs.File, error) {
	if h.nth--; h.nth == 0 {
		<-h.free
	}
	return h.guarded.Open(name)
}

// A file system over a network may hang when a file is opened: the call ends all the same, names the side that stood
// still, and leaves no file open.
func TestFileSystemsThatHang(t *testing.T) {
	const stall = 10 * time.Second
	for name, nth := range map[string]int{"inspected": 1, "sent": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fsys := &hangingFS{&guarded{FS: fstest.MapFS{"a.wav": {Data: recording(1000)}}}, nth, make(chan struct{})}
				file := File{Name: "a.wav", Source: FS(fsys, "a.wav")}
				start := time.Now()
				facts, _, err := file.Inspect(t.Context(), stall)
				if nth == 2 {
					require.NoError(t, err)
					ctx, attempt := wire.Watch(t.Context(), wire.Limits{Upload: true, Stall: stall})
					defer attempt.Stop()
					_, err = Multipart(nil, file, facts).Attach(httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), attempt, nil)
				}
				assert.Equal(t, &wire.TimeoutError{Stalled: true, ByReader: true, Limit: stall}, err)
				assert.Equal(t, stall+grace, time.Since(start))
				close(fsys.free)
				synctest.Wait()
				opened, open := fsys.counts()
				assert.Equal(t, nth, opened)
				assert.Zero(t, open, "left open")
			})
		})
	}
}

// What the user has opened is the user's to close.
func TestReadersOfTheUserAreNeverClosed(t *testing.T) {
	s := newService(t)
	for _, data := range [][]byte{recording(100), []byte("<html>")} {
		f, err := os.CreateTemp(t.TempDir(), "open")
		require.NoError(t, err)
		_, err = f.Write(data)
		require.NoError(t, err)
		_, err = f.Seek(0, io.SeekStart)
		require.NoError(t, err)
		_, _, err = post(t.Context(), s.url, bodyOf(t, File{Name: "a.wav", Source: Reader(f)}))
		require.NoError(t, err)
		assert.NoError(t, f.Close(), "closed before")
	}
}
