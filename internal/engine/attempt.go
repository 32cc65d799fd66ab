package engine

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/internal/upload"
)

var (
	// ErrRedirect matches the error of a refused redirect.
	ErrRedirect = errors.New("redirect refused")
	// ErrCutOff matches the error of a response that ended too early, or could not be decompressed.
	ErrCutOff = errors.New("the response was cut off")
	// ErrTooLarge matches the error of a response that is larger than the Sender allows.
	ErrTooLarge = errors.New("the response is too large")
)

// Attempt is the result of one attempt.
type Attempt struct {
	Number     int // from 1
	Facts      Facts
	Verdict    Verdict
	Reply      Reply
	Err        error // of the network, the file, the context, a limit or the content; nil for success and for a status
	Took       time.Duration
	RetryAfter time.Duration // from the response; 0 if missing
	FileSent   int64         // bytes of the file that the transport has taken
}

// attempt makes one attempt.
func (c *call) attempt(read Reader) Attempt {
	a := Attempt{Number: c.last.Number + 1, Facts: Facts{Kind: c.req.Kind, Lost: c.outcome == Unknown}}
	a.Reply.Keys, a.Reply.Attempts = c.keys, a.Number
	start := time.Now()
	seen := c.sender.Transport.newWatch(c.ctx, c.set.Limits, c.req.Body != nil)
	clock := &seen.clock
	defer clock.stop()
	wired := c.newRequest(seen)
	var bar *progressBar
	if c.set.Progress != nil {
		bar = &progressBar{report: c.set.Progress, attempt: a.Number, sent: -1}
	}
	var sending *upload.Sending
	if c.req.Body != nil {
		var err error
		sending, err = c.req.Body.Attach(wired, func(sent int64, done bool) {
			clock.moved(done)
			bar.moved(sent, done)
		})
		if err != nil {
			a.Err, a.Facts.End, a.Facts.Unsent = err, Unread, true
			a.Verdict = Judge(a.Facts)
			return a
		}
		defer sending.End() // because a RoundTripper may panic
	}
	resp, err := c.sender.client(c.req.Kind).Do(wired)
	if err == nil {
		a.Reply, a.Facts.Content = c.receive(a.Reply, resp, read, clock)
		a.Facts.Status, a.Err = a.Reply.Status, a.Facts.Content.Err
		if a.Reply.Status/100 != 2 { // because a success may have one for polling
			a.RetryAfter = retryAfter(a.Reply.Header, time.Now())
		}
	}
	a.Took = time.Since(start)
	clock.stop()
	sent := sending.End()
	bar.moved(sent.File, true)
	a.FileSent, a.Facts.Complete, a.Facts.Unsent = sent.File, sent.Complete, seen.unsent()
	if outer, ok := err.(*url.Error); ok { // from http.Client, with the query in its text
		err = outer.Err
	}
	if err != nil {
		err = cmp.Or(sent.Err, err)
		a.Err = cmp.Or(endedBy(c.ctx, clock), err)
	}
	a.Facts.End = endOf(c.ctx, err)
	a.Verdict = Judge(a.Facts)
	return a
}

func (s *Sender) client(kind Kind) *http.Client {
	if kind == Fetch {
		return s.Pictures
	}
	return s.API
}

// newRequest returns the HTTP request of an attempt, without its body. It shares no memory with other attempts, because
// a RoundTripper may change it.
func (c *call) newRequest(ctx context.Context) *http.Request {
	req := &c.req
	own := &struct { // one allocation
		url    url.URL
		values [3]string
	}{req.URL, [3]string{c.sender.UserAgent}}
	header := make(http.Header, 8)
	header["User-Agent"] = own.values[0:1:1]
	if c.key != nil {
		own.values[1] = "application/json"
		header["Accept"], header["Authorization"] = own.values[1:2:2], c.key.authorization(own.values[2:2:3])
	}
	for name, values := range req.Header {
		header[name] = slices.Clone(values)
	}
	return (&http.Request{Method: req.Method, URL: &own.url, Host: req.URL.Host, Header: header}).WithContext(ctx)
}

// reportInterval is the time between two reports of progress: a bar that moves 20 times a second looks smooth.
const reportInterval = 50 * time.Millisecond

// progressBar reports the progress of one attempt. Nil reports nothing.
type progressBar struct {
	report  func(sent int64, attempt int)
	attempt int
	sent    int64 // reported bytes; -1 before the first report
	due     time.Time
}

