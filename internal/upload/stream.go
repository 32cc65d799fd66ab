package upload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
)

var (
	errInUse = errors.New("the reader is in use: another call sends it, or a Read of an earlier call has not returned")
	errUsed  = errors.New("the reader was used by an earlier call and cannot be rewound")
)

// stream is a reader that the user has opened.
type stream struct {
	r io.Reader

	held atomic.Bool // guards what follows, and stays set while r is read

	seek  io.Seeker // nil where r cannot seek
	start int64     // where r first stood, if it can seek
	head  []byte    // the first bytes of one that cannot seek; nil before they were read
	size  int64
	used  bool // more than the head was taken, and r cannot seek
}

func (s *stream) hold() bool { return s.held.CompareAndSwap(false, true) }
func (s *stream) release()   { s.held.Store(false) }

func (s *stream) replayable() bool {
	if !s.hold() {
		return false
	}
	defer s.release()
	return !s.used
}

func (s *stream) inspect(ctx context.Context, declared int64) (int64, []byte, error) {
	if !s.hold() {
		return 0, nil, errInUse
	}
	if s.used || s.head != nil {
		defer s.release()
		if s.used {
			return 0, nil, errUsed
		}
		return s.size, s.head, nil
	}
	if err := s.measure(declared); err != nil {
		s.release()
		return 0, nil, err
	}
	r, done := s.interruptible(ctx)
	head, err := readHead(r, headSize)
	switch {
	case s.seek == nil && err == nil:
		s.head = head
	case s.seek == nil:
		s.used = true
	case err == nil:
		_, err = s.seek.Seek(s.start, io.SeekStart)
	}
	size := s.size
	done()
	return size, head, err
}

// measure finds out whether the reader can seek and how much it holds.
func (s *stream) measure(declared int64) error {
	s.size = -1
	seeker, _ := s.r.(io.Seeker)
	if f, ok := s.r.(*os.File); ok {
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			seeker = nil
		}
	}
	if seeker != nil {
		start, err := s.start, error(nil)
		if s.seek == nil {
			start, err = seeker.Seek(0, io.SeekCurrent)
		}
		if err == nil {
			end, err := seeker.Seek(0, io.SeekEnd)
			if _, lost := seeker.Seek(start, io.SeekStart); lost != nil {
				return lost
			}
			if err == nil {
				s.seek, s.start, s.size = seeker, start, max(end-start, 0)
				return nil
			}
		}
	}
	// A Len may be what happens to be buffered: the user's word counts more.
	if sized, ok := s.r.(interface{ Len() int }); ok && declared == 0 {
		s.size = max(int64(sized.Len()), -1)
	}
	return nil
}

func (s *stream) open(ctx context.Context) (io.Reader, func(), error) {
	if !s.hold() {
		return nil, nil, errInUse
	}
	if s.seek != nil {
		if _, err := s.seek.Seek(s.start, io.SeekStart); err != nil {
			s.release()
			return nil, nil, err
		}
		r, done := s.interruptible(ctx)
		return r, done, nil
	}
	if s.used {
		s.release()
		return nil, nil, errUsed
	}
	r, done := s.interruptible(ctx)
	return io.MultiReader(bytes.NewReader(s.head), usingUp{r, s}), done, nil
}

// interruptible returns readers that never wait as they are, and others so that a Read can be abandoned.
func (s *stream) interruptible(ctx context.Context) (io.Reader, func()) {
	switch s.r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return s.r, s.release
	case *os.File:
		if s.seek != nil {
			return s.r, s.release
		}
	}
	p := newPump(ctx, s.r, s.release)
	return p, p.end
}

// usingUp notes that a reader that cannot seek was read.
type usingUp struct {
	io.Reader
	s *stream
}

func (u usingUp) Read(p []byte) (int, error) {
	u.s.used = true
	return u.Reader.Read(p)
}
