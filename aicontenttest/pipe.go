package aicontenttest

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipeBuffer is how much a peer in memory may have sent unread, as sockets allow too.
const pipeBuffer = 64 << 10

// A pipeListener accepts connections that are made in memory. All waiting in it is on channels
// and condition variables, so that a bubble of testing/synctest knows it for waiting.
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

// dialPipe connects to the server in memory. Only its own address is there to be reached.
func (s *Server) dialPipe(ctx context.Context, addr string) (net.Conn, error) {
	l := s.network.pipes
	refused := &net.OpError{Op: "dial", Net: "memory", Addr: pipeAddr(addr), Err: syscall.ECONNREFUSED}
	if addr != l.addr.String() || s.refuseConnection(s.listener.next) {
		return nil, refused
	}
	client, server := newPipe(l.addr)
	select {
	case l.arrived <- server:
		return client, nil
	case <-l.closed:
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

// Close ends both directions in good order: the peer may read what was sent before.
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

// reset ends both directions at once: what the peer has not read yet is lost to it.
func (c *pipeConn) reset() {
	c.out.reset()
	c.in.reset()
}

// gone is closed when the peer has closed its end.
func (c *pipeConn) gone() <-chan struct{} { return c.in.ended }

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

// A stream is one direction of a connection.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte
	err     error // what the reader gets after the data
	lost    error // what the writer gets
	ended   chan struct{}

	readDeadline, writeDeadline deadline
}

func newStream() *stream {
	s := &stream{ended: make(chan struct{})}
	s.changed.L = &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readDeadline.passed():
			return 0, os.ErrDeadlineExceeded
		case len(s.data) > 0:
			n := copy(p, s.data)
			s.data = s.data[n:]
			s.changed.Broadcast()
			return n, nil
		case s.err != nil:
			return 0, s.err
		case len(p) == 0:
			return 0, nil
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.lost != nil:
			return n, s.lost
		case s.writeDeadline.passed():
			return n, os.ErrDeadlineExceeded
		case len(p) == 0:
			return n, nil
		}
		if room := min(pipeBuffer-len(s.data), len(p)); room > 0 {
			s.data = append(s.data, p[:room]...)
			p, n = p[room:], n+room
			s.changed.Broadcast()
			continue
		}
		s.changed.Wait()
	}
}

var errPipeClosed = &net.OpError{Op: "write", Net: "memory", Err: syscall.EPIPE}

// end is the writer's: the reader gets err after the data.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		close(s.ended)
	}
	if s.lost == nil {
		s.lost = net.ErrClosed
	}
	s.changed.Broadcast()
}

// abandon is the reader's: nothing that is still sent arrives.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = net.ErrClosed
		close(s.ended)
	}
	if s.lost == nil {
		s.lost = errPipeClosed
	}
	s.data = nil
	s.changed.Broadcast()
}

func (s *stream) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := &net.OpError{Op: "read", Net: "memory", Err: syscall.ECONNRESET}
	if s.err == nil {
		close(s.ended)
	}
	s.data, s.err, s.lost = nil, err, err
	s.changed.Broadcast()
}

// A deadline is guarded by its stream's lock. The clock decides whether it has passed; the
// timer only wakes who waits.
type deadline struct {
	at    time.Time // zero for none
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) set(s *stream, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.at, d.timer = t, nil
	if !t.IsZero() {
		d.timer = time.AfterFunc(time.Until(t), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
	}
}
