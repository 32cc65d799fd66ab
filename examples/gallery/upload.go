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

// maxFields limits the fields of a form that creates a record, in bytes, and maxParts those of an upload. All that an
// upload has before its file may be maxHead.
const (
	maxFields = 64 << 10
	maxParts  = 8
	maxHead   = maxFields + 16<<10
)

var errMalformedForm = unsent{errors.New("the form is malformed")}

// readUpload reads the fields of a multipart form up to the file, which must come last. Reading the file then reads
// from the body.
func readUpload(r *http.Request, body io.Reader) (fields url.Values, file aicontent.File, err error) {
	fields = make(url.Values)
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" {
		return fields, file, errMalformedForm
	}
	head := &counter{Reader: body}
	parts := multipart.NewReader(head, params["boundary"])
	left := int64(maxFields)
	for range maxParts {
		part, err := parts.NextPart()
		if err == io.EOF {
			return fields, file, nil
		}
		if err != nil {
			return fields, file, errors.Join(errMalformedForm, err)
		}
		if part.FormName() == "file" {
			if part.FileName() != "" {
				file = aicontent.FileFromReader(part.FileName(), part)
				if r.ContentLength > 0 {
					file.Size = r.ContentLength - head.n - int64(len("\r\n--"+params["boundary"]+"--\r\n"))
				}
				head.ahead = true
			}
			return fields, file, nil
		}
		value, err := io.ReadAll(io.LimitReader(part, left+1))
		if err != nil {
			return fields, file, errors.Join(errMalformedForm, err)
		}
		if left -= int64(len(value)); left < 0 {
			return fields, file, unsent{&http.MaxBytesError{Limit: maxFields}}
		}
		fields.Set(part.FormName(), string(value))
	}
	return fields, file, errMalformedForm
}

// counter counts what is read through it. Until the file begins it reads single bytes, so that nothing is read ahead.
type counter struct {
	io.Reader
	n     int64
	ahead bool
}

func (c *counter) Read(p []byte) (int, error) {
	if !c.ahead {
		if c.n > maxHead {
			return 0, errMalformedForm
		}
		p = p[:min(len(p), 1)]
	}
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// maxForm limits a form without a file, in bytes. A day of speech is about 1.3 million characters, which a form
// encodes in up to nine bytes each.
const maxForm = 16 << 20

// parseForm parses a form without a file into r.PostForm.
func parseForm(w http.ResponseWriter, r *http.Request, limit int64) error {
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	if err := r.ParseForm(); err != nil {
		return errors.Join(errMalformedForm, err)
	}
	return nil
}

// posted returns a pointer to a text of the form, or nil if the form does not have it.
func posted(form url.Values, field string) *string {
	if !form.Has(field) {
		return nil
	}
	return new(asTyped(field, form.Get(field)))
}
