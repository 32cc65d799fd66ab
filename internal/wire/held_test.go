package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// upload sends zeros of this length, or of an unknown one where chunked, and returns what came of it.
func upload(t *testing.T, rt http.RoundTripper, url string, size int64, chunked, expect bool) sent {
	ctx, a := Watch(t.Context(), limits)
	defer a.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, zeros(size))
	require.NoError(t, err)
	if !chunked {
		req.ContentLength = size
	}
	if expect {
		req.Header.Set("Expect", "100-continue")
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return sent{err: err}
	}
	defer resp.Body.Close()
	a.Responded()
	data, err := ReadBody(resp, 1<<20)
	return sent{status: resp.StatusCode, body: string(data), err: err}
}

// refusing responds in mid-upload, or before the body of a request that expects a 100 Continue. It closes the
// connection right away where the client says so, as most servers do, else it reads on. Then closed tells whether it
// has closed the connection, and taken how much of the body came after the response.
func refusing(t *testing.T, status int, closed chan<- bool, taken chan<- int64) *server {
	return serve(t, false, func(nc net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(nc))
		if err != nil {
			return
		}
		if req.Header.Get("Expect") == "" {
			_, _ = io.CopyN(io.Discard, req.Body, 256<<10)
		}
		_, _ = io.WriteString(nc, response(status, ""))
		if req.Close {
			reset(nc)
			closed <- true
			return
		}
		closed <- false
		n, _ := io.Copy(io.Discard, req.Body)
		taken <- n
	})
}

// forwarder passes connections on to the server, as some that end TLS do: it closes both directions at once, and drops
// what it has not passed on when it learns that the server has closed its connection.
func forwarder(t *testing.T, secure bool, to *server, closed <-chan bool) *server {
	return serve(t, secure, func(client net.Conn) {
		server, err := net.Dial("tcp", to.listener.Addr().String())
		if err != nil {
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(server, client)
			server.Close()
		}()
		buf := make([]byte, 32<<10)
		n, err := server.Read(buf)
		for err == nil && !<-closed {
			_, _ = client.Write(buf[:n])
			n, err = server.Read(buf)
		}
		reset(client)
		server.Close()
		<-done
	})
}

// A wrong key or a file that is too large must be reported as such, and not as a broken connection that is worth a
// retry.
func TestEarlyResponsesBehindAForwarder(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, chunked := range []bool{false, true} {
			for _, expect := range []bool{false, true} {
				for status, single := range map[int]bool{401: false, 413: true} {
					name := fmt.Sprintf("tls=%v/chunked=%v/expect=%v/%d", secure, chunked, expect, status)
					t.Run(name, func(t *testing.T) {
						closed, taken := make(chan bool), make(chan int64, 1)
						f := forwarder(t, secure, refusing(t, status, closed, taken), closed)
						base := f.base()
						base.DisableKeepAlives = single
						transport := closing(t, New(base, false))
						for range 3 {
							got := upload(t, transport, f.url, 64<<20, chunked, expect)
							require.NoError(t, got.err)
							assert.Equal(t, status, got.status)
							assert.Equal(t, "hello", got.body)
							if n := <-taken; expect {
								assert.Zero(t, n, "bytes of a file that the service has refused")
							}
						}
					})
				}
			}
		}
	}
}

// What a service has not refused is sent, however it responds to the header.
func TestExpectContinue(t *testing.T) {
	const size = 100_000
	for name, says := range map[string]func(nc net.Conn){
		"continues at once": func(nc net.Conn) { _, _ = io.WriteString(nc, "HTTP/1.1 100 Continue\r\n\r\n") },
		"ignores it":        func(net.Conn) {},
		"continues too late": func(nc net.Conn) {
			time.Sleep(limit / 2)
			_, _ = io.WriteString(nc, "HTTP/1.1 100 Continue\r\n\r\n")
		},
		"hints first": func(nc net.Conn) {
			_, _ = io.WriteString(nc, "HTTP/1.1 103 Early Hints\r\n\r\n")
			time.Sleep(limit / 2)
			_, _ = io.WriteString(nc, "HTTP/1.1 100 Continue\r\n\r\n")
		},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/chunked=%v", name, chunked), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					transport := piped(t, new(http.Transport), func(nc net.Conn) {
						req, err := http.ReadRequest(bufio.NewReader(nc))
						if err != nil {
							return
						}
						says(nc)
						// It begins its response while it reads.
						_, _ = io.CopyN(io.Discard, req.Body, size/2)
						_, _ = io.WriteString(nc, "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\n")
						if n, _ := io.Copy(io.Discard, req.Body); n == size-size/2 {
							_, _ = io.WriteString(nc, "whole")
						}
					})
					got := upload(t, transport, "http://127.0.0.1/", size, chunked, true)
					require.NoError(t, got.err)
					assert.Equal(t, 201, got.status)
					assert.Equal(t, "whole", got.body)
				})
			})
		}
	}
}

