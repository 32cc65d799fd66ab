package aicontent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-querystring/query"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// How long an attempt waits for the response without WithTimeout.
const (
	readTimeout  = 30 * time.Second
	storeTimeout = 10 * time.Minute
)

// call is one operation as plain data.
type call struct {
	op       string     // as errors and log lines name it: images.store
	method   string     // empty for an update: the client has the choice
	path     []string   // segments after /api/v1, not escaped
	id       *ID        // the last segment of the path; nil for a collection
	query    url.Values // nil for none
	page     url.Values // what a page's link adds to the query
	form     url.Values // nil for no body
	file     *File      // nil for a form without a file
	required []string   // form fields that must not be empty
	nonEmpty []string   // form fields that must not be empty where they are set
	check    func() []FieldProblem
}

// request is a call made ready: all that its attempts send but the key.
type request struct {
	settings
	op, method string
	url        *url.URL
	query      url.Values
	body       *upload.Body // nil for none
	meter      *upload.Meter
	unique     *uniqueName // of a store with WithOnce, else nil
	read       func(*reply) error
	bare       bool // without the key, as a download is
}

func (r *request) create() bool { return r.method == http.MethodPost }

// do makes a call and returns what read makes of its response. With invalid arguments nothing is sent.
func do[T any](ctx context.Context, c *Client, call call, opts []CallOption, read func(*reply) (T, error)) (T, error) {
	var value, none T
	if c == nil || c.base == nil {
		return none, invalid(call.op, problem("client", nil, "was not created with NewClient"))
	}
	r, err := c.prepare(ctx, call, opts)
	if err != nil {
		return none, err
	}
	r.read = func(re *reply) (err error) {
		value, err = read(re)
		return err
	}
	if err := c.send(ctx, r, c.try); err != nil {
		return none, err
	}
	return value, nil
}

// begin applies the options. The response of an earlier call must not be taken for this one's.
func (r *request) begin(ctx context.Context, opts []CallOption) []FieldProblem {
	problems := r.apply(opts)
	if r.response != nil {
		*r.response = nil
	}
	if ctx == nil {
		problems = append(problems, problem("ctx", nil, "must not be nil")...)
	}
	return problems
}

// prepare checks and encodes a call. The file of an upload is looked at here, and not held open.
func (c *Client) prepare(ctx context.Context, call call, opts []CallOption) (*request, error) {
	r := &request{op: call.op, method: cmp.Or(call.method, c.updateMethod), settings: *c.defaults}
	problems := r.begin(ctx, opts)
	path := call.path
	if call.id != nil {
		problems = append(problems, call.id.check()...)
		path = append(slices.Clip(path), string(*call.id))
	}
	r.query = c.complete(call.query, r.settings.query)
	if call.page != nil {
		r.query = maps.Clone(r.query)
		if r.query == nil {
			r.query = url.Values{}
		}
		maps.Copy(r.query, call.page)
	}
	r.url = c.url(path, r.query)
	problems = append(problems, checkText(r.query)...)
	var causes []error
	if call.form != nil {
		form := c.complete(call.form, r.settings.form)
		problems = append(problems, slices.Concat(checkRequired(form, call.required, r.settings.form), checkNonEmpty(form, call.nonEmpty), checkText(form))...)
		switch {
		case call.file == nil:
			r.body = upload.Form(form)
		case form.Has("file"):
			problems = append(problems, problem("file", form.Get("file"), "must be given as TranscriptionStoreParams.File, not as a form field")...)
		case ctx != nil:
			bad, errs, err := r.multipartBody(ctx, call.file, form)
			if err != nil {
				return nil, newHistory(r).fail(r, err)
			}
			problems, causes = append(problems, bad...), errs
		}
		if r.once && r.create() {
			problems = append(problems, checkRequired(form, []string{"name"}, nil)...)
			r.unique = &uniqueName{collection: call.path[0], name: strings.TrimSpace(form.Get("name")), form: form}
		}
	}
	if call.check != nil && !r.unchecked {
		problems = append(problems, call.check()...)
	}
	return r, invalid(r.op, problems, causes...)
}

