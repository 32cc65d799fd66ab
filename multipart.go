package aicontent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// payload is the body of a call: bytes before the file, the file, bytes behind it. It is made once; each attempt
// opens it anew, so that every attempt sends the same.
type payload struct {
	contentType string
	head, tail  []byte
	file        *File // nil for a form without one
	fileSize    int64 // -1 where it is unknown
	size        int64 // of the whole; -1 where it is unknown
}

// urlencoded makes an application/x-www-form-urlencoded body.
func urlencoded(_ context.Context, fields url.Values, _ *settings, _ *problems) (*payload, error) {
	head := []byte(fields.Encode())
	return &payload{contentType: "application/x-www-form-urlencoded", head: head, size: int64(len(head))}, nil
}

// multipartWith makes multipart/form-data bodies with a file.
func multipartWith(file *File) bodyMaker {
	return func(ctx context.Context, fields url.Values, s *settings, p *problems) (*payload, error) {
		return newMultipart(ctx, fields, file, s.stall, p)
	}
}

// newMultipart is a multipart/form-data body with the file in its last part. What is wrong with the file
// goes to p. A file whose first bytes do not come within the stall timeout, 0 for none, is an error.
func newMultipart(ctx context.Context, fields url.Values, file *File, stall time.Duration, p *problems) (*payload, error) {
	if stall > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, stall, &timeoutError{sending: true, limit: stall})
		defer cancel()
	}
	size, start, err := file.check(ctx, p)
	if err != nil {
		return nil, err
	}
	boundary := rand.Text()
	var head strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, value := range fields[name] {
			fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n", boundary, partName(name), value)
		}
	}
	fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%s\"\r\nContent-Type: %s\r\n\r\n",
		boundary, partName(file.base()), file.mediaType(start))
	body := &payload{
		contentType: "multipart/form-data; boundary=" + boundary,
		head:        []byte(head.String()),
		tail:        []byte("\r\n--" + boundary + "--\r\n"),
		file:        file,
		fileSize:    size,
		size:        -1,
	}
	if size >= 0 {
		body.size = int64(len(body.head)) + size + int64(len(body.tail))
	}
	return body, nil
}

// partName quotes a name as PHP, Go, Python and Node's busboy read it. Browsers write %22 for a double quote, which PHP
// takes as it stands; parsers that know the browsers' form alone, as Node's own, do not read such a name. A line break
// would end the header line.
var partNames = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "%0D", "\n", "%0A")

func partName(name string) string { return partNames.Replace(name) }

// again reports whether another attempt can send the same.
func (p *payload) again() bool { return p.file == nil || p.file.source.again() }

// attemptBody hands a payload to net/http, within one attempt.
type attemptBody struct {
	*payload
	wire  *wire
	meter *meter
	safe  bool // sending it twice does no harm

	mu    sync.Mutex
	now   *bodyReader
	ended bool
}

// attach makes it the body of req, ready for net/http to ask for another when a kept-alive connection turns out dead.
func (b *attemptBody) attach(ctx context.Context, req *http.Request) error {
	req.Header["Content-Type"] = []string{b.contentType}
	req.ContentLength = b.size
	if b.size == 0 {
		req.Body = http.NoBody
		return nil
	}
	first, err := b.open(ctx)
	if err != nil {
		return err
	}
	req.Body = first
	marked := req.Header.Get("Idempotency-Key")+req.Header.Get("X-Idempotency-Key") != ""
	req.GetBody = func() (io.ReadCloser, error) { return &replay{body: b, ctx: ctx, marked: marked}, nil }
	return nil
}

// replay is the body that net/http asks for when it sends a request once more by itself. It also asks when
// it meets a redirect, which is then not followed: so nothing is opened before the first Read.
type replay struct {
	body   *attemptBody
	ctx    context.Context
	marked bool // a header makes net/http believe that the request may always be sent again

	mu     sync.Mutex
	now    *bodyReader
	closed bool
}

