package network

import (
	"io"
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
	room    int // bytes to take; negative for any number

	readDeadline, writeDeadline deadline
}

func newStream() *stream {
	s := &stream{ended: make(chan struct{}), room: -1}
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
		case s.room == 0:
			return 0, io.EOF
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
		fits := min(pipeBuffer-len(s.data), len(p))
		if s.room >= 0 {
			fits = min(fits, s.room)
			s.room -= fits
		}
		if fits > 0 {
			s.data = append(s.data, p[:fits]...)
			p, n = p[fits:], n+fits
			s.changed.Broadcast()
			continue
		}
		s.changed.Wait()
	}
}

// seal is called by the reader: the stream takes as many more bytes as fit into the buffer now. Then the reader gets
// io.EOF, and the writer waits.
func (s *stream) seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room = pipeBuffer - len(s.data)
	s.changed.Broadcast()
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

// abandon is called by the reader: unread and further bytes are dropped.
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
