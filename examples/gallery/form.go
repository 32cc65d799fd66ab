package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
)

// Package once creates one record for each name, and pictures may share a title, so the name of a record is its title
// and the token of its form. The token is made when the form is shown: a form that is sent twice is the same one.
var (
	isToken  = regexp.MustCompile(`^[a-z2-7]{12}$`).MatchString
	tokenEnd = regexp.MustCompile(` #[a-z2-7]{12}$`)
)

func newToken() string { return strings.ToLower(rand.Text()[:12]) }

// title returns a record's name without the token of the form that created it.
func title(name string) string { return tokenEnd.ReplaceAllString(name, "") }

// recordName returns the name of the record that a form creates, or "" if it has no title.
func recordName(form url.Values) string {
	name := strings.TrimSpace(form.Get("name"))
	if name == "" {
		return ""
	}
	return name + " #" + form.Get("form")
}

// maxForm limits a form without its file, in bytes. A day of speech is about 1.3 million characters, which a form
// encodes in up to nine bytes each.
const maxForm = 16 << 20

// maxMemory is how much of an upload is held in memory, in bytes.
const maxMemory = 1 << 20

var errMalformedForm = unsent{errors.New("the form is malformed")}

// parseForm parses a form without a file into r.PostForm.
func parseForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return errors.Join(errMalformedForm, err)
	}
	return nil
}

// parseUpload parses a form with a file into r.MultipartForm. A file of more than maxMemory bytes becomes a temporary
// one, which the server removes when the request ends.
func parseUpload(w http.ResponseWriter, r *http.Request, maxUpload int64) error {
	body := r.Body
	r.Body = http.MaxBytesReader(w, body, maxUpload)
	err := r.ParseMultipartForm(maxMemory)
	if errors.As(err, new(*http.MaxBytesError)) {
		io.CopyN(io.Discard, body, maxUpload) // browsers read the response only when everything is sent
	}
	if err != nil {
		return errors.Join(errMalformedForm, err)
	}
	return nil
}

// maxStall is how long the gallery waits for the next bytes of a form.
const maxStall = 30 * time.Second

var errStalled = errors.New("the form stopped arriving")

// movingBody is the body of a request, with a read deadline that moves with its bytes.
type movingBody struct {
	io.ReadCloser
	ctx  context.Context
	conn *http.ResponseController
}

// keepMoving gives the request a moving body. Reading it ends with the request's context. The handler must call stop
// when it is done.
func keepMoving(w http.ResponseWriter, r *http.Request) (stop func() bool) {
	body := &movingBody{r.Body, r.Context(), http.NewResponseController(w)}
	if r.Body != http.NoBody {
		// The deadline also holds for what the server reads of a body that no handler has read.
		body.conn.SetReadDeadline(time.Now().Add(maxStall))
		r.Body = body
	}
	return context.AfterFunc(body.ctx, func() { body.conn.SetReadDeadline(time.Now()) })
}

func (b *movingBody) Read(p []byte) (int, error) {
	b.conn.SetReadDeadline(time.Now().Add(maxStall))
	if err := b.ctx.Err(); err != nil { // this deadline may have replaced the one that the context's end has set
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		b.conn.SetReadDeadline(time.Time{}) // the server now waits for the end of the connection
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errStalled
	}
	return n, err
}
