// Package upload makes request bodies that several attempts can send: urlencoded forms, and multipart forms whose file
// is streamed from a path, a file system, memory or a reader.
package upload

import (
	"bytes"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
)

// Body is the body of a call: a form, or a multipart form with a file. Every attempt of the call sends the same bytes.
type Body struct {
	FileSize int64 // in bytes; -1 if unknown, 0 for a form

	contentType string
	head, tail  []byte // around the file; tail is the closing boundary
	file        *File  // nil for a form
}

// Form returns an application/x-www-form-urlencoded body.
func Form(fields url.Values) *Body {
	return &Body{contentType: "application/x-www-form-urlencoded", head: []byte(fields.Encode())}
}

// Multipart returns a multipart/form-data body whose last part is the file. Size is the result of [File.Look].
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
		"Content-Disposition": {multipart.FileContentDisposition(field, f.Base())},
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

// HasFile reports whether the body is a multipart form.
func (b *Body) HasFile() bool { return b.file != nil }

// Replayable reports whether another attempt can send the same bytes now. Nil, for no body, is replayable.
func (b *Body) Replayable() bool {
	if b == nil || b.file == nil {
		return true
	}
	release, err := claim(b.file.Source)
	if err != nil {
		return false
	}
	release()
	return true
}

// Attach sets the body of req, for one attempt. The Sending is nil for a form; otherwise the caller must call its End.
// The error is a [*ReadError]: the file's reader is in use, or used up. No byte of the file has been read then.
//
// The transport calls observe with each Read of the body, one call at a time. Sent is the number of bytes of the file
// that the transport has taken. Done is set from the last byte of the body on.
//
// A POST has no GetBody, so net/http never sends it twice.
func (b *Body) Attach(req *http.Request, observe func(sent int64, done bool)) (*Sending, error) {
	req.Header["Content-Type"] = []string{b.contentType}
	if b.file != nil {
		return b.attachFile(req, observe)
	}
	if len(b.head) == 0 {
		req.Body = http.NoBody
		observe(0, true)
		return nil, nil
	}
	open := func() (io.ReadCloser, error) { return &form{bytes.NewReader(b.head), observe}, nil }
	req.Body, _ = open()
	req.ContentLength = int64(len(b.head))
	if req.Method != http.MethodPost {
		req.GetBody = open
	}
	return nil, nil
}

// form is the body of one attempt without a file.
type form struct {
	rest    *bytes.Reader
	observe func(sent int64, done bool)
}

func (f *form) Read(p []byte) (int, error) {
	n, err := f.rest.Read(p)
	f.observe(0, f.rest.Len() == 0)
	return n, err
}

func (f *form) Close() error { return nil }
