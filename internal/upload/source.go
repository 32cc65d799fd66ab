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
)

// Source is where the bytes of a file come from: what [Path], [FS], [Bytes] and [Reader] return.
type Source interface {
	// open sets what in reads, from the beginning, and its size and end. A declared size is not 0.
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
func Bytes(data []byte) Source {
	return opener(func() (io.Reader, int64, error) { return bytes.NewReader(data), int64(len(data)), nil })
}

// Reader is what r holds from where it stands. It is nil where r is. It is never closed.
//
// A reader that can seek is rewound for each attempt to where it first stood. Any other can be sent once, unless only
// its first bytes were taken. A Read that waits is abandoned when the context ends: until it returns, r must not be touched.
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

// measured is an open file and its size.
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
