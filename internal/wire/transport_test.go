package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// otherKind is a RoundTripper that New knows nothing of.
type otherKind struct{ http.RoundTripper }

// A record must not be created twice because a kept-alive connection was closed: what other requests use is never used
// for a POST, whose connection is closed after it.
func TestEachPOSTHasAConnectionOfItsOwn(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			var mu sync.Mutex
			ports := map[string][]string{}
			srv, base := serveHTTP(t, secure, func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				ports[r.Method] = append(ports[r.Method], r.RemoteAddr)
				assert.False(t, r.Close, "%s: Connection: close", r.Method)
				_, _ = io.Copy(io.Discard, r.Body) // or the response may come before the end of the request
			})
			transport := closing(t, New(base, false))
			for range 3 {
				for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
					require.NoError(t, send(t.Context(), transport, Limits{}, method, srv, strings.NewReader("name=n")).err)
				}
			}
			shared := ports[http.MethodGet][0]
			for method, seen := range ports {
				if method != http.MethodPost {
					assert.Equal(t, []string{shared, shared, shared}, seen, method)
				}
			}
			unique := map[string]bool{shared: true}
			for _, port := range ports[http.MethodPost] {
				unique[port] = true
			}
			assert.Len(t, unique, 4)
		})
	}
}

// A server that closes a kept-alive connection after it has read a request has acted on it: net/http takes the close
// for an idle connection's, and repeats what has one of these headers.
func TestNothingRepeatsAPOST(t *testing.T) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key", "Accept"} {
		for kind, base := range map[string]func(*server) http.RoundTripper{
			"an *http.Transport":         func(s *server) http.RoundTripper { return s.base() },
			"the default transport":      func(*server) http.RoundTripper { return nil },
			"a RoundTripper of any kind": func(s *server) http.RoundTripper { return otherKind{s.base()} },
		} {
			for size, body := range map[string]func() io.Reader{
				"form":   func() io.Reader { return strings.NewReader("name=n") },
				"upload": func() io.Reader { return zeros(1 << 20) },
			} {
				t.Run(name+"/"+kind+"/"+size, func(t *testing.T) {
					var mu sync.Mutex
					posts := 0
					s := serve(t, false, func(nc net.Conn) {
						r := bufio.NewReader(nc)
						for {
							if _, err := request(r); err != nil {
								return
							}
							mu.Lock()
							posts++
							n := posts
							mu.Unlock()
							if n > 1 {
								return
							}
							_, _ = io.WriteString(nc, response(201, ""))
						}
					})
					transport := closing(t, New(base(s), false))
					post := func() error {
						req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, body())
						require.NoError(t, err)
						req.Header.Set(name, "x")
						again := req.GetBody != nil
						resp, err := transport.RoundTrip(req)
						assert.Equal(t, again, req.GetBody != nil, "the caller's request was changed")
						assert.False(t, req.Close)
						if err == nil {
							_, err = io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
						return err
					}
					require.NoError(t, post())
					require.Error(t, post())
					mu.Lock()
					defer mu.Unlock()
					assert.Equal(t, 2, posts)
				})
			}
		}
	}
}

// Over HTTP/2 net/http repeats streams that were reset, whatever the method, so a POST never goes over it.
func TestProtocols(t *testing.T) {
	var protocols sync.Map
	srv, base := serveHTTP(t, true, func(_ http.ResponseWriter, r *http.Request) { protocols.Store(r.Method, r.Proto) })
	used := base.Clone()
	defer used.CloseIdleConnections()
	require.NoError(t, send(t.Context(), used, Limits{}, http.MethodGet, srv, nil).err)
	others := base.Clone()
	others.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{"h2": func(string, *tls.Conn) http.RoundTripper {
		t.Error("another HTTP/2 would share its connections")
		return nil
	}}
	for name, base := range map[string]*http.Transport{"fresh": base, "used for HTTP/2 before": used, "with another HTTP/2": others} {
		transport := closing(t, New(base, false))
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			require.NoError(t, send(t.Context(), transport, Limits{}, method, srv, nil).err)
			got, _ := protocols.Load(method)
			want := "HTTP/2.0"
			if method == http.MethodPost {
				want = "HTTP/1.1"
			}
			assert.Equal(t, want, got, "%s: %s", name, method)
		}
	}
}

