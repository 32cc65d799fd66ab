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

// A process that uploads for weeks must not run out of file descriptors: whatever an attempt comes to, no file stays
// open.
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
	t.Run("no size", func(t *testing.T) {
		g := whole()
		bad := errors.New("stale handle")
		g.wrap = func(f fs.File, _ int) fs.File { return &unknown{f, bad} }
		_, problem, err := File{Name: "a", Source: FS(g, "a.wav")}.Inspect(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, problem.Reason)
		assert.Equal(t, "cannot be read: stale handle", problem.Reason)
		_, open := g.counts()
		assert.Zero(t, open)
	})
	t.Run("a directory", func(t *testing.T) {
		g := &guarded{FS: fstest.MapFS{"a/b.wav": {}}}
		_, problem, err := File{Name: "a", Source: FS(g, "a")}.Inspect(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, problem.Reason)
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
	ctx, attempt := wire.NewClock(t.Context(), wire.Limits{Upload: true})
	defer attempt.Stop()
	_, err := body.Attach(httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), clockOf(attempt), nil)
	var failed *ReadError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, err, ErrSource)
	assert.ErrorContains(t, err, `file "a.wav": at byte 0`)
}

// Programs compare what they are about to send in their tests: that must not panic, whatever the file system is.
func TestSourcesCanBeCompared(t *testing.T) {
	fsys := fstest.MapFS{}
	assert.True(t, Path("a.wav") == Path("a.wav"))
	assert.False(t, Path("a.wav") == Path("b.wav"))
	assert.False(t, FS(fsys, "a.wav") == FS(fsys, "a.wav"))
	assert.Equal(t, FS(fsys, "a.wav"), FS(fsys, "a.wav"))
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
				size, _, err := inspect(t.Context(), file, stall)
				if nth == 2 {
					require.NoError(t, err)
					ctx, attempt := wire.NewClock(t.Context(), wire.Limits{Upload: true, Stall: stall, Source: ErrSource})
					defer attempt.Stop()
					_, err = Multipart(nil, "file", file, size).Attach(httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), clockOf(attempt), nil)
				}
				assert.Equal(t, &wire.TimeoutError{Phase: wire.Reading, Limit: stall, Source: ErrSource}, err)
				require.ErrorIs(t, err, ErrSource)
				assert.Equal(t, stall+Grace, time.Since(start))
				close(fsys.free)
				synctest.Wait()
				opened, open := fsys.counts()
				assert.Equal(t, nth, opened)
				assert.Zero(t, open, "left open")
			})
		})
	}
}

// hangingSeeker hangs at the nth seek to a start, until it is freed.
type hangingSeeker struct {
	*bytes.Reader
	nth  int
	free chan struct{}
}

func (s *hangingSeeker) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		if s.nth--; s.nth == 0 {
			<-s.free
		}
	}
	return s.Reader.Seek(offset, whence)
}

