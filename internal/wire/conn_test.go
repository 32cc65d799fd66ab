package wire

//lint:file-ignore SA1019 Callers may have set the deprecated Dial and DialTLS.

import (
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
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A server or proxy that refuses an upload while it is still running must be heard, every time: the caller's next step
// is in the response, not in "broken pipe".
func TestEarlyResponsesReachTheCaller(t *testing.T) {
	for name, c := range map[string]struct {
		do      func(nc net.Conn, status int, over <-chan struct{})
		loops   int
		endless bool // the response has no length: a reset is the end of its body
	}{
		// With request bytes unread, closing resets the connection.
		"and closes": {func(nc net.Conn, status int, _ <-chan struct{}) {
			_, _ = header(nc)
			_, _ = io.WriteString(nc, response(status, ""))
		}, 50, false},
		"and closes after a while of reading": {func(nc net.Conn, status int, _ <-chan struct{}) {
			r, _ := header(nc)
			_, _ = io.CopyN(io.Discard, r, 1<<20)
			_, _ = io.WriteString(nc, response(status, ""))
		}, 15, false},
		"and reads on": {func(nc net.Conn, status int, _ <-chan struct{}) {
			r, _ := header(nc)
			_, _ = io.WriteString(nc, response(status, "Connection: close\r\n"))
			_, _ = io.Copy(io.Discard, r)
		}, 15, false},
		"and reads no more": {func(nc net.Conn, status int, over <-chan struct{}) {
			_, _ = header(nc)
			_, _ = io.WriteString(nc, response(status, ""))
			<-over
		}, 15, false},
		"without a length": {func(nc net.Conn, status int, _ <-chan struct{}) {
			_, _ = header(nc)
			_, _ = fmt.Fprintf(nc, "HTTP/1.1 %d No\r\nConnection: close\r\n\r\nhello", status)
		}, 15, true},
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
					body := zeros(64 << 20)
					if i%2 > 0 {
						body = sizedBody{body, 64 << 20}
					}
					got := post(t, transport, s.url, body)
					if !c.endless {
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

// The evidence of a failed request decides whether it is sent again, and perhaps paid for twice.
func TestARequestThatFailsOnceItIsSentHasBeenWritten(t *testing.T) {
	for name, do := range map[string]func(nc net.Conn){
		"reset after the header": func(nc net.Conn) {
			_, _ = header(nc)
			reset(nc)
		},
		"reset in the body": func(nc net.Conn) {
			_, _ = io.CopyN(io.Discard, nc, 300_000)
			reset(nc)
		},
		"closed without a response": func(nc net.Conn) { _, _ = io.CopyN(io.Discard, nc, 300_000) },
		"half a line for a response": func(nc net.Conn) {
			_, _ = header(nc)
			_, _ = io.WriteString(nc, "HTTP/1.1 2")
		},
		"another protocol altogether": func(nc net.Conn) {
			_, _ = header(nc)
			_, _ = io.WriteString(nc, "SSH-2.0-OpenSSH_9.2\r\n")
		},
	} {
		for _, secure := range []bool{false, true} {
			for _, exact := range []bool{false, true} {
				s := serve(t, secure, do)
				transport := s.transport(t)
				if !exact {
					transport = New(otherKind{s.base()}, false)
				}
				got := post(t, transport, s.url, zeros(10<<20))
				require.Error(t, got.err)
				assert.True(t, got.wrote, "%s, tls=%v, exact=%v: %v", name, secure, exact, got.err)
				assert.EqualValues(t, 1, s.dials.Load(), "%s, tls=%v, exact=%v: sent again", name, secure, exact)
				assert.Equal(t, exact, got.bytes > 0)
			}
		}
	}
}

// A connection that fails before the request is written has sent nothing. A TLS connection may have sent its closing
// alert, which counts.
func TestConnectionResetBeforeTheFirstWriteHasSentNothing(t *testing.T) {
	for name, end := range map[string]func(net.Conn){
		"reset":  reset,
		"closed": func(nc net.Conn) { nc.Close() },
	} {
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
		got := send(ctx, opened(t, base), Limits{}, http.MethodPost, s.url, zeros(1<<20))
		require.Error(t, got.err, name)
		assert.False(t, got.wrote, "%s: %v", name, got.err)
		assert.Zero(t, got.bytes, name)
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

// The log shows the bytes that went over the network.
func TestSentCountsTheBytesOfTheRequestAlone(t *testing.T) {
	for _, secure := range []bool{false, true} {
		srv, base := serveHTTP(t, secure, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		})
		transport := opened(t, base)
		for range 2 {
			got := post(t, transport, srv, zeros(1<<20))
			require.NoError(t, got.err)
			assert.Greater(t, got.bytes, int64(1<<20))
			assert.Less(t, got.bytes, int64(1<<20+64<<10))
			if !secure {
				got = get(t, transport, srv)
				assert.Greater(t, got.bytes, int64(50), "a kept-alive connection has sent others before")
				assert.Less(t, got.bytes, int64(300))
			}
		}
	}
}

// tlsDialer dials like the function of a caller that wants another TLS stack, or other settings for each host.
func tlsDialer(config *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	return (&tls.Dialer{Config: config}).DialContext
}

// net/http sees the TLS state of the connections that a caller's TLS dialer makes. A POST never goes over HTTP/2.
func TestTLSDialersShowTheirStateAndSendNoPOSTOverHTTP2(t *testing.T) {
	var protocols []string
	srv, trusting := serveHTTP(t, true, func(_ http.ResponseWriter, r *http.Request) {
		protocols = append(protocols, r.Method+" "+r.Proto)
	})
	withContext := func(c *tls.Config) *http.Transport {
		return &http.Transport{DialTLSContext: tlsDialer(c), ForceAttemptHTTP2: true}
	}
	deprecated := func(c *tls.Config) *http.Transport {
		return &http.Transport{ForceAttemptHTTP2: true, DialTLS: func(network, address string) (net.Conn, error) {
			return tls.Dial(network, address, c)
		}}
	}
	// wrapped changes the connections of a dialer.
	wrapped := func(dial dialFunc, wrap func(net.Conn) net.Conn) *http.Transport {
		return &http.Transport{
			ForceAttemptHTTP2: true,
			DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				nc, err := dial(ctx, network, address)
				return wrap(nc), err
			},
		}
	}
	http1, http2 := []string{"GET HTTP/1.1", "POST HTTP/1.1"}, []string{"GET HTTP/2.0"}
	for name, tt := range map[string]struct {
		offered []string
		base    func(*tls.Config) *http.Transport
		want    []string
		hidden  bool // net/http cannot see that this is TLS
	}{
		"DialTLSContext, HTTP/1.1": {[]string{"http/1.1"}, withContext, http1, false},
		"DialTLSContext, nothing":  {nil, withContext, http1, false},
		"DialTLSContext, HTTP/2":   {[]string{"h2", "http/1.1"}, withContext, http2, false},
		"DialTLS, HTTP/1.1":        {[]string{"http/1.1"}, deprecated, http1, false},
		"DialTLS, HTTP/2":          {[]string{"h2"}, deprecated, http2, false},
		"without its handshake": {[]string{"h2"}, func(c *tls.Config) *http.Transport {
			c.ServerName = "example.com"
			return wrapped(new(net.Dialer).DialContext, func(nc net.Conn) net.Conn { return tls.Client(nc, c) })
		}, http2, false},
		"another TLS stack": {nil, func(c *tls.Config) *http.Transport {
			return wrapped(tlsDialer(c), func(nc net.Conn) net.Conn { return struct{ net.Conn }{nc} })
		}, http1, true},
	} {
		t.Run(name, func(t *testing.T) {
			protocols = nil
			config := &tls.Config{RootCAs: trusting.TLSClientConfig.RootCAs, NextProtos: tt.offered}
			transport := opened(t, tt.base(config))
			require.NoError(t, get(t, transport, srv).err)
			got := send(t.Context(), transport, Limits{Upload: true}, http.MethodPost, srv, strings.NewReader("name=n"))
			if len(tt.want) == 1 {
				assert.Error(t, got.err, "a POST over HTTP/2")
			} else {
				require.NoError(t, got.err)
				assert.True(t, got.wrote)
			}
			assert.Equal(t, tt.want, protocols)
			resp := untimed(t, transport, http.MethodGet, srv)
			resp.Body.Close()
			assert.Equal(t, tt.hidden, resp.TLS == nil)
		})
	}
}

// A dialer that returns nothing at all gets an error of net/http, and no nil dereference.
func TestDialerThatReturnsNothingDoesNotPanic(t *testing.T) {
	base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, nil }}
	got := get(t, New(base, false), "http://127.0.0.1/")
	require.Error(t, got.err)
	assert.False(t, got.wrote)
}

// Requests share a connection over HTTP/2 without TLS too: the bytes of others prove nothing.
func TestBytesOfUnencryptedHTTP2AreNotCounted(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.Protocols = protocols
	srv.Start()
	defer srv.Close()
	transport := opened(t, &http.Transport{Protocols: protocols})
	for range 2 {
		got := get(t, transport, srv.URL)
		require.NoError(t, got.err)
		assert.Equal(t, "HTTP/2.0", got.proto)
		assert.True(t, got.wrote)
		assert.Zero(t, got.bytes)
	}
}

// A context that ends while an HTTP/2 request is being written leaves open whether it was sent.
func TestInterruptedHTTP2RequestCountsAsWritten(t *testing.T) {
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
	got := send(ctx, opened(t, base), Limits{}, http.MethodDelete, srv, nil)
	require.ErrorIs(t, got.err, context.Canceled)
	assert.True(t, got.wrote)
	assert.Zero(t, got.bytes)

	// Neither their writer nor a transport of another kind tells when it begins to write.
	for _, nc := range []net.Conn{h2Conn{}, &net.TCPConn{}} {
		evidence := watching(t)
		require.NoError(t, evidence.enter())
		evidence.connecting("")
		_, wrote, _ := evidence.Observed()
		assert.False(t, wrote, "%T", nc)
		evidence.connected(nc)
		seen, wrote, _ := evidence.Observed()
		assert.True(t, wrote, "%T", nc)
		assert.False(t, seen, "%T: it has not returned", nc)
	}
}

// Over HTTP/1.1 a context that ends before the first byte leaves nothing open.
func TestHTTP1RequestInterruptedBeforeItsFirstByteIsUnwritten(t *testing.T) {
	c, far := countingPipe()
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

// An early response may be there when a write fails, unless a Read has failed before. One writer serves all requests of
// an HTTP/2 connection: none of them may wait for a response that only one could get.
func TestFailedWritesWaitForAnEarlyResponse(t *testing.T) {
	for name, tt := range map[string]struct {
		shared, read bool
		want         time.Duration
	}{
		"HTTP/1.1":              {want: earlyResponse},
		"HTTP/1.1, all is read": {read: true},
		"HTTP/2":                {shared: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, far := countingPipe()
			far.Close()
			if !tt.shared {
				c.sent.Store(new(counter))
			}
			if tt.read {
				_, err := c.Read(make([]byte, 1))
				require.Error(t, err)
			}
			start := time.Now()
			_, err := c.Write([]byte("x"))
			assert.Error(t, err)
			assert.Equal(t, tt.want, time.Since(start), name)
		})
	}
}
