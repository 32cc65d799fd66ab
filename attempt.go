package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// exchange is one attempt: the request on its way, the response to it, what was observed, and what that proves.
type exchange struct {
	call     *call
	key      redact.Key      // that the request was sent with; empty for a download
	address  url.URL         // of the request: a RoundTripper may change it
	values   [3]string       // of the request's header
	clock    *wire.Clock     // with run
	evidence *wire.Evidence  // with run
	sending  *upload.Sending // nil for a request without a file

	header http.Header // of the response
	body   string

	seen observation
	verdict
	err        callError     // nil for success
	retryAfter time.Duration // how long the service asked to wait; 0 if it did not
	took       time.Duration
	note       string // what helps whoever reads the error
}

// admit waits for the rate limiter and gets the key: what comes before each attempt with a key. The error says why it
// ended.
func (x *exchange) admit() (err error) {
	k := x.call
	if l := k.client.limiter; l != nil {
		if err := l.Wait(k.ctx); err != nil {
			return fmt.Errorf("rate limiter: %w", err)
		}
	}
	bearer := k.bearer
	k.bearer = ""
	if bearer == "" {
		bearer, err = k.client.bearer(k.ctx)
	}
	x.key, x.values[2] = keyOf(bearer), bearer
	return err
}

// bearerPrefix is what an Authorization header has before the key.
const bearerPrefix = "Bearer "

func keyOf(bearer string) redact.Key { return redact.Key(strings.TrimPrefix(bearer, bearerPrefix)) }

// bearerFrom returns a function that asks a key source for the Authorization header.
func bearerFrom(source func(context.Context) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		key, err := source(ctx)
		if err != nil {
			return "", fmt.Errorf("API key source: %w", redact.Key(key).Error(err))
		}
		if bad := checkKey(key); bad != nil {
			return "", errors.New("API key source: the key " + bad[0].Reason)
		}
		return bearerPrefix + key, nil
	}
}

// run sends the request, has read take what a 2xx response holds, and judges what was observed. The error is from a
// hook that refused the attempt.
func (x *exchange) run(hc *http.Client, read func(*http.Response) error) error {
	k := x.call
	if err := k.begin(); err != nil {
		return err
	}
	start := time.Now()
	var ctx context.Context
	ctx, x.clock, x.evidence = k.client.network().transport.Watch(k.ctx, k.limits())
	defer x.close() // a RoundTripper may panic
	req, err := x.newRequest(ctx)
	var resp *http.Response
	if err == nil {
		resp, err = hc.Do(req)
	}
	var failed callError
	if err == nil {
		failed = x.responded(resp, read)
	}
	x.took = time.Since(start)
	x.close()
	if err != nil {
		failed = x.silent(err, hc.Timeout)
	}
	x.seen.complete, x.seen.lost = x.sending.Complete(), k.worst == OutcomeUnknown
	x.verdict = judge(k.op, x.seen)
	if !x.ok {
		x.err = failed
	}
	return nil
}

// close ends the attempt: nothing is sent any more, and nothing read from the file.
func (x *exchange) close() {
	x.clock.Stop()
	x.sending.Close()
}

