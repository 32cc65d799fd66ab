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

// A record must not be created twice because a kept-alive connection was closed: a POST never uses a connection of
// other requests, and its own is closed after it. Over HTTP/2 net/http repeats streams that were reset, whatever the
// method, so a POST never goes over it.
func TestEachPOSTHasAConnectionOfItsOwnAndSpeaksHTTP1(t *testing.T) {
	var mu sync.Mutex
	var ports, protocols map[string][]string // by method
	handler := func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		ports[r.Method] = append(ports[r.Method], r.RemoteAddr)
		protocols[r.Method] = append(protocols[r.Method], r.Proto)
		assert.False(t, r.Close, "%s: Connection: close", r.Method)
		_, _ = io.Copy(io.Discard, r.Body) // or the response may come before the end of the request
	}
	plain, clear := serveHTTP(t, false, handler)
	secure, trusting := serveHTTP(t, true, handler)
	used := trusting.Clone()
	defer used.CloseIdleConnections()
	ports, protocols = map[string][]string{}, map[string][]string{}
	require.NoError(t, get(t, used, secure).err)
	foreign := trusting.Clone()
	foreign.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{
		"h2": func(string, *tls.Conn) http.RoundTripper {
			t.Error("another HTTP/2 would share its connections")
			return nil
		},
	}
	for name, tt := range map[string]struct {
		url   string
		base  *http.Transport
		proto string // of all but POST
	}{
		"without TLS":            {plain, clear, "HTTP/1.1"},
		"fresh":                  {secure, trusting, "HTTP/2.0"},
		"used for HTTP/2 before": {secure, used, "HTTP/2.0"},
		"with another HTTP/2":    {secure, foreign, "HTTP/2.0"},
	} {
		ports, protocols = map[string][]string{}, map[string][]string{}
		transport := opened(t, tt.base)
		methods := []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete}
		for range 3 {
			for _, method := range methods {
				body := strings.NewReader("name=n")
				require.NoError(t, send(t.Context(), transport, Limits{}, method, tt.url, body).err, name)
			}
		}
		shared := ports[http.MethodGet][0]
		unique := map[string]bool{shared: true}
		for _, method := range methods {
			want, proto := shared, tt.proto
			for i, port := range ports[method] {
				if method == http.MethodPost {
					want, proto = port, "HTTP/1.1"
					unique[port] = true
				}
				assert.Equal(t, want, port, "%s: %s", name, method)
				assert.Equal(t, proto, protocols[method][i], "%s: %s", name, method)
			}
		}
		assert.Len(t, unique, 4, name)
	}
}

// A server that closes a kept-alive connection after it has read a request has acted on it: net/http takes the close
// for an idle connection's, and repeats a request that has one of these headers.
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
					var posts atomic.Int64
					s := serve(t, false, func(nc net.Conn) {
						r := bufio.NewReader(nc)
						for {
							if _, err := request(r); err != nil || posts.Add(1) > 1 {
								return
							}
							_, _ = io.WriteString(nc, response(201, ""))
						}
					})
					transport := opened(t, base(s))
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
					assert.EqualValues(t, 2, posts.Load())
				})
			}
		}
	}
}

// A caller that has turned HTTP/2 off, or left it on, finds it so.
func TestProtocolsOfTheCallersTransportHold(t *testing.T) {
	only := func(set func(*http.Protocols, bool)) *http.Transport {
		p := new(http.Protocols)
		set(p, true)
		return &http.Transport{Protocols: p}
	}
	foreign := map[string]func(string, *tls.Conn) http.RoundTripper{
		"h2": func(string, *tls.Conn) http.RoundTripper { return nil },
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
		"another one's HTTP/2": {&http.Transport{TLSNextProto: foreign}, true},
		"an empty map": {&http.Transport{
			TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		}, false},
		"protocols HTTP/1": {only((*http.Protocols).SetHTTP1), false},
		"protocols HTTP/2": {only((*http.Protocols).SetHTTP2), true},
	} {
		transport := New(tt.base, false)
		shared, single := transport.shared.(*http.Transport), transport.single.(*http.Transport)
		assert.Equal(t, tt.http2, shared.Protocols.HTTP2(), name)
		assert.Equal(t, tt.http2, NewDownload(tt.base).shared.(*http.Transport).Protocols.HTTP2(), name)
		assert.False(t, single.Protocols.HTTP2(), name)
		assert.Equal(t, []string{"http/1.1"}, single.TLSClientConfig.NextProtos, name)
	}
}

