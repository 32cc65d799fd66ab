package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bareService is a service made of a bare listener, with or without TLS, for what net/http's own server does not do.
type bareService struct {
	listener net.Listener
	url      string
	roots    *tls.Config
	dials    atomic.Int64
	ended    sync.WaitGroup
}

// serveBare gives each connection to do, which has it for itself and need not close it.
func serveBare(t testing.TB, secure bool, do func(net.Conn)) *bareService {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &bareService{listener: listener, url: "http://" + listener.Addr().String() + "/tenant"}
	var config *tls.Config
	if secure {
		// httptest has the certificate, and a client that trusts it.
		certified := httptest.NewTLSServer(http.NotFoundHandler())
		config = &tls.Config{Certificates: certified.TLS.Certificates}
		s.roots = certified.Client().Transport.(*http.Transport).TLSClientConfig
		certified.Close()
		s.url = "https://" + listener.Addr().String() + "/tenant"
	}
	s.ended.Add(1)
	go func() {
		defer s.ended.Done()
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			s.dials.Add(1)
			s.ended.Add(1)
			go func() {
				defer s.ended.Done()
				defer nc.Close()
				if secure {
					nc = tls.Server(nc, config)
				}
				do(nc)
			}()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		s.ended.Wait()
	})
	return s
}

func (s *bareService) client(t testing.TB, opts ...Option) *Client {
	c, err := NewClient(s.url, "test-key", opts...)
	require.NoError(t, err)
	if s.roots != nil {
		for _, hc := range []*http.Client{c.http(), c.storing()} {
			if own, ok := hc.Transport.(*http.Transport); ok {
				if own.TLSClientConfig == nil {
					own.TLSClientConfig = &tls.Config{}
				}
				own.TLSClientConfig.RootCAs = s.roots.RootCAs
			}
		}
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// header reads a request's header, and none of its body that is not in the buffer already.
func header(nc net.Conn) (*bufio.Reader, error) {
	r := bufio.NewReaderSize(nc, 4096)
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == "\r\n" {
			return r, err
		}
	}
}

func answerLine(status int, header string) string {
	const body = `{"message":"no"}`
	return fmt.Sprintf("HTTP/1.1 %d No\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body)
}

// A service or proxy that refuses an upload while it is still running must be heard, every time: what the caller has
// to do next is in the answer, not in "broken pipe".
func TestEarlyAnswersReachTheCaller(t *testing.T) {
	path := sparse(t, 64<<20)
	for name, c := range map[string]struct {
		do    func(nc net.Conn, status int, over <-chan struct{})
		loops int
	}{
		// With what was sent unread, closing resets the connection.
		"and closes": {func(nc net.Conn, status int, over <-chan struct{}) {
			_, _ = header(nc)
			_, _ = io.WriteString(nc, answerLine(status, ""))
		}, 100},
		"and closes after a while of reading": {func(nc net.Conn, status int, over <-chan struct{}) {
			r, _ := header(nc)
			_, _ = io.CopyN(io.Discard, r, 1<<20)
			_, _ = io.WriteString(nc, answerLine(status, ""))
		}, 30},
		"and reads on": {func(nc net.Conn, status int, over <-chan struct{}) {
			r, _ := header(nc)
			_, _ = io.WriteString(nc, answerLine(status, "Connection: close\r\n"))
			_, _ = io.Copy(io.Discard, r)
		}, 30},
		"and reads no more": {func(nc net.Conn, status int, over <-chan struct{}) {
			_, _ = header(nc)
			_, _ = io.WriteString(nc, answerLine(status, ""))
			<-over
		}, 30},
		"without a length": {func(nc net.Conn, status int, over <-chan struct{}) {
			_, _ = header(nc)
			_, _ = fmt.Fprintf(nc, "HTTP/1.1 %d No\r\nConnection: close\r\n\r\n{\"message\":\"no\"}", status)
		}, 30},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/tls=%v", name, secure), func(t *testing.T) {
				statuses := []int{401, 413, 422}
				t.Parallel()
				over := make(chan struct{})
				var n atomic.Int64
				s := serveBare(t, secure, func(nc net.Conn) { c.do(nc, statuses[int(n.Add(1)-1)%len(statuses)], over) })
				t.Cleanup(func() { close(over) })
				client := s.client(t)
				for i := range c.loops {
					err := storeFile(t.Context(), client, FileFromPath(path))
					var api *APIError
					require.ErrorAs(t, err, &api, "time %d", i)
					require.Equal(t, statuses[i%len(statuses)], api.StatusCode)
					require.Equal(t, "no", api.Message)
					require.Equal(t, OutcomeRejected, OutcomeOf(err))
				}
				assert.EqualValues(t, c.loops, s.dials.Load(), "a connection with half a request on it was used again")
			})
		}
	}
}

