package aicontent

import (
	"bytes"
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

// try sends the request once and reads the response.
func (c *Client) try(ctx context.Context, r *request, n int, key redact.Key) (res result) {
	watched, w := wire.Watch(ctx, wire.Limits{Upload: r.body != nil && r.body.Tracked(), Stall: r.stall, Wait: *r.timeout})
	defer w.Stop()
	req := c.request(watched, r, key)
	var sending *upload.Sending // nil for a request without a body
	if r.body != nil {
		r.meter.Begin(n)
		var err error
		if sending, err = r.body.Attach(req, w, r.meter); err != nil {
			return c.noResponse(ctx, r, w, sending, key, err)
		}
		defer sending.Close()
	}
	if resp, err := r.client.Do(req); err != nil {
		res = c.noResponse(ctx, r, w, sending, key, err)
	} else {
		w.Answered()
		res = c.receive(ctx, r, n, key, w, sending, resp)
		res.status, res.requestID = resp.StatusCode, requestID(resp.Header, key)
	}
	sending.Close()
	res.sent = w.Sent()
	res.spent = r.body != nil && !r.body.Replayable()
	return res
}

// request is everything of an attempt but its body and the body's header lines.
func (c *Client) request(ctx context.Context, r *request, key redact.Key) *http.Request {
	u := *r.url
	values := []string{c.userAgent, "application/json", "Bearer " + string(key)}
	header := http.Header{"User-Agent": values[0:1:1]}
	if !r.bare {
		header["Accept"], header["Authorization"] = values[1:2:2], values[2:3:3]
		for _, h := range r.header {
			header[h.key] = []string{h.value}
		}
	}
	return (&http.Request{Method: r.method, URL: &u, Host: u.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
}

// noResponse is the result of an attempt that no response came to.
func (c *Client) noResponse(ctx context.Context, r *request, w *wire.Attempt, sending *upload.Sending, key redact.Key, err error) result {
	// The text of a url.Error holds the query.
	for outer := (*url.Error)(nil); errors.As(err, &outer); {
		err = outer.Err
	}
	expired := w.Expired()
	w.Stop()
	sending.Close()
	res := result{outcome: OutcomeUnknown, transient: true}
	res.final = ctx.Err() != nil || wire.Untrusted(err) || errors.Is(err, wire.ErrClearProxy) ||
		errors.Is(err, errRedirect) || errors.As(err, new(*upload.ReadError))
	switch {
	case wire.Refused(err), errors.Is(err, errRedirect):
		res.outcome = OutcomeRejected
	case !w.Wrote(err), !sending.Complete():
		res.outcome = OutcomeNotSent
	}
	limit := r.client.Timeout
	if time.Since(w.Began) < limit {
		limit = 0 // another one was faster: of the user's transport, its dialer, or the system
	}
	err = explain(err, w.Wrote(err), sending.Complete(), limit)
	return res.transport(r, key.Error(cmp.Or(contextError(ctx), expired, err)))
}

// receive reads a response and judges it.
func (c *Client) receive(
	ctx context.Context, r *request, n int, key redact.Key, w *wire.Attempt, sending *upload.Sending, resp *http.Response,
) result {
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return c.rejected(r, n, key, w, sending, resp)
	}
	page := saysHTML(resp.Header)
	if r.save != nil && !page {
		r.keep(resp, nil, n, key)
		return r.save(ctx, w, resp)
	}
	body, err := readBody(resp, c.maxResponse, key)
	expired := w.Expired()
	r.keep(resp, body, n, key)
	switch ended := cmp.Or(contextError(ctx), expired); {
	case errors.Is(err, wire.ErrCutOff) && r.method == http.MethodDelete && !page:
		err = nil // it is done, and nothing of the response is needed
	case err != nil && ended != nil:
		err = fmt.Errorf("%w: %w", wire.ErrCutOff, ended)
	}
	if err == nil || r.bare { // for a download it is enough that it is a page
		err = r.read(reply{request: r, header: resp.Header, body: body})
	}
	if err == nil {
		return result{outcome: OutcomeDone, word: "ok"}
	}
	cut := errors.Is(err, wire.ErrCutOff) || errors.Is(err, lenient.ErrCutOff)
	res := result{outcome: outcomeOfBody(body), transient: cut && ctx.Err() == nil, final: ctx.Err() != nil}
	if errors.Is(err, lenient.ErrSaysError) || page && len(body) == 0 && !errors.Is(err, lenient.ErrEmpty) {
		res.outcome = OutcomeUnknown
	}
	if resp.Request != nil && resp.Request.Response != nil && errors.Is(err, lenient.ErrHTML) {
		err = fmt.Errorf("%w: the API key is not accepted: the service redirected to a login page", ErrUnauthorized)
	}
	kept := key.Bytes(body)
	if len(kept) > maxErrorBody {
		kept = bytes.Clone(kept[:maxErrorBody])
	}
	res.err = &DecodeError{
		StatusCode: resp.StatusCode, Method: r.method, Path: r.url.EscapedPath(), RequestID: requestID(resp.Header, key),
		Header: key.Header(resp.Header), Body: kept, Err: key.Error(err),
	}
	res.word = fmt.Sprintf("%d, unreadable", resp.StatusCode)
	if r.bare {
		res.word = "HTML"
	}
	return res
}

func saysHTML(header http.Header) bool {
	return strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), "text/html")
}