func (r *replay) Read(p []byte) (int, error) {
	now, err := r.open()
	if err != nil {
		return 0, err
	}
	return now.Read(p)
}

func (r *replay) open() (*bodyReader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, io.ErrClosedPipe
	}
	if r.now == nil {
		if b := r.body; !b.safe && !b.wire.untouched(r.marked) {
			return nil, errSentOnce
		}
		now, err := r.body.open(r.ctx)
		if err != nil {
			return nil, err
		}
		r.now = now
	}
	return r.now, nil
}

func (r *replay) Close() error {
	r.mu.Lock()
	r.closed = true
	now := r.now
	r.mu.Unlock()
	if now == nil {
		return nil
	}
	return now.Close()
}

var errSentOnce = errors.New("the connection broke after the request was sent, and it is not sent again")

// open starts the payload from its beginning, and ends the reader before.
func (b *attemptBody) open(ctx context.Context) (*bodyReader, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return nil, io.ErrClosedPipe
	}
	if b.now != nil {
		b.now.Close()
	}
	r := &bodyReader{attemptBody: b, rest: b.head}
	if b.file != nil {
		file, done, err := b.file.source.open(ctx)
		if err != nil {
			return nil, &fileError{b.file.Name, 0, err}
		}
		r.file, r.done = patient{file}, done
	}
	b.now = r
	return r, nil
}

// end makes sure that net/http, which may go on reading after its answer, reads nothing more.
func (b *attemptBody) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.now != nil {
		b.now.Close()
	}
}

// bodyReader reads a payload once.
type bodyReader struct {
	*attemptBody
	mu     sync.Mutex
	rest   []byte    // of the head or tail, whichever is being read
	file   io.Reader // nil when it has been read
	done   func()    // closes what was opened
	offset int64     // in the file
	tailed bool
	closed bool
	failed error
}

func (r *bodyReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return 0, io.ErrClosedPipe
	case r.failed != nil:
		return 0, r.failed
	case len(p) == 0:
		return 0, nil
	}
	for len(r.rest) == 0 {
		if r.file != nil {
			n, err := r.readFile(p)
			if n > 0 || err != nil {
				r.failed = err
				r.wire.took(false)
				r.meter.at(r.offset)
				return n, err
			}
			continue
		}
		if r.tailed {
			r.wire.took(true)
			return 0, io.EOF
		}
		r.rest, r.tailed = r.tail, true
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	r.wire.took(len(r.rest) == 0 && r.file == nil && (r.tailed || len(r.tail) == 0))
	return n, nil
}

// readFile reads the file, and nothing of a file that is not as long as it was: a request must never look whole
// and not be. At the file's end it returns nothing and sets it to nil.
func (r *bodyReader) readFile(p []byte) (int, error) {
	if r.fileSize >= 0 && r.offset < r.fileSize {
		p = p[:min(int64(len(p)), r.fileSize-r.offset)]
	}
	if r.fileSize >= 0 && r.offset == r.fileSize {
		p = make([]byte, 1)
	}
	n, err := r.file.Read(p)
	switch {
	case r.fileSize >= 0 && r.offset == r.fileSize && n > 0:
		return 0, r.wrong(fmt.Errorf("it has grown beyond the %d bytes that it had", r.fileSize))
	case err == io.EOF && r.offset+int64(n) < r.fileSize:
		r.offset += int64(n)
		return 0, r.wrong(fmt.Errorf("it has shrunk, from the %d bytes that it had", r.fileSize))
	case err != nil && err != io.EOF:
		r.offset += int64(n)
		return 0, r.wrong(err)
	}
	r.offset += int64(n)
	if err == io.EOF {
		r.file = nil
	}
	return n, nil
}

func (r *bodyReader) wrong(err error) error {
	return &fileError{r.attemptBody.file.Name, r.offset, err}
}

// Close releases the file. It waits for a Read under way, which the end of the attempt's context ends.
func (r *bodyReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && r.done != nil {
		r.done()
	}
	r.closed = true
	return nil
}
