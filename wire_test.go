package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipeClient is a client whose connections are in memory, so that time in a bubble moves. do is the service's end.
func pipeClient(t *testing.T, do func(net.Conn), opts ...Option) *Client {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			do(far)
		}()
		return near, nil
	}}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := NewClient("http://127.0.0.1/tenant", "test-key", append(opts, WithHTTPClient(&http.Client{Transport: transport}))...)
	require.NoError(t, err)
	return c
}

// stuckReader gives what it has, and then waits for more that never comes.
type stuckReader struct {
	have io.Reader
	free <-chan struct{}
	wait chan struct{} // closed when it begins to wait; may be nil
}

func (r *stuckReader) Read(p []byte) (int, error) {
	if n, err := r.have.Read(p); err == nil {
		return n, nil
	}
	if r.wait != nil {
		close(r.wait)
		r.wait = nil
	}
	<-r.free
	return 0, io.EOF
}

// hangs are all the places where an upload can hang.
var hangs = map[string]struct {
	service func(nc net.Conn, free <-chan struct{})
	file    func(free <-chan struct{}) File
	limit   string // which timeout ends it
}{
	"the file's first read": {swallow, func(free <-chan struct{}) File {
		return FileFromReader("a.wav", &stuckReader{have: bytes.NewReader(nil), free: free})
	}, "stall"},
	"a read of the file": {swallow, func(free <-chan struct{}) File {
		return FileFromReader("a.wav", &stuckReader{have: bytes.NewReader(recording(100_000)), free: free})
	}, "stall"},
	"a read in a file system": {swallow, func(free <-chan struct{}) File {
		g := &guarded{FS: fstest.MapFS{"a.wav": {Data: recording(100_000)}}}
		return FileFromFS(hangingFS{g, free, false}, "a.wav")
	}, "stall"},
	"opening in a file system": {swallow, func(free <-chan struct{}) File {
		g := &guarded{FS: fstest.MapFS{"a.wav": {Data: recording(100_000)}}}
		return FileFromFS(hangingFS{g, free, true}, "a.wav")
	}, "stall"},
	"a write to the socket": {func(nc net.Conn, free <-chan struct{}) {
		_, _ = header(nc)
		<-free
	}, func(<-chan struct{}) File { return FileFromBytes("a.wav", recording(10<<20)) }, "stall"},
	"the header's write": {func(_ net.Conn, free <-chan struct{}) { <-free },
		func(<-chan struct{}) File { return FileFromBytes("a.wav", recording(10<<20)) }, "stall"},
	"the answer": {swallow, func(<-chan struct{}) File { return FileFromBytes("a.wav", recording(100_000)) }, "wait"},
	"half an answer": {func(nc net.Conn, free <-chan struct{}) {
		req, err := http.ReadRequest(bufio.NewReader(nc))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = io.WriteString(nc, "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"data\":")
		<-free
	}, func(<-chan struct{}) File { return FileFromBytes("a.wav", recording(100_000)) }, "wait"},
}

// swallow reads all that comes and never answers.
func swallow(nc net.Conn, _ <-chan struct{}) { _, _ = io.Copy(io.Discard, nc) }

// hangingFS hangs when a file is opened, or read behind its first bytes.
type hangingFS struct {
	*guarded
	free <-chan struct{}
	open bool
}

func (h hangingFS) Open(name string) (fs.File, error) {
	if h.open {
		<-h.free
	}
	f, err := h.guarded.Open(name)
	if err != nil {
		return nil, err
	}
	return &changing{f, &stuckReader{have: io.LimitReader(f, 50_000), free: h.free}}, nil
}