// An answer of 2xx is one, early or not: a service that takes what it needs has made the record.
func TestEarlySuccessIsSuccess(t *testing.T) {
	s := serveBare(t, false, func(nc net.Conn) {
		_, _ = header(nc)
		_, _ = fmt.Fprintf(nc, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(storedInterview), storedInterview)
	})
	require.NoError(t, storeFile(t.Context(), s.client(t), FileFromPath(sparse(t, 64<<20))))
}

// talkative is a service that answers each request on a connection for as many as it likes, and then closes it without a word.
// Each close is told, when it is done.
func talkative(t *testing.T, secure bool, requests int) (*bareService, <-chan struct{}) {
	closed := make(chan struct{}, 10_000)
	s := serveBare(t, secure, func(nc net.Conn) {
		defer func() {
			nc.Close()
			closed <- struct{}{}
		}()
		r := bufio.NewReader(nc)
		for range requests {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			_, _ = fmt.Fprintf(nc, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(storedInterview), storedInterview)
		}
	})
	return s, closed
}

// A service closes connections that are idle, and says nothing of it. A store on such a connection has not been sent, and
// must go out on another one without the caller seeing any of it: no error, no further attempt, also where the file
// can be read only once.
func TestConnectionsClosedWhileIdle(t *testing.T) {
	data := recording(100_000)
	for _, secure := range []bool{false, true} {
		for kind, file := range map[string]func() File{
			"bytes":  func() File { return FileFromBytes("a.wav", data) },
			"reader": func() File { return FileFromReader("a.wav", onlyReader{bytes.NewReader(data)}) },
		} {
			t.Run(fmt.Sprintf("%s/tls=%v", kind, secure), func(t *testing.T) {
				s, closed := talkative(t, secure, 1)
				c := s.client(t, WithRetryPolicy(RetryPolicy{MaxAttempts: 1}))
				for i := range 200 {
					var answer *Response
					require.NoError(t, storeFile(t.Context(), c, file(), WithResponse(&answer)), "time %d", i)
					require.Equal(t, 1, answer.Attempts)
					<-closed
				}
				assert.EqualValues(t, 200, s.dials.Load())
			})
		}
	}
}

// deafConn is a connection whose reader hears of nothing while it is deaf: what net/http knows of an idle connection when its
// goroutine has not run yet.
type deafConn struct {
	net.Conn
	hear <-chan struct{}
}

func (c *deafConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		<-c.hear
	}
	return n, err
}

func (c *deafConn) SyscallConn() (syscall.RawConn, error) { return c.Conn.(syscall.Conn).SyscallConn() }

