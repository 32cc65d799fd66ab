package aicontent

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-querystring/query"

	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
)

// call is one operation as plain data.
type call struct {
	op       string     // as errors and log lines name it: images.store
	method   string     // empty for an update: the client has the choice
	path     []string   // segments after /api/v1, not escaped
	record   bool       // the last segment of the path is a record's ID
	query    url.Values // nil for none
	page     url.Values // what a page's link adds to the query
	form     url.Values // nil for no body
	file     *File      // nil for a form without a file
	required []string   // form fields that must not be empty
	nonEmpty []string   // form fields that must not be empty where they are set
	check    func() []FieldProblem
}

// settings is what a call may choose.
type settings struct {
	timeout   *time.Duration // nil is the operation's default
	stall     time.Duration
	retry     RetryPolicy
	unchecked bool
	header    []pair
	query     []pair
	form      []pair
	response  **Response
	progress  func(Progress)
	once      bool
	since     time.Time // of WithOnceSince
	readAhead int
	looking   bool // a look of WithOnce: one attempt, outside of the retry budget
}

type pair struct{ key, value string }

// with appends without writing into a list that calls share.
func with(list []pair, key, value string) []pair { return append(slices.Clip(list), pair{key, value}) }

// apply lays a call's options over the client's.
func (s *settings) apply(opts []CallOption) (problems []FieldProblem) {
	for _, opt := range opts {
		if opt == nil {
			problems = append(problems, problem("option", nil, "must not be nil")...)
			continue
		}
		problems = append(problems, opt.applyCall(s)...)
	}
	return problems
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
	read       func(reply) error
	bare       bool // without the key, as a download is
}

func (r *request) create() bool { return r.method == http.MethodPost }

// do makes a call and returns what read makes of its response. With invalid arguments nothing is sent.
func do[T any](ctx context.Context, c *Client, call call, opts []CallOption, read func(reply) (T, error)) (T, error) {
	var value, none T
	if c == nil || c.base == nil {
		return none, invalid(call.op, problem("client", nil, "was not created with NewClient"))
	}
	r, err := c.prepare(ctx, call, opts)
	if err != nil {
		return none, err
	}
	r.read = func(re reply) (err error) {
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
	if call.record {
		problems = append(problems, ID(call.path[len(call.path)-1]).check()...)
	}
	r.query = c.complete(call.query, r.settings.query)
	if call.page != nil {
		maps.Copy(r.query, call.page)
	}
	r.url = c.url(call.path, r.query)
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
			r.unique = &uniqueName{collection: call.path[0], name: normalText(form.Get("name")), form: form}
		}
	}
	if call.check != nil && !r.unchecked {
		overridden := append(slices.Clip(r.settings.query), r.settings.form...)
		problems = append(problems, slices.DeleteFunc(call.check(), func(p FieldProblem) bool {
			return slices.ContainsFunc(overridden, func(o pair) bool { return o.key == p.Field })
		})...)
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
	u := &url.URL{Scheme: c.base.Scheme, Host: c.base.Host, RawQuery: query.Encode()}
	u.Path = c.base.Path + apiPrefix + "/" + strings.Join(segments, "/")
	if c.base.EscapedPath() != c.base.Path || slices.ContainsFunc(segments, func(s string) bool { return url.PathEscape(s) != s }) {
		u.RawPath = c.base.EscapedPath() + apiPrefix
		for _, segment := range segments {
			u.RawPath += "/" + url.PathEscape(segment)
		}
	}
	return u
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
			h.refund(c)
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
			h.refund(c)
			return h.fail(r, err)
		}
	}
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
