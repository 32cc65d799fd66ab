// Package upload makes request bodies that can be sent again: urlencoded forms, and multipart forms whose file is
// streamed from a path, a file system, memory or a reader. It knows how much of a body a transport has taken.
package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
)

// Source is where the bytes of a file come from: what [Path], [FS], [Bytes] and [Reader] return.
type Source interface {
	// inspect returns the size, -1 where it is unknown, and the first bytes. A declared size is more than 0.
	inspect(ctx context.Context, declared int64) (size int64, head []byte, err error)
	// open starts from the beginning. done ends the use of r, and is not called during a Read.
	open(ctx context.Context) (r io.Reader, done func(), err error)
	// replayable reports whether open would find the same bytes once more.
	replayable() bool
}

// Path is the regular file at path, opened for each attempt.
func Path(path string) Source {
	return file(func() (fs.File, error) {
		// Opening a named pipe would wait for its writer.
		if info, err := os.Stat(path); err == nil {
			if err := checkRegular(info); err != nil {
				return nil, err
			}
		}
		return os.Open(path)
	})
}

// FS is the regular file at path in fsys, opened for each attempt. It is nil where fsys is. A Read that waits is
// abandoned when the context ends; Open and Stat are not.
func FS(fsys fs.FS, path string) Source {
	switch {
	case fsys == nil:
		return nil
	case isNil(fsys):
		return file(func() (fs.File, error) { return nil, fmt.Errorf("its file system is a nil %T", fsys) })
	}
	return file(func() (fs.File, error) { return fsys.Open(path) })
}

// Bytes is a file in memory. The data must not change while it is sent.
func Bytes(data []byte) Source { return memory(data) }

// Reader is what r holds from where it stands. It is nil where r is. It is never closed.
//
// A reader that can seek is rewound for each attempt to where it first stood. Any other can be sent once, unless only
// its first bytes were taken. A Read that waits is abandoned when the context ends: until it returns, r must not be touched.
func Reader(r io.Reader) Source {
	switch {
	case r == nil:
		return nil
	case isNil(r):
		return file(func() (fs.File, error) { return nil, fmt.Errorf("the reader is a nil %T", r) })
	}
	return &stream{r: r}
}

// isNil reports whether the value in an interface is nil and its methods would panic.
func isNil(v any) bool {
	value := reflect.ValueOf(v)
	return (value.Kind() == reflect.Pointer || value.Kind() == reflect.Func) && value.IsNil()
}

type memory []byte

func (m memory) replayable() bool { return true }

func (m memory) inspect(context.Context, int64) (int64, []byte, error) {
	return int64(len(m)), m[:min(headSize, len(m))], nil
}

func (m memory) open(context.Context) (io.Reader, func(), error) {
	return bytes.NewReader(m), func() {}, nil
}

// file opens a file.
type file func() (fs.File, error)

func (f file) replayable() bool { return true }

func (f file) inspect(ctx context.Context, _ int64) (int64, []byte, error) {
	r, size, done, err := f.start(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer done()
	head, err := readHead(r)
	if err == nil && int64(len(head)) < min(headSize, size) {
		err = fmt.Errorf("it ended at byte %d, but its size is %d", len(head), size)
	}
	return size, head, err
}

func (f file) open(ctx context.Context) (io.Reader, func(), error) {
	r, _, done, err := f.start(ctx)
	return r, done, err
}

func (f file) start(ctx context.Context) (io.Reader, int64, func(), error) {
	opened, err := f()
	if err != nil {
		return nil, 0, nil, err
	}
	closeFile := func() { opened.Close() }
	info, err := opened.Stat()
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		closeFile()
		return nil, 0, nil, err
	}
	if _, ok := opened.(*os.File); ok {
		// Reads of regular files do not wait.
		return opened, info.Size(), closeFile, nil
	}
	p := newPump(ctx, opened, closeFile)
	return p, info.Size(), p.end, nil
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

// headSize is how many bytes of a file tell what it is.
const headSize = 512

// readHead reads up to headSize bytes; fewer are no error.
func readHead(r io.Reader) ([]byte, error) {
	head := make([]byte, headSize)
	n, err := io.ReadFull(checkedReader{r}, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, fmt.Errorf("at byte %d: %w", n, err)
	}
	return head[:n], nil
}
