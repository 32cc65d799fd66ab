package upload

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"sync"
)

// Body is the body of a call: a form, or a multipart form with a file. Every attempt of the call sends the same bytes.
type Body struct {
	FileSize int64 // in bytes; -1 if unknown, 0 for a form

	contentType string
	head, tail  []byte // around the file; tail is the closing delimiter
	file        *File  // nil for a form
	reporting   sync.Mutex
}

// Form returns an application/x-www-form-urlencoded body.
func Form(fields url.Values) *Body {
	return &Body{contentType: "application/x-www-form-urlencoded", head: []byte(fields.Encode())}
}

// Multipart returns a multipart/form-data body whose last part is the file. Size is the result of [File.Inspect].
func Multipart(fields url.Values, field string, f File, size int64) *Body {
	// The writer escapes a quote in a name with a backslash. Browsers write %22, which PHP, Go, Python and busboy read
	// as three characters.
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, value := range fields[name] {
			_ = form.WriteField(name, value)
		}
	}
	_, _ = form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition(field, f.base())},
		"Content-Type":        {f.mediaType()},
	})
	return &Body{
		FileSize:    size,
		contentType: form.FormDataContentType(),
		head:        head.Bytes(),
		tail:        []byte("\r\n--" + form.Boundary() + "--\r\n"),
		file:        &f,
	}
}

// Replayable reports whether another attempt can send the same bytes. A body that reads from a user's reader is not
// replayable between Attach and [Sending.Close].
func (b *Body) Replayable() bool {
	if b.file == nil {
		return true
	}
	s, ok := b.file.Source.(*stream)
	return !ok || s.replayable()
}

// Attach sets the body of req, for one attempt. The caller must close the Sending, which is nil for a form. If the
// context of req ends, reading the file fails. The error is a [*ReadError] or the context's cause.
//
// Attach calls report, unless it is nil, with the number of bytes of the file sent so far: at most 20 times a second,
// once more at the end of the attempt, and from one goroutine at a time.
//
// A request with a file has no GetBody, so net/http never sends it twice.
func (b *Body) Attach(req *http.Request, clock Clock, report func(sent int64)) (*Sending, error) {
	req.Header["Content-Type"] = []string{b.contentType}
	if b.file == nil {
		b.attachForm(req, clock)
		return nil, nil
	}
	req.ContentLength = -1
	if b.FileSize >= 0 {
		req.ContentLength = int64(len(b.head)) + b.FileSize + int64(len(b.tail))
	}
	s := &Sending{body: b, clock: clock, tail: bytes.NewReader(b.tail)}
	s.parts = io.MultiReader(bytes.NewReader(b.head), readerFunc(s.readFile), s.tail)
	var told *progress
	if report != nil {
		told = &progress{report: report, busy: &b.reporting, reported: -1}
	}
	clock.Reading() // because Open may block as a Read may
	var err error
	s.file, err = b.file.open(req.Context(), told, true)
	clock.Taken(false)
	if err != nil {
		return s, cmp.Or(context.Cause(req.Context()), b.file.readError(0, err))
	}
	req.Body = s
	return s, nil
}

// largeForm is the size in bytes above which sending a form takes long enough to stall.
const largeForm = 64 << 10

// Tracked reports whether the [Clock] is told about the body. It is false for a small form.
func (b *Body) Tracked() bool { return b.file != nil || len(b.head) > largeForm }

// attachForm attaches a form. It gives net/http a small one as a bytes.Reader, because net/http then writes header and
// body at once.
func (b *Body) attachForm(req *http.Request, clock Clock) {
	req.ContentLength = int64(len(b.head))
	if req.ContentLength == 0 {
		req.Body = http.NoBody
		return
	}
	open := func() (io.ReadCloser, error) {
		form := bytes.NewReader(b.head)
		if b.Tracked() {
			return io.NopCloser(&Sending{clock: clock, parts: form, tail: form}), nil
		}
		return io.NopCloser(form), nil
	}
	req.Body, _ = open()
	if req.Method != "POST" {
		req.GetBody = open
	}
}

func (f File) readError(offset int64, err error) error {
	return &ReadError{fmt.Errorf("file %.80q: at byte %d: %w", f.base(), offset, err)}
}

// ErrSource matches the error of an upload whose file could not be read: its reader failed or stalled, or the file has
// changed.
var ErrSource = errors.New("the file could not be read")

// ReadError is the error of a file that could not be read. It matches [ErrSource].
type ReadError struct{ error }

// Unwrap returns the cause and [ErrSource].
func (e *ReadError) Unwrap() []error { return []error{e.error, ErrSource} }
