package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/wire"
)

func inputOf(ctx context.Context, r io.Reader, done func()) *input {
	return &input{ctx: ctx, r: r, done: done}
}

func TestInputsReadWhatTheReaderHas(t *testing.T) {
	data := recording(200_000)
	for _, r := range []io.Reader{bytes.NewReader(data), onlyReader{bytes.NewReader(data)}} {
		require.NoError(t, iotest.TestReader(inputOf(t.Context(), r, nil), data))
	}
}

// A Read that is about to return is waited for: what the user does with the reader afterwards must not meet it.
func TestInputsWaitForReadsThatReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		read, ended := 0, false
		in := inputOf(ctx, readerFunc(func(p []byte) (int, error) {
			<-time.After(wire.Grace / 2)
			read++
			return len(p), nil
		}), func() { ended = true })
		cancelled := time.AfterFunc(wire.Grace/4, cancel)
		defer cancelled.Stop()
		n, err := in.Read(make([]byte, 10))
		require.NoError(t, err)
		assert.Equal(t, 10, n)
		assert.Equal(t, 1, read, "the Read was abandoned")
		_, err = in.Read(make([]byte, 10))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, read, "read after the end of the context")
		in.end()
		assert.True(t, ended)
	})
}

// A Read that waits for ever is abandoned, and what it brings later must not change the caller's memory. The file is
// closed when it returns, not before.
func TestInputsAbandonReadsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		free, ended := make(chan struct{}), false
		in := inputOf(ctx, readerFunc(func(p []byte) (int, error) {
			<-free
			return copy(p, "late"), nil
		}), func() { ended = true })
		buf := make([]byte, 10)
		start := time.Now()
		_, err := in.Read(buf)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second+wire.Grace, time.Since(start))
		in.end()
		synctest.Wait()
		assert.False(t, ended, "closed while it is read")
		close(free)
		synctest.Wait()
		assert.True(t, ended, "never closed")
		assert.Equal(t, make([]byte, 10), buf)
	})
}

// A reader that never gets on, or lies, must not keep a goroutine busy for ever or crash the program.
func TestReadersThatMisbehaveAreErrors(t *testing.T) {
	negative := readerFunc(func([]byte) (int, error) { return -1, nil })
	for r, want := range map[io.Reader]string{idleReader{}: io.ErrNoProgress.Error(), miscounting{}: "impossible count", &negative: "impossible count"} {
		n, err := inputOf(t.Context(), r, nil).Read(make([]byte, 10))
		require.ErrorContains(t, err, want)
		assert.Zero(t, n)
	}
	n, err := io.Copy(io.Discard, inputOf(t.Context(), iotest.OneByteReader(bytes.NewReader(recording(1000))), nil))
	require.NoError(t, err)
	assert.EqualValues(t, 1000, n)
	hesitant := 99
	n99, err := inputOf(t.Context(), readerFunc(func(p []byte) (int, error) {
		if hesitant--; hesitant >= 0 {
			return 0, nil
		}
		return copy(p, "at last"), nil
	}), nil).Read(make([]byte, 10))
	require.NoError(t, err)
	assert.Equal(t, len("at last"), n99)
}

// pipeFile is a file that is open, and has no bytes until it is closed: a file of a network that is gone.
func pipeFile(t *testing.T) *os.File {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		w.Close()
		r.Close()
	})
	return r
}

// A Read of a file behind a dead network never returns. The attempt ends with its context all the same, whoever reads
// the body: net/http on a goroutine of its own, which it waits for, or a middleware on that of the call.
func TestFilesThatHang(t *testing.T) {
	address := newService(t).url
	buffering := fakes.RoundTripper(func(req *http.Request) (*http.Response, error) {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(data))
		return client.Transport.RoundTrip(req)
	})
	for name, rt := range map[string]http.RoundTripper{
		"net/http": client.Transport, "buffering": buffering, "another transport": http.DefaultTransport,
	} {
		hangs, began := pipeFile(t), make(chan struct{})
		source := opener(func() (io.Reader, int64, error) { return hangs, 10, nil })
		body := Multipart(nil, "file", File{Name: "a.wav", Source: source}, 10)
		parent, cancel := context.WithCancel(t.Context())
		ctx, attempt := wire.Watch(parent, wire.Limits{Upload: true})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
		require.NoError(t, err)
		s, err := body.Attach(req, attempt, nil)
		require.NoError(t, err)
		s.parts = io.MultiReader(readerFunc(func([]byte) (int, error) {
			close(began)
			return 0, io.EOF
		}), s.parts)
		go func() {
			<-began
			cancel()
		}()
		_, err = (&http.Client{Transport: rt}).Do(req)
		require.ErrorIs(t, err, context.Canceled, name)
		s.End()
		s.End()
		assert.False(t, s.Complete(), name)
		_, err = hangs.Stat()
		assert.NoError(t, err, "%s: closed while it is read", name)
		attempt.Stop()
	}
}

