package upload

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Source provides the bytes of a file. [Path], [FS], [Bytes] and [Reader] return one. Sources are comparable with ==.
type Source interface {
	// open returns the bytes from the start, and their number or -1. The caller must have claimed the source. Size is
	// the number that the user declared, or -1. Open may block.
	open(size int64) (io.ReadCloser, int64, error)
}

// Path returns the regular file at path. Each attempt opens it.
func Path(path string) Source { return inFS{disk{}, path} }

// disk is the file system of the operating system.
type disk struct{}

func (disk) Open(path string) (fs.File, error) {
	// Opening a named pipe would block until it has a writer.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	return os.Open(path)
}

// FS returns the file at path in fsys, or nil if fsys is nil. Each attempt opens the file.
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

func (s inFS) open(size int64) (io.ReadCloser, int64, error) {
	f, err := s.fsys.Open(s.path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a directory")
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	// File systems for object stores may report irregular files. Devices, pipes and files of /proc report no size.
	if info.Size() > 0 && (size < 0 || info.Mode().IsRegular()) {
		size = info.Size()
	}
	return f, size, nil
}

// Bytes returns a file in memory. The data must not change during a call.
func Bytes(data []byte) Source { return &memory{data} }

type memory struct{ data []byte }

func (m *memory) open(int64) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(m.data)), int64(len(m.data)), nil
}

// Reader returns a file with the rest of r, or nil if r is nil. It does not close r.
//
// If r can seek, each attempt rewinds it to its first position. Otherwise it can be sent once. A Read or Seek that
// blocks longer than its attempt is abandoned, and r must not be used until it returns.
func Reader(r io.Reader) Source {
	if r == nil {
		return nil
	}
	return &stream{r: r, size: -1}
}

// ErrUsed means that a reader which cannot seek was read by an earlier attempt or call.
var ErrUsed = errors.New("the reader was used by an earlier call, and cannot be rewound")

var errInUse = errors.New("the reader is in use: another call sends it, or a Read of an earlier call has not returned")

// stream is a user's reader.
type stream struct {
	r     io.Reader
	inUse sync.Mutex // held until the last Read or Seek of r has returned; guards the rest

	once  sync.Once // for measure
	seek  io.Seeker // nil if r cannot seek
	start int64     // first position of r, if it can seek
	size  int64     // result of r.Len before the first Read; -1 if it has no Len
	used  bool      // r cannot seek, and a Read was called
}

// claim reserves the source for one goroutine, which must call release after its last use.
func claim(s Source) (release func(), err error) {
	r, ok := s.(*stream)
	switch {
	case !ok:
		return func() {}, nil
	case !r.inUse.TryLock():
		return nil, errInUse
	case r.used:
		r.inUse.Unlock()
		return nil, ErrUsed
	}
	return r.inUse.Unlock, nil
}

func (s *stream) open(size int64) (io.ReadCloser, int64, error) {
	s.once.Do(s.measure)
	if size < 0 {
		size = s.size // after the user's size, because Len may return the length of a buffer
	}
	if s.seek == nil {
		return io.NopCloser(s), size, nil
	}
	if end, err := s.seek.Seek(0, io.SeekEnd); err == nil && end > s.start {
		size = end - s.start
	}
	_, err := s.seek.Seek(s.start, io.SeekStart)
	return io.NopCloser(s.r), size, err
}

// Read reads from a reader without Seek.
func (s *stream) Read(p []byte) (int, error) {
	s.used = true
	return s.r.Read(p)
}

// measure sets seek, start and size.
func (s *stream) measure() {
	if sized, ok := s.r.(interface{ Len() int }); ok {
		s.size = int64(sized.Len())
	}
	if seeker, ok := s.r.(io.Seeker); ok {
		if start, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			s.seek, s.start = seeker, start
		}
	}
}

// unread puts back bytes read from a reader without Seek.
func (s *stream) unread(head []byte) {
	if s.seek == nil {
		s.r, s.used = io.MultiReader(bytes.NewReader(head), s.r), false
	}
}
