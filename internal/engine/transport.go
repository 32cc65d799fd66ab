package engine

//lint:file-ignore SA1019 Callers may have set the deprecated Dial.

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// idleConns is how many idle connections are kept for one host: as many as http.DefaultTransport keeps for all
	// hosts. The 2 of net/http make concurrent callers dial anew.
	idleConns = 100
	// maxHeaderBytes limits the header of a response, with the informational responses before it.
	maxHeaderBytes = 1 << 20
	// An HTTP/2 connection that died in silence is noticed after the sum of these two.
	pingAfter   = 15 * time.Second
	pingTimeout = 10 * time.Second
	// earlyResponse is how long a failed Write waits for a response that the server may have sent before.
	earlyResponse = time.Second
)

// ErrClearProxy is the error of a request whose Authorization header a proxy would see.
var ErrClearProxy = errors.New("a proxy would see the API key of an http:// URL")

// Transport is an [http.RoundTripper] that observes whether an attempt got a connection. It sends each POST over
// HTTP/1.1 on a connection of its own, so a POST never meets a connection that the server is about to close, and
// net/http has no reason to repeat one. All other requests share kept-alive connections.
//
// It is safe for concurrent use.
type Transport struct {
	shared, single http.RoundTripper // single is for POST
	own            bool              // they are *http.Transports made by this package
	strays         atomic.Int64      // number of POSTs that belonged to no attempt
}

// NewTransport returns a Transport that works as base does, or as [http.DefaultTransport] if base is nil. An
// [*http.Transport] is cloned: its TLS, proxy and dial settings apply, and its limits, such as MaxConnsPerHost, apply
// to POST and to all other requests separately. Another RoundTripper is used as it is, and is no evidence.
//
// If a proxy would see the header of an http:// request, the request fails with [ErrClearProxy], unless clearProxy is
// set.
func NewTransport(base http.RoundTripper, clearProxy bool) *Transport {
	base = cmp.Or(base, http.DefaultTransport)
	t, ok := base.(*http.Transport)
	if !ok {
		return &Transport{shared: base, single: base}
	}
	shared := sharing(t, clearProxy)
	return &Transport{shared: shared, single: dialing(shared), own: true}
}

// NewPictureTransport returns a Transport for requests to other hosts, which must not learn who the caller is: it has
// neither a client certificate nor a server name other than the URL's. A caller's DialTLSContext may send anything.
func NewPictureTransport(base http.RoundTripper) *Transport {
	p := NewTransport(base, true)
	if t, ok := p.shared.(*http.Transport); ok && t.TLSClientConfig != nil {
		t.TLSClientConfig.Certificates = nil
		t.TLSClientConfig.GetClientCertificate = nil
		t.TLSClientConfig.ServerName = ""
	}
	return p
}

// sharing returns a copy of t with limits where t has none, and without a proxy that would see a request in clear. The
// copy keeps enough idle connections and notices dead ones.
func sharing(t *http.Transport, clearProxy bool) *http.Transport {
	c := t.Clone()
	c.MaxResponseHeaderBytes = cmp.Or(c.MaxResponseHeaderBytes, maxHeaderBytes)
	c.MaxIdleConnsPerHost = cmp.Or(c.MaxIdleConnsPerHost, idleConns)
	c.HTTP2 = cmp.Or(c.HTTP2, &http.HTTP2Config{})
	c.HTTP2.SendPingTimeout = cmp.Or(c.HTTP2.SendPingTimeout, pingAfter)
	c.HTTP2.PingTimeout = cmp.Or(c.HTTP2.PingTimeout, pingTimeout)
	if proxy := t.Proxy; proxy != nil && !clearProxy {
		c.Proxy = func(req *http.Request) (*url.URL, error) {
			u, err := proxy(req)
			if u != nil && req.URL.Scheme == "http" {
				return nil, ErrClearProxy
			}
			return u, err
		}
	}
	return c
}