// A caller's own CA, client certificate, dialer and proxy count for every method, those of [http.DefaultTransport] too.
func TestSettingsOfTheCallersTransportHold(t *testing.T) {
	clientCertificate, _ := fakes.LoopbackCertificate()
	seen := make(chan string, 10)
	srv, trusting := asking(t, tls.RequireAnyClientCert, func(_ http.ResponseWriter, r *http.Request) {
		seen <- fmt.Sprint(r.Method, " ", len(r.TLS.PeerCertificates))
	})
	p := fakes.StartTunnel(t, srv)
	dialed, asked := 0, 0
	mine := &http.Transport{
		TLSClientConfig: &tls.Config{
			RootCAs: trusting.TLSClientConfig.RootCAs, Certificates: []tls.Certificate{clientCertificate},
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dialed++
			return new(net.Dialer).DialContext(ctx, network, address)
		},
		Proxy: func(*http.Request) (*url.URL, error) {
			asked++
			return &url.URL{Scheme: "http", Host: p.Addr().String()}, nil
		},
	}
	defaultTransport(t, mine)
	for name, base := range map[string]http.RoundTripper{"default": nil, "given": mine} {
		transport := opened(t, base)
		assert.True(t, transport.exact)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			dialed, asked = 0, 0
			got := send(t.Context(), transport, Limits{}, method, "https://example.com/tenant", nil)
			require.NoError(t, got.err, name)
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
	require.NoError(t, get(t, transport, "https://example.com/tenant").err)
	transport.CloseIdleConnections()
	mine.CloseIdleConnections()
}

// asking starts a TLS server that asks clients for a certificate. It returns its address and a trusting transport.
func asking(t *testing.T, auth tls.ClientAuthType, handler http.HandlerFunc) (address string, base *http.Transport) {
	srv := httptest.NewUnstartedServer(handler)
	srv.TLS = &tls.Config{ClientAuth: auth}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String(), srv.Client().Transport.(*http.Transport)
}

// Many goroutines keep their connections, unless the caller has set a limit.
func TestManyIdleConnectionsAreKeptUnlessTheCallerLimitsThem(t *testing.T) {
	limits := func(base http.RoundTripper) [2]int { // for one host, and for all
		shared := New(base, false).shared.(*http.Transport)
		return [2]int{shared.MaxIdleConnsPerHost, shared.MaxIdleConns}
	}
	assert.Equal(t, [2]int{idleConns, idleConns}, limits(nil))
	assert.Equal(t, [2]int{3, 5}, limits(&http.Transport{MaxIdleConns: 5, MaxIdleConnsPerHost: 3}))
	defaultTransport(t, &http.Transport{MaxIdleConnsPerHost: 1000})
	assert.Equal(t, [2]int{1000, 0}, limits(nil), "no limit is no limit")
}

// A connection for each POST costs one round trip less, and no signature, with a session that is resumed. A caller
// who checks each handshake gets full ones.
func TestTLSSessionsAreResumed(t *testing.T) {
	verify := func([][]byte, [][]*x509.Certificate) error { return nil }
	own := tls.NewLRUClientSessionCache(1)
	noCertificate := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return new(tls.Certificate), nil }
	cached := func(c *tls.Config) { c.ClientSessionCache = own }
	for name, tt := range map[string]struct {
		set      func(*tls.Config)
		download bool
		resumed  bool
	}{
		"as it is":               {func(*tls.Config) {}, false, true},
		"with a cache":           {cached, false, true},
		"VerifyPeerCertificate":  {func(c *tls.Config) { c.VerifyPeerCertificate = verify }, false, false},
		"GetClientCertificate":   {func(c *tls.Config) { c.GetClientCertificate = noCertificate }, false, false},
		"SessionTicketsDisabled": {func(c *tls.Config) { c.SessionTicketsDisabled = true }, false, false},
		"VerifyConnection": {func(c *tls.Config) {
			c.VerifyConnection = func(tls.ConnectionState) error { return nil }
		}, false, true},
		// The session that a certificate was shown in must not be resumed without it.
		"the download's identity": {cached, true, false},
	} {
		resumed := make(chan bool, 1)
		srv, base := serveHTTP(t, true, func(_ http.ResponseWriter, r *http.Request) { resumed <- r.TLS.DidResume })
		tt.set(base.TLSClientConfig)
		transport := opened(t, base)
		method := http.MethodPost
		if tt.download {
			transport, method = closing(t, NewDownload(base)), http.MethodGet
		}
		for i := range 3 {
			got := send(t.Context(), transport, Limits{}, method, srv, nil)
			require.NoError(t, got.err, name)
			assert.Equal(t, tt.resumed && i > 0, <-resumed, "%s: request %d", name, i)
			transport.CloseIdleConnections()
		}
	}
}

