// Package wire sends requests and reads responses. A [Clock] ends an attempt that makes no progress, [Evidence] tells
// whether a byte of its request was written, and gzip is decompressed.
package wire

import (
	"cmp"
	"crypto/tls"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	// idleConns is how many idle connections are kept for one host: a quarter of the files that a process may commonly
	// have open. The 2 of net/http make concurrent callers dial anew.
	idleConns = 256
	// maxHeaderBytes limits the header of a response, with the informational responses before it.
	maxHeaderBytes = 1 << 20
	// A connection that died in silence is noticed after the sum of these two.
	pingAfter   = 15 * time.Second
	pingTimeout = 10 * time.Second
	// dialTimeout applies where the caller's transport has no dialer.
	dialTimeout = 30 * time.Second
)

// Transport is an [http.RoundTripper] that sends each POST on a connection of its own, over HTTP/1.1, and closes it
// afterwards. So nothing is sent on a connection that the server may be closing, and net/http has no reason to repeat a
// request by itself. All other requests share kept-alive connections, over HTTP/2 where the server speaks it.
//
// It is safe for concurrent use.
type Transport struct {
	shared, single http.RoundTripper // single is for POST
	exact          bool              // they are *http.Transports, whose connections count their bytes
	plain          bool              // the caller's transport does not ask for compression
	strays         atomic.Int64      // number of POSTs that belong to no attempt
}

// New returns a Transport that works as base does, or as [http.DefaultTransport] where base is nil. An
// [*http.Transport] is cloned: its TLS, proxy and dial settings apply, and its limits, such as MaxConnsPerHost, apply
// to POST and to the other requests separately. A RoundTripper of another kind is used as it is, and the
// [Evidence] of an attempt knows only its reports through httptrace.
//
// A proxy that would see the header of an http:// request fails it with [ErrClearProxy], unless clearProxy is set.
func New(base http.RoundTripper, clearProxy bool) *Transport {
	base = cmp.Or(base, http.DefaultTransport)
	t, ok := base.(*http.Transport)
	if !ok {
		return &Transport{shared: base, single: base}
	}
	single := clone(t, clearProxy)
	oneRequest(single)
	return &Transport{shared: clone(t, clearProxy), single: single, exact: true, plain: t.DisableCompression}
}

// NewDownload returns a Transport for requests to other hosts, which must not learn who the caller is. It differs from
// that of [New] in two ways: it has no client certificates, and no server name but the URL's. Proxy, dialer and CA
// settings apply. A DialTLSContext function may send anything.
func NewDownload(base http.RoundTripper) *Transport {
	d := New(base, true)
	if t, ok := d.shared.(*http.Transport); ok {
		t.TLSClientConfig.Certificates = nil
		t.TLSClientConfig.GetClientCertificate = nil
		t.TLSClientConfig.ClientSessionCache = nil // a resumed session tells who the caller is, too
		t.TLSClientConfig.ServerName = ""
		d.single = t
	}
	return d
}