// A call must end, wherever it hangs: by the stall timeout, by the timeout of the answer, or by the context, and then at once.
func TestHangingUploadsEnd(t *testing.T) {
	for name, h := range hangs {
		for _, by := range []string{"timeout", "cancel", "deadline"} {
			t.Run(name+"/"+by, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					free := make(chan struct{})
					defer synctest.Wait()
					defer close(free)
					c := pipeClient(t, func(nc net.Conn) { h.service(nc, free) }, WithRetryPolicy(RetryPolicy{MaxAttempts: 1}))
					ctx, cancel := context.WithCancelCause(t.Context())
					left := errors.New("the user left")
					opts := []CallOption{WithStallTimeout(20 * time.Second), WithTimeout(40 * time.Second)}
					limit := map[string]time.Duration{"stall": 20 * time.Second, "wait": 40 * time.Second}[h.limit]
					if by != "timeout" {
						limit = 7 * time.Second
					}
					switch by {
					case "cancel":
						time.AfterFunc(limit, func() { cancel(left) })
					case "deadline":
						var stop context.CancelFunc
						ctx, stop = context.WithTimeout(ctx, limit)
						defer stop()
					}
					defer cancel(nil)
					start := time.Now()
					err := storeFile(ctx, c, h.file(free), opts...)
					took := time.Since(start)
					require.Error(t, err)
					assert.GreaterOrEqual(t, took, limit)
					assert.LessOrEqual(t, took, limit+parting)
					switch by {
					case "timeout":
						assert.NotErrorIs(t, err, context.DeadlineExceeded)
						assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
						assert.ErrorContains(t, err, map[string]string{"stall": "WithStallTimeout", "wait": "WithTimeout"}[h.limit])
					case "cancel":
						assert.ErrorIs(t, err, context.Canceled)
						assert.ErrorIs(t, err, left)
					case "deadline":
						assert.ErrorIs(t, err, context.DeadlineExceeded)
					}
					want := OutcomeUnknown
					switch name {
					case "the file's first read", "opening in a file system":
						want = OutcomeNotSent
					case "half an answer":
						want = OutcomeDone
					}
					assert.Equal(t, want, OutcomeOf(err), "%v", err)
				})
			})
		}
	}
}

// An upload that moves may take as long as it needs, and the wait for the answer begins when it is through.
func TestSlowUploadsAreNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pipeClient(t, func(nc net.Conn) {
			req, err := http.ReadRequest(bufio.NewReader(&slowly{nc, time.Second}))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			<-time.After(29 * time.Second)
			_, _ = fmt.Fprintf(nc, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(storedInterview), storedInterview)
		})
		start := time.Now()
		require.NoError(t, storeFile(t.Context(), c, FileFromBytes("a.wav", recording(1<<20)), WithStallTimeout(20*time.Second), WithTimeout(30*time.Second)))
		assert.Greater(t, time.Since(start), 2*time.Minute)
	})
}

// slowly reads a little, and pauses before it.
type slowly struct {
	io.Reader
	pause time.Duration
}

func (s *slowly) Read(p []byte) (int, error) {
	<-time.After(s.pause)
	return s.Reader.Read(p[:min(len(p), 4096)])
}

// Zero is no limit.
func TestUploadsWithoutLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		c := pipeClient(t, func(nc net.Conn) {
			req, err := http.ReadRequest(bufio.NewReader(nc))
			if err != nil {
				return
			}
			<-time.After(24 * time.Hour)
			_, _ = io.Copy(io.Discard, req.Body)
			<-time.After(24 * time.Hour)
			_, _ = fmt.Fprintf(nc, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(storedInterview), storedInterview)
		})
		time.AfterFunc(72*time.Hour, func() { close(free) })
		file := FileFromReader("a.wav", &stuckReader{have: bytes.NewReader(recording(100_000)), free: free})
		require.NoError(t, storeFile(t.Context(), c, file, WithStallTimeout(0), WithTimeout(0)))
	})
}