// valuesOf encodes a struct as go-querystring does: what is not set is left out, a boolean is 1 or 0.
func valuesOf(params any) url.Values {
	// It fails for what is no struct, and all of ours are.
	values, _ := query.Values(params)
	return values
}

// complete writes booleans the way the deployment reads them, and lays the caller's fields over the documented ones. Only
// a name that ends in [] may repeat.
func (c *Client) complete(fields url.Values, extra []pair) url.Values {
	if fields == nil && extra == nil {
		return nil
	}
	values := url.Values{}
	maps.Copy(values, fields)
	if c.words && values.Has("favorite") {
		values.Set("favorite", map[string]string{"1": "true", "0": "false"}[values.Get("favorite")])
	}
	for i, p := range extra {
		if strings.HasSuffix(p.key, "[]") && slices.ContainsFunc(extra[:i], func(before pair) bool { return before.key == p.key }) {
			values.Add(p.key, p.value)
		} else {
			values.Set(p.key, p.value)
		}
	}
	return values
}

// url joins the path: the one place where segments are escaped.
func (c *Client) url(segments []string, query url.Values) *url.URL {
	escaped := make([]string, len(segments))
	for i, segment := range segments {
		escaped[i] = url.PathEscape(segment)
	}
	u := &url.URL{Scheme: c.base.Scheme, Host: c.base.Host, RawQuery: query.Encode()}
	u.Path = c.base.Path + apiPrefix + "/" + strings.Join(segments, "/")
	if raw := c.base.EscapedPath() + apiPrefix + "/" + strings.Join(escaped, "/"); raw != u.Path {
		u.RawPath = raw
	}
	return u
}

// limits are the clocks of one attempt.
func (r *request) limits() wire.Limits {
	l := wire.Limits{Upload: r.body != nil && r.body.HasFile(), Stall: r.stall, Wait: readTimeout}
	if r.create() {
		l.Wait = storeTimeout
	}
	if r.timeout != nil {
		l.Wait = *r.timeout
	}
	return l
}

// attempt sends a request once, for the n-th time.
type attempt func(ctx context.Context, r *request, n int, key redact.Key) result

// send makes attempts until one succeeds or no other may follow.
func (c *Client) send(ctx context.Context, r *request, try attempt) error {
	if r.progress != nil && r.body != nil && r.body.HasFile() {
		r.meter = upload.NewMeter(r.body.FileSize(), func(sent, total int64, attempt int) { r.progress(Progress{sent, total, attempt}) })
		defer r.meter.Stop(ctx)
	}
	h := newHistory(r)
	if r.unique != nil {
		unlock, err := c.names.lock(ctx, r.unique.collection+"/"+r.unique.name)
		if err != nil {
			return h.fail(r, err)
		}
		defer unlock()
	}
	for settled := false; ; {
		if r.unique != nil && !settled {
			if found, err := c.lookBefore(ctx, r, h); found || err != nil {
				return h.end(c, r, err)
			}
		}
		key, err := c.token(ctx, r.bare)
		if err != nil {
			return h.fail(r, err)
		}
		if h.last.status == http.StatusUnauthorized && key == h.key {
			return h.fail(r, nil)
		}
		h.key = key
		start := time.Now()
		res := try(ctx, r, h.count+1, key)
		took := time.Since(start)
		h.add(res)
		pause, again := h.next(c, r)
		settled = r.unique != nil && !res.final && (res.outcome == OutcomeUnknown || res.outcome == OutcomeDone)
		c.log(ctx, r, h, took, pause, again && !settled)
		if res.err == nil || h.deleted(r) {
			if !r.looking {
				c.budget.succeed(h.taken)
			}
			return nil
		}
		if settled {
			found, err := c.settle(ctx, r, time.Now().Add(h.policy.SettleTime), false)
			if found || err != nil {
				return h.end(c, r, err)
			}
			pause = 0
		}
		if !again {
			return h.fail(r, nil)
		}
		if err := sleep(ctx, pause); err != nil {
			return h.fail(r, err)
		}
	}
}

