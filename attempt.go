package aicontent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// attempt makes an attempt of r, and has read take the record or page from a 2xx response. The error says why it
// ended before anything was sent.
func (c *Client) attempt(
	ctx context.Context, r *request, h *history, read func(*exchange) error,
) (*exchange, error) {
	key, err := c.admit(ctx, h)
	if err != nil {
		return nil, err
	}
	x := &exchange{ctx: ctx, client: c, request: r, number: h.count + 1, key: key}
	x.seen.lost = h.lost()
	return x, x.run(c.network().api, h, func(resp *http.Response) error { return x.read(resp, read) })
}

// admit waits for the rate limiter and returns the key: what comes before each attempt.
func (c *Client) admit(ctx context.Context, h *history) (redact.Key, error) {
	if c.limiter != nil {
		if err := c.limiter.Wait(ctx); err != nil {
			return "", fmt.Errorf("rate limiter: %w", err)
		}
	}
	if key := h.key; key != "" {
		h.key = ""
		return key, nil
	}
	return c.currentKey(ctx)
}

// currentKey asks for the key.
func (c *Client) currentKey(ctx context.Context) (redact.Key, error) {
	key, err := c.key(ctx)
	if err != nil {
		return "", fmt.Errorf("API key source: %w", redact.Key(key).Error(err))
	}
	if c.rotates {
		if bad := checkKey(key); bad != nil {
			return "", errors.New("API key source: the key " + bad[0].Reason)
		}
	}
	return redact.Key(key), nil
}

// exchange is one attempt: the request on its way, the response to it, what was observed, and what that proves.
// Readers of records and pages get it with a 2xx response.
type exchange struct {
	ctx     context.Context // of the call
	client  *Client
	request *request
	number  int        // of the attempt, from 1
	key     redact.Key // that the request was sent with; empty for a download

	status    int // 0 if no response came
	header    http.Header
	body      []byte
	requestID string

	wire    *wire.Watcher   // with run
	sending *upload.Sending // nil for a request without a file

	seen observation
	verdict
	err        callError     // nil for success
	retryAfter time.Duration // how long the service asked to wait; 0 if it did not
	sent       int64         // bytes of the request
	took       time.Duration
	note       string // what helps whoever reads the error
}

// run sends the request, has take read a 2xx response, and judges what was observed. The error is from a hook that
// refused the attempt.
func (x *exchange) run(hc *http.Client, h *history, take func(*http.Response) error) error {
	if err := h.begin(x.ctx, x.client, x.request); err != nil {
		return err
	}
	r, start := x.request, time.Now()
	ctx, attempt := x.client.network().transport.Watch(x.ctx, r.limits())
	defer attempt.Stop()
	x.wire = attempt
	defer func() { x.sending.Close() }() // a RoundTripper may panic
	var resp *http.Response
	req, err := x.newRequest(ctx)
	if err == nil {
		resp, err = hc.Do(req)
	}
	if err != nil {
		limit := hc.Timeout
		if time.Since(start) < limit {
			limit = 0 // another one was faster: of the user's transport, its dialer, or the system
		}
		x.noResponse(err, limit)
	} else {
		defer resp.Body.Close()
		attempt.Responded(resp.StatusCode)
		x.status, x.header, x.requestID = resp.StatusCode, resp.Header, requestID(resp.Header, x.key)
		x.seen.status = x.status
		if x.status/100 == 2 {
			x.accepted(take(resp))
		} else {
			x.rejected(resp)
		}
	}
	x.sending.Close()
	x.seen.complete = x.sending.Complete()
	x.verdict = judge(r.op, x.seen)
	if x.ok {
		x.err = nil
	}
	x.sent, x.took = attempt.Sent(), time.Since(start)
	return nil
}

