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

// Body is the body of a call: a form, or bytes before a file, the file and the closing delimiter. It is made once, and
// every attempt sends the same bytes.
type Body struct {
	FileSize int64 // in bytes; -1 where it is unknown, 0 for a form

	contentType string
	head, tail  []byte
	file        *File // nil for a form
	reporting   sync.Mutex
}

// Form is an application/x-www-form-urlencoded body.
func Form(fields url.Values) *Body {
	return &Body{contentType: "application/x-www-form-urlencoded", head: []byte(fields.Encode())}
}

// Multipart is a multipart/form-data body. Its last part is the file, in the given field and of the size that
// [File.Inspect] found out.
func Multipart(fields url.Values, field string, f File, size int64) *Body {
	// The writer quotes names as PHP, Go, Python and busboy read them, with a backslash before a quote. Browsers write
	// %22, which these take for three characters.
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

// Replayable reports whether another attempt can send the same bytes. Between Attach and [Sending.Close] a body that
// reads from a user's reader is not replayable.
func (b *Body) Replayable() bool {
	if b.file == nil {
		return true
	}
	s, ok := b.file.Source.(*stream)
	return !ok || s.replayable()
}

// Attach makes b the body of req, whose context ends the reading. Every attempt has a request and a Sending of its
// own, and closes the Sending, which is nil for a form. Report, which may be nil, is told how many bytes of the file
// were sent, at most 20 times a second and at the end of the attempt, never twice at once. The error is a
// [*ReadError], or the context's cause.
//
// A request with a file has no GetBody: net/http cannot send it again by itself.
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
	// Opening may wait for the source as a Read may.
	clock.Reading()
	var err error
	s.file, err = b.file.open(req.Context(), told)
	clock.Taken(false)
	if err != nil {
		return s, cmp.Or(context.Cause(req.Context()), b.file.readError(0, err))
	}
	req.Body = s
	return s, nil
}

// largeForm is the size in bytes from which a form takes long enough to be sent that it may stall.
const largeForm = 64 << 10

// Tracked reports whether the attempt is told how the body is taken. It is not for a small form.
func (b *Body) Tracked() bool { return b.file != nil || len(b.head) > largeForm }

// attachForm lets net/http see that a small body is in memory: it then writes header and body at once.
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

// ErrSource is matched by the errors of an upload whose file could not be read: its reader failed or stalled, or the
// file has changed.
var ErrSource = errors.New("the file could not be read")

// ReadError is a file that could not be read. It is an [ErrSource].
type ReadError struct{ error }

// Unwrap returns what went wrong, and [ErrSource].
func (e *ReadError) Unwrap() []error { return []error{e.error, ErrSource} }
