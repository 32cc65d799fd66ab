// Package wire sends requests over connections that know what was written to them, on clocks that know whether an
// attempt still moves.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// idleConns is how many idle connections are kept for one host. The 2 of net/http make concurrent callers dial anew.
	idleConns = 256
	// maxHeaderBytes limits the header of a response, with the informational responses before it.
	maxHeaderBytes = 1 << 20
	// A connection that died in silence is noticed after the sum of these two.
	pingAfter   = 15 * time.Second
	pingTimeout = 10 * time.Second
)

// ErrClearProxy is the error of a request whose Authorization header a proxy would see.
var ErrClearProxy = errors.New("a proxy would see the API key of an http:// base URL; use https://, or name the host in NO_PROXY")

// Transport is an [http.RoundTripper] that sends each POST on a connection of its own, over HTTP/1.1, and closes it
// afterwards. So nothing is sent on a connection that the server may be closing, and net/http has no reason to repeat a
// request by itself. All other requests share kept-alive connections, over HTTP/2 where the server speaks it.
//
// It is safe for concurrent use.
type Transport struct {
	other    http.RoundTripper // used for all requests where base was no *http.Transport
	shared   *http.Transport
	single   *http.Transport // for POST
	download *http.Transport
}

// New returns a Transport that works as base does, or as [http.DefaultTransport] where base is nil. An [*http.Transport] is
// cloned: its TLS, proxy and dial settings hold, and its limits, such as MaxConnsPerHost, hold for POST and for the
// other requests separately. A RoundTripper of another kind is used as it is.
//
// A proxy that would see the header of an http:// request fails it with [ErrClearProxy], unless clearProxy is set.
func New(base http.RoundTripper, clearProxy bool) *Transport {
	std := base == nil
	if std {
		base = http.DefaultTransport
	}
	t, ok := base.(*http.Transport)
	if !ok {
		return &Transport{other: base}
	}
	shared := clone(t)
	if shared.MaxIdleConnsPerHost == 0 {
		shared.MaxIdleConnsPerHost = idleConns
	}
	if std && shared.MaxIdleConns > 0 {
		shared.MaxIdleConns = max(shared.MaxIdleConns, idleConns)
	}
	setDialers(shared, false)
	download := shared.Clone()
	anonymous(download)
	single := clone(t)
	oneRequest(single)
	if !clearProxy {
		shared.Proxy = encrypted(shared.Proxy)
		single.Proxy = encrypted(single.Proxy)
	}
	return &Transport{shared: shared, single: single, download: download}
}

// clone returns a copy of t with limits where t has none.
func clone(t *http.Transport) *http.Transport {
	c := t.Clone()
	if c.TLSHandshakeTimeout == 0 {
		c.TLSHandshakeTimeout = handshakeTimeout
	}
	if c.MaxResponseHeaderBytes == 0 {
		c.MaxResponseHeaderBytes = maxHeaderBytes
	}
	if c.TLSClientConfig == nil {
		c.TLSClientConfig = &tls.Config{}
	}
	c.OnProxyConnectResponse = nameProxy(c.OnProxyConnectResponse)
	// net/http turns HTTP/2 off for a transport that has a dialer, as c has in any case. By now t's entry tells
	// whether t itself would speak it.
	if c.Protocols == nil {
		c.Protocols = new(http.Protocols)
		c.Protocols.SetHTTP1(true)
		c.Protocols.SetHTTP2(t.TLSNextProto["h2"] != nil)
	}
	// An HTTP/2 implementation from outside of net/http shares its connections with t, and sends no pings.
	c.TLSNextProto = nil
	if c.HTTP2 == nil {
		c.HTTP2 = new(http.HTTP2Config)
	}
	if c.HTTP2.SendPingTimeout == 0 {
		c.HTTP2.SendPingTimeout = pingAfter
	}
	if c.HTTP2.PingTimeout == 0 {
		c.HTTP2.PingTimeout = pingTimeout
	}
	return c
}

