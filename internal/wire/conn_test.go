package wire

//lint:file-ignore SA1019 Callers may have set the deprecated Dial and DialTLS.

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
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A server or proxy that refuses an upload while it is still running must be heard, every time: what the caller has
// to do next is in the response, not in "broken pipe".
func TestEarlyResponsesReachTheCaller(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(nc net.Conn, status int, over <-chan struct{})
		loops int
	}{
		// With what was sent unread, closing resets the connection.
		"and closes": {func(nc net.Conn, status int, _ <-chan struct{}) {
			_, _ = header(nc)
			_, _ = io.WriteString(nc, response(status, ""))
		}, 50},
		"and closes after a while of reading": {func(nc net.Conn, status int, _ <-chan struct{}) {
			r, _ := header(nc)
			_, _ = io.CopyN(io.Discard, r, 1<<20)
			_, _ = io.WriteString(nc, response(status, ""))
		}, 15},
		"and reads on": {func(nc net.Conn, status int, _ <-chan struct{}) {
			r, _ := header(nc)
			_, _ = io.WriteString(nc, response(status, "Connection: close\r\n"))
			_, _ = io.Copy(io.Discard, r)
		}, 15},
		"and reads no more": {func(nc net.Conn, status int, over <-chan struct{}) {
			_, _ = header(nc)
			_, _ = io.WriteString(nc, response(status, ""))
			<-over
		}, 15},
		"without a length": {func(nc net.Conn, status int, _ <-chan struct{}) {
			_, _ = header(nc)
			_, _ = fmt.Fprintf(nc, "HTTP/1.1 %d No\r\nConnection: close\r\n\r\nhello", status)
		}, 15},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/tls=%v", name, secure), func(t *testing.T) {
				t.Parallel()
				statuses := []int{201, 401, 413, 422}
				over := make(chan struct{})
				var n atomic.Int64
				s := serve(t, secure, func(nc net.Conn) { c.do(nc, statuses[int(n.Add(1)-1)%len(statuses)], over) })
				t.Cleanup(func() { close(over) })
				transport := s.transport(t)
				for i := range c.loops {
					got := send(t.Context(), transport, Limits{}, http.MethodPost, s.url, zeros(64<<20))
					// Where nothing tells the body's end, a reset is its end.
					if name != "without a length" {
						require.NoError(t, got.err, "time %d", i)
					}
					require.Equal(t, statuses[i%len(statuses)], got.status, "time %d: %v", i, got.err)
					require.Equal(t, "hello", got.body)
				}
				assert.EqualValues(t, c.loops, s.dials.Load())
			})
		}
	}
}

// What is proven of a failed request decides whether it is sent again, and perhaps paid for twice.
func TestWhatWasWritten(t *testing.T) {
	for name, tt := range map[string]struct {
		do    func(nc net.Conn)
		wrote bool
	}{
		"reset after the header":      {func(nc net.Conn) { _, _ = header(nc); reset(nc) }, true},
		"reset in the body":           {func(nc net.Conn) { _, _ = io.CopyN(io.Discard, nc, 300_000); reset(nc) }, true},
		"closed without a response":   {func(nc net.Conn) { _, _ = io.CopyN(io.Discard, nc, 300_000) }, true},
		"half a line for a response":  {func(nc net.Conn) { _, _ = header(nc); _, _ = io.WriteString(nc, "HTTP/1.1 2") }, true},
		"another protocol altogether": {func(nc net.Conn) { _, _ = header(nc); _, _ = io.WriteString(nc, "SSH-2.0-OpenSSH_9.2\r\n") }, true},
	} {
		for _, secure := range []bool{false, true} {
			for kind, rt := range map[string]func(*server) http.RoundTripper{
				"exact":        func(s *server) http.RoundTripper { return s.transport(t) },
				"another kind": func(s *server) http.RoundTripper { return New(otherKind{s.base()}, false) },
			} {
				s := serve(t, secure, tt.do)
				got := send(t.Context(), rt(s), Limits{}, http.MethodPost, s.url, zeros(10<<20))
				require.Error(t, got.err)
				assert.Equal(t, tt.wrote, got.wrote, "%s, tls=%v, %s: %v", name, secure, kind, got.err)
				assert.EqualValues(t, 1, s.dials.Load(), "%s, tls=%v, %s: sent again", name, secure, kind)
				assert.Equal(t, kind == "exact", got.bytes > 0)
			}
		}
	}
}

// brokenAfter fails all writes but the first.
type brokenAfter struct {
	net.Conn
	writes int
}

func (c *brokenAfter) Write(p []byte) (int, error) {
	if c.writes++; c.writes > 1 {
		return 0, io.ErrClosedPipe
	}
	return c.Conn.Write(p)
}

// A header may break off, too, on a connection that does not count.
func TestHeadersThatBreakOff(t *testing.T) {
	s := serve(t, false, func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) })
	base := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		return &brokenAfter{Conn: nc}, err
	}}
	ctx, clock, evidence := watch(t.Context(), Limits{})
	defer clock.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	require.NoError(t, err)
	req.Header.Set("X-Long", strings.Repeat("x", 10_000))
	_, err = New(otherKind{base}, false).RoundTrip(req)
	require.Error(t, err)
	assert.True(t, wrote(evidence))
}