// A picture's host must not learn who the caller is, while the way to it is the caller's.
func TestDownloadShowsNoCertificateOfTheCaller(t *testing.T) {
	client, _ := fakes.LoopbackCertificate()
	srv, trusting := asking(t, tls.RequestClientCert, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, len(r.TLS.PeerCertificates))
	})
	const picture = "https://example.com/a.png"
	for name, tt := range map[string]struct {
		set func(*tls.Config)
		api string // certificates that the API sees; empty means that it is not this host
	}{
		"certificates": {func(c *tls.Config) { c.Certificates = []tls.Certificate{client} }, "1"},
		"GetClientCertificate": {func(c *tls.Config) {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &client, nil }
		}, "1"},
		"a server name": {func(c *tls.Config) {
			c.ServerName = "api.internal"
			c.Certificates = []tls.Certificate{client}
		}, ""},
	} {
		base := trusting.Clone()
		tt.set(base.TLSClientConfig)
		p := fakes.StartTunnel(t, srv)
		base.Proxy = by(p)
		assert.Equal(t, tt.api, get(t, opened(t, base), picture).body, name)
		got := get(t, closing(t, NewDownload(base)), picture)
		require.NoError(t, got.err, name)
		assert.Equal(t, "0", got.body, name)
		assert.NotEmpty(t, p.Requests(), name)
	}
}

// Nothing asks for another protocol, and no clock ends reading a connection that net/http has handed over.
func TestA101IsClosed(t *testing.T) {
	const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nmore"
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		ended := make(chan error, 1)
		s := serve(t, false, func(nc net.Conn) {
			r, _ := header(nc)
			_, _ = io.WriteString(nc, switching)
			_, err := io.Copy(io.Discard, r)
			ended <- err
		})
		for _, transport := range []*Transport{s.transport(t), New(otherKind{s.base()}, false)} {
			resp := untimed(t, transport, method, s.url)
			assert.Equal(t, 101, resp.StatusCode)
			<-ended
			body, err := ReadBody(resp, 100)
			assert.NoError(t, err)
			assert.Empty(t, body)
		}
	}
}

// A server must not fill a program's memory with a header.
func TestEndlessHeaderIsCutOff(t *testing.T) {
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
		assert.Error(t, get(t, s.transport(t), s.url).err, name)
		s.listener.Close()
		// The buffers of loopback sockets take some megabytes that are never read.
		assert.Less(t, written, int64(maxHeaderBytes+16<<20), name)
	}
}

// http.Client's error for a RoundTripper that returns nothing must not become a panic.
func TestNoResponseAndNoErrorDoNotPanic(t *testing.T) {
	transport := New(fakes.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }), false)
	_, err := (&http.Client{Transport: transport}).Get("http://127.0.0.1/")
	assert.Error(t, err)
	transport = New(fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 101}, nil
	}), false)
	resp, err := (&http.Client{Transport: transport}).Get("http://127.0.0.1/")
	require.NoError(t, err)
	assert.NoError(t, resp.Body.Close())
}

// http.Client would hide a redirect to nowhere behind an error, and its status with it.
func TestRedirectWithoutAURLKeepsItsStatus(t *testing.T) {
	last := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for location, kept := range map[string]bool{"https://[::1/%zz": false, "/moved?a=%zz": true, "": true} {
		transport := New(fakes.RoundTripper(fakes.Respond(302, "", "Location", location, "X-Other", "kept")), false)
		resp, err := (&http.Client{Transport: transport, CheckRedirect: last}).Get("http://127.0.0.1/tenant")
		require.NoError(t, err, location)
		assert.Equal(t, 302, resp.StatusCode)
		assert.Equal(t, kept, resp.Header.Values("Location") != nil, location)
		assert.Equal(t, "kept", resp.Header.Get("X-Other"))
	}
}

// A panic of the caller's below an upload stays in the caller's goroutine.
func TestPanicOfAProxyFuncStaysInTheCallersGoroutine(t *testing.T) {
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

// A RoundTripper of another kind is waited for, however late it returns: its actions until then are not known.
func TestUploadsThroughOthersAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := fakes.RoundTripper(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			time.Sleep(time.Minute)
			return nil, req.Context().Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		body := strings.NewReader("x")
		got := send(ctx, New(late, false), Limits{Upload: true}, http.MethodPost, "http://service.test/", body)
		require.ErrorIs(t, got.err, context.DeadlineExceeded)
		assert.Equal(t, time.Second+time.Minute, time.Since(start))
		assert.True(t, got.seen)
	})
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
		for _, text := range []string{response(201, ""), "HTTP/1.1 204 No Content\r\n\r\n"} {
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
			transport := opened(t, base)
			for i := range 3 {
				require.NoError(t, post(t, transport, s.url, strings.NewReader("a=b")).err, name)
				assert.Equal(t, "false", <-rest, name)
				assert.EqualValues(t, i+1, s.dials.Load(), name)
			}
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
	transport := opened(t, base)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-dialing
		cancel()
	}()
	refused := send(ctx, transport, Limits{}, http.MethodPost, s.url, strings.NewReader("a=b"))
	require.ErrorIs(t, refused.err, context.Canceled)

	done := make(chan sent, 1)
	go func() { done <- post(t, transport, s.url, strings.NewReader("a=b")) }()
	<-dialing
	close(free)
	assert.Zero(t, <-got, "the second POST was sent on the connection of the first")
	close(second)
	require.NoError(t, (<-done).err)
	assert.EqualValues(t, 1, <-got)
}