// newRequest returns the request with a fresh body.
func (x *exchange) newRequest(ctx context.Context) (*http.Request, error) {
	k := x.call
	x.address = k.url
	x.values[0], x.values[1] = k.client.userAgent, "application/json"
	header := make(http.Header, 8)
	header["User-Agent"] = x.values[0:1:1]
	if x.key != "" {
		header["Accept"], header["Authorization"] = x.values[1:2:2], x.values[2:3:3]
	}
	for _, h := range k.header {
		header[h.key] = []string{h.value}
	}
	bare := http.Request{
		Method: k.method, URL: &x.address, Host: k.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	req := bare.WithContext(ctx)
	if k.body == nil {
		return req, nil
	}
	var report func(int64)
	if k.progress != nil {
		number := k.count + 1
		report = func(sent int64) { k.progress(Progress{sent, k.body.FileSize, number}) }
	}
	var err error
	clock := upload.Clock{Reading: x.clock.Reading, Taken: x.clock.Taken}
	x.sending, err = k.body.Attach(req, clock, report)
	return req, err
}

// silent observes an attempt that no response came to, and returns its error. The limit is the Timeout of the user's
// client.
func (x *exchange) silent(err error, limit time.Duration) callError {
	if outer, ok := err.(*url.Error); ok { // http.Client's, whose text holds the query
		err = outer.Err
	}
	expired := x.clock.Expired()
	var observed error
	x.seen.seen, x.seen.wrote, observed = x.evidence.Observed()
	switch {
	case x.call.ctx.Err() != nil:
		x.seen.end = endCancelled
	case errors.As(err, new(*upload.ReadError)):
		x.seen.end = endReader
	case errors.Is(expired, ErrFile):
		x.seen.end = endIdle
	case wire.Refused(observed):
		x.seen.end = endRefused
	case wire.Untrusted(observed), errors.Is(observed, wire.ErrClearProxy),
		errors.Is(err, http.ErrSchemeMismatch), errors.Is(err, errRedirect):
		x.seen.end = endFinal
	}
	if x.took < limit {
		limit = 0 // another one was faster: of the user's transport, its dialer, or the system
	}
	err = explain(err, x.seen.wrote || !x.seen.seen, x.sending.Complete(), limit)
	return x.failed(cmp.Or(contextError(x.call.ctx), expired, err))
}

// responded observes a response, and returns its error, if it is one.
func (x *exchange) responded(resp *http.Response, read func(*http.Response) error) callError {
	defer resp.Body.Close()
	x.clock.Responded(resp.StatusCode)
	x.seen.status, x.header = resp.StatusCode, resp.Header
	if x.seen.status/100 != 2 {
		return x.rejected(resp)
	}
	err := read(resp)
	if err == nil {
		x.seen.content = contentAsked
		return nil
	}
	return x.unread(err)
}

// unread observes a 2xx response that does not hold what was asked for. The error says why.
func (x *exchange) unread(err error) callError {
	o := &x.seen
	if o.end == endWriter {
		return x.failed(err)
	}
	o.content = contentOf(x.body, x.header)
	if errors.Is(err, lenient.ErrSaysError) {
		o.content = contentError
	}
	if x.call.ctx.Err() != nil {
		o.end = endCancelled
	}
	broken := errors.Is(err, wire.ErrCutOff)
	o.cut = broken || errors.Is(err, lenient.ErrCutOff) || errors.Is(err, errPictureCut)
	if ended := cmp.Or(contextError(x.call.ctx), x.clock.Expired()); broken && ended != nil {
		err = fmt.Errorf("%w: %w", wire.ErrCutOff, ended)
	}
	if encoding := x.header.Get("Content-Encoding"); encoding != "" && errors.Is(err, lenient.ErrNotJSON) {
		err = fmt.Errorf("%w: its Content-Encoding is %q", err, encoding)
	}
	return x.decodeError(x.body, x.key.Error(err))
}

// readBody reads a body of up to limit bytes. One that is cut off may end within the key.
func (x *exchange) readBody(resp *http.Response, limit int64) (err error) {
	x.body, err = wire.ReadBody(resp, limit)
	if err != nil {
		x.body = string(x.key.CutEnd([]byte(x.key.Text(x.body))))
	}
	return err
}

// rejected observes a response other than 2xx, which may come in mid-upload, and returns its error.
func (x *exchange) rejected(resp *http.Response) callError {
	k, status := x.call, x.seen.status
	_ = x.readBody(resp, min(k.client.maxResponse, maxErrorBody))
	x.seen.content = contentOf(x.body, x.header)
	e := x.apiError(resp)
	x.retryAfter, e.blind = e.RetryAfter, !x.seen.content.isJSON()
	switch {
	case status == http.StatusUnauthorized && k.op != imagesDownload:
		x.note = fmt.Sprintf("%s did not accept the key %s", k.url.Host, k.client.keyFrom)
	case status == http.StatusNotFound && !k.op.record && k.op != imagesDownload:
		x.note = fmt.Sprintf("there is no API at %s%s: is the base URL right?", k.client.base, apiPrefix)
	case e.blind && k.op.mayBeMisled(status):
		x.note = fmt.Sprintf("a proxy may have responded: is the base URL %s right?", k.client.base)
	case k.body != nil && k.body.FileSize < 0 && slices.Contains([]int{400, 411, 422}, status):
		x.note = "the upload was chunked, which some services do not accept: set File.Size"
	}
	return e
}

// requestID returns the first of the headers that services and proxies use, masked.
func (x *exchange) requestID() string {
	for _, name := range []string{
		"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Amzn-Requestid", "X-Amzn-Trace-Id", "X-Trace-Id", "Cf-Ray",
	} {
		if ids := x.header[name]; len(ids) > 0 && ids[0] != "" {
			return redact.Shorten(x.key.Text(ids[0]), 200) // trace headers have some 100 bytes
		}
	}
	return ""
}
