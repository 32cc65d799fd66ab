package network

import (
	"crypto/tls"
	"net"
	"sync"
)

// A listener numbers connections, refuses some, and keeps the open ones.
type listener struct {
	net.Listener
	tls    *tls.Config // nil for plain connections
	slow   bool        // keep the buffer of the system small
	refuse func(connection int) bool
	work   *tracker

	mu     sync.Mutex
	last   int
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
		if p, ok := raw.(*pipeConn); ok {
			c.Number = p.number // was refused or not when it was dialed
		} else {
			c.Number = l.next()
		}
		if !l.keep(c) {
			_ = raw.Close()
			continue
		}
		if _, ok := raw.(*pipeConn); !ok && l.refuse(c.Number) {
			c.reset()
			c.leave()
			continue
		}
		if t, ok := raw.(*net.TCPConn); ok && l.slow {
			_ = t.SetReadBuffer(pipeBuffer)
		}
		if l.tls != nil {
			c.Conn = tls.Server(raw, l.tls)
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

// closeAll closes every connection, even one that a fault has taken over.
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