// moved reports the number of bytes sent, if it is new and a report is due. The last report is always due.
func (b *progressBar) moved(sent int64, last bool) {
	if b == nil {
		return
	}
	if now := time.Now(); sent > b.sent && (last || !now.Before(b.due)) {
		b.sent, b.due = sent, now.Add(reportInterval)
		b.report(sent, b.attempt)
	}
}

// maxErrorBody limits the body of a response other than 2xx, in bytes, because a program may keep many errors. The
// debug page of a framework fits.
const maxErrorBody = 1 << 20

// receive reads a response, which may arrive before the whole request was sent.
func (c *call) receive(reply Reply, resp *http.Response, read Reader, clock *clock) (Reply, Content) {
	defer resp.Body.Close()
	reply.Status, reply.Header, reply.Length = resp.StatusCode, resp.Header, resp.ContentLength
	switch limit := c.sender.MaxResponse; {
	case resp.StatusCode == http.StatusSwitchingProtocols: // no context ends a Read of its body
	case resp.StatusCode/100 != 2:
		reply.Body, reply.Err = readBody(resp, min(limit, maxErrorBody))
	case c.req.Kind == Fetch:
		reply.Picture = &picture{resp.Body, c.ctx, clock}
	default:
		reply.Body, reply.Err = readBody(resp, limit)
	}
	if ended := endedBy(c.ctx, clock); ended != nil && errors.Is(reply.Err, ErrCutOff) {
		reply.Err = fmt.Errorf("%w: %w", ErrCutOff, ended)
	}
	content := read(reply)
	reply.Picture, reply.Body = nil, cmp.Or(content.Body, reply.Body)
	return reply, content
}

// trusted is the most memory, in bytes, that a claimed length allocates. A page of 100 long records has less.
const trusted = 1 << 20

// bodyReader has a buffer, so that the result of readBody is the only copy of a body.
type bodyReader struct {
	io.LimitedReader
	buffer [16 << 10]byte
}

var bodyReaders = sync.Pool{New: func() any { return new(bodyReader) }}

// readBody returns the body of a response, up to limit bytes. With an error it returns the bytes before it.
func readBody(resp *http.Response, limit int64) (string, error) {
	r := bodyReaders.Get().(*bodyReader)
	defer func() {
		r.R = nil
		bodyReaders.Put(r)
	}()
	var body strings.Builder
	limit = min(limit, math.MaxInt64-1) // so that one more byte can be read
	body.Grow(int(min(max(resp.ContentLength, 0), limit, trusted)))
	r.R, r.N = resp.Body, limit+1
	n, err := io.CopyBuffer(&body, r, r.buffer[:])
	switch {
	case n > limit:
		return body.String()[:limit], fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	case err != nil:
		return body.String(), fmt.Errorf("%w: %w", ErrCutOff, err)
	}
	return body.String(), nil
}

// picture is the body of a picture, with a limit of the time without a byte.
type picture struct {
	io.Reader
	ctx   context.Context
	clock *clock
}

func (p *picture) Read(b []byte) (int, error) {
	p.clock.enter(moving)
	n, err := p.Reader.Read(b)
	p.clock.enter(pausing)
	if err != nil && err != io.EOF {
		err = cmp.Or(endedBy(p.ctx, p.clock), err)
	}
	return n, err
}

// endedBy returns the error of the call's context or of the clock, if one of these ended the attempt.
func endedBy(ctx context.Context, clock *clock) error {
	return cmp.Or(ContextError(ctx), clock.expired())
}

// endOf returns the reason for the end of an attempt. Err is nil if there is a response.
func endOf(ctx context.Context, err error) End {
	_, unread := err.(*upload.ReadError) // the error of a RoundTripper may only wrap one
	switch {
	case ctx.Err() != nil:
		return Cancelled
	case err == nil:
		return Broke
	case unread:
		return Unread
	case errors.Is(err, ErrClearProxy), errors.Is(err, ErrRedirect), err == http.ErrSchemeMismatch,
		errors.As(err, new(*tls.CertificateVerificationError)):
		return Fatal
	}
	return Broke
}

// Look is [upload.File.Look] with a stall limit; 0 means none. The error may also be that of the limit.
func Look(ctx context.Context, f upload.File, stall time.Duration) (size int64, head []byte, err error) {
	var clock clock
	clock.start(ctx, Limits{Stall: stall}, true)
	defer clock.stop()
	size, head, err = f.Look(&clock)
	if err != nil {
		err = cmp.Or(endedBy(ctx, &clock), err)
	}
	return size, head, err
}