// A connection that fails before the request is written has sent nothing. A TLS connection may have sent its closing
// alert, which counts.
func TestResetBeforeTheFirstWrite(t *testing.T) {
	for name, end := range map[string]func(net.Conn){
		"reset":  reset,
		"closed": func(nc net.Conn) { nc.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			ready, ended := make(chan struct{}), make(chan struct{})
			s := serve(t, false, func(nc net.Conn) {
				<-ready
				end(nc)
				close(ended)
			})
			base := s.base()
			var dialed *watched
			base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				nc, err := new(net.Dialer).DialContext(ctx, network, address)
				dialed = &watched{Conn: nc, closed: make(chan struct{})}
				return dialed, err
			}
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
				close(ready)
				<-ended
				<-dialed.closed // net/http has noticed
			}})
			got := send(ctx, closing(t, New(base, false)), Limits{}, http.MethodPost, s.url, zeros(1<<20))
			require.Error(t, got.err)
			assert.False(t, got.wrote, "%v", got.err)
			assert.Zero(t, got.bytes)
		})
	}
}

// watched is a connection that tells when it is closed.
type watched struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (w *watched) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

// What is logged as sent is what went over the network.
func TestSent(t *testing.T) {
	for _, secure := range []bool{false, true} {
		srv, base := serveHTTP(t, secure, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		transport := closing(t, New(base, false))
		for range 2 {
			got := send(t.Context(), transport, Limits{}, http.MethodPost, srv, zeros(1<<20))
			require.NoError(t, got.err)
			assert.Greater(t, got.bytes, int64(1<<20))
			assert.Less(t, got.bytes, int64(1<<20+64<<10))
			if !secure {
				got = send(t.Context(), transport, Limits{}, http.MethodGet, srv, nil)
				assert.Greater(t, got.bytes, int64(50), "a kept-alive connection has sent others before")
				assert.Less(t, got.bytes, int64(300))
			}
		}
	}
}

// A form that is in memory goes out in one write with its header: one packet.
func TestFormsAreOneWrite(t *testing.T) {
	var writes atomic.Int64
	s := serve(t, false, func(nc net.Conn) {
		if _, err := request(bufio.NewReader(nc)); err == nil {
			_, _ = io.WriteString(nc, response(201, ""))
		}
	})
	base := s.base()
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		return &writing{nc, &writes}, err
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, nil)
	require.NoError(t, err)
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader([]byte("name=n"))), 6
	resp, err := closing(t, New(base, false)).RoundTrip(req)
	require.NoError(t, err)
	resp.Body.Close()
	assert.EqualValues(t, 1, writes.Load())
}

type writing struct {
	net.Conn
	n *atomic.Int64
}

func (w *writing) Write(p []byte) (int, error) {
	w.n.Add(1)
	return w.Conn.Write(p)
}

// tlsDialer dials as a caller's own function does who wants another TLS stack, or other settings for each host.
func tlsDialer(config *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	return (&tls.Dialer{Config: config}).DialContext
}

// net/http sees the TLS state of the connections that a caller's TLS dialer makes. A POST never goes over HTTP/2.
func TestTLSDialers(t *testing.T) {
	var protocols []string
	srv, trusting := serveHTTP(t, true, func(_ http.ResponseWriter, r *http.Request) { protocols = append(protocols, r.Method+" "+r.Proto) })
	for name, tt := range map[string]struct {
		offered []string
		base    func(*tls.Config) *http.Transport
		want    []string
	}{
		"DialTLSContext, HTTP/1.1": {[]string{"http/1.1"}, func(c *tls.Config) *http.Transport { return &http.Transport{DialTLSContext: tlsDialer(c)} }, []string{"GET HTTP/1.1", "POST HTTP/1.1"}},
		"DialTLSContext, nothing":  {nil, func(c *tls.Config) *http.Transport { return &http.Transport{DialTLSContext: tlsDialer(c)} }, []string{"GET HTTP/1.1", "POST HTTP/1.1"}},
		"DialTLS, HTTP/1.1": {[]string{"http/1.1"}, func(c *tls.Config) *http.Transport {
			return &http.Transport{DialTLS: func(network, address string) (net.Conn, error) { return tls.Dial(network, address, c) }}
		}, []string{"GET HTTP/1.1", "POST HTTP/1.1"}},
		"DialTLSContext, HTTP/2": {[]string{"h2", "http/1.1"}, func(c *tls.Config) *http.Transport {
			return &http.Transport{DialTLSContext: tlsDialer(c), ForceAttemptHTTP2: true}
		}, []string{"GET HTTP/2.0"}},
		"DialTLS, HTTP/2": {[]string{"h2"}, func(c *tls.Config) *http.Transport {
			return &http.Transport{ForceAttemptHTTP2: true, DialTLS: func(network, address string) (net.Conn, error) { return tls.Dial(network, address, c) }}
		}, []string{"GET HTTP/2.0"}},
		"without its handshake": {[]string{"h2"}, func(c *tls.Config) *http.Transport {
			return &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				nc, err := new(net.Dialer).DialContext(ctx, network, address)
				c := c.Clone()
				c.ServerName = "example.com"
				return tls.Client(nc, c), err
			}}
		}, []string{"GET HTTP/2.0"}},
		"another TLS stack": {nil, func(c *tls.Config) *http.Transport {
			return &http.Transport{DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				nc, err := tlsDialer(c)(ctx, network, address)
				return struct{ net.Conn }{nc}, err
			}}
		}, []string{"GET HTTP/1.1", "POST HTTP/1.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			protocols = nil
			config := &tls.Config{RootCAs: trusting.TLSClientConfig.RootCAs, NextProtos: tt.offered}
			transport := closing(t, New(tt.base(config), false))
			got := send(t.Context(), transport, Limits{}, http.MethodGet, srv, nil)
			require.NoError(t, got.err)
			got = send(t.Context(), transport, Limits{Upload: true}, http.MethodPost, srv, strings.NewReader("name=n"))
			if len(tt.want) == 1 {
				assert.Error(t, got.err, "a POST over HTTP/2")
			} else {
				require.NoError(t, got.err)
				assert.True(t, got.wrote)
			}
			assert.Equal(t, tt.want, protocols)
			if name != "another TLS stack" {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv, nil)
				require.NoError(t, err)
				resp, err := transport.RoundTrip(req)
				require.NoError(t, err)
				resp.Body.Close()
				assert.NotNil(t, resp.TLS, "net/http does not see that this is TLS")
			}
		})
	}
}

