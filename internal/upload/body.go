package upload

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// Body is the body of a call: a form, or bytes before a file, the file and the closing delimiter. It is made once, and
// every attempt sends the same bytes.
type Body struct {
	contentType string
	head, tail  []byte
	file        *File // nil for a form
	fileSize    int64
	size        int64
}

// Form is an application/x-www-form-urlencoded body.
func Form(fields url.Values) *Body {
	head := []byte(fields.Encode())
	return &Body{contentType: "application/x-www-form-urlencoded", head: head, size: int64(len(head))}
}

// Multipart is a multipart/form-data body whose last part is the file, with what [File.Inspect] found out about it.
func Multipart(fields url.Values, f File, facts Facts) *Body {
	boundary := rand.Text()
	var head strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, value := range fields[name] {
			fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n", boundary, partNames.Replace(name), value)
		}
	}
	fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%s\"\r\nContent-Type: %s\r\n\r\n",
		boundary, partNames.Replace(f.base()), f.mediaType(facts.Head))
	b := &Body{
		contentType: "multipart/form-data; boundary=" + boundary,
		head:        []byte(head.String()),
		tail:        []byte("\r\n--" + boundary + "--\r\n"),
		file:        &f,
		fileSize:    facts.Size,
		size:        -1,
	}
	if facts.Size >= 0 {
		b.size = int64(len(b.head)) + facts.Size + int64(len(b.tail))
	}
	return b
}

// partNames quotes a name as PHP, Go, Python and busboy read it: a backslash goes before a quote. Browsers write
// %22 for a quote, which these take for three characters. A line break would end the header line.
var partNames = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "%0D", "\n", "%0A")

// FileSize is the size of the file in bytes, -1 where it is unknown, 0 for a form.
func (b *Body) FileSize() int64 { return b.fileSize }

// Size is the size of the whole body in bytes, -1 where it is unknown.
func (b *Body) Size() int64 { return b.size }

// HasFile reports whether a file is part of the body.
func (b *Body) HasFile() bool { return b.file != nil }

// Replayable reports whether another attempt can send the same bytes. Between Attach and [Sending.End] a body that reads
// from a user's reader is not replayable.
func (b *Body) Replayable() bool { return b.file == nil || b.file.Source.replayable() }

// Attach makes b the body of req, whose context ends the reading. Every attempt has a request and a Sending of its own,
// and ends the Sending. A meter may be nil. The error is a [*ReadError], or the
// context's cause.
//
// A request with a file has no GetBody: net/http cannot send it again by itself.
func (b *Body) Attach(req *http.Request, a *wire.Attempt, m *Meter) (*Sending, error) {
	req.Header["Content-Type"] = []string{b.contentType}
	req.ContentLength = b.size
	if b.file == nil {
		b.attachForm(req, a)
		return &Sending{}, nil
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	// Opening may wait for the source as a Read may.
	a.Reading()
	o, err := b.file.Source.open(ctx, b.file.Size)
	a.Taken(false)
	if err != nil {
		if ctx.Err() == nil {
			err = b.readError(0, err)
		}
		cancel(err)
		return nil, err
	}
	s := &Sending{
		body: b, attempt: a, meter: m, ctx: ctx, cancel: cancel,
		lock: make(chan struct{}, 1), rest: b.head, file: checkedReader{o.r}, done: o.done,
	}
	req.Body = requestBody{s}
	return s, nil
}

// largeForm is the size in bytes from which a form takes long enough to be sent that it may stall.
const largeForm = 64 << 10

// Tracked reports whether the attempt is told how the body is taken. It is not for a small form.
func (b *Body) Tracked() bool { return b.file != nil || b.size > largeForm }

// attachForm lets net/http see that a small body is in memory: it then writes header and body at once.
func (b *Body) attachForm(req *http.Request, a *wire.Attempt) {
	if b.size == 0 {
		req.Body = http.NoBody
		return
	}
	open := func() (io.ReadCloser, error) {
		r := bytes.NewReader(b.head)
		if b.Tracked() {
			return io.NopCloser(trackedForm{r, a}), nil
		}
		return io.NopCloser(r), nil
	}
	req.Body, _ = open()
	if req.Method != http.MethodPost {
		req.GetBody = open
	}
}

// trackedForm tells the attempt what the transport takes of a form.
type trackedForm struct {
	form    *bytes.Reader
	attempt *wire.Attempt
}

func (f trackedForm) Read(p []byte) (int, error) {
	n, err := f.form.Read(p)
	f.attempt.Taken(err != nil || f.form.Len() == 0)
	return n, err
}

func (b *Body) readError(offset int64, err error) error {
	return &ReadError{Name: b.file.base(), Offset: offset, Err: err}
}

// ReadError is a file that failed while it was sent.
type ReadError struct {
	Name   string // without directories
	Offset int64  // how many bytes of the file had been read
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("file %.80q: at byte %d: %v", e.Name, e.Offset, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }
