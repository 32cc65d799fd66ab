package engine

//lint:file-ignore SA1019 Callers may have set the deprecated Dial and DialTLS.

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// serveTLS starts a server with HTTP/1.1 and HTTP/2. It returns a transport that trusts the server.
func serveTLS(t testing.TB, handler http.HandlerFunc) (url string, base *http.Transport) {
	srv := httptest.NewUnstartedServer(handler)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	base = srv.Client().Transport.(*http.Transport)
	base.DialContext = dial
	t.Cleanup(base.CloseIdleConnections)
	return srv.URL, base
}

// refuses is the URL of a host to which dial returns no connection. A closed port might be opened by another test.
const refuses = "http://refuses.example.com"

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	if strings.HasPrefix(address, "refuses.example.com:") {
		return nil, errors.New("connection refused")
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func newRequest(ctx context.Context, method, url string) *http.Request {
	req := httptest.NewRequestWithContext(ctx, method, url, strings.NewReader("name=n"))
	req.RequestURI = ""
	return req
}

// observe makes one attempt through rt, which leads to the Transport, and returns its evidence.
func observe(
	t *testing.T, ctx context.Context, tr *Transport, rt http.RoundTripper, method, url string,
) (unsent bool, err error) {
	w := tr.newWatch(ctx, Limits{}, true)
	t.Cleanup(tr.CloseIdleConnections)
	resp, err := rt.RoundTrip(newRequest(w, method, url))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	w.stop()
	return w.unsent(), err
}

// The outcome of a create request depends on this table.
func TestOnlyTheOwnTransportWithoutAConnectionProvesThatNothingWasSent(t *testing.T) {
	t.Parallel()
	lost, trusting := serveTLS(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	dialTLS := func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return tls.Client(nc, &tls.Config{RootCAs: trusting.TLSClientConfig.RootCAs, ServerName: "example.com"}), nil
	}
	refused := errors.New("connection refused")
	own := func(base *http.Transport) *Transport { return NewTransport(base, false) }
	ownTLS := own(&http.Transport{DialTLSContext: dialTLS})
	foreign := NewTransport(fakes.RoundTripper(trusting.RoundTrip), false)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	type middleware = func(next *Transport, r *http.Request) (*http.Response, error)
	direct := func(next *Transport, r *http.Request) (*http.Response, error) { return next.RoundTrip(r) }
	detached := func(r *http.Request) *http.Request { return r.Clone(context.Background()) }
	get := func(ctx context.Context, url string) error {
		resp, err := trusting.RoundTrip(newRequest(ctx, http.MethodGet, url))
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for name, row := range map[string]struct {
		tr      *Transport
		through middleware
		ctx     context.Context
		url     string
		unsent  bool
	}{
		"no connection":                   {own(trusting), direct, t.Context(), refuses, true},
		"the context had ended":           {own(trusting), direct, ended, lost, true},
		"a lost response":                 {own(trusting), direct, t.Context(), lost, false},
		"a caller's TLS, no connection":   {ownTLS, direct, t.Context(), "https" + refuses[4:], true},
		"a caller's TLS, a lost response": {ownTLS, direct, t.Context(), lost, false},
		"a foreign one, no connection":    {foreign, direct, t.Context(), refuses, false},
		"a foreign one, a lost response":  {foreign, direct, t.Context(), lost, false},
		"a middleware that sends nothing": {own(trusting), func(*Transport, *http.Request) (*http.Response, error) {
			return nil, refused
		}, t.Context(), lost, false},
		"a token, and no connection": {own(trusting), func(next *Transport, r *http.Request) (*http.Response, error) {
			_ = get(r.Context(), lost)
			return next.RoundTrip(r)
		}, t.Context(), refuses, true},
		"an audit that is refused": {own(trusting), func(next *Transport, r *http.Request) (*http.Response, error) {
			_, _ = next.RoundTrip(r)
			return nil, get(r.Context(), refuses)
		}, t.Context(), lost, false},
		"a second request": {own(trusting), func(next *Transport, r *http.Request) (*http.Response, error) {
			_, _ = next.RoundTrip(r)
			return next.RoundTrip(newRequest(r.Context(), r.Method, refuses))
		}, t.Context(), lost, false},
		"a context of its own": {own(trusting), func(next *Transport, r *http.Request) (*http.Response, error) {
			return next.RoundTrip(detached(r))
		}, t.Context(), refuses, false},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			through := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
				return row.through(row.tr, r)
			})
			for range 2 { // the second may have a kept-alive connection
				unsent, err := observe(t, row.ctx, row.tr, through, method, row.url)
				require.Error(t, err, name)
				assert.Equal(t, row.unsent, unsent, "%s, %s: %v", name, method, err)
			}
		}
	}
}

