package aicontent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// result is what one attempt came to.
type result struct {
	received
	err        callError // nil for success
	outcome    Outcome
	follow     follow
	retryAfter time.Duration // how long the service asked to wait; 0 if it did not
	sent       int64         // bytes of the request
	took       time.Duration
	note       string              // what helps whoever reads the error
	done       func(AttemptResult) // tells the hooks
}

// follow is what may follow an attempt.
type follow int

const (
	never      follow = iota // another attempt would end like this one
	risky                    // another one may succeed, but the service may have executed this one
	unreadable               // another one may succeed, but the file cannot be read again
	renew                    // another one may succeed with another key
	again                    // another one may succeed
)

// received is a response as it came, with the key that it may repeat.
type received struct {
	status    int // 0 if no response came
	header    http.Header
	body      []byte
	requestID string
	key       redact.Key // that the request was sent with
}

// errSameKey ends a call whose key was refused before.
var errSameKey = errors.New("the key was refused before")

// attempt makes an attempt of r, and has read take the record or page from a 2xx response. The error says why it
// ended before anything was sent.
func (c *Client) attempt(ctx context.Context, r *request, h *history, read func(*exchange) error) (result, error) {
	key, err := c.token(ctx)
	if err != nil {
		return result{}, err
	}
	if h.last.status == http.StatusUnauthorized && h.last.key == key {
		return result{}, errSameKey
	}
	x := exchange{ctx: ctx, client: c, request: r, number: h.count + 1, received: received{key: key}}
	res, err := x.run(c.network().api, func(resp *http.Response) result { return x.read(resp, read) })
	if res.status == http.StatusNotFound && r.method == http.MethodDelete && h.lost() {
		res.err, res.outcome = nil, OutcomeDone // an earlier attempt has deleted it
	}
	return res, err
}

// exchange is a request on its way, and the response to it. Readers of records and pages get it with a 2xx response.
type exchange struct {
	received // the key is empty for a download

	ctx     context.Context // of the call
	client  *Client
	request *request
	number  int             // of the attempt, from 1
	wire    *wire.Attempt   // with run
	sending *upload.Sending // nil for a request without a file
}

// run sends the request. A 2xx response goes to take, any other is judged here. The error is that of a hook
// which refused the attempt.
func (x *exchange) run(hc *http.Client, take func(*http.Response) result) (res result, err error) {
	r, start := x.request, time.Now()
	done, err := x.client.begin(x.ctx, r, x.number)
	if err != nil {
		return result{}, err
	}
	defer func() {
		if res.done == nil { // a RoundTripper panics
			done(AttemptResult{Err: errPanic, Duration: time.Since(start), Budget: x.client.budget.retries()})
		}
	}()
	tracked := r.body != nil && r.body.Tracked()
	ctx, attempt := wire.Watch(x.ctx, wire.Limits{Upload: tracked, Stall: r.stall, Wait: r.wait})
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
		res = x.noResponse(err, limit)
	} else {
		defer resp.Body.Close()
		attempt.Responded()
		x.status, x.header, x.requestID = resp.StatusCode, resp.Header, requestID(resp.Header, x.key)
		if resp.StatusCode/100 == 2 {
			res = take(resp)
		} else {
			res = x.rejected(resp)
		}
	}
	x.sending.Close()
	res.received, res.sent, res.took = x.received, attempt.Sent(), time.Since(start)
	switch {
	case res.follow == again && r.op.creates() && res.outcome != OutcomeNotSent && res.outcome != OutcomeRejected:
		res.follow = risky
	case res.follow >= renew && r.body != nil && !r.body.Replayable():
		res.follow = unreadable
	}
	res.done = done
	return res, nil
}