// oneRequest makes t open a connection for each request, and speak HTTP/1.1 alone: over HTTP/2 net/http repeats streams
// that were reset with PROTOCOL_ERROR, which does not prove that the server did not act.
func oneRequest(t *http.Transport) {
	t.DisableKeepAlives = true
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.ForceAttemptHTTP2 = false
	config := t.TLSClientConfig
	config.NextProtos = []string{"http/1.1"}
	// A resumed session skips these two, so whoever set them wants full handshakes.
	if config.ClientSessionCache == nil && config.VerifyPeerCertificate == nil && config.GetClientCertificate == nil && !config.SessionTicketsDisabled {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	setDialers(t, true)
}

// anonymous takes from t what tells a server who the caller is. A session that was resumed would tell it too. The URL's host
// is not the one that the caller pinned a server name for.
func anonymous(t *http.Transport) {
	t.TLSClientConfig.Certificates = nil
	t.TLSClientConfig.GetClientCertificate = nil
	t.TLSClientConfig.ClientSessionCache = nil
	t.TLSClientConfig.ServerName = ""
}

// nameProxy makes the error of a proxy that refuses a tunnel say which proxy and why; net/http has the reason alone. The
// caller's hook, which may be nil, comes first.
func nameProxy(users connectHook) connectHook {
	return func(ctx context.Context, proxy *url.URL, req *http.Request, resp *http.Response) error {
		if users != nil {
			if err := users(ctx, proxy, req, resp); err != nil {
				return err
			}
		}
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		status := strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", http.StatusText(resp.StatusCode)))
		return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: fmt.Errorf("the proxy %s refused to connect to %s: %s", proxy.Host, req.Host, status)}
	}
}

type connectHook = func(context.Context, *url.URL, *http.Request, *http.Response) error

// encrypted returns proxy, which may be nil, without the proxies that would see a request in clear.
func encrypted(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	if proxy == nil {
		return nil
	}
	return func(req *http.Request) (*url.URL, error) {
		u, err := proxy(req)
		if err == nil && u != nil && req.URL.Scheme == "http" {
			return nil, ErrClearProxy
		}
		return u, err
	}
}

// RoundTrip implements [http.RoundTripper]. A response of 101 Switching Protocols, which nothing asks for, has no body: its
// connection is closed. A redirect to what is not a URL has no Location.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var rt http.RoundTripper = t.shared
	switch {
	case t.other != nil:
		rt = t.other
		if req.Method == http.MethodPost && req.GetBody != nil {
			// Without it no net/http below can repeat a body that it has read.
			once := *req
			once.GetBody = nil
			req = &once
		}
	case req.Method == http.MethodPost:
		rt = t.single
	}
	if a, ok := req.Context().Value(attemptKey{}).(*Attempt); ok && t.Exact() {
		a.connecting()
	}
	return tamed(rt, req)
}

// tamed is rt.RoundTrip without the two kinds of response that http.Client cannot pass on.
func tamed(rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := rt.RoundTrip(req)
	if err == nil && resp != nil && resp.StatusCode == http.StatusSwitchingProtocols && resp.Body != nil {
		resp.Body.Close()
		resp.Body = http.NoBody
	}
	if err == nil && resp != nil && resp.StatusCode/100 == 3 {
		if _, bad := req.URL.Parse(resp.Header.Get("Location")); bad != nil {
			// http.Client would return an error in place of the response.
			resp.Header = resp.Header.Clone()
			resp.Header.Del("Location")
		}
	}
	return resp, err
}

// CloseIdleConnections closes the connections that are not in use. The Transport remains usable.
func (t *Transport) CloseIdleConnections() {
	if t.Exact() {
		t.shared.CloseIdleConnections()
		t.download.CloseIdleConnections()
	} else if c, ok := t.other.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Exact reports whether the connections are the Transport's, so that an [Attempt] knows what was written. With a
// RoundTripper that is no [*http.Transport], Attempt knows what it is told through httptrace.
func (t *Transport) Exact() bool { return t.other == nil }

// Download returns a RoundTripper for requests to other hosts that must not learn who the caller is: it has no client
// certificates, and no server name but the URL's. Proxy, dialer and CA settings hold; what a DialTLSContext function sends
// is its affair. A RoundTripper that is no [*http.Transport] is used as it is.
func (t *Transport) Download() http.RoundTripper {
	if t.Exact() {
		return downloads{t.download}
	}
	return downloads{t.other}
}

// downloads is the transport of requests without the key.
type downloads struct{ rt http.RoundTripper }

func (d downloads) RoundTrip(req *http.Request) (*http.Response, error) { return tamed(d.rt, req) }