// try sends the request once and reads the response.
func (c *Client) try(ctx context.Context, r *request, n int, key redact.Key) result {
	watched, w := wire.Watch(ctx, r.limits())
	defer w.Stop()
	req := c.request(watched, r, key)
	var sending *upload.Sending
	if r.body != nil {
		r.meter.Begin(n)
		var err error
		if sending, err = r.body.Attach(req, w, r.meter); err != nil {
			return c.noResponse(ctx, r, w, nil, key, err)
		}
		defer sending.End()
	}
	resp, err := c.http().Do(req)
	var res result
	if err != nil {
		res = c.noResponse(ctx, r, w, sending, key, err)
	} else {
		w.Answered()
		res = c.receive(ctx, r, n, key, w, sending, resp)
		res.status, res.requestID = resp.StatusCode, requestID(key.Header(resp.Header))
	}
	if sending != nil {
		sending.End()
	}
	res.sent = w.Sent()
	if res.spent = r.body != nil && !r.body.Replayable(); res.spent && res.transient {
		res.note = "not retried: the file's reader can be read only once"
	}
	return res
}

// request is everything of an attempt but its body and the body's header lines.
func (c *Client) request(ctx context.Context, r *request, key redact.Key) *http.Request {
	// One array serves all three.
	values := []string{"application/json", "Bearer " + string(key), c.userAgent}
	header := http.Header{"Accept": values[0:1:1], "Authorization": values[1:2:2], "User-Agent": values[2:3:3]}
	for _, h := range r.header {
		header[h.key] = []string{h.value}
	}
	u := *r.url
	req := http.Request{Method: r.method, URL: &u, Host: u.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return req.WithContext(ctx)
}

// noResponse is the result of an attempt that no response came to.
func (c *Client) noResponse(ctx context.Context, r *request, w *wire.Attempt, sending *upload.Sending, key redact.Key, err error) result {
	var outer *url.Error
	if errors.As(err, &outer) {
		// Its text holds the query.
		err = outer.Err
	}
	expired := w.Expired()
	w.Stop()
	complete := true
	if sending != nil {
		sending.End()
		complete = sending.Complete()
	}
	var file *upload.ReadError
	res := result{outcome: OutcomeUnknown, transient: true}
	res.final = ctx.Err() != nil || wire.Untrusted(err) || errors.Is(err, wire.ErrClearProxy) || errors.As(err, &file)
	switch {
	case wire.Refused(err):
		res.outcome = OutcomeRejected
	case !w.Wrote(err), !complete, sending == nil && r.body != nil:
		res.outcome = OutcomeNotSent
	}
	switch {
	case ctx.Err() != nil:
		err = contextError(ctx)
	case expired != nil:
		err = expired
	default:
		err = explain(err, w.Wrote(err), complete, c.http().Timeout)
	}
	return res.transport(r, key.Error(err))
}

// receive reads a response and judges it.
func (c *Client) receive(ctx context.Context, r *request, n int, key redact.Key, w *wire.Attempt, sending *upload.Sending, resp *http.Response) result {
	defer resp.Body.Close()
	limit := c.maxResponse
	ok := resp.StatusCode >= 200 && resp.StatusCode <= 299
	if !ok {
		limit = min(limit, maxErrorBody)
	}
	body, err := wire.ReadBody(resp, limit)
	expired := w.Expired()
	if !ok && err != nil {
		body = key.CutEnd(key.Bytes(body))
	}
	if r.response != nil {
		*r.response = newResponse(resp, body, n, key)
	}
	if !ok {
		w.Stop()
		if sending != nil {
			sending.End()
		}
		return c.rejected(r, key, sending == nil || sending.Complete(), resp, body)
	}
	page := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
	switch {
	case errors.Is(err, wire.ErrCutOff) && r.method == http.MethodDelete && !page:
		// It is done, and nothing of the response is needed.
		err = nil
	case err != nil && ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", wire.ErrCutOff, contextError(ctx))
	case err != nil && expired != nil:
		err = fmt.Errorf("%w: %w", wire.ErrCutOff, expired)
	}
	if err == nil {
		err = r.read(&reply{body: body, header: resp.Header, query: r.query})
	}
	if err == nil {
		return result{outcome: OutcomeDone, word: "ok"}
	}
	cut := errors.Is(err, wire.ErrCutOff) || errors.Is(err, lenient.ErrCutOff)
	res := result{outcome: outcomeOfBody(body), transient: cut && ctx.Err() == nil, final: ctx.Err() != nil}
	if errors.Is(err, lenient.ErrSaysError) || cut && page && len(body) == 0 {
		res.outcome = OutcomeUnknown
	}
	login := resp.Request != nil && resp.Request.Response != nil && errors.Is(err, lenient.ErrHTML)
	if login {
		err = fmt.Errorf("%w: the API key is not accepted: the service redirected to a login page", ErrUnauthorized)
	}
	kept := key.Bytes(body)
	if len(kept) > maxErrorBody {
		kept = key.CutEnd(bytes.Clone(kept[:maxErrorBody]))
	}
	e := &DecodeError{StatusCode: resp.StatusCode, Method: r.method, Path: r.url.EscapedPath(), Header: key.Header(resp.Header), Body: kept, Err: key.Error(err), login: login}
	e.RequestID = requestID(e.Header)
	res.err, res.word = e, fmt.Sprintf("%d, unreadable", resp.StatusCode)
	return res
}

// rejected is the result of a response other than 2xx. An upload that a redirect or a server error ended before its
// last byte reached no one whole.
func (c *Client) rejected(r *request, key redact.Key, complete bool, resp *http.Response, body []byte) result {
	e := newAPIError(c.base, r, key, resp, body)
	res := result{
		err: e, outcome: outcomeOfStatus(e.StatusCode, r.method, resp.Header.Get("Retry-After") != ""),
		transient: transientStatus(e.StatusCode), retryAfter: e.RetryAfter, word: fmt.Sprint(e.StatusCode),
	}
	if class := e.StatusCode / 100; !complete && (class == 3 || class == 5) {
		res.outcome = OutcomeNotSent
	}
	if !res.transient {
		res.retryAfter = 0
	}
	res.note = c.addressNote(r, e)
	if asked := e.RetryAfter; res.transient && asked > r.retry.complete().MaxRetryAfter {
		res.note = fmt.Sprintf("the service asks to wait %v, the retry policy allows %v (MaxRetryAfter)", asked, r.retry.complete().MaxRetryAfter)
	}
	return res
}

// log writes one line for an attempt. What the service said stays out of it.
func (c *Client) log(ctx context.Context, r *request, h *history, took, pause time.Duration, again bool) {
	if c.logger == nil || !c.logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("op", r.op), slog.String("method", r.method), slog.String("path", r.url.EscapedPath()), slog.Int("attempt", h.count),
		slog.Int("status", h.last.status), slog.String("request_id", h.last.requestID), slog.String("result", h.last.word),
		slog.String("outcome", h.last.outcome.String()), slog.Duration("took", took), slog.Int64("sent", h.last.sent),
		slog.Int("budget", c.budget.retries()),
	}
	if again {
		attrs = append(attrs, slog.Duration("pause", pause))
	}
	c.logger.LogAttrs(ctx, slog.LevelDebug, "aicontent attempt", attrs...)
}
