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
	"unicode"
	"unicode/utf8"
)

// File is an audio file to upload. Make one with [FileFromPath], [FileFromFS], [FileFromBytes] or
// [FileFromReader]. It is streamed: no more than a copy buffer of it is held in memory.
//
// A service or proxy may refuse the call, for its key or the file's size, while the file is on its way. Its answer is the call's
// error, and what the network had taken by then, up to some MiB, was sent for nothing. To be told before any of the file is sent, give
// WithHeader("Expect", "100-continue"): what was refused so can then also be sent again where the file can be read only
// once. A service that ignores it costs each attempt a second, so it is not the default.
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
	return File{Name: filepath.Base(path), source: opener{file: func() (fs.File, error) { return openPath(path) }}}
}

// FileFromFS reads the regular file at path in fsys, afresh at each attempt. The name is the last element of path.
func FileFromFS(fsys fs.FS, path string) File {
	f := File{Name: path[strings.LastIndexByte(path, '/')+1:]}
	if fsys != nil {
		f.source = opener{file: func() (fs.File, error) { return fsys.Open(path) }, far: true}
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
// attempt, unless that ends before any of it was taken. A reader that can seek, or one with a method Len() int, tells
// its size, which goes into Content-Length; any other upload is chunked, which some services refuse with 411.
//
// Where the call ends while a Read waits, it returns within a moment, and the Read is left to end by itself.
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
	far  bool // it may be anywhere, and take its time
}

func (o opener) again() bool { return true }

func (o opener) inspect(ctx context.Context) (int64, []byte, error) {
	f, err := o.opened(ctx)
	if err != nil {
		return 0, nil, err
	}
	r, done := released(ctx, f)
	defer done()
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return 0, nil, err
	}
	head, err := readHead(r, min(headSize, info.Size()))
	if err == nil && int64(len(head)) < min(headSize, info.Size()) {
		err = io.ErrUnexpectedEOF
	}
	return info.Size(), head, err
}

func (o opener) open(ctx context.Context) (io.Reader, func(), error) {
	f, err := o.opened(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, done := released(ctx, f)
	return r, done, nil
}

// opened waits for a far file no longer than the context lasts. What comes later is closed.
func (o opener) opened(ctx context.Context) (fs.File, error) {
	if !o.far {
		return o.file()
	}
	type result struct {
		file fs.File
		err  error
	}
	results := make(chan result, 1)
	go func() {
		f, err := o.file()
		results <- result{f, err}
	}()
	select {
	case got := <-results:
		return got.file, got.err
	case <-ctx.Done():
		go func() {
			if late := <-results; late.err == nil {
				late.file.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// released is a file's reader, and what closes the file when no Read is under way any more. Reads of the system's own files are
// short.
func released(ctx context.Context, f fs.File) (io.Reader, func()) {
	if own, ok := f.(*os.File); ok {
		return own, func() { own.Close() }
	}
	r := &pump{ctx: ctx, r: f, busy: new(busy)}
	return r, func() { r.busy.after(func() { f.Close() }) }
}

// openPath refuses what is no file before it is opened: opening a named pipe would wait for its writer.
func openPath(path string) (fs.File, error) {
	if info, err := os.Stat(path); err == nil {
		if err := regular(info); err != nil {
			return nil, err
		}
	}
	return os.Open(path)
}

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("is a directory")
	case !info.Mode().IsRegular():
		return errors.New("is not a regular file; open it and use FileFromReader")
	}
	return nil
}

// readHead reads up to size bytes; less is no error.
func readHead(r io.Reader, size int64) ([]byte, error) {
	head := make([]byte, size)
	n, err := io.ReadFull(patient{r}, head)
	switch err {
	case nil, io.EOF, io.ErrUnexpectedEOF:
		return head[:n], nil
	}
	return head[:n], fmt.Errorf("at byte %d: %w", n, err)
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
		p.causes = append(p.causes, err)
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