// clone returns a copy of t with limits where t has none, and without a proxy that would see a request in clear.
func clone(t *http.Transport, clearProxy bool) *http.Transport {
	c := t.Clone()
	c.MaxIdleConnsPerHost = cmp.Or(c.MaxIdleConnsPerHost, idleConns)
	if http.RoundTripper(t) == http.DefaultTransport && c.MaxIdleConns > 0 {
		c.MaxIdleConns = max(c.MaxIdleConns, idleConns)
	}
	c.DisableCompression = true // net/http would decompress by the header alone
	c.MaxResponseHeaderBytes = cmp.Or(c.MaxResponseHeaderBytes, maxHeaderBytes)
	c.TLSClientConfig = cmp.Or(c.TLSClientConfig, &tls.Config{})
	// net/http turns HTTP/2 off for a transport with a dialer, as c has in any case. By now t's entry tells
	// whether t itself would speak it.
	if c.Protocols == nil {
		c.Protocols = new(http.Protocols)
		c.Protocols.SetHTTP1(true)
		c.Protocols.SetHTTP2(t.TLSNextProto["h2"] != nil)
	}
	// An HTTP/2 implementation from outside of net/http shares its connections with t, and sends no pings.
	c.TLSNextProto = nil
	c.HTTP2 = cmp.Or(c.HTTP2, &http.HTTP2Config{})
	c.HTTP2.SendPingTimeout = cmp.Or(c.HTTP2.SendPingTimeout, pingAfter)
	c.HTTP2.PingTimeout = cmp.Or(c.HTTP2.PingTimeout, pingTimeout)
	countConns(c)
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

// oneRequest makes t open a connection for each request, and speak HTTP/1.1 alone: over HTTP/2, net/http repeats a
// stream after PROTOCOL_ERROR, although the server may have acted.
//
// The server is not told so: after a "Connection: close" it closes right behind an early response, and a TLS
// forwarder in between then resets the client's connection before it has passed the response on.
func oneRequest(t *http.Transport) {
	t.DisableKeepAlives = false
	t.MaxIdleConnsPerHost = -1
	// In place, as the dialers look at it.
	*t.Protocols = http.Protocols{}
	t.Protocols.SetHTTP1(true)
	config := t.TLSClientConfig
	config.NextProtos = []string{"http/1.1"}
	// A resumed session skips these two, so a caller that set them wants full handshakes.
	full := config.VerifyPeerCertificate != nil || config.GetClientCertificate != nil || config.SessionTicketsDisabled
	if config.ClientSessionCache == nil && !full {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
}

// AcceptEncoding returns the header of this name for requests whose responses may be compressed. It is empty for none.
// The caller sets it, because net/http decompresses by the header of the response alone if it asks for gzip itself.
func (t *Transport) AcceptEncoding() string {
	if t.plain {
		return ""
	}
	return "gzip"
}

// RoundTrip implements [http.RoundTripper]. A body that begins as gzip is decompressed while it is read, whatever the
// header says. The first bytes of the body may change Header and ContentLength of the response.
//
// A response of 101 Switching Protocols, which nothing asks for, has no body: its connection is closed. A redirect to
// something other than a URL has no Location. The request of an ended attempt is not sent.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a := attemptOf(req.Context())
	rt := t.shared
	if req.Method == "POST" {
		rt = t.single
		if a == nil {
			t.strays.Add(1)
		}
		// With GetBody, net/http below another RoundTripper could repeat a body that it has read.
		req = req.WithContext(req.Context())
		req.GetBody = nil
	}
	if a == nil {
		return roundTrip(rt, req)
	}
	if err := a.evidence.enter(); err != nil {
		return nil, err
	}
	var to *url.URL
	if t.exact {
		a.clock.connecting()
	} else {
		to = req.URL
		if req.Method == "POST" && req.Body != nil {
			req.Body = &handedOut{req.Body, &a.evidence}
		}
	}
	// A RoundTripper that panics never leaves: its actions are not known.
	resp, err := roundTrip(rt, req)
	a.evidence.leave(to, err)
	return resp, err
}

// roundTrip has rt send req. It changes two kinds of response that [http.Client] cannot pass on, and makes the others
// decompress their bodies.
func roundTrip(rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := rt.RoundTrip(req)
	switch {
	case resp == nil:
		return resp, err
	case resp.StatusCode == 101 && resp.Body != nil:
		resp.Body.Close()
		resp.Body = http.NoBody
	case resp.StatusCode/100 == 3:
		if _, err := req.URL.Parse(resp.Header.Get("Location")); err != nil {
			// http.Client would return an error in place of the response.
			resp.Header = resp.Header.Clone()
			resp.Header.Del("Location")
		}
	}
	decompress(resp)
	return resp, err
}

// CloseIdleConnections closes idle connections. The Transport remains usable.
func (t *Transport) CloseIdleConnections() {
	(&http.Client{Transport: t.shared}).CloseIdleConnections()
}
