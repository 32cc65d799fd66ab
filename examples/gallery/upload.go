package main

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/aicontent/aicontent-go"
)

// upload is a form with a file that has not been read yet.
type upload struct {
	fields  url.Values
	file    aicontent.File
	content io.Reader // of the file; nil without one
}

// maxField and maxFields limit how much of a form is held in memory.
const (
	maxField  = 64 << 10
	maxFields = 8
)

var errMalformedForm = errors.New("the form is malformed")

// readUpload reads the fields of a multipart form up to the file, which must come last. Reading the file then reads
// from the body.
func readUpload(r *http.Request, body io.Reader) (upload, error) {
	u := upload{fields: make(url.Values)}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" {
		return u, errMalformedForm
	}
	head := &counter{Reader: body}
	parts := multipart.NewReader(head, params["boundary"])
	for range maxFields {
		part, err := parts.NextPart()
		if err == io.EOF {
			return u, nil
		}
		if err != nil {
			return u, errors.Join(errMalformedForm, err)
		}
		if part.FormName() == "file" {
			if part.FileName() != "" {
				u.content = part
				u.file = aicontent.FileFromReader(part.FileName(), part)
				if r.ContentLength > 0 {
					u.file.Size = r.ContentLength - head.n - int64(len("\r\n--"+params["boundary"]+"--\r\n"))
				}
				head.ahead = true
			}
			return u, nil
		}
		value, err := io.ReadAll(io.LimitReader(part, maxField+1))
		if err != nil || len(value) > maxField {
			return u, errors.Join(errMalformedForm, err)
		}
		u.fields.Set(part.FormName(), string(value))
	}
	return u, errMalformedForm
}

// counter counts what is read through it. Until the file begins it reads single bytes, so that nothing is read ahead.
type counter struct {
	io.Reader
	n     int64
	ahead bool
}

func (c *counter) Read(p []byte) (int, error) {
	if !c.ahead && len(p) > 1 {
		p = p[:1]
	}
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// maxForm limits a form without a file, in bytes. A day of speech is about 1.3 million characters, which a form
// encodes in up to nine bytes each.
const maxForm = 16 << 20

// parseForm parses a form without a file into r.PostForm.
func parseForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return errors.Join(errMalformedForm, err)
	}
	return nil
}

// posted returns a pointer to a field of the form, or nil if the form does not have it.
func posted(form url.Values, field string) *string {
	if !form.Has(field) {
		return nil
	}
	return new(form.Get(field))
}
