package upload

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// Sending is a body on its way in one attempt. For its user it is nil where the body has no file, and where there is
// no body.
type Sending struct {
	body    *Body
	attempt *wire.Watcher
	meter   *Meter
	cancel  context.CancelFunc

	lock   chan struct{} // held during a Read; not a mutex, for which time in a synctest bubble stands still
	left   atomic.Bool   // a Read that did not return in time
	file   *input
	closed bool
	offset int64         // in the file
	parts  io.Reader     // head, file and tail
	tail   *bytes.Reader // the closing delimiter
	failed error         // of each Read to come
}

// Close makes sure that nothing is read from the source any more: a transport may go on reading when it has the
// response. It ends a Read under way, and abandons one that does not return within a moment. A Sending may be closed
// twice.
func (s *Sending) Close() error {
	if s == nil || s.left.Load() {
		return nil
	}
	s.cancel()
	select {
	case s.lock <- struct{}{}:
		s.close()
	case <-time.After(2 * wire.Grace): // A Read that can abandon its source does so before.
		if !s.left.Swap(true) {
			go func() {
				s.lock <- struct{}{}
				s.close()
			}()
		}
	}
	return nil
}

// close ends the use of the file, and gives the lock back.
func (s *Sending) close() {
	if s.file != nil && !s.closed {
		s.file.end()
		s.closed, s.failed = true, io.ErrClosedPipe
	}
	<-s.lock
}

// End is Close for the goroutine of the call, where a panic of the source continues. On a transport's goroutine it
// would end the program.
func (s *Sending) End() {
	_ = s.Close()
	if s != nil && s.file != nil && !s.left.Load() {
		wire.Raise(s.file.panicked)
	}
}

// Complete reports whether the service may have got the body whole: always for a form, and for a multipart body once
// a byte of the closing delimiter was handed to the transport. Without the delimiter no parser accepts the file as
// complete. It does not change after Close.
func (s *Sending) Complete() bool { return s == nil || s.tail.Len() < len(s.body.tail) }

// Read returns bytes of the head, the file or the closing delimiter, never of two of them.
func (s *Sending) Read(p []byte) (int, error) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.failed == nil && s.file != nil {
		s.failed = s.file.ctx.Err() // Close may have left a Read alone
	}
	if s.failed != nil || len(p) == 0 {
		return 0, s.failed
	}
	n, err := s.parts.Read(p)
	s.failed = err
	s.attempt.Taken(s.tail.Len() == 0)
	return n, err
}

// readFile reads a piece of the file. A file that is longer or shorter than it was is an error before the closing
// delimiter: a request must not look complete unless it is.
func (s *Sending) readFile(p []byte) (int, error) {
	n, err := 0, s.meter.At(s.file.ctx, s.offset)
	if s.file.panicked = err; err == nil {
		s.file.direct = s.attempt.Reading()
		n, err = s.file.Read(p)
	}
	s.offset += int64(n)
	switch size := s.body.FileSize; {
	case err != nil && s.file.ctx.Err() != nil:
		return 0, s.file.ctx.Err()
	case size >= 0 && s.offset > size:
		s.offset, err = size, fmt.Errorf("it has more than the %d bytes that were announced", size)
	case err == io.EOF && s.offset < size:
		err = fmt.Errorf("it has fewer than the %d bytes that were announced", size)
	case err == nil || err == io.EOF:
		return n, err
	}
	return 0, s.body.file.readError(s.offset, err)
}
