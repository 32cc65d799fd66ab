package aicontent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-querystring/query"
)

const (
	apiPrefix = "/api/v1"
	// What an operation waits for its answer without WithTimeout.
	readTimeout  = 30 * time.Second
	storeTimeout = 10 * time.Minute
)

// call is one operation as plain data.
type call struct {
	op     string     // as errors and log lines name it: images.store
	method string     // empty for an update: the client has the choice
	path   []string   // segments below /api/v1, not escaped
	query  url.Values // nil for none
	link   url.Values // a next link's query, laid over all other
	form   url.Values // the fields of the body
	body   bodyMaker  // nil for no body
	name   string     // a store's name, for WithOnce
	find   finder     // a store's, for WithOnce
	check  func(*problems)
}

// bodyMaker makes a body of a form's fields. What is wrong with them goes to the problems.
type bodyMaker func(ctx context.Context, fields url.Values, s *settings, p *problems) (*payload, error)

// finder looks for the record that a store would make, and reads it as the store's answer.
type finder func(ctx context.Context, c *Client, x *exchange) (bool, error)

func (c *call) store() bool { return c.method == http.MethodPost }

// lookedFor reports whether it is a store with WithOnce.
func (x *exchange) lookedFor() bool { return x.once && x.find != nil }

// exchange is a call made ready: all that an attempt needs but a key and a connection.
type exchange struct {
	call
	settings
	problems problems
	url      *url.URL
	params   url.Values // the query
	payload  *payload   // nil for no body
	meter    *meter     // nil where nobody asked
	read     func(*answer) error
}

// do makes a call and returns what read makes of its answer. Nothing is sent when the call or an option is at fault.
func do[T any](ctx context.Context, c *Client, call call, opts []CallOption, read func(*answer) (T, error)) (T, error) {
	var result, none T
	x := exchange{call: call, settings: *c.defaults}
	x.read = func(a *answer) (err error) {
		result, err = read(a)
		return err
	}
	err := c.prepare(ctx, &x, opts)
	if err == nil {
		err = c.send(ctx, &x)
	}
	if err != nil {
		return none, err
	}
	return result, nil
}

// prepare checks and encodes. The file of an upload is looked at here, and not held open.
func (c *Client) prepare(ctx context.Context, x *exchange, opts []CallOption) error {
	p := &x.problems
	x.apply(opts, p)
	if ctx == nil {
		p.add("ctx", nil, "must not be nil")
	}
	if x.method == "" {
		x.method = c.updateMethod
	}
	if x.check != nil {
		x.check(p)
	}
	x.params = c.complete(x.call.query, x.settings.query)
	maps.Copy(x.params, x.link)
	x.url = c.url(x.path, x.params)
	if x.body != nil && ctx != nil {
		var err error
		if x.payload, err = x.body(ctx, c.complete(x.call.form, x.settings.form), &x.settings, p); err != nil {
			return x.lost(ctx, err, notSent)
		}
	}
	return p.err(x.op)
}

// valuesOf writes a struct's fields as go-querystring does: what is not set is left out, a boolean is 1 or 0.
func valuesOf(params any) url.Values {
	// It fails for what is no struct, and all of ours are.
	values, _ := query.Values(params)
	return values
}

// complete writes booleans the way the deployment reads them, and lays what the caller adds over the fields.
func (c *Client) complete(fields url.Values, own []pair) url.Values {
	if fields == nil && own == nil {
		return nil
	}
	values := url.Values{}
	maps.Copy(values, fields)
	if c.words && values.Has(favoriteField) {
		values.Set(favoriteField, map[string]string{"1": "true", "0": "false"}[values.Get(favoriteField)])
	}
	for _, p := range own {
		values.Set(p.key, p.value)
	}
	return values
}

// url joins the path: the one place where segments are escaped.
func (c *Client) url(segments []string, params url.Values) *url.URL {
	var room [2]string
	escaped := room[:0]
	for _, segment := range segments {
		escaped = append(escaped, url.PathEscape(segment))
	}
	u := &url.URL{Scheme: c.base.Scheme, Host: c.base.Host, Path: c.root + strings.Join(segments, "/"), RawQuery: params.Encode()}
	if c.escapedRoot != c.root || !slices.Equal(escaped, segments) {
		u.RawPath = c.escapedRoot + strings.Join(escaped, "/")
	}
	return u
}

// wait is how long an attempt waits for its answer.
func (x *exchange) wait() time.Duration {
	switch {
	case x.timeout != nil:
		return *x.timeout
	case x.store():
		return storeTimeout
	}
	return readTimeout
}

