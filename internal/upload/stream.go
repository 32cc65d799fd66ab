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

func (s *stream) inspect(ctx context.Context, declared int64) (int64, []byte, error) {
	if !s.hold() {
		return 0, nil, errInUse
	}
	err := error(nil)
	if s.used {
		err = errUsed
	} else if s.head == nil {
		err = s.measure(declared)
	}
	if err != nil || s.head != nil {
		defer s.release()
		return s.size, s.head, err
	}
	r, done := s.reader(ctx)
	defer done()
	head, err := readHead(r)
	switch {
	case s.seek == nil:
		s.head, s.used = head, err != nil
	case err == nil:
		_, err = s.seek.Seek(s.start, io.SeekStart)
	}
	return s.size, head, err
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
	// Len may tell what happens to be buffered: the user's word counts more.
	if sized, ok := s.r.(interface{ Len() int }); ok && declared == 0 {
		s.size = max(int64(sized.Len()), -1)
	}
	return nil
}

func (s *stream) open(ctx context.Context) (io.Reader, func(), error) {
	if !s.hold() {
		return nil, nil, errInUse
	}
	err := error(nil)
	if s.seek != nil {
		_, err = s.seek.Seek(s.start, io.SeekStart)
	} else if s.used {
		err = errUsed
	}
	if err != nil {
		s.release()
		return nil, nil, err
	}
	r, done := s.reader(ctx)
	if s.seek != nil {
		return r, done, nil
	}
	rest := readerFunc(func(p []byte) (int, error) {
		s.used = true
		return r.Read(p)
	})
	return io.MultiReader(bytes.NewReader(s.head), rest), done, nil
}

// reader reads r so that a Read can be abandoned. What can seek and never waits is read as it is.
func (s *stream) reader(ctx context.Context) (io.Reader, func()) {
	if s.seek != nil {
		switch s.r.(type) {
		case *bytes.Reader, *strings.Reader, *os.File:
			return s.r, s.release
		}
	}
	p := newPump(ctx, s.r, s.release)
	return p, p.end
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