// readBody reads a body of up to limit bytes. One that is cut off may end within the key.
func readBody(resp *http.Response, limit int64, key redact.Key) ([]byte, error) {
	body, err := wire.ReadBody(resp, limit)
	if err != nil {
		body = key.CutEnd(key.Bytes(body))
	}
	return body, err
}

// rejected judges a response other than 2xx. After a redirect or server error in mid-upload the service did not get the whole form.
func (c *Client) rejected(r *request, n int, key redact.Key, w *wire.Attempt, sending *upload.Sending, resp *http.Response) result {
	body, _ := readBody(resp, min(c.maxResponse, maxErrorBody), key)
	r.keep(resp, body, n, key)
	w.Stop()
	sending.Close()
	e := newAPIError(c.base, r, key, resp, body)
	res := result{err: e, outcome: outcomeOfStatus(e.StatusCode, r.method, resp.Header.Get("Retry-After") != ""), word: fmt.Sprint(e.StatusCode)}
	if class := e.StatusCode / 100; !sending.Complete() && (class == 3 || class == 5) {
		res.outcome = OutcomeNotSent
	}
	res.note = c.addressNote(r, e)
	if slices.Contains(transientStatuses, e.StatusCode) {
		res.transient, res.retryAfter = true, e.RetryAfter
		if allowed := r.retry.MaxRetryAfter; e.RetryAfter > allowed {
			res.note = fmt.Sprintf("the service asks to wait %v, the retry policy allows %v (MaxRetryAfter)", e.RetryAfter, allowed)
		}
	}
	return res
}

// transport gives the result an error that is not a response.
func (res result) transport(r *request, err error) result {
	err = redact.Key("").Error(err)
	res.err = &TransportError{Method: r.method, Path: r.url.EscapedPath(), Err: err}
	res.word = word(err)
	return res
}

// Response is a response as it came, for what records do not hold: see [WithResponse]. The API key is masked wherever it came back.
type Response struct {
	StatusCode int
	Header     http.Header
	Body       []byte // decompressed; of a response other than 2xx, up to 1 MiB
	RequestID  string // from the usual headers; empty where none was sent
	Attempts   int    // number of attempts, from 1; 0 where [WithOnce] found the record before anything was sent
	Found      bool   // [WithOnce] found the record: this is the response that holds it, and nothing was created
}

const maxErrorBody = 1 << 20 // bytes that are kept of a response that is an error

// reply is what the readers of records and pages see of a 2xx response.
type reply struct {
	request *request
	header  http.Header
	body    []byte
}

// keep stores a response for WithResponse.
func (r *request) keep(resp *http.Response, body []byte, attempt int, key redact.Key) {
	if r.response == nil {
		return
	}
	*r.response = &Response{
		StatusCode: resp.StatusCode, Header: key.Header(resp.Header), Body: bytes.Clone(key.Bytes(body)),
		RequestID: requestID(resp.Header, key), Attempts: attempt,
	}
}

// requestID returns the first of the headers that services and proxies use, masked.
func requestID(header http.Header, key redact.Key) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Amzn-Requestid", "X-Amzn-Trace-Id", "X-Trace-Id", "Cf-Ray"} {
		if id := header.Get(name); id != "" {
			return redact.Shorten(key.Text(id), 200)
		}
	}
	return ""
}
