package network

import (
	"crypto/tls"
	"net"
	"sync"
)

// A listener refuses some connections and keeps the open ones.
type listener struct {
	net.Listener
	tls    *tls.Config // nil for plain connections
	slow   bool        // keep the buffer of the system small
	refuse func() bool
	work   *tracker

	mu     sync.Mutex
	closed bool
	open   map[*Conn]struct{}
}

// Accept returns the next connection, unless it is refused. The Conn handles TLS below net/http, so that a fault can
// reach the connection on either side of it.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: raw, raw: raw, listener: l}
		if !l.keep(c) {
			_ = raw.Close()
			continue
		}
		// In memory, a connection is refused when it is dialed.
		if t, ok := raw.(*net.TCPConn); ok && l.refuse() {
			c.reset()
			c.leave()
			continue
		} else if ok && l.slow {
			_ = t.SetReadBuffer(pipeBuffer)
		}
		if l.tls != nil {
			c.Conn = tls.Server(raw, l.tls)
		}
		return c, nil
	}
}

// keep returns false when the network is closing.
func (l *listener) keep(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || !l.work.enter() {
		return false
	}
	l.open[c] = struct{}{}
	return true
}

func (l *listener) closeIdle() {
	for _, c := range l.connections() {
		if c.idle.Load() {
			_ = c.Close()
		}
	}
}

// closeAll closes all connections, also after a fault has taken over.
func (l *listener) closeAll() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	for _, c := range l.connections() {
		_ = c.raw.Close()
	}
}

func (l *listener) connections() []*Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make([]*Conn, 0, len(l.open))
	for c := range l.open {
		open = append(open, c)
	}
	return open
}