// Whoever has turned HTTP/2 off, or left it on, finds it so.
func TestProtocolsOfTheCallersTransportHold(t *testing.T) {
	only := func(set func(*http.Protocols, bool)) *http.Protocols {
		p := new(http.Protocols)
		set(p, true)
		return p
	}
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("unused") }
	for name, tt := range map[string]struct {
		base  *http.Transport
		http2 bool
	}{
		"zero":                 {&http.Transport{}, true},
		"dialer":               {&http.Transport{DialContext: dial}, false},
		"dialer and forced":    {&http.Transport{DialContext: dial, ForceAttemptHTTP2: true}, true},
		"TLS settings":         {&http.Transport{TLSClientConfig: &tls.Config{}}, false},
		"an empty map":         {&http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}, false},
		"another one's HTTP/2": {&http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{"h2": func(string, *tls.Conn) http.RoundTripper { return nil }}}, true},
		"protocols HTTP/1":     {&http.Transport{Protocols: only((*http.Protocols).SetHTTP1)}, false},
		"protocols HTTP/2":     {&http.Transport{Protocols: only((*http.Protocols).SetHTTP2)}, true},
	} {
		transport := New(tt.base, false)
		assert.Equal(t, tt.http2, transport.shared.(*http.Transport).Protocols.HTTP2(), name)
		assert.Equal(t, tt.http2, NewDownload(tt.base).shared.(*http.Transport).Protocols.HTTP2(), name)
		assert.False(t, transport.single.(*http.Transport).Protocols.HTTP2(), name)
		assert.Equal(t, []string{"http/1.1"}, transport.single.(*http.Transport).TLSClientConfig.NextProtos, name)
	}
}

// A caller's own CA, client certificate, dialer and proxy count for every method, those of [http.DefaultTransport] too.
func TestSettingsOfTheCallersTransportHold(t *testing.T) {
	clientCertificate, _ := fakes.LoopbackCertificate()
	seen := make(chan string, 10)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- fmt.Sprint(r.Method, " ", len(r.TLS.PeerCertificates))
	}))
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	srv.StartTLS()
	defer srv.Close()
	p := fakes.StartTunnel(t, srv.Listener.Addr().String())
	dialed, asked := 0, 0
	mine := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, Certificates: []tls.Certificate{clientCertificate}},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dialed++
			return new(net.Dialer).DialContext(ctx, network, address)
		},
		Proxy: func(*http.Request) (*url.URL, error) {
			asked++
			return &url.URL{Scheme: "http", Host: p.Addr().String()}, nil
		},
	}
	std := http.DefaultTransport
	defer func() { http.DefaultTransport = std }()
	http.DefaultTransport = mine
	for name, base := range map[string]http.RoundTripper{"default": nil, "given": mine} {
		transport := closing(t, New(base, false))
		assert.True(t, transport.exact)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			dialed, asked = 0, 0
			require.NoError(t, send(t.Context(), transport, Limits{}, method, "https://example.com/tenant", nil).err, name)
			assert.Equal(t, method+" 1", <-seen, name)
			assert.Equal(t, []int{1, 1}, []int{dialed, asked}, "%s: %s", name, method)
		}
	}
	assert.Nil(t, mine.TLSClientConfig.ClientSessionCache, "the caller's transport is never changed")
	assert.False(t, mine.DisableKeepAlives)

	http.DefaultTransport = otherKind{mine}
	transport := New(nil, false)
	assert.False(t, transport.exact)
	assert.Equal(t, http.DefaultTransport, NewDownload(nil).shared)
	require.NoError(t, send(t.Context(), transport, Limits{}, http.MethodGet, "https://example.com/tenant", nil).err)
	transport.CloseIdleConnections()
	mine.CloseIdleConnections()
}

// Many goroutines keep their connections, unless the caller has set a limit.
func TestIdleConnections(t *testing.T) {
	transport := New(nil, false)
	assert.Equal(t, idleConns, transport.shared.(*http.Transport).MaxIdleConnsPerHost)
	assert.GreaterOrEqual(t, transport.shared.(*http.Transport).MaxIdleConns, idleConns)
	transport = New(&http.Transport{MaxIdleConns: 5, MaxIdleConnsPerHost: 3}, false)
	assert.Equal(t, 3, transport.shared.(*http.Transport).MaxIdleConnsPerHost)
	assert.Equal(t, 5, transport.shared.(*http.Transport).MaxIdleConns)
	defer func(std http.RoundTripper) { http.DefaultTransport = std }(http.DefaultTransport)
	http.DefaultTransport = &http.Transport{MaxIdleConnsPerHost: 1000}
	transport = New(nil, false)
	assert.Equal(t, 1000, transport.shared.(*http.Transport).MaxIdleConnsPerHost)
	assert.Zero(t, transport.shared.(*http.Transport).MaxIdleConns, "no limit is no limit")
}

