package upload

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Clock is told what an attempt waits for.
type Clock struct {
	Reading func()          // the source has to give bytes from now on
	Taken   func(done bool) // the transport was handed bytes of the body, perhaps the last
}

// Sending is a body on its way in one attempt. For its user it is nil where the body has no file, and where there is
// no body.
type Sending struct {
	body  *Body
	clock Clock
	file  *pipe // nil for a form, and for a file that could not be opened

	mu     sync.Mutex    // held during a Read
	offset int64         // in the file
	parts  io.Reader     // head, file and tail
	tail   *bytes.Reader // the closing delimiter
	failed error         // of each Read to come
}

// Close makes sure that nothing is read from the source any more: a transport may go on reading when it has the
// response. It ends a Read under way, and leaves behind what does not return within a moment. A Sending may be closed
// twice.
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

// Complete reports whether the service may have got the body whole: always for a form, and for a multipart body once
// a byte of the closing delimiter was handed to the transport. Without the delimiter no parser accepts the file as
// complete. It does not change after Close.
func (s *Sending) Complete() bool { return s == nil || s.tail.Len() < len(s.body.tail) }

// Read returns bytes of the head, the file or the closing delimiter, never of two of them.
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

// readFile reads a piece of the file. A file that is longer or shorter than it was is an error before the closing
// delimiter: a request must not look complete unless it is.
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
