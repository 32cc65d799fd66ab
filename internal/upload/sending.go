package upload

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Clock holds the callbacks that tell a stall timer which side the attempt is waiting for.
type Clock struct {
	Reading func()          // the attempt waits for the source
	Taken   func(done bool) // the transport has taken bytes; done after the last
}

// Sending is the body of one attempt. Callers have a nil Sending for a form and for a request without a body.
type Sending struct {
	body  *Body
	clock Clock
	file  *pipe // nil for a form, or if the file could not be opened

	mu     sync.Mutex    // held during a Read
	offset int64         // in the file
	parts  io.Reader     // head, file and tail
	tail   *bytes.Reader // the closing delimiter
	failed error         // returned by each further Read
}

// Close ends the reading from the source, because a transport may still read after it has the response. A running Read
// fails; if the source does not return within [Grace], Close abandons it. Close may be called again.
func (s *Sending) Close() error {
	if s == nil || s.file == nil {
		return nil
	}
	s.file.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = io.ErrClosedPipe
	return nil
}

// Complete reports whether the service may have the complete body. A form always counts as complete. A multipart body
// is complete once the transport has taken a byte of the closing delimiter: without it, no parser accepts the file.
// The result does not change after Close.
func (s *Sending) Complete() bool { return s == nil || s.tail.Len() < len(s.body.tail) }

// Read returns bytes of either the head, the file or the closing delimiter.
func (s *Sending) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && s.file != nil {
		s.failed = s.file.ctx.Err()
	}
	if s.failed != nil || len(p) == 0 {
		return 0, s.failed
	}
	n, err := s.parts.Read(p)
	s.failed = err
	s.clock.Taken(s.tail.Len() == 0)
	return n, err
}

// readFile reads a piece of the file. If the file has grown or shrunk, it fails before the closing delimiter, so that
// the request never looks complete.
func (s *Sending) readFile(p []byte) (int, error) {
	s.file.sent.Store(s.offset)
	s.clock.Reading()
	n, err := s.file.Read(p)
	s.offset += int64(n)
	switch size := s.body.FileSize; {
	case err != nil && s.file.ctx.Err() != nil:
		return 0, s.file.ctx.Err()
	case size >= 0 && s.offset > size:
		s.offset, err = size, fmt.Errorf("it has more than the %d bytes that were announced", size)
		s.file.sent.Store(size)
	case err == io.EOF && s.offset < size:
		err = fmt.Errorf("it has fewer than the %d bytes that were announced", size)
	case err == nil || err == io.EOF:
		return n, err
	}
	return 0, s.body.file.readError(s.offset, err)
}
