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

// A process that uploads for weeks must not run out of file descriptors: whatever the result of an attempt, no file
// stays open.
func TestFilesAreClosedOnEveryPath(t *testing.T) {
	data := recording(1 << 20)
	whole := func() *guarded { return &guarded{FS: fstest.MapFS{"a.wav": {Data: data}}} }
	failing := func(err error) *guarded {
		return changing(data, func() io.Reader {
			return io.MultiReader(bytes.NewReader(data[:1000]), iotest.ErrReader(err))
		})
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
	ctx, cancel := context.WithCancel(t.Context())
	cancelling := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			<-r.Context().Done() // A response might be there before the client notices.
		}
	})
	for name, c := range map[string]struct {
		ctx     context.Context
		address string
		fsys    *guarded
	}{
		"success":       {t.Context(), newService(t).url, whole()},
		"refused":       {t.Context(), refusing(401, true), whole()},
		"refused early": {t.Context(), refusing(422, false), whole()},
		"redirected":    {t.Context(), refusing(307, true), whole()},
		"read error":    {t.Context(), newService(t).url, failing(errors.New("bad sector"))},
		"shrunk":        {t.Context(), newService(t).url, failing(io.EOF)},
		"no response": {t.Context(), serve(t, func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}), whole()},
		"no connection": {t.Context(), gone(), whole()},
		"cancelled":     {ctx, cancelling, whole()},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := post(c.ctx, c.address, bodyOf(t, wav(FS(c.fsys, "a.wav"))))
			assert.Equal(t, c.ctx.Err() != nil, errors.Is(err, context.Canceled))
			opened, open := c.fsys.counts()
			assert.Equal(t, 2, opened)
			assert.Zero(t, open, "left open")
		})
	}
	stale, folder := whole(), &guarded{FS: fstest.MapFS{"a.wav/b.wav": {}}}
	stale.wrap = func(f fs.File, _ int) fs.File { return &unknown{f, errors.New("stale handle")} }
	for reason, fsys := range map[string]*guarded{"stale handle": stale, "is a directory": folder} {
		assert.Equal(t, "cannot be read: "+reason, problemOf(t, wav(FS(fsys, "a.wav"))).Reason)
		_, open := fsys.counts()
		assert.Zero(t, open, reason)
	}
}

// gone returns the address of a server that is not there.
func gone() string {
	srv := httptest.NewServer(nil)
	srv.Close()
	return srv.URL
}

// A file that goes away after it was looked at is an error before anything is sent.
func TestFileThatGoesAwayIsAnErrorBeforeAnythingIsSent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, recording(100), 0o600))
	body := bodyOf(t, File{Name: path, Source: Path(path)})
	require.NoError(t, os.Remove(path))
	_, _, _, err := begin(t, t.Context(), body, wire.Limits{}, nil)
	var failed *ReadError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, err, ErrSource)
	assert.ErrorContains(t, err, `file "a.wav": at byte 0`)
}

// Programs compare files in their tests: that must not panic, whatever the file system is.
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

// rewound is a reader whose nth seek to a start does something else first.
type rewound struct {
	*bytes.Reader
	nth int
	do  func() error
}

func (s *rewound) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		if s.nth--; s.nth == 0 {
			if err := s.do(); err != nil {
				return 0, err
			}
		}
	}
	return s.Reader.Seek(offset, whence)
}

// A file system over a network may hang when a file is opened, and a reader when it is rewound. The call ends all the
// same, names the side that stood still, and leaves no file open. No other call touches the reader before it returns.
func TestFileThatHangsWhenItIsOpenedEndsTheCallAndIsClosed(t *testing.T) {
	const stall = 10 * time.Second
	for name, c := range map[string]struct {
		hanging func(nth int, free chan struct{}) (s Source, check func(*testing.T))
		busy    bool // no attempt can have the source meanwhile
	}{
		"file system": {func(nth int, free chan struct{}) (Source, func(*testing.T)) {
			fsys := &hangingFS{&guarded{FS: fstest.MapFS{"a.wav": {Data: recording(1000)}}}, nth, free}
			return FS(fsys, "a.wav"), func(t *testing.T) {
				opened, open := fsys.counts()
				assert.Equal(t, nth, opened)
				assert.Zero(t, open, "left open")
			}
		}, false},
		"reader": {func(nth int, free chan struct{}) (Source, func(*testing.T)) {
			waits := func() error {
				<-free
				return nil
			}
			return Reader(&rewound{bytes.NewReader(recording(1000)), nth, waits}), func(*testing.T) {}
		}, true},
	} {
		for when, nth := range map[string]int{"inspected": 1, "sent": 2} {
			inBubble(t, name+", "+when, func(t *testing.T) {
				free := make(chan struct{})
				source, check := c.hanging(nth, free)
				start := time.Now()
				size, _, err := inspect(t.Context(), wav(source), stall)
				body := Multipart(nil, "file", wav(source), size)
				if nth == 2 {
					require.NoError(t, err)
					var s *Sending
					_, s, _, err = begin(t, t.Context(), body, wire.Limits{Stall: stall, Source: ErrSource}, nil)
					s.Close()
				}
				assert.Equal(t, stalled(stall), err)
				require.ErrorIs(t, err, ErrSource)
				assert.Equal(t, stall+Grace, time.Since(start))
				assert.Equal(t, !c.busy, body.Replayable())
				close(free)
				synctest.Wait()
				assert.True(t, body.Replayable())
				check(t)
			})
		}
	}
}

