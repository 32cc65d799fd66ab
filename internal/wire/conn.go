package wire

//lint:file-ignore SA1019 Callers may have set the deprecated Dial and DialTLS.

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	dialTimeout      = 30 * time.Second
	handshakeTimeout = 10 * time.Second
	// earlyResponse is how long a failed write waits for the response that the server may have sent before.
	earlyResponse = time.Second
	// maxAlert is the most bytes of TLS's closing alert: 69 with the longest of Go's ciphers, 24 to 31 with all that it
	// offers by default, and some more below an https:// proxy. A request has 100 and more.
	maxAlert = 99
)

// ErrDialedHTTP2 is the error of a request for which the caller's TLS dialer made an HTTP/2 connection, although it
// is a POST or HTTP/2 is turned off.
var ErrDialedHTTP2 = errors.New("DialTLSContext or DialTLS negotiated HTTP/2, which a POST never uses, " +
	"nor anything else without ForceAttemptHTTP2: offer http/1.1 alone in the NextProtos of the dialer")

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// tlsConn is what net/http takes for a TLS connection: a [*tls.Conn], and since Go 1.27 others like it. None of
// them is ever wrapped, which would hide it.
type tlsConn interface {
	ConnectionState() tls.ConnectionState
}

// setDialers makes t's dialers end, and their connections count.
func setDialers(t *http.Transport) {
	dial := dialer(t.DialContext, t.Dial)
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	t.DialContext = within(dialTimeout, dial, t.Protocols)
	if dial = dialer(t.DialTLSContext, t.DialTLS); dial != nil {
		t.DialTLSContext = within(dialTimeout+handshakeTimeout, dial, t.Protocols)
	}
}

// dialer returns dial, or the deprecated old in its place, or nil.
func dialer(dial dialFunc, old func(network, address string) (net.Conn, error)) dialFunc {
	if dial == nil && old != nil {
		return func(_ context.Context, network, address string) (net.Conn, error) { return old(network, address) }
	}
	return dial
}

// within ends dial after limit, even if it ignores its context. A connection that comes too late is
// closed.
func within(limit time.Duration, dial dialFunc, allowed *http.Protocols) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, os.ErrDeadlineExceeded)
		defer cancel()
		var nc net.Conn
		var err error
		done := make(chan struct{})
		go func() {
			if nc, err = dial(ctx, network, address); err == nil && nc != nil {
				nc, err = ready(ctx, nc, allowed)
			}
			select {
			case done <- struct{}{}:
			case <-ctx.Done():
				if nc != nil {
					nc.Close()
				}
			}
		}()
		select {
		case <-done:
			return nc, err
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: network, Err: context.Cause(ctx)}
		}
	}
}

// ready makes nc count or, where it speaks TLS, makes the handshake a part of dialing, which ends: net/http would make
// it without a limit.
func ready(ctx context.Context, nc net.Conn, allowed *http.Protocols) (net.Conn, error) {
	secure, ok := nc.(tlsConn)
	switch {
	case !ok && allowed.UnencryptedHTTP2():
		// The count of a connection that requests share says nothing of one of them.
		return nc, nil
	case !ok:
		return &conn{Conn: nc, closed: make(chan struct{})}, nil
	}
	var err error
	if c, ok := nc.(interface{ HandshakeContext(context.Context) error }); ok {
		err = c.HandshakeContext(ctx)
	}
	if err == nil && !allowed.HTTP2() && secure.ConnectionState().NegotiatedProtocol == "h2" {
		err = ErrDialedHTTP2
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return nc, nil
}

// conn counts what is written, so that "no byte of the request was sent" is known and not guessed.
type conn struct {
	net.Conn
	sent    atomic.Pointer[atomic.Int64] // of the attempt that has the connection; nil before the first
	closing atomic.Bool                  // TLS is about to write its closing alert
	once    sync.Once
	closed  chan struct{}
}

// SetWriteDeadline announces TLS's closing alert, which is no part of a request: crypto/tls sets a deadline for that
// alone, and net/http none. Where the caller sets one, through httptrace, what follows is too long for an alert.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.closing.Store(true)
	return c.Conn.SetWriteDeadline(t)
}

// Write counts what is a part of a request.
//
// It delays a failure until net/http closes the connection, or for earlyResponse: a server that responds early and
// closes makes the write fail before its response was read, and net/http would return the failure. Systems that drop
// what was received when the peer resets the connection, as Windows does, lose the response all the same.
func (c *conn) Write(p []byte) (int, error) {
	alert := c.closing.Swap(false) && len(p) <= maxAlert
	sent := c.sent.Load()
	if sent == nil || alert {
		return c.Conn.Write(p)
	}
	// Before the write, as the response may be read before this goroutine runs again.
	sent.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	sent.Add(int64(n - len(p)))
	if err != nil {
		select {
		case <-c.closed:
		case <-time.After(earlyResponse):
		}
	}
	return n, err
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// countInto makes the counting connection below nc add to sent, and reports whether there is one. HTTP/2 shares a
// connection, whose count says nothing of one request.
func countInto(sent *atomic.Int64, nc net.Conn) bool {
	if secure, ok := nc.(tlsConn); ok && secure.ConnectionState().NegotiatedProtocol == "h2" {
		return false
	}
	if secure, ok := nc.(*tls.Conn); ok {
		// An https:// proxy makes two layers.
		return countInto(sent, secure.NetConn())
	}
	c, counts := nc.(*conn)
	if counts {
		c.sent.Store(sent)
	}
	return counts
}
