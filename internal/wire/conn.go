package wire

//lint:file-ignore SA1019 Callers may have set the deprecated Dial and DialTLS.

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// earlyResponse is how long a failed write waits for a response that the server may have sent before.
const earlyResponse = time.Second

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// tlsConn is a TLS connection as net/http recognizes it: a [*tls.Conn], and since Go 1.27 others like it. None of
// them is ever wrapped, which would hide it.
type tlsConn interface {
	ConnectionState() tls.ConnectionState
}

// countConns makes the connections that t dials count. A dialer that the caller has not set ends after dialTimeout.
func countConns(t *http.Transport) {
	dial := dialer(t.DialContext, t.Dial)
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	t.DialContext = countingDialer(dial, t.Protocols)
	if dial = dialer(t.DialTLSContext, t.DialTLS); dial != nil {
		t.DialTLSContext = countingDialer(dial, t.Protocols)
	}
}

// dialer returns dial, or the deprecated old in its place, or nil.
func dialer(dial dialFunc, old func(network, address string) (net.Conn, error)) dialFunc {
	if dial == nil && old != nil {
		return func(_ context.Context, network, address string) (net.Conn, error) { return old(network, address) }
	}
	return dial
}

// countingDialer makes the connections of dial count. It leaves TLS connections alone, because net/http must recognize
// them, and connections that requests share, because their count says nothing about one request.
func countingDialer(dial dialFunc, allowed *http.Protocols) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := dial(ctx, network, address)
		if _, secure := nc.(tlsConn); err != nil || nc == nil || secure || allowed.UnencryptedHTTP2() {
			return nc, err
		}
		return &conn{Conn: nc, over: make(chan struct{})}, nil
	}
}

// conn counts the bytes written for an attempt: "no byte of the request was sent" must be known. TLS's closing alert
// counts too, so a TLS connection that ends before the request may look used.
type conn struct {
	net.Conn
	sent atomic.Pointer[counter] // of the attempt that has the connection; nil before the first
	once sync.Once
	over chan struct{} // closed when no more of a response can follow
}

// counter is the number of bytes written for an attempt. Connections outlive the attempt, so it is allocated by itself:
// they keep nothing else alive. A nil counter is at 0.
type counter struct{ n atomic.Int64 }

// sealed is the state of a counter at which no byte may be written any more: far below 0, whatever is added to it.
const sealed = math.MinInt64 / 2

// seal refuses all bytes from now on if the counter is at 0, and reports whether it is.
func (c *counter) seal() bool { return c != nil && c.n.CompareAndSwap(0, sealed) }

func (c *counter) bytes() int64 {
	if c == nil {
		return 0
	}
	return c.n.Load()
}

// Write delays a failure until no more of a response can follow, for earlyResponse at most: a server that responds
// early and closes makes the write fail before its response was read, and net/http would return the failure. Systems
// that drop received bytes when the peer resets the connection, as Windows does, lose the response all the same.
func (c *conn) Write(p []byte) (int, error) {
	sent := c.sent.Load()
	if sent == nil {
		return c.Conn.Write(p)
	}
	// Before the write, as the response may be read before this goroutine runs again.
	if sent.n.Add(int64(len(p))) < 0 {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Write(p)
	sent.n.Add(int64(n - len(p)))
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

// SetWriteDeadline lets no failed write wait any more: crypto/tls sets a deadline before its closing alert, net/http
// sets none. If that changes, a connection that the server has closed takes a second longer to end.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.end()
	return c.Conn.SetWriteDeadline(t)
}

func (c *conn) Close() error {
	c.end()
	return c.Conn.Close()
}

func (c *conn) end() { c.once.Do(func() { close(c.over) }) }

// counting returns the connection below nc that counts, or nil. Requests share an HTTP/2 connection, so its count says
// nothing about one of them.
func counting(nc net.Conn) *conn {
	if secure, ok := nc.(tlsConn); ok && secure.ConnectionState().NegotiatedProtocol == "h2" {
		return nil
	}
	if secure, ok := nc.(*tls.Conn); ok {
		// An https:// proxy makes two layers.
		return counting(secure.NetConn())
	}
	c, _ := nc.(*conn)
	return c
}
