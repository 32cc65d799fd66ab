package network

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A stream is one direction of a connection.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte
	err     error // that the reader gets after the data
	lost    error // that the writer gets
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

// end is called by the writer: the reader gets err after the data.
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

// abandon is called by the reader: what is unread or still sent is dropped.
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

// A deadline is guarded by its stream's lock. The clock decides whether it has passed; the timer only
// wakes the waiting goroutine.
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