// dialing returns a copy of t that dials for each request, and speaks HTTP/1.1 alone: over HTTP/2, net/http may repeat
// a request. The server is not told to close the connection, because a forwarder in between could then lose an early
// response.
func dialing(t *http.Transport) *http.Transport {
	c := t.Clone()
	c.DisableKeepAlives = false
	c.MaxIdleConnsPerHost = -1
	c.Protocols = new(http.Protocols)
	c.Protocols.SetHTTP1(true)
	c.TLSNextProto = nil
	if c.TLSClientConfig != nil {
		c.TLSClientConfig.NextProtos = nil
	}
	switch {
	case c.DialContext != nil:
		c.DialContext = holding(c.DialContext)
	case c.Dial != nil:
		c.DialContext = holding(func(_ context.Context, network, address string) (net.Conn, error) {
			return c.Dial(network, address)
		})
	default:
		c.DialContext = holding(new(net.Dialer).DialContext)
	}
	if c.DialTLSContext != nil {
		c.DialTLSContext = holding(c.DialTLSContext)
	}
	return c
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// holding wraps the connections of dial in a [conn], except TLS connections, which net/http must recognize.
func holding(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := dial(ctx, network, address)
		if _, secure := nc.(interface{ ConnectionState() tls.ConnectionState }); err != nil || nc == nil || secure {
			return nc, err
		}
		over := make(chan struct{})
		return &conn{nc, over, sync.OnceFunc(func() { close(over) })}, nil
	}
}

// conn holds a failed Write back until no more of a response can follow, for earlyResponse at most: if a server
// responds early and closes, net/http would otherwise return the failure of the Write before it reads the response.
type conn struct {
	net.Conn
	over <-chan struct{} // closed when no more of a response can follow
	end  func()          // closes over
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		select {
		case <-c.over:
		case <-time.After(earlyResponse):
		}
	}
	return n, err
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.end()
	}
	return n, err
}

// SetWriteDeadline lets no failed Write wait any more: crypto/tls sets a deadline before its closing alert.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.end()
	return c.Conn.SetWriteDeadline(t)
}

func (c *conn) Close() error {
	c.end()
	return c.Conn.Close()
}

// watch is the context of an attempt's request, in which a [Transport] finds the clock and leaves its evidence.
type watch struct {
	clock // its mu guards the rest
	trace httptrace.ClientTrace
	on    *Transport
	stray int64 // strays at the start

	entered   bool // a RoundTrip has begun
	running   int  // number of RoundTrips under way
	connected bool // one got a connection
}

type watchKey struct{}

// newWatch starts the clock of an attempt and its observation. The watch is the context of its request.
func (t *Transport) newWatch(ctx context.Context, limits Limits, body bool) *watch {
	w := &watch{on: t, stray: t.strays.Load()}
	w.start(ctx, limits, body)
	w.trace.GotConn = w.gotConn
	return w
}

func (w *watch) gotConn(httptrace.GotConnInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connected = true
	w.begin(w.sending)
}

// Value returns the watch itself for its key.
func (w *watch) Value(key any) any {
	if key == (watchKey{}) {
		return w
	}
	return w.Context.Value(key)
}

// unsent reports whether certainly nothing was sent: the request reached the SDK's own transport, no RoundTrip is under
// way, and none got a connection. A POST without an attempt may be this request, with a context of a middleware's own,
// so it counts against all attempts under way. The clock must have been stopped, so that no other RoundTrip begins.
func (w *watch) unsent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.on.own && w.entered && w.running == 0 && !w.connected && w.on.strays.Load() == w.stray
}

// open begins a RoundTrip, unless the attempt has ended.
func (w *watch) open() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entered = true
	if w.Err() != nil {
		return context.Cause(w)
	}
	w.running++
	if w.on.own {
		w.begin(pausing) // until there is a connection
	}
	return nil
}

// RoundTrip implements [http.RoundTripper]. It refuses the request of an ended attempt.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	w, _ := req.Context().Value(watchKey{}).(*watch)
	if w == nil {
		if req.Method == http.MethodPost {
			t.strays.Add(1)
		}
		return t.send(req, req.Context())
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	// A RoundTripper that panics never leaves: its actions are not known.
	resp, err := t.send(req, httptrace.WithClientTrace(req.Context(), &w.trace))
	w.mu.Lock()
	w.running--
	w.mu.Unlock()
	return resp, err
}

func (t *Transport) send(req *http.Request, ctx context.Context) (*http.Response, error) {
	req = req.WithContext(ctx)
	if req.Method != http.MethodPost {
		return t.shared.RoundTrip(req)
	}
	req.GetBody = nil // with it, net/http below another RoundTripper may send the body twice
	return t.single.RoundTrip(req)
}

// CloseIdleConnections closes idle connections. The Transport remains usable.
func (t *Transport) CloseIdleConnections() {
	(&http.Client{Transport: t.shared}).CloseIdleConnections()
}