// The user closes the files that the user has opened.
func TestReadersOfTheUserAreNeverClosed(t *testing.T) {
	s := newService(t)
	for _, data := range [][]byte{recording(100), []byte("<html>")} {
		f := open(t, data)
		s.takes(t, bodyOf(t, wav(Reader(f))))
		assert.NoError(t, f.Close(), "closed before")
	}
}

// A reader that can seek can be used for one call after another: it is sent from where it first stood, as it has
// become by then.
func TestReadersThatSeekAreUsedAgain(t *testing.T) {
	const before = "before"
	f := open(t, append([]byte(before), recording(1000)...))
	_, err := f.Seek(int64(len(before)), io.SeekStart)
	require.NoError(t, err)
	s, file := newService(t), wav(Reader(f))
	assert.Equal(t, sum(recording(1000)), s.takes(t, bodyOf(t, file)).sum)
	_, err = f.WriteAt([]byte("more"), int64(len(before))+1000)
	require.NoError(t, err)
	assert.Equal(t, sum(append(recording(1000), "more"...)), s.takes(t, bodyOf(t, file)).sum)
}

// A reader that cannot seek is used up by the first call, and the next one says so before it sends half of a recording.
func TestReadersThatCannotSeekAreUsedOnce(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"reader":   onlyReader{bytes.NewReader(recording(1000))},
		"shortest": onlyReader{bytes.NewReader(recording(headSize))},
		"buffer":   bytes.NewBuffer(recording(1000)),
	} {
		s, file := newService(t), wav(Reader(r))
		body := bodyOf(t, file)
		s.takes(t, body)
		assert.False(t, body.Replayable(), name)
		problem := problemOf(t, file)
		assert.Contains(t, problem.Reason, "was used by an earlier call", name)
		assert.NotEmpty(t, problem.Hint, name)
		assert.False(t, problem.Waivable, name)
		_, _, err := post(t.Context(), s.url, body)
		require.ErrorIs(t, err, errUsed, name)
		assert.Len(t, s.all(), 1, name)
	}
}

// An attempt that ended before more than the first bytes were read, such as a failed dial, leaves a reader for the next
// one. A call that was refused before its upload leaves the first bytes for the next call.
func TestReadersThatWereNotReadCanBeSent(t *testing.T) {
	data := recording(10_000)
	file := wav(Reader(onlyReader{bytes.NewReader(data)}))
	bodyOf(t, file)
	body := bodyOf(t, file)
	_, sending, err := post(t.Context(), gone(), body)
	require.Error(t, err)
	assert.False(t, sending.Complete())
	assert.True(t, body.Replayable())
	assert.Equal(t, sum(data), newService(t).takes(t, body).sum)
}

var errTape = errors.New("gone with the tape")

// tape is a reader whose nth seek to a start fails.
func tape(data []byte, nth int) io.Reader {
	return &rewound{bytes.NewReader(data), nth, func() error { return errTape }}
}

// A second attempt whose rewinding fails must not send the rest of the file as if it were the whole.
func TestSecondAttemptThatCannotRewindSendsNothing(t *testing.T) {
	s := newService(t)
	// Inspect and the first attempt rewind once each.
	body := bodyOf(t, wav(Reader(tape(recording(100_000), 3))))
	s.takes(t, body)
	require.True(t, body.Replayable())
	_, _, err := post(t.Context(), s.url, body)
	var failed *ReadError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, errTape)
	assert.Len(t, s.all(), 1)
	assert.True(t, body.Replayable(), "the reader is not given back")
}

// stuckReader reads the bytes that it has and then waits, each time, until it is freed.
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
		err   error
	}{
		"stall":   {time.Second, time.Second, stalled(time.Second)},
		"context": {0, time.Minute, context.DeadlineExceeded},
	} {
		inBubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := newStuckReader([]byte("RIFF"))
			file := wav(Reader(r))
			start := time.Now()
			_, problem, err := inspect(ctx, file, c.stall)
			assert.Equal(t, c.took+Grace, time.Since(start))
			assert.Empty(t, problem)
			assert.Equal(t, c.err, err)

			require.ErrorIs(t, problemOf(t, file).Err, errInUse, "two Reads at once")
			close(r.free)
			synctest.Wait()
			require.ErrorIs(t, problemOf(t, file).Err, errUsed, "the bytes of the abandoned Read are lost")
		})
	}
}

// Two calls at once must not share a reader: each would send a part of the recording.
func TestTwoCallsCannotShareAReader(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"bytes.Reader": bytes.NewReader(recording(9000)), "reader": onlyReader{bytes.NewReader(recording(9000))},
	} {
		body := bodyOf(t, wav(Reader(r)))
		_, s := attach(t, body)
		_, _, _, err := begin(t, t.Context(), body, wire.Limits{}, nil)
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
		r := &waitingSeeker{bytes.NewReader(data), 50_000, make(chan struct{}), make(chan struct{}), false}
		body := bodyOf(t, wav(Reader(r)))
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