// stray panics, or ends its goroutine, at the nth call of one of its methods.
type stray struct {
	*bytes.Reader
	fs.FileInfo
	method string
	nth    int
	end    func()
}

func (s *stray) count(method string) {
	if s.method == method {
		if s.nth--; s.nth == 0 {
			s.end()
		}
	}
}

func (s *stray) Open(string) (fs.File, error) {
	s.count("Open")
	_, err := s.Reader.Seek(0, io.SeekStart)
	return s, err
}

func (s *stray) Stat() (fs.FileInfo, error) { s.count("Stat"); return s, nil }
func (s *stray) IsDir() bool                { return false }
func (s *stray) Mode() fs.FileMode          { return 0 }
func (s *stray) Size() int64                { return s.Reader.Size() }
func (s *stray) Close() error               { s.count("Close"); return nil }
func (s *stray) Read(p []byte) (int, error) { s.count("Read"); return s.Reader.Read(p) }

func (s *stray) Seek(offset int64, whence int) (int64, error) {
	s.count("Seek")
	return s.Reader.Seek(offset, whence)
}

// What a user's reader or file system panics with goes on in the goroutine of the call, where the user may recover it.
// On any other it would end the program. The file can then be sent again.
func TestPanicsReachTheCaller(t *testing.T) {
	boom := errors.New("boom")
	for name, end := range map[string]func(){"panics": func() { panic(boom) }, "exits": runtime.Goexit} {
		for kind, methods := range map[string][]string{"reader": {"Seek", "Read"}, "file system": {"Open", "Stat", "Read", "Close"}} {
			for _, method := range methods {
				for nth := 1; nth < 5; nth++ {
					s := &stray{Reader: bytes.NewReader(recording(100_000)), method: method, end: end}
					source := Reader(s)
					if kind == "file system" {
						source = FS(s, "a.wav")
					}
					file := File{Name: "a.wav", Source: source}
					call := func() (complete, returned bool, recovered any) {
						done := make(chan struct{})
						go func() {
							defer close(done)
							defer func() { recovered = recover() }()
							size, _, _ := file.Inspect(t.Context(), 0)
							ctx, attempt := wire.Watch(t.Context(), wire.Limits{Upload: true})
							defer attempt.Stop()
							req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
							sending, err := Multipart(nil, "file", file, size).Attach(req, attempt, nil)
							defer func() {
								complete = sending.Complete()
								sending.Close()
							}()
							if err == nil {
								transport := make(chan struct{})
								go func() { // as a transport does
									defer close(transport)
									_, _ = io.Copy(io.Discard, req.Body)
									req.Body.Close()
								}()
								<-transport
								sending.End()
							}
							returned = true
						}()
						<-done
						return complete, returned, recovered
					}
					s.Reader.Seek(0, io.SeekStart)
					complete, returned, recovered := call()
					require.True(t, complete && returned && recovered == nil, "%s: %s", kind, method)

					s.Reader.Seek(0, io.SeekStart)
					s.nth = nth
					complete, returned, recovered = call()
					at := fmt.Sprintf("%s at the %d. %s of a %s", name, nth, method, kind)
					if s.nth > 0 {
						continue // it is not called so often
					}
					assert.False(t, returned, at)
					assert.False(t, complete && method != "Close", at)
					if name == "panics" {
						assert.Equal(t, boom, recovered, at)
					} else {
						assert.Nil(t, recovered, at)
					}
					s.Reader.Seek(0, io.SeekStart)
					complete, returned, _ = call()
					assert.True(t, complete && returned, "%s: not again", at)
				}
			}
		}
	}
}
