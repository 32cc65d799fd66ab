package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// ErrRedirect matches the error of a refused redirect.
var ErrRedirect = errors.New("redirect refused")

var errNoStatus = errors.New("the RoundTripper returned a response without a status")

// Attempt is the result of one attempt.
type Attempt struct {
	Number     int // from 1
	Facts      Facts
	Verdict    Verdict
	Reply      Reply
	Err        error // of the network, the context, the clock or the Reader; nil for success and for a status
	Took       time.Duration
	RetryAfter time.Duration // from the response; 0 if missing
	Sent       int64         // bytes, with those of TLS; 0 if unknown
}

// attempt makes one attempt. Lost means that an earlier attempt of the call may have been executed.
func (s *Sender) attempt(
	ctx context.Context, req *Request, set *Settings, read Reader, key *Credential, number int, lost bool,
) Attempt {
	start := time.Now()
	client := s.API
	if req.Kind == Fetch {
		client = s.Pictures
	}
	on, clock, evidence := s.Transport.Watch(ctx, limits(req, set))
	defer clock.Stop() // because a RoundTripper may panic
	wired, sending, err := s.newRequest(on, req, set, key, number, clock)
	defer sending.Close()
	var resp *http.Response
	if err == nil {
		resp, err = client.Do(wired)
	}
	a := Attempt{Number: number}
	if err == nil && resp.StatusCode == 0 { // as a fake may return it
		resp.Body.Close()
		err = errNoStatus
	}
	if err == nil {
		a.Reply, a.Facts.Content, a.Err = receive(ctx, resp, s.limit(req.Kind, resp.StatusCode), read, key, clock)
		a.Facts.Status = resp.StatusCode
		if resp.StatusCode/100 != 2 { // because a success may have a Retry-After for polling
			a.RetryAfter = retryAfter(resp.Header, time.Now())
		}
	}
	a.Took = time.Since(start)
	clock.Stop()
	sending.Close()
	if outer, ok := err.(*url.Error); ok { // from http.Client, with the query in its text
		err = outer.Err
	}
	err = redact.NotNil(err)
	if err != nil {
		a.Err = cmp.Or(endedBy(ctx, clock), err)
	}
	var sent error
	a.Facts.Seen, a.Facts.Wrote, sent = evidence.Observed()
	a.Facts.Complete, a.Facts.Lost, a.Sent = sending.Complete(), lost, evidence.Sent()
	a.Facts.End = endOf(ctx, err, redact.NotNil(sent), clock)
	a.Verdict = Judge(req.Kind, a.Facts)
	return a
}

// limits returns the time limits of an attempt.
func limits(req *Request, set *Settings) wire.Limits {
	return wire.Limits{
		Upload: req.Body != nil && req.Body.Tracked(),
		Stall:  set.Stall, Wait: set.Wait, Option: set.Option, Source: upload.ErrSource,
	}
}

