package aicontent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
)

// stream is a reader that the user has opened.
type stream struct {
	r     io.Reader
	head  []byte // the first bytes of one that cannot seek; nil before they were read
	seek  io.Seeker
	start int64 // where it stood, if it can seek
	size  int64
	err   error       // of reading the head
	begun atomic.Bool // more than the head was taken
	busy  busy
}

func (s *stream) again() bool { return !s.busy.now() && (s.seek != nil || !s.begun.Load()) }

func (s *stream) inspect(ctx context.Context) (int64, []byte, error) {
	if s.head != nil {
		return s.size, s.head, s.err
	}
	if s.busy.now() {
		return 0, nil, errBusy
	}
	if err := s.measure(); err != nil {
		return 0, nil, err
	}
	head, err := readHead(s.interruptible(ctx), headSize)
	if s.seek == nil {
		s.head, s.err = head, err
	} else if err == nil {
		_, err = s.seek.Seek(s.start, io.SeekStart)
	}
	return s.size, head, err
}

// measure finds out whether the reader can seek and how much it holds.
func (s *stream) measure() error {
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
	if sized, ok := s.r.(interface{ Len() int }); ok {
		s.size = int64(sized.Len())
	}
	return nil
}

func (s *stream) open(ctx context.Context) (io.Reader, func(), error) {
	if s.busy.now() {
		return nil, nil, errBusy
	}
	if s.seek != nil {
		if _, err := s.seek.Seek(s.start, io.SeekStart); err != nil {
			return nil, nil, err
		}
		return s.interruptible(ctx), func() {}, nil
	}
	if s.begun.Load() {
		return nil, nil, errors.New("the reader cannot be rewound")
	}
	return io.MultiReader(bytes.NewReader(s.head), noting{s.interruptible(ctx), &s.begun}), func() {}, nil
}

// interruptible gives readers that never wait as they are, and others a way to be left while they do.
func (s *stream) interruptible(ctx context.Context) io.Reader {
	switch s.r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return s.r
	case *os.File:
		if s.seek != nil {
			return s.r
		}
	}
	return &pump{ctx: ctx, r: s.r, busy: &s.busy}
}

// noting notes that a reader is being used up.
type noting struct {
	io.Reader
	begun *atomic.Bool
}

func (n noting) Read(p []byte) (int, error) {
	n.begun.Store(true)
	return n.Reader.Read(p)
}
