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
	"strings"
)

// Source is where the bytes of a file come from: what [Path], [FS], [Bytes] and [Reader] return.
type Source interface {
	// open starts from the beginning. A declared size is more than 0.
	open(ctx context.Context, declared int64) (opened, error)
	// replayable reports whether open would find the same bytes once more.
	replayable() bool
}

// opened is a source that is being read.
type opened struct {
	r    io.Reader
	size int64  // -1 where it is unknown
	done func() // ends the use of r, and is not called during a Read
}

// Path is the regular file at path, opened for each attempt.
func Path(path string) Source {
	return opener(func() (io.Reader, int64, error) {
		// Opening a named pipe would wait for its writer.
		if info, err := os.Stat(path); err == nil {
			if err := checkRegular(info); err != nil {
				return nil, 0, err
			}
		}
		return measured(os.Open(path))
	})
}

// FS is the regular file at path in fsys, opened for each attempt. It is nil where fsys is. An Open or Read that waits is
// abandoned when the context ends.
func FS(fsys fs.FS, path string) Source {
	switch {
	case fsys == nil:
		return nil
	case isNil(fsys):
		return failing(fmt.Errorf("its file system is a nil %T", fsys))
	}
	return opener(func() (io.Reader, int64, error) { return measured(fsys.Open(path)) })
}

// Bytes is a file in memory. The data must not change while it is sent.
func Bytes(data []byte) Source { return memory(data) }

type memory []byte

func (m memory) replayable() bool { return true }

func (m memory) open(context.Context, int64) (opened, error) {
	return opened{bytes.NewReader(m), int64(len(m)), func() {}}, nil
}

// Reader is what r holds from where it stands. It is nil where r is. It is never closed.
//
// A reader that can seek is rewound for each attempt to where it first stood. Any other can be sent once, unless only
// its first bytes were taken. A Read that waits is abandoned when the context ends: until it returns, r must not be touched.
func Reader(r io.Reader) Source {
	switch {
	case r == nil:
		return nil
	case isNil(r):
		return failing(fmt.Errorf("the reader is a nil %T", r))
	}
	return &stream{r: r}
}

func failing(err error) Source {
	return opener(func() (io.Reader, int64, error) { return nil, 0, err })
}

// isNil reports whether the value in an interface is nil and its methods would panic.
func isNil(v any) bool {
	value := reflect.ValueOf(v)
	return (value.Kind() == reflect.Pointer || value.Kind() == reflect.Func) && value.IsNil()
}

// opener opens a file afresh, and tells its size.
type opener func() (io.Reader, int64, error)

func (o opener) replayable() bool { return true }

// open waits no longer than the context lasts. What is opened later is closed.
func (o opener) open(ctx context.Context, _ int64) (opened, error) {
	type result struct {
		opened
		err error
	}
	results := make(chan result)
	go func() {
		r, size, err := o()
		got := result{opened{r, size, func() {}}, err}
		if c, ok := r.(io.Closer); ok && err == nil {
			got.done = func() { c.Close() }
		}
		select {
		case results <- got:
		case <-ctx.Done():
			got.done()
		}
	}()
	select {
	case got := <-results:
		return got.interruptible(ctx), got.err
	case <-ctx.Done():
		return opened{}, context.Cause(ctx)
	}
}

// interruptible makes Reads that may wait ones that can be abandoned.
func (o opened) interruptible(ctx context.Context) opened {
	switch o.r.(type) {
	case *bytes.Reader, *strings.Reader, *os.File:
		return o
	}
	p := newPump(ctx, o.r, o.done)
	return opened{p, o.size, p.end}
}

// measured is an open file and its size. What is not a regular file is closed.
func measured(f fs.File, err error) (io.Reader, int64, error) {
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
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
