// Package upload makes request bodies that can be sent again: urlencoded forms, and multipart forms whose file is
// streamed from a path, a file system, memory or a reader. It knows how much of a body a transport has taken.
package upload

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"sync"
)

// Source is where the bytes of a file come from: what [Path], [FS], [Bytes] and [Reader] return.
type Source interface {
	// open sets what in reads, from the beginning, its size, and what ends it. A declared size of 0 is none.
	open(in *input, declared int64) error
	// replayable reports whether open would find the same bytes once more.
	replayable() bool
}

// Path is the regular file at path, opened for each attempt.
func Path(path string) Source {
	return opener(func() (io.Reader, int64, error) {
		// Opening a named pipe would wait for its writer.
		if info, err := os.Stat(path); err == nil && checkRegular(info) != nil {
			return nil, 0, checkRegular(info)
		}
		return measured(os.Open(path))
	})
}

// FS is the regular file at path in fsys, opened for each attempt. It is nil where fsys is. An Open or Read that waits is
// abandoned when the context ends.
func FS(fsys fs.FS, path string) Source {
	if fsys == nil {
		return nil
	}
	return opener(func() (io.Reader, int64, error) {
		if isNil(fsys) {
			return nil, 0, fmt.Errorf("its file system is a nil %T", fsys)
		}
		return measured(fsys.Open(path))
	})
}

// Bytes is a file in memory. The data must not change while it is sent.
func Bytes(data []byte) Source { return memory(data) }

type memory []byte

func (m memory) replayable() bool { return true }

func (m memory) open(in *input, _ int64) error {
	in.r, in.size = bytes.NewReader(m), int64(len(m))
	return nil
}

// Reader is what r holds from where it stands. It is nil where r is. It is never closed.
//
// A reader that can seek is rewound for each attempt to where it first stood. Any other can be sent once, unless only
// its first bytes were taken. A Read or Seek that waits is abandoned when the context ends: until it returns, r must not be touched.
func Reader(r io.Reader) Source {
	if r == nil {
		return nil
	}
	return &stream{r: r, size: -1}
}

// isNil reports whether the value in an interface is nil and its methods would panic.
func isNil(v any) bool {
	value := reflect.ValueOf(v)
	return (value.Kind() == reflect.Pointer || value.Kind() == reflect.Func) && value.IsNil()
}

// opener opens a file afresh, and tells its size. What it returns beside an error is closed as well.
type opener func() (io.Reader, int64, error)

func (o opener) replayable() bool { return true }

func (o opener) open(in *input, _ int64) error {
	in.done = func() {
		if c, ok := in.r.(io.Closer); ok {
			c.Close()
		}
	}
	return in.do(func() (err error) {
		in.r, in.size, err = o()
		return err
	})
}

func measured(f fs.File, err error) (io.Reader, int64, error) {
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return f, 0, err
	}
	return f, info.Size(), checkRegular(info)
}

func checkRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("is a directory")
	case !info.Mode().IsRegular():
		return errors.New("is not a regular file; open it and use FileFromReader")
	}
	return nil
}

var (
	errInUse = errors.New("the reader is in use: another call sends it, or a Read of an earlier call has not returned")
	errUsed  = errors.New("the reader was used by an earlier call, and cannot be rewound")
)

// stream is a reader that the user has opened.
type stream struct {
	r    io.Reader
	held sync.Mutex // until the last Read or Seek of r has returned; guards the rest

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
	}
	err := in.do(func() error { return s.rewind(in, declared) })
	if err != nil || s.seek != nil {
		return err
	}
	return s.replay(in)
}

// rewind goes back to where the reader first stood, if it can seek, and finds out what it holds.
func (s *stream) rewind(in *input, declared int64) error {
	if s.seek == nil && s.head == nil {
		s.look()
	}
	// Len may tell what happens to be buffered: the user's word counts more.
	in.size = cmp.Or(declared, s.size)
	if s.seek == nil {
		return nil
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
		_, _, err := measured(f, nil)
		ok = err == nil // A device may seem to seek.
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
