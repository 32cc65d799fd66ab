package upload

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

var (
	errInUse = errors.New("the reader is in use: another call sends it, or a Read of an earlier call has not returned")
	errUsed  = errors.New("the reader was used by an earlier call, and cannot be rewound")
)

// stream is a reader that the user has opened.
type stream struct {
	r    io.Reader
	held sync.Mutex // until the last Read of r has returned; guards the rest

	seek  io.Seeker // nil where r cannot seek
	start int64     // where r first stood, if it can seek
	head  []byte    // the first bytes of one that cannot seek; nil before they were read
	size  int64     // what r said that it holds, before any of it was read; -1 where it said nothing
	used  bool      // r cannot seek, and more than the head was taken
}

func (s *stream) replayable() bool {
	if !s.held.TryLock() {
		return false
	}
	defer s.held.Unlock()
	return !s.used
}

func (s *stream) open(in *input, declared int64) error {
	if !s.held.TryLock() {
		return errInUse
	}
	in.r, in.done = s.r, s.held.Unlock
	switch {
	case isNil(s.r):
		return fmt.Errorf("the reader is a nil %T", s.r)
	case s.used:
		return errUsed
	case s.seek == nil && s.head == nil:
		s.look()
	}
	// Len may tell what happens to be buffered: the user's word counts more.
	in.size = cmp.Or(declared, s.size)
	if s.seek == nil {
		return s.replay(in)
	}
	if end, err := s.seek.Seek(0, io.SeekEnd); err == nil {
		in.size = max(end-s.start, 0)
	}
	_, err := s.seek.Seek(s.start, io.SeekStart)
	return err
}

// look finds out whether the reader can seek, and what it says that it holds.
func (s *stream) look() {
	if sized, ok := s.r.(interface{ Len() int }); ok {
		s.size = max(int64(sized.Len()), -1)
	}
	seeker, ok := s.r.(io.Seeker)
	if f, isFile := s.r.(*os.File); isFile {
		// A device may seem to seek.
		info, err := f.Stat()
		ok = err == nil && info.Mode().IsRegular()
	}
	if ok {
		if start, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			s.seek, s.start = seeker, start
		}
	}
}

// replay lets in begin with the first bytes of a reader that cannot seek.
func (s *stream) replay(in *input) (err error) {
	rest := readerFunc(func(p []byte) (int, error) {
		s.used = true
		return s.r.Read(p)
	})
	if s.head == nil {
		in.r = rest
		if s.head, err = in.readHead(); err != nil {
			return err
		}
		s.used = false // nothing is lost
	}
	head := bytes.NewReader(s.head)
	in.r = io.MultiReader(head, rest)
	if len(s.head) < headSize {
		// That is all there is.
		in.r, in.size = head, head.Size()
	}
	return nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