// attempt sends the request once and reads the answer.
func (c *Client) attempt(ctx context.Context, x *exchange, n int, key string) failure {
	watched, w := watch(ctx, x.payload != nil && x.payload.size != 0, x.stall, x.wait())
	req := c.request(watched, x, key)
	if x.payload != nil {
		x.meter.begin(n)
		body := &attemptBody{payload: x.payload, wire: w, meter: x.meter, safe: !x.store()}
		defer body.end()
		if err := body.attach(watched, req); err != nil {
			w.stop()
			return x.lost(ctx, err, notSent)
		}
	}
	defer w.stop()
	client := c.http
	if x.store() {
		client = c.storing
	}
	resp, err := client().Do(req)
	// Where net/http itself notices a dead idle connection it reports a failure, though nothing was written. Each round uses one
	// of them up.
	for err != nil && watched.Err() == nil && w.diedIdle() {
		if req.GetBody != nil {
			req.Body, _ = req.GetBody()
		}
		resp, err = client().Do(req)
	}
	if err != nil {
		return c.noAnswer(ctx, watched, x, w, key, err)
	}
	defer resp.Body.Close()
	if resp.Request == nil {
		// A RoundTripper that stands in for a service may have left it out.
		resp.Request = req
	}
	w.answering()
	return c.receive(ctx, watched, x, n, key, resp)
}

// request is everything of an attempt but its body and the body's own header lines.
func (c *Client) request(ctx context.Context, x *exchange, key string) *http.Request {
	// One array serves all three.
	values := []string{"application/json", "Bearer " + key, c.userAgent}
	header := http.Header{"Accept": values[0:1:1], "Authorization": values[1:2:2], "User-Agent": values[2:3:3]}
	for _, h := range x.header {
		header[h.key] = []string{h.value}
	}
	req := http.Request{Method: x.method, URL: x.url, Host: x.url.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return req.WithContext(ctx)
}

// noAnswer says what became of a request that was not answered.
func (c *Client) noAnswer(ctx, watched context.Context, x *exchange, w *wire, key string, err error) failure {
	var outer *url.Error
	if errors.As(err, &outer) {
		// Its text holds the query.
		err = outer.Err
	}
	f := notSent
	switch {
	case refusedStream(err):
		f = rejected
	case w.wrote(err):
		f = unknown
	}
	var late *timeoutError
	if errors.As(context.Cause(watched), &late) {
		err = late
	}
	e := x.lost(ctx, err, f)
	e.Err = presentable(e.Err, key)
	return e
}

// lost makes the error of an attempt without an answer. The end of the caller's context is the better reason for it.
func (x *exchange) lost(ctx context.Context, err error, f fate) *TransportError {
	e := &TransportError{Method: x.method, Path: x.url.EscapedPath(), Err: err}
	if ctx.Err() != nil {
		e.Err = ended(ctx)
	}
	var file *fileError
	e.final = ctx.Err() != nil || untrusted(err) || errors.Is(err, errClearProxy) || errors.As(err, &file)
	e.op, e.fate = x.op, f
	return e
}

// ended is why a context ended: its error, and its cause where that says more.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// receive reads an answer and judges it.
func (c *Client) receive(ctx, watched context.Context, x *exchange, n int, key string, resp *http.Response) failure {
	limit := c.maxResponse
	ok := resp.StatusCode >= 200 && resp.StatusCode <= 299
	if !ok {
		limit = min(limit, maxErrorBody)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// Nobody asked for it, and no clock would end reading what net/http then takes for a bare connection.
		resp.Body.Close()
		resp.Body = http.NoBody
	}
	body, err := readBody(resp, limit)
	if !ok && err != nil {
		body = uncut(masked(body, key), key)
	}
	if x.response != nil {
		*x.response = newResponse(resp, body, n, key)
	}
	if !ok {
		e := newAPIError(resp, body, c.base, key)
		e.op, e.Method, e.Path, e.Attempts = x.op, x.method, x.url.EscapedPath(), n
		e.fate = fateOfStatus(e.StatusCode, x.method, resp.Header.Get("Retry-After") != "")
		return e
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", errCutOff, ended(ctx))
	} else if late := context.Cause(watched); err != nil && late != nil {
		err = fmt.Errorf("%w: %w", errCutOff, late)
	}
	if err == nil {
		err = x.read(&answer{body: body, header: resp.Header, params: x.params})
	}
	if err == nil {
		return nil
	}
	if resp.Request.Response != nil && errors.Is(err, errPage) {
		err = fmt.Errorf("%w: the service redirected to a page, as it does when it does not accept the API key: %w", ErrUnauthorized, err)
	}
	e := &DecodeError{StatusCode: resp.StatusCode, Method: x.method, Path: x.url.EscapedPath(), Err: presentable(err, key)}
	e.op, e.fate = x.op, fateOfBody(body)
	if len(body) == 0 && errors.Is(err, errCutOff) && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		// It was to be a page, as far as can be told.
		e.fate = unknown
	}
	e.Body = masked(body, key)
	if len(e.Body) > maxErrorBody {
		e.Body = uncut(bytes.Clone(e.Body[:maxErrorBody]), key)
	}
	return e
}
