package upload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
)

var (
	errInUse = errors.New("the reader is in use: another call sends it, or a Read of an earlier call has not returned")
	errUsed  = errors.New("the reader was used by an earlier call, and cannot be rewound")
)

// stream is a reader that the user has opened.
type stream struct {
	r    io.Reader
	held atomic.Bool // guards the rest, and stays set until the last Read of r has returned

	seek  io.Seeker // nil where r cannot seek
	start int64     // where r first stood, if it can seek
	head  []byte    // the first bytes of one that cannot seek; nil before they were read
	size  int64
	used  bool // r cannot seek, and more than the head was taken
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

func (s *stream) open(ctx context.Context, declared int64) (opened, error) {
	if !s.hold() {
		return opened{}, errInUse
	}
	err := s.rewind(declared)
	if err != nil {
		s.release()
		return opened{}, err
	}
	if s.seek != nil {
		return opened{s.r, s.size, s.release}.interruptible(ctx), nil
	}
	p := newPump(ctx, s.r, s.release)
	if s.head == nil {
		if s.head, err = readHead(p); err != nil {
			s.used = true
			p.end()
			return opened{}, err
		}
	}
	if len(s.head) < headSize {
		// That is all there is.
		return opened{bytes.NewReader(s.head), int64(len(s.head)), p.end}, nil
	}
	rest := readerFunc(func(b []byte) (int, error) {
		s.used = true
		return p.Read(b)
	})
	return opened{io.MultiReader(bytes.NewReader(s.head), rest), s.size, p.end}, nil
}

// rewind goes back to where the reader first stood. The first time it finds out whether it can, and what the reader holds.
func (s *stream) rewind(declared int64) error {
	switch {
	case s.used:
		return errUsed
	case s.head != nil:
		return nil
	}
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
	// Len may tell what happens to be buffered: the user's word counts more.
	if sized, ok := s.r.(interface{ Len() int }); ok && declared == 0 {
		s.size = max(int64(sized.Len()), -1)
	}
	return nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