// newRequest returns the request with a fresh body.
func (x *exchange) newRequest(ctx context.Context) (*http.Request, error) {
	r := x.request
	// In one piece of memory; and a RoundTripper may change the URL.
	own := &struct {
		url    url.URL
		values [3]string
	}{r.url, [...]string{x.client.userAgent, "application/json", "Bearer " + string(x.key)}}
	header := http.Header{"User-Agent": own.values[0:1:1]}
	if x.key != "" {
		header["Accept"], header["Authorization"] = own.values[1:2:2], own.values[2:3:3]
	}
	for _, h := range r.header {
		header[h.key] = []string{h.value}
	}
	bare := http.Request{
		Method: r.method, URL: &own.url, Host: r.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	req := bare.WithContext(ctx)
	if r.body == nil {
		return req, nil
	}
	r.meter.Begin(x.number)
	var err error
	x.sending, err = r.body.Attach(req, x.wire, r.meter)
	return req, err
}

// noResponse judges an attempt that no response came to. The limit is the Timeout of the user's client, 0 if it has
// not passed.
func (x *exchange) noResponse(err error, limit time.Duration) result {
	// The text of a url.Error holds the query.
	for outer := (*url.Error)(nil); errors.As(err, &outer); {
		err = outer.Err
	}
	expired := x.wire.Expired()
	x.wire.Stop()
	x.sending.Close()
	wrote, complete := x.wire.Wrote(err), x.sending.Complete()
	res := result{outcome: OutcomeUnknown, follow: again}
	if x.ctx.Err() != nil || wire.Untrusted(err) || errors.Is(err, wire.ErrClearProxy) ||
		errors.Is(err, errRedirect) || errors.As(err, new(*upload.ReadError)) {
		res.follow = never
	}
	switch {
	case wire.Refused(err), errors.Is(err, errRedirect):
		res.outcome = OutcomeRejected
	case !wrote, !complete:
		res.outcome = OutcomeNotSent
	}
	err = explain(err, wrote, complete, limit)
	return x.failed(res, cmp.Or(contextError(x.ctx), expired, err))
}

// failed gives the result an error of the transport.
func (x *exchange) failed(res result, err error) result {
	err = x.key.Error(err)
	res.err = &TransportError{Method: x.request.method, Path: x.request.url.EscapedPath(), Err: err}
	return res
}

// read reads a 2xx response.
func (x *exchange) read(resp *http.Response, read func(*exchange) error) result {
	body, err := x.readBody(resp, x.client.maxResponse)
	deletes := x.request.method == http.MethodDelete
	switch ended := cmp.Or(contextError(x.ctx), x.wire.Expired()); {
	case err == nil:
		err = read(x)
		if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && errors.Is(err, lenient.ErrNotJSON) {
			err = fmt.Errorf("%w: its Content-Encoding is %q", err, encoding)
		}
	case errors.Is(err, wire.ErrCutOff) && deletes && outcomeOfSuccess(x.status, body) == OutcomeDone:
		err = nil // nothing else of the response is needed
	case ended != nil:
		err = fmt.Errorf("%w: %w", wire.ErrCutOff, ended)
	}
	if err == nil {
		return result{outcome: OutcomeDone}
	}
	if resp.Request != nil && resp.Request.Response != nil && errors.Is(err, lenient.ErrHTML) {
		err = fmt.Errorf("%w: the API key is not accepted: the service redirected to a login page", ErrUnauthorized)
	}
	return x.unusable(body, err)
}

// unusable judges a 2xx response that does not hold what was asked for.
func (x *exchange) unusable(body []byte, err error) result {
	res := result{outcome: outcomeOfSuccess(x.status, body)}
	if errors.Is(err, lenient.ErrSaysError) {
		res.outcome = OutcomeUnknown
	}
	if x.ctx.Err() == nil && (errors.Is(err, wire.ErrCutOff) || errors.Is(err, lenient.ErrCutOff)) {
		res.follow = again
	}
	kept := x.key.Bytes(body)
	if len(kept) > maxErrorBody {
		kept = bytes.Clone(kept[:maxErrorBody])
	}
	res.err = x.decodeError(kept, x.key.Error(err))
	return res
}

func (x *exchange) decodeError(body []byte, err error) *DecodeError {
	return &DecodeError{
		StatusCode: x.status, Method: x.request.method, Path: x.request.url.EscapedPath(),
		RequestID: x.requestID, Header: x.key.Header(x.header), Body: body, Err: err,
	}
}

// unclear is the error of a page that does not say what follows it.
func (x *exchange) unclear(err error) error {
	s := summary{op: x.request.op.name, host: x.request.url.Host, outcome: OutcomeDone, attempts: x.number}
	return x.decodeError(nil, fmt.Errorf("%w: %w", ErrPagination, err)).with(s)
}

const maxErrorBody = 1 << 20 // bytes that are kept of a response that is an error

// readBody reads a body of up to limit bytes. One that is cut off may end within the key.
func (x *exchange) readBody(resp *http.Response, limit int64) ([]byte, error) {
	body, err := wire.ReadBody(resp, limit)
	if err != nil {
		body = x.key.CutEnd(x.key.Bytes(body))
	}
	x.body = body
	return body, err
}

// rejected judges a response other than 2xx. After a redirect or server error in mid-upload the service did not get
// the whole form.
func (x *exchange) rejected(resp *http.Response) result {
	_, _ = x.readBody(resp, min(x.client.maxResponse, maxErrorBody))
	x.wire.Stop()
	x.sending.Close()
	e := x.apiError(resp)
	res := result{err: e, outcome: outcomeOfStatus(x.status, e.Method, x.header.Get("Retry-After") != "")}
	if class := x.status / 100; !x.sending.Complete() && (class == 3 || class == 5) {
		res.outcome = OutcomeNotSent
	}
	op := x.request.op
	switch {
	case x.status == http.StatusNotFound && !op.record && op != imagesDownload:
		res.note = fmt.Sprintf("there is no API at %s%s: is the base URL right?", x.client.base, apiPrefix)
	case transient(x.status):
		res.follow, res.retryAfter = again, e.RetryAfter
	case x.status == http.StatusUnauthorized && x.client.rotates && x.key != "":
		res.follow = renew
	}
	return res
}

// requestID returns the first of the headers that services and proxies use, masked.
func requestID(header http.Header, key redact.Key) string {
	for _, name := range []string{
		"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Amzn-Requestid", "X-Amzn-Trace-Id", "X-Trace-Id", "Cf-Ray",
	} {
		if ids := header[name]; len(ids) > 0 && ids[0] != "" {
			return redact.Shorten(key.Text(ids[0]), 200)
		}
	}
	return ""
}
