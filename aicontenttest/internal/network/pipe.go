package network

import (
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// pipeBuffer is how many unread bytes a connection in memory holds, as a socket's buffers would.
const pipeBuffer = 64 << 10

// A pipeListener accepts connections in memory. It waits on channels and condition variables only, which
// testing/synctest counts as durably blocked.
type pipeListener struct {
	addr    pipeAddr
	arrived chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

type pipeAddr string

func (pipeAddr) Network() string  { return "memory" }
func (a pipeAddr) String() string { return string(a) }

func newPipeListener(addr string) *pipeListener {
	return &pipeListener{addr: pipeAddr(addr), arrived: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.arrived:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return l.addr }

// dial connects to the server in memory. No other address can be reached.
func (n *Network) dial(ctx context.Context, addr string) (net.Conn, error) {
	refused := &net.OpError{Op: "dial", Net: "memory", Addr: pipeAddr(addr), Err: syscall.ECONNREFUSED}
	if addr != n.pipes.addr.String() {
		return nil, refused
	}
	if n.config.Refuse() {
		return nil, refused
	}
	client, server := newPipe(n.pipes.addr)
	select {
	case n.pipes.arrived <- server:
		return client, nil
	case <-n.pipes.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A pipeConn is one end of a connection in memory.
type pipeConn struct {
	in, out *stream
	addr    pipeAddr
}

func newPipe(addr pipeAddr) (client, server *pipeConn) {
	up, down := newStream(), newStream()
	return &pipeConn{in: down, out: up, addr: addr}, &pipeConn{in: up, out: down, addr: addr}
}

func (c *pipeConn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *pipeConn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close ends both directions. The peer can still read earlier bytes.
func (c *pipeConn) Close() error {
	c.out.end(io.EOF)
	c.in.abandon()
	return nil
}

// CloseWrite ends the direction to the peer.
func (c *pipeConn) CloseWrite() error {
	c.out.end(io.EOF)
	return nil
}

// reset ends both directions and drops unread bytes. The direction from the peer ends first, so that a writing peer
// gets the reset instead of the error of a connection closed by itself.
func (c *pipeConn) reset() {
	c.in.reset()
	c.out.reset()
}

func (c *pipeConn) LocalAddr() net.Addr  { return c.addr }
func (c *pipeConn) RemoteAddr() net.Addr { return c.addr }

func (c *pipeConn) SetDeadline(t time.Time) error {
	c.in.readDeadline.set(c.in, t)
	c.out.writeDeadline.set(c.out, t)
	return nil
}

func (c *pipeConn) SetReadDeadline(t time.Time) error {
	c.in.readDeadline.set(c.in, t)
	return nil
}

func (c *pipeConn) SetWriteDeadline(t time.Time) error {
	c.out.writeDeadline.set(c.out, t)
	return nil
}