// A request without a body has none to hold, and keeps its length.
func TestExpectContinueWithoutABody(t *testing.T) {
	url, base := serveHTTP(t, false, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.ContentLength, r.TransferEncoding)
	})
	ctx, a := Watch(t.Context(), limits)
	defer a.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Expect", "100-continue")
	resp, err := closing(t, New(base, false)).RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "0 []", string(body))
}

// Whatever the caller's transport says of connections, that of a POST is closed when the response was read, and the
// service is not told to close it before.
func TestPOSTConnectionsAreClosed(t *testing.T) {
	for name, set := range map[string]func(*http.Transport){
		"as it is":            func(*http.Transport) {},
		"DisableKeepAlives":   func(b *http.Transport) { b.DisableKeepAlives = true },
		"MaxIdleConnsPerHost": func(b *http.Transport) { b.MaxIdleConnsPerHost = 10 },
		"IdleConnTimeout":     func(b *http.Transport) { b.IdleConnTimeout = time.Hour },
		"MaxConnsPerHost":     func(b *http.Transport) { b.MaxConnsPerHost = 1 },
	} {
		texts := map[string]string{"body": response(201, ""), "no body": "HTTP/1.1 204 No Content\r\n\r\n"}
		for kind, text := range texts {
			t.Run(name+"/"+kind, func(t *testing.T) {
				rest := make(chan string, 1)
				s := serve(t, false, func(nc net.Conn) {
					r := bufio.NewReader(nc)
					req, err := request(r)
					if err != nil {
						rest <- err.Error()
						return
					}
					_, _ = io.WriteString(nc, text)
					more, _ := io.ReadAll(r)
					rest <- fmt.Sprint(req.Close, string(more))
				})
				base := s.base()
				set(base)
				transport := closing(t, New(base, false))
				for i := range 3 {
					got := send(t.Context(), transport, Limits{}, http.MethodPost, s.url, strings.NewReader("a=b"))
					require.NoError(t, got.err)
					assert.Equal(t, "false", <-rest)
					assert.EqualValues(t, i+1, s.dials.Load())
				}
			})
		}
	}
}

// A connection that was dialed for a POST that was given up must not serve a later one: the service may be closing it
// by then.
func TestConnectionsDialedInVainAreClosed(t *testing.T) {
	var first atomic.Bool
	got := make(chan int64, 2)
	s := serve(t, false, func(nc net.Conn) {
		r := bufio.NewReader(nc)
		_, err := request(r)
		if err != nil {
			got <- 0
			return
		}
		_, _ = io.WriteString(nc, response(201, ""))
		n, _ := io.Copy(io.Discard, r)
		got <- 1 + n
	})
	dialing, free := make(chan struct{}), make(chan struct{})
	second := make(chan struct{})
	base := s.base()
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		waits := free
		if first.Swap(true) {
			waits = second
		}
		dialing <- struct{}{}
		<-waits
		return new(net.Dialer).DialContext(context.WithoutCancel(ctx), network, address)
	}
	transport := closing(t, New(base, false))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-dialing; cancel() }()
	refused := send(ctx, transport, Limits{}, http.MethodPost, s.url, strings.NewReader("a=b"))
	require.ErrorIs(t, refused.err, context.Canceled)

	done := make(chan sent, 1)
	go func() {
		done <- send(t.Context(), transport, Limits{}, http.MethodPost, s.url, strings.NewReader("a=b"))
	}()
	<-dialing
	close(free)
	assert.Zero(t, <-got, "the second POST was sent on the connection of the first")
	close(second)
	require.NoError(t, (<-done).err)
	assert.EqualValues(t, 1, <-got)
}
