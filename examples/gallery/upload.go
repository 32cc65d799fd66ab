package main

import (
	"bytes"
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
	fields url.Values
	file   aicontent.File
}

// maxField and maxFields limit how much of a form is held in memory.
const (
	maxField  = 64 << 10
	maxFields = 8
)

var errMalformedForm = errors.New("the form is malformed")

// readUpload reads the fields of a multipart form up to the file, which must come last. Reading the file then reads
// from the browser.
func readUpload(r *http.Request) (upload, error) {
	u := upload{fields: make(url.Values)}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" {
		return u, errMalformedForm
	}
	head := &recorder{r: r.Body}
	parts := multipart.NewReader(head, params["boundary"])
	for n := range maxFields {
		part, err := parts.NextPart()
		if err == io.EOF {
			return u, nil
		}
		if err != nil {
			return u, errors.Join(errMalformedForm, err)
		}
		if part.FormName() == "file" {
			if part.FileName() != "" {
				u.file = aicontent.FileFromReader(part.FileName(), part)
				u.file.Size = fileSize(r.ContentLength, head.stop(), params["boundary"], n)
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

// fileSize returns the size of the file at the end of a form: the length of the form without what comes before and
// after the file. It is 0 if the length is negative, that is unknown. head is what has been read of the form, and n
// the number of fields before the file. The size matters because some services refuse uploads of unknown length.
func fileSize(length int64, head []byte, boundary string, n int) int64 {
	file := append([]byte("\r\n"), head...)
	for range n + 1 {
		_, file, _ = bytes.Cut(file, []byte("\r\n--"+boundary))
	}
	_, file, found := bytes.Cut(file, []byte("\r\n\r\n"))
	if length < 0 || !found {
		return 0
	}
	return length - int64(len(head)-len(file)) - int64(len("\r\n--"+boundary+"--\r\n"))
}

// recorder keeps what is read through it, until it is stopped.
type recorder struct {
	r       io.Reader
	head    []byte
	stopped bool
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if !r.stopped {
		r.head = append(r.head, p[:n]...)
	}
	return n, err
}

func (r *recorder) stop() []byte {
	head := r.head
	r.stopped, r.head = true, nil
	return head
}
