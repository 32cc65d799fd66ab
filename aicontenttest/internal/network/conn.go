package network

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// A Conn is an accepted connection. net/http uses the embedded Conn. Under TLS, raw is the connection below it.
type Conn struct {
	net.Conn

	raw      net.Conn
	listener *listener
	idle     atomic.Bool
	left     sync.Once
}

// connOf returns the connection of a request.
func connOf(r *http.Request) *Conn { return r.Context().Value(connKey{}).(*Conn) }

// Close also removes the connection from the listener.
func (c *Conn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// state follows the state that net/http reports.
func (c *Conn) state(s http.ConnState) {
	c.idle.Store(s == http.StateIdle)
	if s == http.StateClosed || s == http.StateHijacked {
		c.leave()
	}
}

// leave says that net/http no longer serves the connection.
func (c *Conn) leave() { c.left.Do(c.listener.work.leave) }

// reset closes the connection so that the client sees ECONNRESET.
func (c *Conn) reset() {
	switch raw := c.raw.(type) {
	case *net.TCPConn:
		_ = raw.SetLinger(0)
	case *pipeConn:
		raw.reset()
	}
	_ = c.raw.Close()
	_ = c.Close()
}

// CloseWrite ends the stream to the client and leaves the other direction open.
func (c *Conn) CloseWrite() error {
	if t, ok := c.Conn.(*tls.Conn); ok {
		_ = t.CloseWrite()
	}
	return c.raw.(interface{ CloseWrite() error }).CloseWrite()
}

// gone is closed when the client has closed its end. It is nil, and so never ready, where that cannot be
// told while the request body is unread.
func (c *Conn) gone() <-chan struct{} {
	if p, ok := c.raw.(*pipeConn); ok {
		return p.in.ended
	}
	return nil
}