// A POST that reaches the transport with a middleware's own context may be the request of any attempt under way.
func TestPOSTWithoutAnAttemptCountsAgainstAllAttemptsUnderWay(t *testing.T) {
	t.Parallel()
	tr := NewTransport(&http.Transport{DialContext: dial}, false)
	for method, want := range map[string]bool{http.MethodPost: false, http.MethodGet: true} {
		during := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			_, _ = tr.RoundTrip(newRequest(context.Background(), method, refuses))
			return tr.RoundTrip(r)
		})
		unsent, _ := observe(t, t.Context(), tr, during, http.MethodPost, refuses)
		assert.Equal(t, want, unsent, method)
		unsent, _ = observe(t, t.Context(), tr, tr, http.MethodPost, refuses)
		assert.True(t, unsent, "an attempt that begins later")
	}
}

// A middleware may give up on a request that still runs, or send one when the attempt has ended.
func TestEvidenceIsFinal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dials, release := 0, make(chan struct{})
		tr := NewTransport(&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			if dials++; dials == 1 {
				<-release
			}
			return nil, net.ErrClosed
		}}, false)
		w := tr.newWatch(t.Context(), Limits{}, true)
		go func() { _, _ = tr.RoundTrip(newRequest(w, http.MethodPost, "http://127.0.0.1")) }()
		synctest.Wait()
		w.stop()
		assert.False(t, w.unsent(), "a RoundTrip is under way")
		_, err := tr.RoundTrip(newRequest(context.WithoutCancel(w), http.MethodPost, "http://127.0.0.1"))
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, dials, "an attempt that has ended sends nothing")
		close(release)
	})
}

func TestSettingsOfTheCallersTransportHold(t *testing.T) {
	t.Parallel()
	foreign := map[string]func(string, *tls.Conn) http.RoundTripper{"h2": nil}
	http2 := &http.HTTP2Config{SendPingTimeout: time.Hour}
	base := &http.Transport{
		MaxIdleConnsPerHost: 3, MaxResponseHeaderBytes: 5, DisableKeepAlives: true, TLSNextProto: foreign, HTTP2: http2,
		TLSClientConfig: &tls.Config{ServerName: "example.com", NextProtos: []string{"h2"}},
	}
	own := NewTransport(base, false)
	shared, single := own.shared.(*http.Transport), own.single.(*http.Transport)
	assert.Equal(t, 3, shared.MaxIdleConnsPerHost)
	assert.True(t, shared.DisableKeepAlives)
	assert.Equal(t, &http.HTTP2Config{SendPingTimeout: time.Hour, PingTimeout: pingTimeout}, shared.HTTP2)
	assert.Equal(t, []string{"h2"}, shared.TLSClientConfig.NextProtos)
	assert.Empty(t, single.TLSClientConfig.NextProtos)
	require.NotNil(t, single.Protocols)
	assert.Equal(t, "{HTTP1}", single.Protocols.String())
	assert.Nil(t, single.TLSNextProto)
	for _, c := range []*http.Transport{shared, single} {
		assert.EqualValues(t, 5, c.MaxResponseHeaderBytes)
		assert.Equal(t, "example.com", c.TLSClientConfig.ServerName)
	}
	assert.Equal(t, &http.HTTP2Config{SendPingTimeout: time.Hour}, http2, "the caller's transport was changed")
	assert.Equal(t, []string{"h2"}, base.TLSClientConfig.NextProtos)

	shared = NewTransport(nil, false).shared.(*http.Transport)
	assert.Equal(t, idleConns, shared.MaxIdleConnsPerHost)
	assert.Equal(t, idleConns, shared.MaxIdleConns)
	assert.EqualValues(t, maxHeaderBytes, shared.MaxResponseHeaderBytes)
	assert.Zero(t, NewTransport(&http.Transport{}, false).shared.(*http.Transport).MaxIdleConns, "no limit stays none")
}

