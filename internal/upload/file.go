package upload

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// File is a file to upload.
type File struct {
	Name        string // sent without its directories
	ContentType string // empty means the type of the name's extension
	Size        int64  // in bytes, as the user declares it; 0 means unknown
	Source      Source
}

// Base returns the name without directories. Both / and \ separate directories.
func (f File) Base() string { return f.Name[strings.LastIndexAny(f.Name, `/\`)+1:] }

// HeadSize is the largest number of bytes that [File.Look] returns: as many as http.DetectContentType reads.
const HeadSize = 512

// Look opens the file and returns its size in bytes, or -1, with its first bytes, which remain for the upload. The
// error is the cause of the end of ctx, or a [*ReadError].
//
// If ctx has ended, Look waits only a moment for the file, and does not touch a user's reader.
func (f File) Look(ctx context.Context) (int64, []byte, error) {
	if _, ok := f.Source.(*stream); ok && ctx.Err() != nil {
		return 0, nil, context.Cause(ctx)
	}
	release, err := claim(f.Source)
	if err != nil {
		return 0, nil, f.readError(0, err)
	}
	size, head, over := int64(0), []byte(nil), make(chan struct{})
	err = errGoexit
	go func() {
		defer close(over)
		defer release()
		defer recoverTo(&err)
		size, head, err = f.look()
	}()
	select {
	case <-over:
	case <-ctx.Done():
		if !settles(over) {
			return 0, nil, context.Cause(ctx)
		}
	}
	if err != nil {
		return 0, nil, f.readError(int64(len(head)), err)
	}
	return size, head, nil
}

// settles waits a moment for the last use of a source, and reports whether it is over.
func settles(over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	case <-time.After(grace):
		return false
	}
}

func (f File) look() (size int64, head []byte, err error) {
	in, size, err := f.Source.open(cmp.Or(f.Size, -1))
	if err != nil {
		return 0, nil, err
	}
	defer in.Close()
	head, err = bufio.NewReaderSize(in, HeadSize).Peek(HeadSize)
	if err != nil && err != io.EOF {
		return 0, head, err
	}
	if s, ok := f.Source.(*stream); ok {
		s.unread(head)
	}
	switch n := int64(len(head)); {
	case n == HeadSize:
		return size, head, nil
	case f.Size == 0 && n < size:
		return 0, head, fmt.Errorf("it ended, but its size is %d", size)
	default:
		return n, head, nil
	}
}

var errGoexit = errors.New("it ended its goroutine")

// recoverTo turns a panic of a user's reader, which would end the program, into an error.
func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("it panicked: %v", v)
	}
}

// ErrSource matches the error of an upload whose file could not be read.
var ErrSource = errors.New("the file could not be read")

// ReadError is the error of a file that could not be read. It matches [ErrSource].
type ReadError struct {
	Name   string // of the file, without its directories
	Offset int64  // of the failure, in bytes
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("file %.80q: at byte %d: %v", e.Name, e.Offset, e.Err)
}

// Unwrap returns the cause and [ErrSource].
func (e *ReadError) Unwrap() []error { return []error{e.Err, ErrSource} }

func (f File) readError(offset int64, err error) *ReadError { return &ReadError{f.Base(), offset, err} }
