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

	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// ErrRedirect is matched by the error of a redirect that is not followed.
var ErrRedirect = errors.New("redirect refused")

var errNoStatus = errors.New("the RoundTripper returned a response without a status")

// attempt makes one try. An attempt is lost if it follows one that may have been executed.
func (s *Sender) attempt(
	ctx context.Context, req *Request, set *Settings, read Reader, key *Credential, number int, lost bool,
) Attempt {
	start := time.Now()
	client := s.API
	if req.Kind == Fetch {
		client = s.Pictures
	}
	on, clock, evidence := s.Transport.Watch(ctx, limits(req, set))
	defer clock.Stop() // a RoundTripper may panic
	wired, sending, err := s.newRequest(on, req, set, key, number, clock)
	defer sending.Close()
	var resp *http.Response
	if err == nil {
		resp, err = client.Do(wired)
	}
	a := Attempt{Number: number}
	if err == nil && resp.StatusCode == 0 { // the zero value of a response, as a fake may return it
		resp.Body.Close()
		err = errNoStatus
	}
	if err == nil {
		a.Reply, a.Facts.Content, a.Err = receive(ctx, resp, s.limit(req.Kind, resp.StatusCode), read, key, clock)
		a.Facts.Status = resp.StatusCode
		if resp.StatusCode/100 != 2 { // a success may ask its readers to come back later
			a.RetryAfter = retryAfter(resp.Header, time.Now())
		}
	}
	a.Took = time.Since(start)
	clock.Stop()
	sending.Close()
	if outer, ok := err.(*url.Error); ok { // of http.Client; its text holds the query
		err = outer.Err
	}
	if err != nil {
		a.Err = cmp.Or(endedBy(ctx, clock), err)
	}
	var sent error
	a.Facts.Seen, a.Facts.Wrote, sent = evidence.Observed()
	a.Facts.Complete, a.Facts.Lost, a.Sent = sending.Complete(), lost, evidence.Sent()
	a.Facts.End = endOf(ctx, err, sent, clock)
	a.Verdict = Judge(req.Kind, a.Facts)
	return a
}

// limits returns the clocks of an attempt.
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
	own := &struct { // in one allocation; a RoundTripper may change each part
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

// maxErrorBody is the limit of a response other than 2xx: the debug page of a framework fits, and many errors that are
// kept at once do not fill the memory.
const maxErrorBody = 1 << 20

// begin reads the first byte of r, and returns a reader of the whole.
func begin(r io.Reader) io.Reader {
	first := make([]byte, 1)
	n, err := r.Read(first)
	if err != nil {
		r = failed{err}
	}
	return io.MultiReader(bytes.NewReader(first[:n]), r)
}

// failed is a reader that returns its error.
type failed struct{ error }

func (f failed) Read([]byte) (int, error) { return 0, f.error }

// encoding returns the Accept-Encoding of a request. Without an encoding, the length of a picture is known.
func (s *Sender) encoding(kind Kind) string {
	if kind == Fetch {
		return "identity"
	}
	return s.Transport.AcceptEncoding()
}

// limit returns the size limit of a response in bytes, 0 for a picture, which its Reader reads.
func (s *Sender) limit(kind Kind, status int) int64 {
	switch {
	case status/100 != 2:
		return min(s.MaxResponse, maxErrorBody)
	case kind == Fetch:
		return 0
	}
	return s.MaxResponse
}

// receive reads a response, which may come before the request was sent.
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
	reply.Header, reply.Length = resp.Header, resp.ContentLength // after the first bytes, which tell the encoding
	switch ended := endedBy(ctx, clock); {
	case reply.Err == nil && !endsWithEOF(ctx), limit == 0:
	case ended != nil && (reply.Err == nil || errors.Is(reply.Err, wire.ErrCutOff)):
		reply.Err = fmt.Errorf("%w: %w", wire.ErrCutOff, ended)
	}
	if reply.Err != nil { // it may end within the key
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

// endsWithEOF reports whether a context has ended with io.EOF as its cause. net/http returns that cause as it is, as if
// the body were whole.
func endsWithEOF(ctx context.Context) bool { return context.Cause(ctx) == io.EOF }

// picture is the body of a picture on the clock: the time without a byte is limited. Its error is that of the context
// or the clock if one of these ended the attempt.
type picture struct {
	io.Reader
	ctx   context.Context
	clock *wire.Clock
}

func (p *picture) Read(b []byte) (int, error) {
	p.clock.Receiving()
	n, err := p.Reader.Read(b)
	p.clock.Pause()
	if err != nil && (err != io.EOF || endsWithEOF(p.ctx)) {
		err = cmp.Or(endedBy(p.ctx, p.clock), err)
	}
	return n, err
}

// endOf says why an attempt ended. Err is nil if a response came, and sent is the error of the SDK's own transport: an
// error from above it may be that of another request.
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

// Inspect is [upload.File.Inspect] for a file that may not stall for longer than the limit; 0 is none. The error is
// that of the context or the clock.
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