// A server may have sent a response before a Write fails.
func TestFailedWriteWaitsUntilNoMoreOfAResponseCanFollow(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		then func(net.Conn) // a second after the Write began
		want time.Duration
	}{
		"nothing": {func(net.Conn) {}, earlyResponse},
		"a Read that fails": {func(nc net.Conn) {
			_, err := nc.Read(make([]byte, 1))
			assert.Error(t, err)
		}, earlyResponse / 2},
		"the end of the TLS connection": {func(nc net.Conn) { _ = nc.SetWriteDeadline(time.Now()) }, earlyResponse / 2},
		"Close":                         {func(nc net.Conn) { nc.Close() }, earlyResponse / 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := NewTransport(fakes.Piped(t, func(net.Conn) {}), false)
				nc, err := tr.single.(*http.Transport).DialContext(t.Context(), "tcp", "127.0.0.1:80")
				require.NoError(t, err)
				synctest.Wait() // until the other end is closed
				time.AfterFunc(earlyResponse/2, func() { row.then(nc) })
				start := time.Now()
				_, err = nc.Write([]byte("x"))
				assert.Error(t, err)
				assert.Equal(t, row.want, time.Since(start))
				_, err = nc.Write([]byte("x"))
				assert.Error(t, err)
				time.Sleep(earlyResponse)
			})
		})
	}
}

// A caller may have any of four dialers. net/http must recognize TLS connections, and an error of a dialer.
func TestDialersOfTheCallerAreUsed(t *testing.T) {
	t.Parallel()
	url, trusting := serveTLS(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	config := trusting.TLSClientConfig
	var dials atomic.Int32
	plain := func(network, address string) (net.Conn, error) { dials.Add(1); return net.Dial(network, address) }
	secure := func(network, address string) (net.Conn, error) {
		dials.Add(1)
		return tls.Dial(network, address, config)
	}
	with := func(dial func(string, string) (net.Conn, error)) dialFunc {
		return func(_ context.Context, network, address string) (net.Conn, error) { return dial(network, address) }
	}
	nothing := func(string, string) (net.Conn, error) { dials.Add(1); return nil, nil }
	for name, row := range map[string]struct {
		base  *http.Transport
		works bool
	}{
		"DialContext":                  {&http.Transport{TLSClientConfig: config, DialContext: with(plain)}, true},
		"Dial":                         {&http.Transport{TLSClientConfig: config, Dial: plain}, true},
		"DialTLSContext":               {&http.Transport{DialTLSContext: with(secure)}, true},
		"DialTLS":                      {&http.Transport{DialTLS: secure}, true},
		"DialContext without a result": {&http.Transport{DialContext: with(nothing)}, false},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			dials.Store(0)
			tr := NewTransport(row.base, false)
			_, err := observe(t, t.Context(), tr, tr, method, url)
			assert.Equal(t, row.works, err == nil, "%s, %s: %v", name, method, err)
			assert.EqualValues(t, 1, dials.Load(), "%s, %s", name, method)
		}
	}
}

// A connection that died in silence would otherwise hold each call for its whole response timeout.
func TestSilentHTTP2ConnectionIsNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pair, roots := fakes.LoopbackCertificate()
		config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
		base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
		var requests atomic.Int32
		base.DialContext = fakes.PipeDialer(t, func(nc net.Conn) {
			fakes.ServeFrames(tls.Server(nc, config), func(c *fakes.Frames, stream uint32) {
				if requests.Add(1) == 2 {
					time.Sleep(time.Hour) // nor does it respond to pings
				}
				c.Respond(stream, "hello")
			})
		})
		tr := NewTransport(base, false)
		for i := range 3 {
			start := time.Now()
			_, err := observe(t, t.Context(), tr, tr, http.MethodGet, "https://example.com/")
			assert.Equal(t, i == 1, err != nil, "%v", err)
			assert.LessOrEqual(t, time.Since(start), pingAfter+pingTimeout)
		}
		tr.CloseIdleConnections()
		time.Sleep(2 * time.Hour)
	})
}