// A reader over a network may hang when it is rewound: the call ends all the same, and the reader is not touched by
// another before it has returned.
func TestSeeksThatHang(t *testing.T) {
	const stall = 10 * time.Second
	for name, nth := range map[string]int{"inspected": 1, "sent": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &hangingSeeker{bytes.NewReader(recording(1000)), nth, make(chan struct{})}
				file := File{Name: "a.wav", Source: Reader(r)}
				start := time.Now()
				size, _, err := inspect(t.Context(), file, stall)
				body := Multipart(nil, "file", file, size)
				if nth == 2 {
					require.NoError(t, err)
					ctx, attempt := wire.NewClock(t.Context(), wire.Limits{Upload: true, Stall: stall, Source: ErrSource})
					defer attempt.Stop()
					var s *Sending
					s, err = body.Attach(httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), clockOf(attempt), nil)
					s.Close()
				}
				assert.Equal(t, &wire.TimeoutError{Phase: wire.Reading, Limit: stall, Source: ErrSource}, err)
				require.ErrorIs(t, err, ErrSource)
				assert.Equal(t, stall+Grace, time.Since(start))
				assert.False(t, body.Replayable(), "the Seek is still under way")
				close(r.free)
				synctest.Wait()
				assert.True(t, body.Replayable())
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

// A reader that can seek can be used for one call after another: it is sent from where it first stood, as it has
// become by then.
func TestReadersThatSeekAreUsedAgain(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a.wav"))
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Write(append([]byte("before"), recording(1000)...))
	require.NoError(t, err)
	_, err = f.Seek(int64(len("before")), io.SeekStart)
	require.NoError(t, err)
	s := newService(t)
	file := File{Name: "a.wav", Source: Reader(f)}
	_, _, err = post(t.Context(), s.url, bodyOf(t, file))
	require.NoError(t, err)
	assert.Equal(t, sum(recording(1000)), s.last(t).sum)
	_, err = f.WriteAt([]byte("more"), int64(len("before"))+1000)
	require.NoError(t, err)
	_, _, err = post(t.Context(), s.url, bodyOf(t, file))
	require.NoError(t, err)
	assert.Equal(t, sum(append(recording(1000), "more"...)), s.last(t).sum)
}

// A reader that cannot seek is used up by the first call, and the next one says so before it sends half of a recording.
func TestReadersThatCannotSeekAreUsedOnce(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"reader":   onlyReader{bytes.NewReader(recording(1000))},
		"shortest": onlyReader{bytes.NewReader(recording(headSize))},
		"buffer":   bytes.NewBuffer(recording(1000)),
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			file := File{Name: "a.wav", Source: Reader(r)}
			body := bodyOf(t, file)
			_, _, err := post(t.Context(), s.url, body)
			require.NoError(t, err)
			assert.False(t, body.Replayable())
			_, problem, err := file.Inspect(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, problem.Reason)
			assert.Contains(t, problem.Reason, "was used by an earlier call")
			assert.NotEmpty(t, problem.Hint)
			assert.False(t, problem.Waivable)
			_, _, err = post(t.Context(), s.url, body)
			require.ErrorIs(t, err, errUsed)
			assert.Len(t, s.all(), 1)
		})
	}
}

// An attempt that ended before more than the first bytes were read, such as a failed dial, leaves a reader for the
// next one.
func TestReadersThatWereNotReadCanBeSent(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	data := recording(10_000)
	body := bodyOf(t, File{Name: "a.wav", Source: Reader(onlyReader{bytes.NewReader(data)})})
	_, sending, err := post(t.Context(), gone.URL, body)
	require.Error(t, err)
	assert.False(t, sending.Complete())
	assert.True(t, body.Replayable())
	s := newService(t)
	_, _, err = post(t.Context(), s.url, body)
	require.NoError(t, err)
	assert.Equal(t, sum(data), s.last(t).sum)
}

// A call that was refused before its upload leaves the first bytes of a reader for the next call.
func TestFirstBytesSurviveACallThatSentNothing(t *testing.T) {
	data := recording(10_000)
	file := File{Name: "a.wav", Source: Reader(onlyReader{bytes.NewReader(data)})}
	_, _, err := file.Inspect(t.Context())
	require.NoError(t, err)
	s := newService(t)
	_, _, err = post(t.Context(), s.url, bodyOf(t, file))
	require.NoError(t, err)
	assert.Equal(t, sum(data), s.last(t).sum)
}

// failingSeeker fails at the nth seek to a start.
type failingSeeker struct {
	*bytes.Reader
	nth int
}

var errTape = errors.New("gone with the tape")

func (s *failingSeeker) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		if s.nth--; s.nth == 0 {
			return 0, errTape
		}
	}
	return s.Reader.Seek(offset, whence)
}

// A second attempt whose rewinding fails must not send the rest of the file as if it were the whole.
func TestSecondAttemptsThatCannotRewind(t *testing.T) {
	s := newService(t)
	// Inspect and the first attempt rewind once each.
	body := bodyOf(t, File{Name: "a.wav", Source: Reader(&failingSeeker{bytes.NewReader(recording(100_000)), 3})})
	_, _, err := post(t.Context(), s.url, body)
	require.NoError(t, err)
	require.True(t, body.Replayable())
	_, _, err = post(t.Context(), s.url, body)
	var failed *ReadError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, errTape)
	assert.Len(t, s.all(), 1)
	assert.True(t, body.Replayable(), "the reader is not given back")
}

