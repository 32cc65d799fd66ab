package main

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
)

// maxFields limits the fields of a form that creates a record, in bytes, and maxParts those of an upload.
const (
	maxFields = 64 << 10
	maxParts  = 8
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

// A body may keep the gallery waiting for maxWait in all. Each second's worth of bytes, at minRate bytes per second,
// gives a second back: a slow upload continues, and one that stalls or trickles is closed.
const (
	maxWait = 30 * time.Second
	minRate = 1 << 10
)

var errStalled = errors.New("the form stopped arriving")

// movingBody is the body of a request, with a read deadline that moves with its bytes.
type movingBody struct {
	io.ReadCloser
	ctx  context.Context
	conn *http.ResponseController

	mu   sync.Mutex
	left time.Duration // to wait
}

// keepMoving gives the request a moving body. Reading it ends with the request's context. The handler must call stop
// when it is done.
func keepMoving(w http.ResponseWriter, r *http.Request) (stop func() bool) {
	if r.Body == http.NoBody {
		return func() bool { return true }
	}
	conn := http.NewResponseController(w)
	// It also holds for what the server reads of a body that no handler has read.
	conn.SetReadDeadline(time.Now().Add(maxWait))
	r.Body = &movingBody{ReadCloser: r.Body, ctx: r.Context(), conn: conn, left: maxWait}
	return context.AfterFunc(r.Context(), func() { conn.SetReadDeadline(time.Now()) })
}

func (b *movingBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	began, allowed := time.Now(), b.left
	b.conn.SetReadDeadline(began.Add(allowed))
	if b.ctx.Err() != nil {
		// The deadline just set may have replaced the one that the context's end set.
		b.conn.SetReadDeadline(began)
		return 0, context.Cause(b.ctx)
	}
	n, err := b.ReadCloser.Read(p)
	took := time.Since(began)
	b.left = min(maxWait, allowed-took+time.Duration(n)*time.Second/minRate)
	switch {
	case err == io.EOF:
		// While the request is served, the server waits for the end of the connection.
		b.conn.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded) && took >= allowed:
		err = errStalled // by now the context has ended too: the server ends it
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = context.Cause(b.ctx)
	}
	return n, err
}
