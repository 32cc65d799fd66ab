package engine

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// ErrRedirect is matched by the error of a redirect that is not followed.
var ErrRedirect = errors.New("redirect refused")

// attempt makes one try. An attempt is lost if it follows one that may have been executed.
func (s *Sender) attempt(
	ctx context.Context, req *Request, set *Settings, bearer string, number int, lost bool,
) Attempt {
	start := time.Now()
	client := s.API
	if req.Kind == Fetch {
		client = s.Pictures
	}
	on, clock, evidence := s.Transport.Watch(ctx, limits(req, set))
	defer clock.Stop() // a RoundTripper may panic
	wired, sending, err := s.newRequest(on, req, set, bearer, number, clock)
	defer sending.Close()
	var resp *http.Response
	if err == nil {
		resp, err = client.Do(wired)
	}
	a := Attempt{Number: number}
	if err == nil {
		a.Reply, a.Facts.Content, a.Err = s.receive(ctx, resp, req, KeyOf(bearer), clock)
		a.Facts.Status, a.RetryAfter = resp.StatusCode, retryAfter(resp.Header, time.Now())
	}
	a.Took = time.Since(start)
	clock.Stop()
	sending.Close()
	if outer, ok := err.(*url.Error); ok { // of http.Client; its text holds the query
		err = outer.Err
	}
	if err != nil {
		a.Err = cmp.Or(ContextError(ctx), clock.Expired(), err)
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
	ctx context.Context, req *Request, set *Settings, bearer string, number int, clock *wire.Clock,
) (*http.Request, *upload.Sending, error) {
	encoding := "identity" // the length of a picture is known then
	if req.Kind != Fetch {
		encoding = s.Transport.AcceptEncoding()
	}
	own := &struct { // one allocation; a RoundTripper may change them
		url    url.URL
		values [4]string
	}{req.URL, [4]string{s.UserAgent, "application/json", bearer, encoding}}
	header := make(http.Header, 8)
	header["User-Agent"] = own.values[0:1:1]
	if encoding != "" {
		header["Accept-Encoding"] = own.values[3:4:4]
	}
	if bearer != "" {
		header["Accept"], header["Authorization"] = own.values[1:2:2], own.values[2:3:3]
	}
	for name, values := range req.Header {
		header[name] = append([]string(nil), values...)
	}
	bare := http.Request{
		Method: req.Method, URL: &own.url, Host: req.URL.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	wired := bare.WithContext(ctx)
	if req.Body == nil {
		return wired, nil, nil
	}
	var report func(int64)
	if set.Progress != nil {
		report = func(sent int64) { set.Progress(sent, number) }
	}
	sending, err := req.Body.Attach(wired, upload.Clock{Reading: clock.Reading, Taken: clock.Taken}, report)
	return wired, sending, err
}

// maxErrorBody is the limit of a response other than 2xx: the debug page of a framework fits, and many errors that are
// kept at once do not fill the memory.
const maxErrorBody = 1 << 20

// receive reads a response, which may come before the request was sent.
func (s *Sender) receive(
	ctx context.Context, resp *http.Response, req *Request, key redact.Key, clock *wire.Clock,
) (Reply, Content, error) {
	defer resp.Body.Close()
	clock.Responded(resp.StatusCode)
	reply := Reply{Status: resp.StatusCode, Header: resp.Header, Length: resp.ContentLength}
	resp.Body = &body{resp.Body, ctx, clock, req.Kind == Fetch}
	switch success := resp.StatusCode/100 == 2; {
	case success && req.Kind == Fetch:
		reply.Picture = resp.Body
	case success:
		reply.Body, reply.Err = wire.ReadBody(resp, s.MaxResponse)
	default:
		reply.Body, reply.Err = wire.ReadBody(resp, min(s.MaxResponse, maxErrorBody))
	}
	if reply.Err != nil { // it may end within the key
		reply.Cut = errors.Is(reply.Err, wire.ErrCutOff)
		keys := redact.Keys(nil).With(key)
		reply.Body = keys.CutEnd(keys.Text(reply.Body))
	}
	content, err := req.Read(&reply)
	reply.Picture = nil
	return reply, content, err
}

// body is the body of a response. An error of it is that of the context or the clock if one of these ended the attempt.
type body struct {
	io.ReadCloser
	ctx     context.Context
	clock   *wire.Clock
	picture bool // the time without a byte is limited, but no longer the whole wait
}

func (b *body) Read(p []byte) (int, error) {
	if b.picture {
		b.clock.Receiving()
		defer b.clock.Pause()
	}
	n, err := b.ReadCloser.Read(p)
	// net/http returns the cause of a context as it is, even io.EOF.
	if err != nil && (err != io.EOF || context.Cause(b.ctx) == io.EOF) {
		err = cmp.Or(ContextError(b.ctx), b.clock.Expired(), err)
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
		err = cmp.Or(ContextError(ctx), clock.Expired(), err)
	}
	return size, problem, err
}