// What is proven of a failed upload decides whether it is sent again, and perhaps paid for twice.
func TestWhatWasWritten(t *testing.T) {
	reset := func(nc net.Conn) {
		if c, ok := nc.(*tls.Conn); ok {
			nc = c.NetConn()
		}
		_ = nc.(*net.TCPConn).SetLinger(0)
		nc.Close()
	}
	for name, c := range map[string]struct {
		do   func(nc net.Conn)
		want Outcome
	}{
		"reset after the header":      {func(nc net.Conn) { _, _ = header(nc); reset(nc) }, OutcomeUnknown},
		"reset in the body":           {func(nc net.Conn) { _, _ = io.CopyN(io.Discard, nc, 300_000); reset(nc) }, OutcomeUnknown},
		"closed without an answer":    {func(nc net.Conn) { _, _ = io.CopyN(io.Discard, nc, 300_000) }, OutcomeUnknown},
		"half a line for an answer":   {func(nc net.Conn) { _, _ = header(nc); _, _ = io.WriteString(nc, "HTTP/1.1 2") }, OutcomeUnknown},
		"another protocol altogether": {func(nc net.Conn) { _, _ = header(nc); _, _ = io.WriteString(nc, "SSH-2.0-OpenSSH_9.2\r\n") }, OutcomeUnknown},
	} {
		for _, secure := range []bool{false, true} {
			s := serveBare(t, secure, c.do)
			err := storeFile(t.Context(), s.client(t, threeTimes), FileFromBytes("a.wav", recording(10<<20)))
			assert.Equal(t, c.want, OutcomeOf(err), "%s, tls=%v: %v", name, secure, err)
			assert.EqualValues(t, 1, s.dials.Load(), "%s, tls=%v: sent again", name, secure)
		}
	}
	t.Run("nobody listens", func(t *testing.T) {
		s := serveBare(t, false, func(net.Conn) {})
		s.listener.Close()
		err := storeFile(t.Context(), s.client(t, threeTimes), FileFromBytes("a.wav", recording(100)))
		assert.Equal(t, OutcomeNotSent, OutcomeOf(err), "%v", err)
		assert.ErrorContains(t, err, "attempt 3 of 3")
	})
	t.Run("an unknown certificate", func(t *testing.T) {
		s := serveBare(t, true, func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) })
		s.roots = nil
		err := storeFile(t.Context(), s.client(t, threeTimes), FileFromBytes("a.wav", recording(100)))
		assert.Equal(t, OutcomeNotSent, OutcomeOf(err), "%v", err)
		assert.EqualValues(t, 1, s.dials.Load(), "a certificate does not get better")
	})
	t.Run("no TLS at all", func(t *testing.T) {
		s := serveBare(t, false, func(nc net.Conn) {
			_, _ = nc.Read(make([]byte, 1))
			_, _ = io.WriteString(nc, "HTTP/1.1 400 Bad Request\r\n\r\n")
		})
		c, err := NewClient("https://"+s.listener.Addr().String()+"/tenant", "test-key", threeTimes)
		require.NoError(t, err)
		err = storeFile(t.Context(), c, FileFromBytes("a.wav", recording(100)))
		assert.Equal(t, OutcomeNotSent, OutcomeOf(err), "%v", err)
	})
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("reset before the first write, tls=%v", secure), func(t *testing.T) {
			ready, wasReset := make(chan struct{}), make(chan struct{}, 9)
			s := serveBare(t, secure, func(nc net.Conn) {
				if c, ok := nc.(*tls.Conn); ok {
					_ = c.Handshake()
				}
				<-ready
				reset(nc)
				wasReset <- struct{}{}
			})
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
				ready <- struct{}{}
				<-wasReset
			}})
			err := storeFile(ctx, s.client(t, threeTimes), FileFromBytes("a.wav", recording(10<<20)))
			assert.Equal(t, OutcomeNotSent, OutcomeOf(err), "%v", err)
			assert.EqualValues(t, 3, s.dials.Load())
		})
	}
}

// A service that speaks HTTP/2 through a transport of the user's: what is written is not counted there, so a header that went out
// is the last proof.
func TestWhatWasWrittenOverHTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 100_000)
		panic(http.ErrAbortHandler)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	c, err := NewClient(srv.URL+"/tenant", "test-key", WithHTTPClient(srv.Client()), threeTimes)
	require.NoError(t, err)
	err = storeFile(t.Context(), c, FileFromBytes("a.wav", recording(1<<20)))
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%v", err)
	srv.Close()
	err = storeFile(t.Context(), c, FileFromBytes("a.wav", recording(1<<20)))
	assert.Equal(t, OutcomeNotSent, OutcomeOf(err), "%v", err)
}