// The same where net/http has not noticed yet, which is when its own check is too late.
func TestConnectionsClosedUnnoticed(t *testing.T) {
	if slices.Contains([]string{"windows", "aix", "solaris", "illumos"}, runtime.GOOS) {
		t.Skip("conn_other.go: no system call here looks at a connection without reading from it, so net/http's own check has to do")
	}
	data := recording(100_000)
	for _, secure := range []bool{false, true} {
		for kind, file := range map[string]func() File{
			"bytes":  func() File { return FileFromBytes("a.wav", data) },
			"reader": func() File { return FileFromReader("a.wav", onlyReader{bytes.NewReader(data)}) },
		} {
			t.Run(fmt.Sprintf("%s/tls=%v", kind, secure), func(t *testing.T) {
				s, closed := talkative(t, secure, 1)
				c := s.client(t, WithRetryPolicy(RetryPolicy{MaxAttempts: 1}))
				hear := make(chan struct{})
				defer close(hear)
				deafen(c.storing().Transport.(*http.Transport), hear)
				for i := range 50 {
					require.NoError(t, storeFile(t.Context(), c, file()), "time %d", i)
					<-closed
				}
				assert.EqualValues(t, 50, s.dials.Load())
				// When nobody is there any more, nothing was sent either.
				s.listener.Close()
				err := storeFile(t.Context(), c, file())
				assert.Equal(t, OutcomeNotSent, OutcomeOf(err), "%v", err)
			})
		}
	}
}

// deafen puts deaf connections under those that the transport counts.
func deafen(t *http.Transport, hear <-chan struct{}) {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := dial(ctx, network, address)
		if c, ok := nc.(*conn); ok {
			c.Conn = &deafConn{c.Conn, hear}
		}
		return nc, err
	}
}

// asking is a service that answers the header alone: it asks for the body, refuses it, or says nothing.
func asking(t *testing.T, secure bool, answers ...string) (*bareService, *atomic.Int64) {
	var n, taken atomic.Int64
	s := serveBare(t, secure, func(nc net.Conn) {
		r := bufio.NewReader(nc)
		for {
			req, err := http.ReadRequest(r)
			if err != nil || !assert.Equal(t, "100-continue", req.Header.Get("Expect")) {
				return
			}
			answer := answers[min(int(n.Add(1)), len(answers))-1]
			if answer != "" && answer != "100" {
				_, _ = io.WriteString(nc, answer)
				read, _ := io.Copy(io.Discard, r)
				taken.Add(read)
				return
			}
			if answer == "100" {
				_, _ = io.WriteString(nc, "HTTP/1.1 100 Continue\r\n\r\n")
			}
			u := takeIn(req)
			taken.Add(u.body)
			if u.err != nil {
				return
			}
			_, _ = fmt.Fprintf(nc, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(storedInterview), storedInterview)
		}
	})
	return s, &taken
}

// Who asks first sends nothing for nothing, and can then send again what can be read only once.
func TestExpectContinue(t *testing.T) {
	ask := WithHeader("Expect", "100-continue")
	// Without the word that it closes the connection, net/http has to send the body all the same.
	const closing = "Connection: close\r\n"
	refused := answerLine(413, closing)
	for _, secure := range []bool{false, true} {
		once := func() File { return FileFromReader("a.wav", onlyReader{bytes.NewReader(recording(1 << 20))}) }
		t.Run(fmt.Sprintf("refused/tls=%v", secure), func(t *testing.T) {
			s, taken := asking(t, secure, refused)
			require.ErrorIs(t, storeFile(t.Context(), s.client(t), FileFromBytes("a.wav", recording(64<<20)), ask), ErrTooLarge)
			s.listener.Close()
			s.ended.Wait()
			assert.Zero(t, taken.Load(), "sent for nothing")
		})
		t.Run(fmt.Sprintf("refused, then taken/tls=%v", secure), func(t *testing.T) {
			s, taken := asking(t, secure, answerLine(429, closing), answerLine(503, closing+"Retry-After: 0\r\n"), "100")
			var answer *Response
			require.NoError(t, storeFile(t.Context(), s.client(t, threeTimes), once(), ask, WithResponse(&answer)))
			assert.Equal(t, 3, answer.Attempts)
			assert.Greater(t, taken.Load(), int64(1<<20))
		})
		t.Run(fmt.Sprintf("ignored/tls=%v", secure), func(t *testing.T) {
			s, taken := asking(t, secure, "")
			c := s.client(t)
			c.storing().Transport.(*http.Transport).ExpectContinueTimeout = time.Millisecond
			require.NoError(t, storeFile(t.Context(), c, once(), ask))
			assert.Greater(t, taken.Load(), int64(1<<20))
		})
	}
}
