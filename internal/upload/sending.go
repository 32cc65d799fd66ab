package upload

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// Sending is a body on its way in one attempt.
type Sending struct {
	body    *Body // nil for a form
	attempt *wire.Attempt
	meter   *Meter
	ctx     context.Context
	cancel  context.CancelCauseFunc

	delimiter atomic.Bool // a byte of the closing delimiter was handed over

	lock   chan struct{} // held during a Read; time in a synctest bubble passes while a channel is waited for, unlike a mutex
	rest   []byte        // of the head or tail, whichever is being read
	file   io.Reader     // nil when it has been read
	done   func()        // ends the use of the source
	offset int64         // in the file
	tailed bool          // rest is of the tail
	ended  bool
	failed error
}

// End makes sure that nothing is read from the source any more: a transport may go on reading when it has the response.
// It ends a Read under way, and abandons one that does not return within a moment. A Sending may be ended twice.
func (s *Sending) End() {
	if s.body == nil {
		return
	}
	s.cancel(io.ErrClosedPipe)
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if !s.ended {
		s.ended = true
		s.done()
	}
}

// Complete reports whether the service may have got the body whole: always for a form, and for a multipart body once a byte
// of the closing delimiter was handed to the transport. Without the delimiter no parser takes the file for complete.
func (s *Sending) Complete() bool { return s.body == nil || s.delimiter.Load() }

// requestBody is what the transport reads and closes.
type requestBody struct{ s *Sending }

func (b requestBody) Read(p []byte) (int, error) { return b.s.read(p) }

func (b requestBody) Close() error {
	b.s.End()
	return nil
}

func (s *Sending) read(p []byte) (int, error) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	switch {
	case s.ended:
		return 0, io.ErrClosedPipe
	case s.failed != nil:
		return 0, s.failed
	case len(p) == 0:
		return 0, nil
	}
	for len(s.rest) == 0 {
		if s.file != nil {
			n, err := s.readFile(p)
			s.failed = err
			if n > 0 {
				s.attempt.Taken(false)
				s.meter.At(s.offset)
			}
			if n > 0 || err != nil {
				return n, err
			}
			continue
		}
		if s.tailed {
			return 0, io.EOF
		}
		s.rest, s.tailed = s.body.tail, true
		s.delimiter.Store(true)
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	s.attempt.Taken(s.tailed && len(s.rest) == 0)
	return n, nil
}

// readFile reads a piece of the file. At its end it returns nothing and sets s.file to nil. A file that is longer or
// shorter than it was is an error before the closing delimiter: a request must not look complete unless it is.
func (s *Sending) readFile(p []byte) (int, error) {
	size := s.body.fileSize
	if size >= 0 {
		// At the end one byte more is asked for.
		p = p[:min(int64(len(p)), max(size-s.offset, 1))]
	}
	s.attempt.Reading()
	n, err := s.file.Read(p)
	before := s.offset
	s.offset += int64(n)
	switch {
	case err != nil && s.ctx.Err() != nil:
		return 0, context.Cause(s.ctx)
	case size >= 0 && s.offset > size:
		return 0, s.body.readError(before, fmt.Errorf("it has more than the %d bytes that %s", size, s.body.promise()))
	case err == io.EOF && s.offset < size:
		return 0, s.body.readError(s.offset, fmt.Errorf("it has fewer than the %d bytes that %s", size, s.body.promise()))
	case err == io.EOF:
		s.file = nil
	case err != nil:
		return 0, s.body.readError(s.offset, err)
	}
	return n, nil
}

// promise says where the size comes from.
func (b *Body) promise() string {
	if b.file.Size > 0 {
		return "its Size says"
	}
	return "it had before"
}