// A connection for each POST costs one round trip less, and no signature, with a session that is resumed. A caller
// who checks each handshake gets full ones.
func TestTLSSessionsAreResumed(t *testing.T) {
	verify := func([][]byte, [][]*x509.Certificate) error { return nil }
	own := tls.NewLRUClientSessionCache(1)
	for name, tt := range map[string]struct {
		set     func(*tls.Config)
		resumed bool
	}{
		"as it is":                {func(*tls.Config) {}, true},
		"with a cache":            {func(c *tls.Config) { c.ClientSessionCache = own }, true},
		"VerifyPeerCertificate":   {func(c *tls.Config) { c.VerifyPeerCertificate = verify }, false},
		"GetClientCertificate":    {func(c *tls.Config) { c.GetClientCertificate = noCertificate }, false},
		"SessionTicketsDisabled":  {func(c *tls.Config) { c.SessionTicketsDisabled = true }, false},
		"VerifyConnection":        {func(c *tls.Config) { c.VerifyConnection = func(tls.ConnectionState) error { return nil } }, true},
		"the download's identity": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			resumed := make(chan bool, 1)
			srv, base := serveHTTP(t, true, func(_ http.ResponseWriter, r *http.Request) { resumed <- r.TLS.DidResume })
			if tt.set != nil {
				tt.set(base.TLSClientConfig)
			} else {
				base.TLSClientConfig.ClientSessionCache = own
			}
			transport, stranger := closing(t, New(base, false)), closing(t, NewDownload(base))
			for i := range 3 {
				if tt.set == nil {
					// The session that a certificate was shown in must not be resumed without it.
					require.NoError(t, send(t.Context(), stranger, Limits{}, http.MethodGet, srv, nil).err)
					stranger.CloseIdleConnections()
				} else {
					require.NoError(t, send(t.Context(), transport, Limits{}, http.MethodPost, srv, strings.NewReader("a=b")).err)
				}
				assert.Equal(t, tt.resumed && i > 0, <-resumed, "request %d", i)
			}
		})
	}
}

// A picture's host must not learn who the caller is, while the way to it is the caller's.
func TestDownload(t *testing.T) {
	client, _ := fakes.LoopbackCertificate()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, len(r.TLS.PeerCertificates))
	}))
	srv.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	srv.StartTLS()
	defer srv.Close()
	for name, set := range map[string]func(*tls.Config){
		"certificates": func(c *tls.Config) { c.Certificates = []tls.Certificate{client} },
		"GetClientCertificate": func(c *tls.Config) {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &client, nil }
		},
		"a server name": func(c *tls.Config) { c.ServerName = "api.internal"; c.Certificates = []tls.Certificate{client} },
	} {
		base := srv.Client().Transport.(*http.Transport).Clone()
		set(base.TLSClientConfig)
		p := fakes.StartTunnel(t, srv.Listener.Addr().String())
		base.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr().String()})
		transport := closing(t, New(base, false))
		if name != "a server name" {
			assert.Equal(t, "1", send(t.Context(), transport, Limits{}, http.MethodGet, "https://example.com/a.png", nil).body, name)
		}
		got := send(t.Context(), closing(t, NewDownload(base)), Limits{}, http.MethodGet, "https://example.com/a.png", nil)
		require.NoError(t, got.err, name)
		assert.Equal(t, "0", got.body, name)
		assert.NotEmpty(t, p.Requests(), name)
	}
}

// Nothing asks for another protocol, and no clock ends reading a connection that net/http has handed over.
func TestA101IsClosed(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		ended := make(chan error, 1)
		s := serve(t, false, func(nc net.Conn) {
			r, _ := header(nc)
			_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nmore")
			_, err := io.Copy(io.Discard, r)
			ended <- err
		})
		for _, transport := range []*Transport{s.transport(t), New(otherKind{s.base()}, false)} {
			req, err := http.NewRequestWithContext(t.Context(), method, s.url, nil)
			require.NoError(t, err)
			resp, err := transport.RoundTrip(req)
			require.NoError(t, err)
			assert.Equal(t, 101, resp.StatusCode)
			<-ended
			body, err := ReadBody(resp, 100)
			assert.NoError(t, err)
			assert.Empty(t, body)
		}
	}
}

