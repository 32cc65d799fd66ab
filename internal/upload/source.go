// Package upload makes request bodies that several attempts can send: urlencoded forms, and multipart forms whose file
// is streamed from a path, a file system, memory or a reader. It tracks how much of a body the transport has taken.
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

// Source provides the bytes of a file. [Path], [FS], [Bytes] and [Reader] return one. Sources are comparable with ==.
type Source interface {
	// open sets the reader, done, and the size if the source knows it better than the user. It may block.
	open(in *input) error
}

// Path returns the regular file at path. Each attempt opens it.
func Path(path string) Source { return inFS{disk{}, path} }

// disk is the file system of the operating system.
type disk struct{}

func (disk) Open(path string) (fs.File, error) {
	// Opening a named pipe would block until it has a writer.
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file; open it and use FileFromReader")
	}
	return os.Open(path)
}

// FS returns the file at path in fsys, or nil if fsys is nil. Each attempt opens the file. If the context ends, an
// Open, Stat or Read that blocks is abandoned.
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
	// File systems for object stores may report irregular files. Devices and pipes report no size.
	case info.Mode().IsRegular() || in.size < 0 && info.Size() > 0:
		in.size = info.Size()
	}
	return nil
}

// Bytes returns a file in memory. The data must not change during a call.
func Bytes(data []byte) Source { return &memory{data} }

type memory struct{ data []byte }

func (m *memory) open(in *input) error {
	in.r, in.size, in.direct = bytes.NewReader(m.data), int64(len(m.data)), true
	return nil
}

// Reader returns a file with the rest of r, or nil if r is nil. It does not close r.
//
// If r can seek, each attempt rewinds it to its first position. Otherwise it can be sent once. If the context ends, a
// Read or Seek that blocks is abandoned, and r must not be used until it returns.
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

// stream is a user's reader.
type stream struct {
	r     io.Reader
	inUse sync.Mutex // held until the last Read or Seek of r has returned; guards the rest

	once  sync.Once // for look
	seek  io.Seeker // nil if r cannot seek
	start int64     // first position of r, if it can seek
	size  int64     // result of r.Len before the first Read; -1 if it has no Len
	used  bool      // r cannot seek, and a Read was called
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
		in.size = s.size // after the user's Size, because Len may return the length of a buffer
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

// look sets seek, start and size.
func (s *stream) look() {
	if sized, ok := s.r.(interface{ Len() int }); ok {
		s.size = max(int64(sized.Len()), -1)
	}
	seeker, ok := s.r.(io.Seeker)
	if f, isFile := s.r.(*os.File); isFile {
		info, err := f.Stat()
		ok = err == nil && info.Mode().IsRegular() // because Seek of a device may do nothing
	}
	if ok {
		if start, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			s.seek, s.start = seeker, start
		}
	}
}

// keep puts the first bytes of r, which were read, back before the others. A reader that can seek is rewound instead,
// unless it does not tell the position after them: its Seek does nothing, or leaves out a buffer of Read.
func (s *stream) keep(head []byte) error {
	if s.seek != nil {
		at, err := s.seek.Seek(0, io.SeekCurrent)
		if err != nil || at == s.start+int64(len(head)) {
			return err
		}
		s.seek = nil
	}
	s.r, s.used = io.MultiReader(bytes.NewReader(head), s.r), false
	return nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