// newRequest returns the request with a fresh body.
func (x *exchange) newRequest(ctx context.Context) (*http.Request, error) {
	r := x.request
	address := r.url // a RoundTripper may change it
	header := http.Header{"User-Agent": {x.client.userAgent}}
	if x.key != "" {
		header["Accept"], header["Authorization"] = []string{"application/json"}, []string{"Bearer " + string(x.key)}
	}
	for _, h := range r.header {
		header[h.key] = []string{h.value}
	}
	bare := http.Request{
		Method: r.method, URL: &address, Host: r.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	req := bare.WithContext(ctx)
	if r.body == nil {
		return req, nil
	}
	var report func(int64)
	if r.progress != nil {
		report = func(sent int64) { r.progress(Progress{sent, r.body.FileSize, x.number}) }
	}
	var err error
	clock := upload.Clock{Reading: x.wire.Reading, Taken: x.wire.Taken}
	x.sending, err = r.body.Attach(req, clock, report)
	return req, err
}

// noResponse observes an attempt that no response came to. The limit is the Timeout of the user's client, 0 if it has
// not passed.
func (x *exchange) noResponse(err error, limit time.Duration) {
	if outer, ok := err.(*url.Error); ok { // http.Client's, whose text holds the query
		err = outer.Err
	}
	expired := x.wire.Expired()
	x.wire.Stop()
	x.sending.Close()
	seen := x.wire.Evidence()
	x.seen.seen, x.seen.wrote = seen.Seen, seen.Wrote
	switch {
	case x.ctx.Err() != nil:
		x.seen.end = endCancelled
	case errors.As(err, new(*upload.ReadError)):
		x.seen.end = endReader
	case errors.Is(expired, ErrFile):
		x.seen.end = endIdle
	case wire.Refused(seen.Err):
		x.seen.end = endRefused
	case wire.Untrusted(seen.Err), speaksHTTP(seen.Err), errors.Is(seen.Err, wire.ErrClearProxy),
		errors.Is(err, errRedirect):
		x.seen.end = endFinal
	}
	err = explain(err, seen.Wrote || !seen.Seen, x.sending.Complete(), limit)
	x.err = x.request.failed(x.key.Error(cmp.Or(contextError(x.ctx), expired, err)))
}

// speaksHTTP reports whether the answer to a TLS handshake was HTTP, which http.Client makes an ErrSchemeMismatch.
func speaksHTTP(err error) bool {
	record, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok && string(record.RecordHeader[:]) == "HTTP/"
}

// failed is the error of a request that ended for another reason than a response.
func (r *request) failed(err error) *TransportError {
	return &TransportError{Method: r.method, Path: r.url.EscapedPath(), Err: err}
}

// read reads a 2xx response.
func (x *exchange) read(resp *http.Response, read func(*exchange) error) error {
	err := x.readBody(resp, x.client.maxResponse)
	if err == nil {
		err = read(x)
	}
	if encoding := x.header.Get("Content-Encoding"); encoding != "" && errors.Is(err, lenient.ErrNotJSON) {
		err = fmt.Errorf("%w: its Content-Encoding is %q", err, encoding)
	}
	return err
}

// accepted observes a 2xx response. The error says why it does not hold what was asked for.
func (x *exchange) accepted(err error) {
	o := &x.seen
	switch {
	case err == nil:
		o.content = contentAsked
		return
	case o.end == endWriter:
		return // with an error of its own
	case errors.Is(err, lenient.ErrSaysError):
		o.content = contentError
	default:
		o.content = contentOf(x.body, x.header)
	}
	if x.ctx.Err() != nil {
		o.end = endCancelled
	}
	broken := errors.Is(err, wire.ErrCutOff)
	o.cut = broken || errors.Is(err, lenient.ErrCutOff) || errors.Is(err, errPictureCut)
	if ended := cmp.Or(contextError(x.ctx), x.wire.Expired()); broken && ended != nil {
		err = fmt.Errorf("%w: %w", wire.ErrCutOff, ended)
	}
	x.err = x.decodeError(x.body, x.key.Error(err))
}

// decodeError keeps as much of the body as of any other error.
func (x *exchange) decodeError(body []byte, err error) *DecodeError {
	body = x.key.Bytes(body)
	if len(body) > maxErrorBody {
		body = bytes.Clone(body[:maxErrorBody])
	}
	return &DecodeError{
		StatusCode: x.status, Method: x.request.method, Path: x.request.url.EscapedPath(),
		RequestID: x.requestID, Header: x.key.Header(x.header), Body: body, Err: err,
	}
}

// unclear is the error of a list that was read, but cannot be used.
func (x *exchange) unclear(err error, temporary bool) error {
	s := summary{op: x.request.op.name, host: x.request.url.Host, outcome: listed, attempts: x.number}
	s.temporary = temporary
	return x.decodeError(nil, err).with(s)
}

// maxErrorBody is how many bytes are kept of a response that is an error: frameworks' debug pages fit, and many errors
// that are kept at once do not fill the memory.
const maxErrorBody = 1 << 20

// readBody reads a body of up to limit bytes. One that is cut off may end within the key.
func (x *exchange) readBody(resp *http.Response, limit int64) (err error) {
	x.body, err = wire.ReadBody(resp, limit)
	if err != nil {
		x.body = x.key.CutEnd(x.key.Bytes(x.body))
	}
	return err
}

// rejected observes a response other than 2xx, which may come in mid-upload.
func (x *exchange) rejected(resp *http.Response) {
	_ = x.readBody(resp, min(x.client.maxResponse, maxErrorBody))
	x.wire.Stop()
	e := x.apiError(resp)
	x.seen.content = contentOf(x.body, x.header)
	x.err, x.retryAfter, e.blind = e, e.RetryAfter, !x.seen.content.isJSON()
	r := x.request
	switch {
	case x.status == http.StatusUnauthorized && r.op != imagesDownload:
		x.note = fmt.Sprintf("%s did not accept the key %s", r.url.Host, x.client.keyFrom)
	case x.status == http.StatusNotFound && !r.op.record && r.op != imagesDownload:
		x.note = fmt.Sprintf("there is no API at %s%s: is the base URL right?", x.client.base, apiPrefix)
	case e.blind && r.op.mayBeMisled(x.status):
		x.note = fmt.Sprintf("a proxy may have responded: is the base URL %s right?", x.client.base)
	case r.body != nil && r.body.FileSize < 0 && slices.Contains([]int{400, 411, 422}, x.status):
		x.note = "the upload was chunked, which some services do not accept: set File.Size"
	}
}

// requestID returns the first of the headers that services and proxies use, masked.
func requestID(header http.Header, key redact.Key) string {
	for _, name := range []string{
		"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Amzn-Requestid", "X-Amzn-Trace-Id", "X-Trace-Id", "Cf-Ray",
	} {
		if ids := header[name]; len(ids) > 0 && ids[0] != "" {
			return redact.Shorten(key.Text(ids[0]), 200) // trace headers have some 100 bytes
		}
	}
	return ""
}