// A server must not fill a program's memory with a header.
func TestEndlessHeaders(t *testing.T) {
	for name, tt := range map[string]struct{ start, text string }{
		"lines":                   {"HTTP/1.1 200 OK\r\n", "X-Endless: 1\r\n"},
		"one line":                {"HTTP/1.1 200 OK\r\nX-Endless: ", "xxxxxxxx"},
		"status line":             {"HTTP/1.1 200 ", "OKOKOKOK"},
		"informational responses": {"", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"},
	} {
		var written int64
		s := serve(t, false, func(nc net.Conn) {
			_, _ = header(nc)
			_, err := io.WriteString(nc, tt.start)
			for block := strings.Repeat(tt.text, 1+4096/len(tt.text)); err == nil; written += int64(len(block)) {
				_, err = io.WriteString(nc, block)
			}
		})
		assert.Error(t, send(t.Context(), s.transport(t), Limits{}, http.MethodGet, s.url, nil).err, name)
		s.listener.Close()
		// The buffers of loopback sockets take some megabytes that are never read.
		assert.Less(t, written, int64(maxHeaderBytes+16<<20), name)
	}
}

func noCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return new(tls.Certificate), nil
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
			near, far := net.Pipe()
			far.Close()
			c := &conn{Conn: near, over: make(chan struct{})}
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

// What http.Client says of a RoundTripper that returns nothing must not become a panic.
func TestNoResponseAndNoError(t *testing.T) {
	transport := New(roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }), false)
	_, err := (&http.Client{Transport: transport}).Get("http://127.0.0.1/")
	assert.Error(t, err)
	transport = New(roundTripper(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 101}, nil }), false)
	resp, err := (&http.Client{Transport: transport}).Get("http://127.0.0.1/")
	require.NoError(t, err)
	assert.NoError(t, resp.Body.Close())
}

// http.Client would hide a redirect to nowhere behind an error, and its status with it.
func TestRedirectToWhatIsNoURL(t *testing.T) {
	for location, kept := range map[string]bool{"https://[::1/%zz": false, "/moved?a=%zz": true, "": true} {
		header := http.Header{"Location": {location}, "X-Other": {"kept"}}
		transport := New(roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 302, Header: header, Body: http.NoBody}, nil
		}), false)
		resp, err := (&http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Get("http://127.0.0.1/tenant")
		require.NoError(t, err, location)
		assert.Equal(t, 302, resp.StatusCode)
		assert.Equal(t, kept, resp.Header.Values("Location") != nil, location)
		assert.Equal(t, "kept", resp.Header.Get("X-Other"))
		assert.Equal(t, []string{location}, header["Location"], "what the RoundTripper holds is not changed")
	}
}

// A panic of the caller's below an upload stays in the caller's goroutine.
func TestUploadsWhoseProxyPanics(t *testing.T) {
	base := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { panic("boom") }}
	transport := New(base, true)
	ctx, clock, evidence := transport.Watch(t.Context(), Limits{Upload: true})
	defer clock.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:1/", strings.NewReader("x"))
	require.NoError(t, err)
	assert.PanicsWithValue(t, "boom", func() { _, _ = transport.RoundTrip(req) })
	seen, _, _ := evidence.Observed()
	assert.False(t, seen)
}

// A RoundTripper of another kind is waited for, however late it returns: what it does until then is not known.
func TestUploadsThroughOthersAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := roundTripper(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			time.Sleep(time.Minute)
			return nil, req.Context().Err()
		})
		transport := New(late, false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ctx, clock, evidence := transport.Watch(ctx, Limits{Upload: true})
		defer clock.Stop()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://service.test/", strings.NewReader("x"))
		require.NoError(t, err)
		start := time.Now()
		_, err = transport.RoundTrip(req)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second+time.Minute, time.Since(start))
		seen, _, _ := evidence.Observed()
		assert.True(t, seen)
	})
}

// upload sends zeros of this length, or of an unknown one where chunked, and returns what came of it.
func upload(t *testing.T, rt http.RoundTripper, url string, size int64, chunked bool) sent {
	ctx, clock, _ := watch(t.Context(), limits)
	defer clock.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, zeros(size))
	require.NoError(t, err)
	if !chunked {
		req.ContentLength = size
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return sent{err: err}
	}
	defer resp.Body.Close()
	clock.Responded(resp.StatusCode)
	data, err := ReadBody(resp, 1<<20)
	return sent{status: resp.StatusCode, body: data, err: err}
}

// refusing responds in mid-upload. It closes the connection right away where the client says so, as most servers do,
// else it reads on. Then closed tells whether it has closed the connection.
func refusing(t *testing.T, status int, closed chan<- bool) *server {
	return serve(t, false, func(nc net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(nc))
		if err != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, req.Body, 256<<10)
		_, _ = io.WriteString(nc, response(status, ""))
		if req.Close {
			reset(nc)
			closed <- true
			return
		}
		closed <- false
		_, _ = io.Copy(io.Discard, req.Body)
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
			for status, single := range map[int]bool{401: false, 413: true} {
				t.Run(fmt.Sprintf("tls=%v/chunked=%v/%d", secure, chunked, status), func(t *testing.T) {
					closed := make(chan bool)
					f := forwarder(t, secure, refusing(t, status, closed), closed)
					base := f.base()
					base.DisableKeepAlives = single
					transport := closing(t, New(base, false))
					for range 3 {
						got := upload(t, transport, f.url, 64<<20, chunked)
						require.NoError(t, got.err)
						assert.Equal(t, status, got.status)
						assert.Equal(t, "hello", got.body)
					}
				})
			}
		}
	}
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
