package aicontent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// File is an audio file to upload. Make one with [FileFromPath], [FileFromFS], [FileFromBytes] or
// [FileFromReader]. It is streamed: no more than a copy buffer of it is held in memory.
type File struct {
	// Name is the file name that the service is told. Only the part behind the last slash or backslash is sent:
	// services drop the rest.
	Name string

	// ContentType is the media type of the file's part of the form. Empty takes it from the file's first bytes, else from the
	// name, else application/octet-stream.
	ContentType string

	source source
}

// FileFromPath reads the regular file at path, afresh at each attempt. The name is the last element of path.
// Problems with the file are found when it is used.
func FileFromPath(path string) File {
	return File{Name: filepath.Base(path), source: opener{func() (fs.File, error) { return os.Open(path) }}}
}

// FileFromFS reads the regular file at path in fsys, afresh at each attempt. The name is the last element of path.
func FileFromFS(fsys fs.FS, path string) File {
	f := File{Name: path[strings.LastIndexByte(path, '/')+1:]}
	if fsys != nil {
		f.source = opener{func() (fs.File, error) { return fsys.Open(path) }}
	}
	return f
}

// FileFromBytes uploads data, which must not be changed before the call returns.
func FileFromBytes(name string, data []byte) File {
	return File{Name: name, source: memory(data)}
}

// FileFromReader uploads what r holds from where it stands. It is never closed and must not be used before the call
// returns; where it then stands is not defined.
//
// A reader that can seek, such as a [bytes.Reader] or an open file, is rewound to where it stood when the call is tried again.
// Any other, such as the body or a part of a request that a service passes on, can be read once: the call is then one
// attempt, unless that ends before any of it was taken. A reader with a method Len() int, or one that can seek, tells
// its size, which goes into Content-Length; any other upload is chunked.
//
// Where the context ends while a Read is under way the call returns at once, and the Read is left to end by itself.
func FileFromReader(name string, r io.Reader) File {
	f := File{Name: name}
	if r != nil {
		f.source = &stream{r: r, size: -1}
	}
	return f
}

// source is where a file's bytes come from.
type source interface {
	// inspect returns the size, -1 where it is unknown, and the first bytes.
	inspect(ctx context.Context) (size int64, head []byte, err error)
	// open starts from the beginning. done ends it.
	open(ctx context.Context) (r io.Reader, done func(), err error)
	// again reports whether open would find the same bytes.
	again() bool
}

// headSize is how much of a file tells what it is.
const headSize = 512

// opener opens a file afresh each time.
type opener struct {
	file func() (fs.File, error)
}

func (o opener) again() bool { return true }

func (o opener) inspect(context.Context) (int64, []byte, error) {
	f, err := o.file()
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return 0, nil, err
	case info.IsDir():
		return 0, nil, errors.New("is a directory")
	case !info.Mode().IsRegular():
		return 0, nil, errors.New("is not a regular file; open it and use FileFromReader")
	}
	head := make([]byte, min(headSize, info.Size()))
	n, err := io.ReadFull(f, head)
	return info.Size(), head[:n], err
}

func (o opener) open(context.Context) (io.Reader, func(), error) {
	f, err := o.file()
	if err != nil {
		return nil, nil, err
	}
	return f, func() { f.Close() }, nil
}

// memory is a file in memory.
type memory []byte

func (m memory) again() bool { return true }

func (m memory) inspect(context.Context) (int64, []byte, error) {
	return int64(len(m)), m[:min(headSize, len(m))], nil
}

func (m memory) open(context.Context) (io.Reader, func(), error) {
	return bytes.NewReader(m), func() {}, nil
}

// stream is a reader that the user has opened.
type stream struct {
	r     io.Reader
	head  []byte // the first bytes of one that cannot seek
	seek  io.Seeker
	start int64 // where it stood, if it can seek
	size  int64
	begun atomic.Bool // more than the head was taken
	stuck atomic.Bool // a Read was left behind
}

func (s *stream) again() bool { return !s.stuck.Load() && (s.seek != nil || !s.begun.Load()) }

func (s *stream) inspect(ctx context.Context) (int64, []byte, error) {
	if s.seek == nil && s.head == nil {
		s.measure()
	}
	if s.head != nil {
		return s.size, s.head, nil
	}
	head := make([]byte, headSize)
	n, err := io.ReadFull(patient{s.interruptible(ctx)}, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	if s.seek == nil {
		s.head = head[:n]
		return s.size, s.head, err
	}
	if err == nil {
		_, err = s.seek.Seek(s.start, io.SeekStart)
	}
	return s.size, head[:n], err
}

// measure finds out whether the reader can seek and how much it holds.
func (s *stream) measure() {
	if f, ok := s.r.(*os.File); ok {
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return
		}
	}
	if seeker, ok := s.r.(io.Seeker); ok {
		start, err := seeker.Seek(0, io.SeekCurrent)
		if err == nil {
			end, err := seeker.Seek(0, io.SeekEnd)
			if _, back := seeker.Seek(start, io.SeekStart); err == nil && back == nil {
				s.seek, s.start, s.size = seeker, start, max(end-start, 0)
				return
			}
		}
	}
	if sized, ok := s.r.(interface{ Len() int }); ok {
		s.size = int64(sized.Len())
	}
}

func (s *stream) open(ctx context.Context) (io.Reader, func(), error) {
	if s.stuck.Load() {
		return nil, nil, errStuck
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
	return &pump{ctx: ctx, r: s.r, stuck: &s.stuck}
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

// fileError says where in a file reading it failed.
type fileError struct {
	name   string
	offset int64
	err    error
}

func (e *fileError) Error() string {
	return fmt.Sprintf("file %s: at byte %d: %v", quoted(e.name), e.offset, e.err)
}

func (e *fileError) Unwrap() error { return e.err }

// check looks at the file before anything is sent, and returns its size and first bytes. Only the end of the context
// is an error: what is wrong with the file is a problem.
func (f *File) check(ctx context.Context, p *problems) (int64, []byte, error) {
	const field = "file"
	name := f.base()
	switch {
	case f.source == nil:
		p.add(field, nil, "is required")
		return 0, nil, nil
	case strings.TrimSpace(name) == "" || name == "." || name == "..":
		p.add(field, f.Name, "must have a file name")
	case strings.ContainsFunc(name, unicode.IsControl):
		p.add(field, f.Name, "must have a name without control characters or line breaks")
	case !utf8.ValidString(name):
		p.add(field, f.Name, "must have a name in valid UTF-8")
	}
	p.headerValue("file", f.ContentType, false)
	size, head, err := f.source.inspect(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return 0, nil, err
	case err != nil:
		p.add(field, f.Name, "cannot be read: "+err.Error())
	case size == 0 || size < 0 && len(head) == 0:
		p.addValue(field, f.Name, "must not be empty")
	default:
		if kind := notAudio(head); kind != "" {
			p.addValue(field, f.Name, "must be an audio file, and is "+kind)
		}
	}
	return size, head, nil
}

// base is the name without directories, of whichever system they are.
func (f *File) base() string {
	return f.Name[strings.LastIndexAny(f.Name, `/\`)+1:]
}
