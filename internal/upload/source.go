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

// Source is where the bytes of a file come from. The sources are those that [Path], [FS], [Bytes] and [Reader] return.
type Source interface {
	// inspect returns the size, -1 where it is unknown, and the first bytes. A declared size is more than 0.
	inspect(ctx context.Context, declared int64) (size int64, head []byte, err error)
	// open starts from the beginning. The caller calls done when it has stopped reading.
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

// FS is the regular file at path in fsys, opened for each attempt. It is nil where fsys is. Its Open and Stat are
// waited for; a Read is abandoned when the context ends.
func FS(fsys fs.FS, path string) Source {
	if fsys == nil {
		return nil
	}
	if isNil(fsys) {
		return invalid(fmt.Sprintf("is in a nil %T", fsys))
	}
	return file(func() (fs.File, error) { return fsys.Open(path) })
}

// Bytes is a file in memory. The data must not change while it is sent.
func Bytes(data []byte) Source { return memory(data) }

// Reader is what r holds from where it stands. It is nil where r is. It is never closed.
//
// A reader that can seek is rewound for each attempt to where it first stood. Any other can be sent once, unless no
// more than its first bytes were taken.
//
// A Read that waits is abandoned when the context ends: r must not be touched until that Read has returned.
func Reader(r io.Reader) Source {
	if r == nil {
		return nil
	}
	if isNil(r) {
		return invalid(fmt.Sprintf("is a nil %T", r))
	}
	return &stream{r: r}
}

// isNil reports whether an interface holds a nil that its methods can hardly work with. A nil map or slice is empty.
func isNil(v any) bool {
	switch value := reflect.ValueOf(v); value.Kind() {
	case reflect.Pointer, reflect.Func:
		return value.IsNil()
	}
	return false
}

// invalid is a source that cannot be used, and says why.
type invalid string

func (s invalid) replayable() bool { return false }

func (s invalid) inspect(context.Context, int64) (int64, []byte, error) {
	return 0, nil, errors.New(string(s))
}

func (s invalid) open(context.Context) (io.Reader, func(), error) {
	return nil, nil, errors.New(string(s))
}

// memory is a file in memory.
type memory []byte

func (m memory) replayable() bool { return true }

func (m memory) inspect(context.Context, int64) (int64, []byte, error) {
	return int64(len(m)), m[:min(headSize, len(m))], nil
}

func (m memory) open(context.Context) (io.Reader, func(), error) {
	return bytes.NewReader(m), func() {}, nil
}

// file opens a file afresh each time.
type file func() (fs.File, error)

func (f file) replayable() bool { return true }

func (f file) inspect(ctx context.Context, _ int64) (int64, []byte, error) {
	r, size, done, err := f.start(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer done()
	want := min(headSize, size)
	head, err := readHead(r, want)
	if err == nil && int64(len(head)) < want {
		err = fmt.Errorf("ended at byte %d, but its size is %d", len(head), size)
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
	info, err := opened.Stat()
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		opened.Close()
		return nil, 0, nil, err
	}
	closeFile := func() { opened.Close() }
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
		return errors.New("is not a regular file; open it and use a reader")
	}
	return nil
}

// headSize is how many bytes of a file tell what it is.
const headSize = 512

// readHead reads up to size bytes; fewer are no error.
func readHead(r io.Reader, size int64) ([]byte, error) {
	head := make([]byte, size)
	n, err := io.ReadFull(checkedReader{r}, head)
	switch err {
	case nil, io.EOF, io.ErrUnexpectedEOF:
		return head[:n], nil
	}
	return head[:n], fmt.Errorf("at byte %d: %w", n, err)
}