// newRequest returns the HTTP request of an attempt, with a fresh body.
func (s *Sender) newRequest(
	ctx context.Context, req *Request, set *Settings, key *Credential, number int, clock *wire.Clock,
) (*http.Request, *upload.Sending, error) {
	own := &struct { // one allocation, and a copy of each part, because a RoundTripper may change it
		http.Request
		url    url.URL
		values [4]string
	}{url: req.URL}
	own.values[0] = s.UserAgent
	header := make(http.Header, 8)
	header["User-Agent"] = own.values[0:1:1]
	if encoding := s.encoding(req.Kind); encoding != "" {
		own.values[1] = encoding
		header["Accept-Encoding"] = own.values[1:2:2]
	}
	if key != nil {
		own.values[2], own.values[3] = "application/json", key.header
		header["Accept"], header["Authorization"] = own.values[2:3:3], own.values[3:4:4]
	}
	for name, values := range req.Header {
		header[name] = slices.Clone(values)
	}
	bare := http.Request{
		Method: req.Method, URL: &own.url, Host: req.URL.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	own.Request = *bare.WithContext(ctx)
	wired := &own.Request
	if req.Body == nil {
		return wired, nil, nil
	}
	var report func(int64)
	if progress := set.Progress; progress != nil {
		report = func(sent int64) { progress(sent, number) }
	}
	sending, err := req.Body.Attach(wired, upload.Clock{Reading: clock.Reading, Taken: clock.Taken}, report)
	return wired, sending, err
}

// maxErrorBody limits the body of a response other than 2xx, because a program may keep many errors. The debug page of
// a framework fits.
const maxErrorBody = 1 << 20

// begin reads the first byte of r and returns a reader of all bytes.
func begin(r io.Reader) io.Reader {
	first := make([]byte, 1)
	n, err := r.Read(first)
	if err != nil {
		r = failed{err}
	}
	return io.MultiReader(bytes.NewReader(first[:n]), r)
}

type failed struct{ error }

func (f failed) Read([]byte) (int, error) { return 0, f.error }

// encoding returns the Accept-Encoding of a request. It asks for pictures without compression, to learn their length.
func (s *Sender) encoding(kind Kind) string {
	if kind == Fetch {
		return "identity"
	}
	return s.Transport.AcceptEncoding()
}

// limit returns the size limit of a body in bytes. It is 0 for a picture, because its Reader limits it.
func (s *Sender) limit(kind Kind, status int) int64 {
	switch {
	case status/100 != 2:
		return min(s.MaxResponse, maxErrorBody)
	case kind == Fetch:
		return 0
	}
	return s.MaxResponse
}

// receive reads a response. It may arrive before the whole request was sent.
func receive(
	ctx context.Context, resp *http.Response, limit int64, read Reader, key *Credential, clock *wire.Clock,
) (Reply, Content, error) {
	defer resp.Body.Close()
	clock.Responded(resp.StatusCode)
	reply := Reply{Status: resp.StatusCode}
	if limit == 0 {
		reply.Picture = begin(&picture{resp.Body, ctx, clock})
	} else {
		reply.Body, reply.Err = wire.ReadBody(resp, limit)
	}
	reply.Header, reply.Length = resp.Header, resp.ContentLength // set after the first bytes, which show the encoding
	switch ended := endedBy(ctx, clock); {
	case reply.Err == nil && !endsWithEOF(ctx), limit == 0:
	case ended != nil && (reply.Err == nil || errors.Is(reply.Err, wire.ErrCutOff)):
		reply.Err = fmt.Errorf("%w: %w", wire.ErrCutOff, ended)
	}
	if reply.Err != nil { // the body may end within the key
		reply.Cut = errors.Is(reply.Err, wire.ErrCutOff)
		reply.Body = key.Keys().CutEnd(key.Keys().Text(reply.Body))
	}
	content, err := read(reply)
	reply.Picture, reply.Body = nil, cmp.Or(content.Body, reply.Body)
	return reply, content, err
}

// endedBy returns the error of the context or the clock if one of these ended the attempt.
func endedBy(ctx context.Context, clock *wire.Clock) error {
	return cmp.Or(ContextError(ctx), clock.Expired())
}

// endsWithEOF reports whether a context has ended with io.EOF as its cause. The body then seems complete, because
// net/http returns the cause of the context as the error of a Read.
func endsWithEOF(ctx context.Context) bool { return context.Cause(ctx) == io.EOF }

// picture is the body of a picture with a limit of the time without a byte. If the context or the clock ended the
// attempt, Read returns its error.
type picture struct {
	io.Reader
	ctx   context.Context
	clock *wire.Clock
}

func (p *picture) Read(b []byte) (int, error) {
	p.clock.Receiving()
	n, err := wire.Read(p.Reader, b)
	p.clock.Pause()
	if err != nil && (err != io.EOF || endsWithEOF(p.ctx)) {
		err = cmp.Or(endedBy(p.ctx, p.clock), redact.NotNil(err))
	}
	return n, err
}

// endOf returns the reason for the end of an attempt. Err is nil if there is a response. Sent is the error of the SDK's
// own transport, because a middleware may return the error of another request.
func endOf(ctx context.Context, err, sent error, clock *wire.Clock) End {
	switch {
	case ctx.Err() != nil:
		return Cancelled
	case err == nil:
		return Broke
	case errors.As(err, new(*upload.ReadError)):
		return Unread
	case errors.Is(clock.Expired(), upload.ErrSource):
		return Idle
	case wire.Refused(sent):
		return Refused
	case wire.Untrusted(sent), errors.Is(sent, wire.ErrClearProxy),
		err == http.ErrSchemeMismatch, errors.Is(err, ErrRedirect):
		return Fatal
	}
	return Broke
}

// Inspect is [upload.File.Inspect] with a stall limit; 0 means none. The error is from the context or the clock.
func Inspect(ctx context.Context, f upload.File, stall time.Duration) (int64, upload.Problem, error) {
	on, clock := wire.NewClock(ctx, wire.Limits{Upload: true, Stall: stall, Source: upload.ErrSource})
	defer clock.Stop()
	clock.Reading()
	size, problem, err := f.Inspect(on)
	if err != nil {
		err = cmp.Or(endedBy(ctx, clock), err)
	}
	return size, problem, err
}