// A dialer that returns nothing at all gets an error of net/http, and no nil dereference.
func TestDialersOfNothing(t *testing.T) {
	base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, nil }}
	got := send(t.Context(), New(base, false), Limits{}, http.MethodGet, "http://127.0.0.1/", nil)
	require.Error(t, got.err)
	assert.False(t, got.wrote)
}

// Requests share a connection over HTTP/2 without TLS too: what others write proves nothing.
func TestUnencryptedHTTP2(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	srv.Config.Protocols = protocols
	srv.Start()
	defer srv.Close()
	transport := closing(t, New(&http.Transport{Protocols: protocols}, false))
	for range 2 {
		got := send(t.Context(), transport, Limits{}, http.MethodGet, srv.URL, nil)
		require.NoError(t, got.err)
		assert.Equal(t, "HTTP/2.0", got.body)
		assert.True(t, got.wrote)
		assert.Zero(t, got.bytes)
	}
}

// Where connections do not count, a request without one cannot have been acted on.
func TestWhatWasWrittenThroughATLSDialer(t *testing.T) {
	s := serve(t, true, func(nc net.Conn) { _, _ = header(nc) })
	base := &http.Transport{DialTLSContext: tlsDialer(&tls.Config{RootCAs: s.roots})}
	got := send(t.Context(), closing(t, New(base, false)), Limits{}, http.MethodPost, s.url, zeros(1<<20))
	require.Error(t, got.err)
	assert.True(t, got.wrote)
	s.listener.Close()
	got = send(t.Context(), closing(t, New(base, false)), Limits{}, http.MethodPost, s.url, zeros(1<<20))
	require.Error(t, got.err)
	assert.False(t, got.wrote)
}

// A context that ends while an HTTP/2 request is being written leaves open what was sent.
func TestInterruptedHTTP2Requests(t *testing.T) {
	reached := make(chan struct{})
	srv, base := serveHTTP(t, true, func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	got := send(ctx, closing(t, New(base, false)), Limits{}, http.MethodDelete, srv, nil)
	require.ErrorIs(t, got.err, context.Canceled)
	assert.True(t, got.wrote)
	assert.Zero(t, got.bytes)

	// Neither their writer nor a transport of another kind tells when it begins to write.
	for _, nc := range []net.Conn{h2Conn{}, &net.TCPConn{}} {
		_, clock, evidence := watch(t.Context(), Limits{})
		require.NoError(t, evidence.enter())
		evidence.connecting("")
		_, wrote, _ := evidence.Observed()
		assert.False(t, wrote, "%T", nc)
		evidence.connected(nc)
		seen, wrote, _ := evidence.Observed()
		assert.True(t, wrote, "%T", nc)
		assert.False(t, seen, "%T: it has not returned", nc)
		clock.Stop()
	}
}

// Over HTTP/1.1 a context that ends before the first byte leaves nothing open.
func TestInterruptedHTTP1Requests(t *testing.T) {
	near, far := net.Pipe()
	c := &conn{Conn: near, over: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	_, clock, evidence := watch(ctx, Limits{})
	defer clock.Stop()
	require.NoError(t, evidence.enter())
	evidence.connected(c)
	evidence.leave(nil, nil)
	cancel()
	assert.False(t, wrote(evidence))
	go func() { _, _ = far.Read(make([]byte, 1)) }()
	_, err := c.Write([]byte("P"))
	require.NoError(t, err)
	assert.True(t, wrote(evidence))
}

// h2Conn is a connection that a TLS stack of another kind made.
type h2Conn struct{ net.Conn }

func (h2Conn) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{NegotiatedProtocol: "h2"}
}
