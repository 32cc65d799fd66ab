package aicontenttest

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// A listener numbers the connections, refuses those that a fault wants refused, and knows
// which are open, so that they can be closed.
type listener struct {
	net.Listener
	tls    *tls.Config // nil for plain connections
	http2  bool
	refuse func(number func() int) bool // nil where dialing refuses

	mu     sync.Mutex
	last   int
	closed bool
	open   map[*conn]struct{}
	work   *tracker
}

// Accept returns the next connection that is not refused. TLS is spoken below the connection
// that net/http sees, so that a fault gets at both.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: raw, raw: raw, listener: l, number: l.next()}
		if !l.keep(c) {
			_ = raw.Close()
			continue
		}
		if l.refuse != nil && l.refuse(func() int { return c.number }) {
			c.reset()
			c.leave()
			continue
		}
		if l.tls != nil {
			c.Conn = tls.Server(raw, l.tls)
		}
		if l.http2 {
			c.frames = new(frames)
		}
		return c, nil
	}
}

func (l *listener) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return l.last
}

// keep answers false when the server is closing.
func (l *listener) keep(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || !l.work.enter() {
		return false
	}
	l.open[c] = struct{}{}
	return true
}

// closeIdle closes the connections that wait for a request.
func (l *listener) closeIdle() {
	for _, c := range l.connections() {
		if c.idle.Load() {
			_ = c.Close()
		}
	}
}

// closeAll closes every connection, those taken over by a fault too.
func (l *listener) closeAll() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	for _, c := range l.connections() {
		_ = c.raw.Close()
	}
}

func (l *listener) connections() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make([]*conn, 0, len(l.open))
	for c := range l.open {
		open = append(open, c)
	}
	return open
}

// A conn is one accepted connection; Conn is what net/http reads from, raw what the client dialed.
type conn struct {
	net.Conn
	raw      net.Conn
	number   int
	listener *listener
	idle     atomic.Bool
	left     sync.Once
	frames   *frames // nil over HTTP/1.1
}

func (c *conn) Write(p []byte) (int, error) {
	if c.frames != nil {
		p = c.frames.pass(p)
	}
	return c.Conn.Write(p)
}

// Close forgets the connection as well.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// state follows what net/http does with its connections.
func (c *conn) state(s http.ConnState) {
	c.idle.Store(s == http.StateIdle)
	if s == http.StateClosed || s == http.StateHijacked {
		c.leave()
	}
}

// leave says that no goroutine of net/http's serves the connection any more.
func (c *conn) leave() { c.left.Do(c.listener.work.leave) }

// reset closes so that the client sees the connection reset.
func (c *conn) reset() {
	switch raw := c.raw.(type) {
	case *net.TCPConn:
		_ = raw.SetLinger(0)
	case *pipeConn:
		raw.reset()
	}
	_ = c.raw.Close()
	_ = c.Close()
}

// finish closes in good order: the client sees the end of the stream and no reset, which
// closing would cause as long as something that it sent is unread.
func (c *conn) finish(unread bool) {
	_ = c.CloseWrite()
	if unread {
		_, _ = io.Copy(io.Discard, c.raw)
	}
	_ = c.Close()
}

// CloseWrite ends the stream to the client and leaves the other direction open.
func (c *conn) CloseWrite() error {
	if t, ok := c.Conn.(*tls.Conn); ok {
		_ = t.CloseWrite()
	}
	return c.raw.(interface{ CloseWrite() error }).CloseWrite()
}

// gone is closed when the client has gone away, where that can be known while its body is
// unread; nil elsewhere.
func (c *conn) gone() <-chan struct{} {
	if p, ok := c.raw.(*pipeConn); ok {
		return p.gone()
	}
	return nil
}

// A tracker counts what has to end before a server has ended.
type tracker struct {
	mu     sync.Mutex
	none   sync.Cond
	count  int
	closed bool
}

func newTracker() *tracker {
	t := new(tracker)
	t.none.L = &t.mu
	return t
}

// enter answers false once the server is closing.
func (t *tracker) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.count++
	}
	return !t.closed
}

func (t *tracker) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count--
	if t.count == 0 {
		t.none.Broadcast()
	}
}

// wait lets nothing more enter and returns when all has left.
func (t *tracker) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for t.count > 0 {
		t.none.Wait()
	}
}
