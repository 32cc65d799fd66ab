// Package upload makes request bodies that can be sent again: urlencoded forms, and multipart forms whose file is
// streamed from a path, a file system, memory or a reader. It knows how much of a body a transport has taken.
package upload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"sync"
)

// Source is where the bytes of a file come from: what [Path], [FS], [Bytes] and [Reader] return. Sources can be
// compared with ==, so each is a pointer, or plain data.
type Source interface {
	// open sets what in reads, from the beginning, what ends that, and its size, if that is known better than declared.
	// It may wait.
	open(in *input) error
}

// Path is the regular file at path, opened for each attempt.
func Path(path string) Source { return inFS{disk{}, path} }

// disk is the files of the operating system.
type disk struct{}

func (disk) Open(path string) (fs.File, error) {
	// Opening a named pipe would wait for its writer.
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file; open it and use FileFromReader")
	}
	return os.Open(path)
}

// FS is the file at path in fsys, opened for each attempt. It is nil where fsys is. An Open, Stat or Read that waits is
// abandoned when the context ends.
func FS(fsys fs.FS, path string) Source {
	if fsys == nil {
		return nil
	}
	return &inFS{fsys, path}
}

type inFS struct {
	fsys fs.FS
	path string
}

func (s inFS) open(in *input) error {
	if isNil(s.fsys) {
		return fmt.Errorf("its file system is a nil %T", s.fsys)
	}
	f, err := s.fsys.Open(s.path)
	if err != nil {
		return err
	}
	in.r, in.ahead, in.done = f, true, func() { f.Close() }
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("is a directory")
	// Objects of a store call themselves irregular. Devices and pipes have no size.
	case info.Mode().IsRegular() || in.size < 0 && info.Size() > 0:
		in.size = info.Size()
	}
	return nil
}

// Bytes is a file in memory. The data must not change while it is sent.
func Bytes(data []byte) Source { return &memory{data} }

type memory struct{ data []byte }

func (m *memory) open(in *input) error {
	in.r, in.size, in.direct = bytes.NewReader(m.data), int64(len(m.data)), true
	return nil
}

// Reader is what r holds from where it stands. It is nil if r is. It does not close r.
//
// A reader that can seek is rewound for each attempt to where it first stood. Any other can be sent once. A Read or
// Seek that waits is abandoned when the context ends: until it returns, r must not be touched.
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

var (
	errInUse = errors.New("the reader is in use: another call sends it, or a Read of an earlier call has not returned")
	errUsed  = errors.New("the reader was used by an earlier call, and cannot be rewound")
)

// stream is a reader that the user has opened.
type stream struct {
	r     io.Reader
	inUse sync.Mutex // until the last Read or Seek of r has returned; guards the rest

	once  sync.Once // for look
	seek  io.Seeker // nil where r cannot seek
	start int64     // where r first stood, if it can seek
	size  int64     // what r said that it holds, before any of it was read; -1 where it said nothing
	used  bool      // r cannot seek, and some of it was taken
}

func (s *stream) replayable() bool {
	if !s.inUse.TryLock() {
		return false
	}
	defer s.inUse.Unlock()
	return !s.used
}

func (s *stream) open(in *input) error {
	if !s.inUse.TryLock() {
		return errInUse
	}
	in.done = s.inUse.Unlock
	switch {
	case isNil(s.r):
		return fmt.Errorf("the reader is a nil %T", s.r)
	case s.used:
		return errUsed
	}
	s.once.Do(s.look)
	if in.size < 0 {
		in.size = s.size // Len may tell what happens to be buffered: the user's word counts more.
	}
	if s.seek == nil {
		in.r = s
		return nil
	}
	in.r = s.r
	if end, err := s.seek.Seek(0, io.SeekEnd); err == nil {
		in.size = max(end-s.start, 0)
	}
	_, err := s.seek.Seek(s.start, io.SeekStart)
	return err
}

// Read reads from a reader that cannot seek.
func (s *stream) Read(p []byte) (int, error) {
	s.used = true
	return s.r.Read(p)
}

// look finds out whether the reader can seek, and what it says that it holds.
func (s *stream) look() {
	if sized, ok := s.r.(interface{ Len() int }); ok {
		s.size = max(int64(sized.Len()), -1)
	}
	seeker, ok := s.r.(io.Seeker)
	if f, isFile := s.r.(*os.File); isFile {
		info, err := f.Stat()
		ok = err == nil && info.Mode().IsRegular() // A device may seem to seek.
	}
	if ok {
		if start, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			s.seek, s.start = seeker, start
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
