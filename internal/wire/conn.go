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
)

// ErrDialedHTTP2 is the error of a POST for which the caller's TLS dialer made an HTTP/2 connection.
var ErrDialedHTTP2 = errors.New("DialTLSContext or DialTLS negotiated HTTP/2, which does not send a POST exactly once: " +
	"offer http/1.1 alone in the NextProtos of the dialer")

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// tlsConn is what net/http takes for a TLS connection: a [*tls.Conn], and since Go 1.27 others like it. None of
// them is ever wrapped, which would hide it.
type tlsConn interface {
	ConnectionState() tls.ConnectionState
}

// setDialers makes t's dialers end, and their connections count. The deprecated Dial and DialTLS become the others.
func setDialers(t *http.Transport, http1 bool) {
	dial := dialFunc(t.DialContext)
	if old := t.Dial; dial == nil && old != nil {
		dial = func(_ context.Context, network, address string) (net.Conn, error) { return old(network, address) }
	}
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	t.DialContext, t.Dial = within(dialTimeout, count(dial)), nil

	dialTLS := dialFunc(t.DialTLSContext)
	if old := t.DialTLS; dialTLS == nil && old != nil {
		dialTLS = func(_ context.Context, network, address string) (net.Conn, error) { return old(network, address) }
	}
	if dialTLS != nil {
		t.DialTLSContext, t.DialTLS = within(dialTimeout+handshakeTimeout, shakeHands(count(dialTLS), http1)), nil
	}
}

// count wraps the connections that dial returns.
func count(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := dial(ctx, network, address)
		if nc == nil || err != nil {
			return nil, err
		}
		if _, ok := nc.(tlsConn); ok {
			return nc, nil
		}
		return &conn{Conn: nc, closed: make(chan struct{})}, nil
	}
}

// shakeHands makes the TLS handshake a part of dialing, which ends, where net/http would make it without a limit. http1
// refuses a connection that speaks HTTP/2.
func shakeHands(dial dialFunc, http1 bool) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := dial(ctx, network, address)
		if c, ok := nc.(interface{ HandshakeContext(context.Context) error }); ok && err == nil {
			err = c.HandshakeContext(ctx)
		}
		if c, ok := nc.(tlsConn); ok && err == nil && http1 && c.ConnectionState().NegotiatedProtocol == "h2" {
			err = ErrDialedHTTP2
		}
		if err != nil && nc != nil {
			nc.Close()
			return nil, err
		}
		return nc, err
	}
}

// within ends dial after limit, also where it does not listen to its context. A connection that comes too late is closed.
func within(limit time.Duration, dial dialFunc) dialFunc {
	type result struct {
		nc  net.Conn
		err error
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		done := make(chan result, 1)
		go func() {
			nc, err := dial(ctx, network, address)
			done <- result{nc, err}
		}()
		select {
		case r := <-done:
			return r.nc, r.err
		case <-ctx.Done():
		}
		go func() {
			if r := <-done; r.nc != nil {
				r.nc.Close()
			}
		}()
		err := ctx.Err()
		if err == context.DeadlineExceeded {
			err = os.ErrDeadlineExceeded
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
}

// conn counts what is written, so that "no byte of the request was sent" is known and not guessed.
type conn struct {
	net.Conn
	written atomic.Int64
	secure  atomic.Bool // it is below TLS
	shared  atomic.Bool // it speaks HTTP/2: one writer serves all requests
	closing atomic.Bool // what follows is TLS's closing alert, and no request
	once    sync.Once
	closed  chan struct{}
}

// Write delays its failure until net/http closes the connection, or for earlyResponse, but not over HTTP/2, where all
// requests of the connection would wait. A server that responds early and closes makes the write fail before its response was read, and net/http would return the failure. Systems that drop
// what was received when the peer resets the connection, as Windows does, lose the response all the same.
func (c *conn) Write(p []byte) (int, error) {
	closing := c.closing.Load()
	if !closing {
		// Before the write, as the response may be read before this goroutine runs again.
		c.written.Add(int64(len(p)))
	}
	n, err := c.Conn.Write(p)
	if !closing {
		c.written.Add(int64(n - len(p)))
	}
	if err != nil && !c.closing.Load() && !c.shared.Load() && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		timer := time.NewTimer(earlyResponse)
		defer timer.Stop()
		select {
		case <-c.closed:
		case <-timer.C:
		}
	}
	return n, err
}

// SetWriteDeadline is what crypto/tls calls before the alert that it sends when it closes a connection.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.closing.Store(c.secure.Load())
	return c.Conn.SetWriteDeadline(t)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// unwrap returns the counting connection below nc, or nil. HTTP/2 shares a connection, whose count says nothing of one
// request.
func unwrap(nc net.Conn) (c *conn, shared bool) {
	if t, ok := nc.(tlsConn); ok {
		shared = t.ConnectionState().NegotiatedProtocol == "h2"
	}
	secure := false
	for {
		t, ok := nc.(*tls.Conn)
		if !ok {
			break
		}
		// An https:// proxy makes two layers.
		nc, secure = t.NetConn(), true
	}
	if c, _ = nc.(*conn); c != nil {
		c.secure.Store(secure)
		c.shared.Store(shared)
	}
	if shared {
		return nil, true
	}
	return c, false
}
