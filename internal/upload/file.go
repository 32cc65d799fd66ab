package upload

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// File is a file to upload.
type File struct {
	Name        string // sent without its directories
	ContentType string // empty means the type of the name's extension
	Size        int64  // declared by the user; 0 means "find out"
	Source      Source
}

// Problem is a reason not to send a file. The zero value means no problem.
type Problem struct {
	Reason   string // without its subject: "must not be empty"
	Hint     string // for the programmer; may be empty
	Waivable bool   // the user may override the problem
	Err      error  // a [*ReadError] if the file cannot be read; else nil
}

// Inspect reads the start of the file and returns the file's size in bytes, -1 if unknown, and its first problem. If
// the context has ended, the error is its cause, but a problem with a file other than a user's reader comes first.
func (f File) Inspect(ctx context.Context) (int64, Problem, error) {
	if p := f.badFields(); p.Reason != "" {
		return 0, p, nil
	}
	lasting := ctx
	if _, reader := f.Source.(*stream); ctx.Err() != nil && !reader {
		var cancel context.CancelFunc
		lasting, cancel = context.WithTimeout(context.WithoutCancel(ctx), Grace)
		defer cancel()
	}
	size, head, err := f.look(lasting)
	if err != nil && lasting.Err() != nil {
		return 0, Problem{}, context.Cause(ctx)
	}
	return size, f.badContent(size, head, err), nil
}

// headSize is the number of bytes of a file that http.DetectContentType reads.
const headSize = 512

// look returns the size of the file and its first bytes. A reader that cannot seek keeps these for the upload.
func (f File) look(ctx context.Context) (size int64, head []byte, err error) {
	in, err := f.open(ctx, nil, false)
	if err != nil {
		return 0, nil, err
	}
	defer in.close()
	head, err = io.ReadAll(io.LimitReader(in, headSize))
	n := int64(len(head))
	if err != nil {
		return 0, nil, fmt.Errorf("at byte %d: %w", n, err)
	}
	if s, ok := f.Source.(*stream); ok {
		if err := in.call(func() error { return s.keep(head) }); err != nil {
			return 0, nil, err
		}
	}
	switch {
	case n == headSize && in.size == 0: // a file of /proc, for example
		return cmp.Or(f.Size, -1), head, nil
	case n == headSize:
		return in.size, head, nil
	case f.Size == 0 && n < in.size:
		return 0, nil, fmt.Errorf("it ended at byte %d, but its size is %d", n, in.size)
	}
	return n, head, nil
}

// badFields returns the first problem with the fields of f.
func (f File) badFields() (p Problem) {
	switch name := f.base(); {
	case f.Source == nil:
		p.Reason = "is required"
		p.Hint = "make it with FileFromPath, FileFromFS, FileFromBytes or FileFromReader"
	case strings.TrimSpace(name) == "" || name == "." || name == "..":
		p.Reason = "must have a file name"
		p.Hint = "FileFromPath and FileFromFS take it from their path, " +
			"FileFromBytes and FileFromReader from their first argument"
	case !utf8.ValidString(name):
		p.Reason = "must have a name in valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		p.Reason = "must have a name without control characters or line breaks"
	case strings.ContainsFunc(f.ContentType, unicode.IsControl) || strings.TrimSpace(f.ContentType) != f.ContentType:
		p.Reason = "must have a content type without control characters or white space around it"
	case f.Size < 0:
		p.Reason, p.Hint = fmt.Sprintf("must have a Size of at least 0, not %d", f.Size), "0 means unknown"
	}
	return p
}

// badContent returns the first problem with the results of look.
func (f File) badContent(size int64, head []byte, err error) (p Problem) {
	switch kind := noAudio[http.DetectContentType(head)]; {
	case err != nil:
		p.Reason, p.Err = "cannot be read: "+err.Error(), &ReadError{fmt.Errorf("file %.80q: %w", f.base(), err)}
		if err == errUsed {
			p.Hint = "open a reader for each call, or use one that can seek"
		}
	case f.Size > 0 && size != f.Size:
		p.Reason = fmt.Sprintf("has %d bytes, but its Size says %d", size, f.Size)
	case f.Size > 0 && f.Size < int64(len(head)):
		p.Reason = fmt.Sprintf("has more than the %d bytes that its Size says", f.Size)
	case size == 0:
		p.Reason, p.Waivable = "must not be empty", true
		if s, ok := f.Source.(*stream); ok && s.start > 0 {
			const atEnd = "the reader is at its end, byte %d: seek to the start, Seek(0, io.SeekStart)"
			p.Hint = fmt.Sprintf(atEnd, s.start)
		}
	case kind != "":
		p.Reason, p.Waivable = "must be an audio file, but it is "+kind, true
	}
	return p
}

// base returns the name without directories. Both / and \ separate directories.
func (f File) base() string {
	return f.Name[strings.LastIndexAny(f.Name, `/\`)+1:]
}