// stuckReader reads what it has and then waits, each time, until it is freed.
type stuckReader struct {
	have  io.Reader
	waits chan struct{} // gets a value when a Read waits
	free  chan struct{}
}

func newStuckReader(data []byte) *stuckReader {
	return &stuckReader{bytes.NewReader(data), make(chan struct{}, 1), make(chan struct{})}
}

func (r *stuckReader) Read(p []byte) (int, error) {
	if n, err := r.have.Read(p); err == nil {
		return n, nil
	}
	r.waits <- struct{}{}
	<-r.free
	return copy(p, "late"), io.EOF
}

// A reader that waits for ever must not keep the call: the context ends it, and so does the stall limit.
func TestInspectEndsWhereAReaderWaits(t *testing.T) {
	for name, c := range map[string]struct {
		stall time.Duration
		took  time.Duration
		check func(error)
	}{
		"stall": {time.Second, time.Second + Grace, func(err error) {
			assert.Equal(t, &wire.TimeoutError{Phase: wire.Reading, Limit: time.Second, Source: ErrSource}, err)
		}},
		"context": {0, time.Minute + Grace, func(err error) { require.ErrorIs(t, err, context.DeadlineExceeded) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				r := newStuckReader([]byte("RIFF"))
				file := File{Name: "a.wav", Source: Reader(r)}
				start := time.Now()
				_, problem, err := inspect(ctx, file, c.stall)
				assert.Equal(t, c.took, time.Since(start))
				assert.Empty(t, problem)
				c.check(err)

				_, problem, err = file.Inspect(t.Context())
				require.NoError(t, err)
				require.NotEmpty(t, problem.Reason)
				require.ErrorIs(t, problem.Err, errInUse, "two Reads at once")
				close(r.free)
				synctest.Wait()
				_, problem, err = file.Inspect(t.Context())
				require.NoError(t, err)
				require.NotEmpty(t, problem.Reason)
				require.ErrorIs(t, problem.Err, errUsed, "what the abandoned Read took is lost")
			})
		})
	}
}

// Two calls at once must not share a reader: each would send a part of the recording.
func TestTwoCallsCannotShareAReader(t *testing.T) {
	for name, r := range map[string]io.Reader{"bytes.Reader": bytes.NewReader(recording(9000)), "reader": onlyReader{bytes.NewReader(recording(9000))}} {
		body := bodyOf(t, File{Name: "a.wav", Source: Reader(r)})
		_, s := attach(t, body)
		ctx, attempt := wire.NewClock(t.Context(), wire.Limits{})
		defer attempt.Stop()
		_, err := body.Attach(httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), clockOf(attempt), nil)
		require.ErrorIs(t, err, errInUse, name)
		assert.ErrorContains(t, err, "the reader is in use")
		assert.False(t, body.Replayable(), name)
		s.Close()
		s.Close()
		assert.True(t, body.Replayable(), name)
	}
}

// An upload that ended while the user's reader waited can go again when that Read has returned.
func TestAbandonedReadersCanBeSentAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := recording(100_000)
		r := &waitingSeeker{Reader: bytes.NewReader(data), at: 50_000, free: make(chan struct{}), waits: make(chan struct{})}
		body := bodyOf(t, File{Name: "a.wav", Source: Reader(r)})
		req, s := attach(t, body)
		go func() {
			<-r.waits
			s.Close()
		}()
		_, err := io.Copy(io.Discard, req.Body)
		require.ErrorIs(t, err, context.Canceled)
		assert.False(t, s.Complete())
		assert.False(t, body.Replayable(), "the Read is still under way")
		close(r.free)
		synctest.Wait()
		assert.True(t, body.Replayable())
		assert.Equal(t, 1, bytes.Count(read(t, body), data))
	})
}

// waitingSeeker waits once, when it comes to a place.
type waitingSeeker struct {
	*bytes.Reader
	at          int64
	free, waits chan struct{}
	waited      bool
}

func (s *waitingSeeker) Read(p []byte) (int, error) {
	if at := s.Size() - int64(s.Len()); at >= s.at && !s.waited {
		s.waited = true
		close(s.waits)
		<-s.free
	}
	return s.Reader.Read(p)
}
