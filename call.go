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

	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// call is one operation as plain data.
type call struct {
	op       string     // collection and verb, as errors and log lines name it: images.store
	id       ID         // of the record that is shown, updated or deleted
	query    url.Values // nil for none
	page     url.Values // what a page's link adds to the query
	form     url.Values // nil for no body
	file     *File      // nil for a form without a file
	required []string   // form fields that must not be empty
	check    func() []FieldProblem
}

const readTimeout, storeTimeout = 30 * time.Second, 10 * time.Minute

// verb is what the last word of an operation stands for.
type verb struct {
	method string        // empty where the client has the choice
	record bool          // the path ends in the record's ID
	wait   time.Duration // how long an attempt waits for the response without WithTimeout
}

var verbs = map[string]verb{
	"list":     {http.MethodGet, false, readTimeout},
	"show":     {http.MethodGet, true, readTimeout},
	"store":    {http.MethodPost, false, storeTimeout},
	"update":   {"", true, readTimeout},
	"delete":   {http.MethodDelete, true, readTimeout},
	"download": {http.MethodGet, false, readTimeout},
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

// request is a call made ready: all that its attempts send but the key.
type request struct {
	call // query and form as sent
	verb
	settings
	collection string
	client     *http.Client
	url        *url.URL
	body       *upload.Body // nil for none
	meter      *upload.Meter
	name       string // that a store with WithOnce looks for; empty for any other
	read       func(reply) error
	bare       bool                                                        // a download: without the key
	save       func(context.Context, *wire.Attempt, *http.Response) result // what a download does in place of read
}

func (r *request) create() bool { return r.method == http.MethodPost }

// singular is the collection's name for one record.
func (r *request) singular() string { return strings.TrimSuffix(r.collection, "s") }

// do makes a call and returns what read makes of its response. With invalid arguments nothing is sent.
func do[T any](ctx context.Context, c *Client, call call, opts []CallOption, read func(reply) (T, error)) (T, error) {
	var value T
	r, err := c.prepare(ctx, call, opts)
	if err == nil {
		r.read = func(re reply) (err error) {
			value, err = read(re)
			return err
		}
		err = c.send(ctx, r)
	}
	return value, err
}

// begin makes a request with the options of its call, or nil for a client that NewClient did not make.
func (c *Client) begin(ctx context.Context, call call, opts []CallOption) (*request, []FieldProblem) {
	if c == nil || c.base == nil {
		return nil, problem("client", nil, "was not created with NewClient")
	}
	collection, verb, _ := strings.Cut(call.op, ".")
	r := &request{call: call, verb: verbs[verb], settings: *c.defaults, collection: collection, client: c.http()}
	r.method = cmp.Or(r.method, c.updateMethod)
	var problems []FieldProblem
	for _, opt := range opts {
		if opt == nil {
			problems = append(problems, problem("option", nil, "must not be nil")...)
		} else {
			problems = append(problems, opt.applyCall(&r.settings)...)
		}
	}
	r.retry = r.retry.complete()
	r.timeout = cmp.Or(r.timeout, &r.wait)
	if r.response != nil {
		*r.response = nil // that of an earlier call must not be taken for this one's
	}
	return r, append(problems, problemIf(ctx == nil, "ctx", nil, "must not be nil")...)
}

// prepare checks and encodes a call. The file of an upload is looked at here, and not held open.
func (c *Client) prepare(ctx context.Context, call call, opts []CallOption) (*request, error) {
	r, problems := c.begin(ctx, call, opts)
	if r == nil {
		return nil, invalid(call.op, problems)
	}
	if r.record {
		problems = append(problems, r.id.check()...)
	}
	r.call.query = c.complete(call.query, r.settings.query)
	maps.Copy(r.call.query, r.page)
	r.url = c.url(r)
	problems = append(problems, checkText(r.call.query)...)
	var causes []error
	if call.form != nil {
		form := c.complete(call.form, r.settings.form)
		r.call.form = form
		problems = append(problems, checkRequired(form, r.required, r.settings.form)...)
		if r.record { // an update
			problems = append(problems, checkNewName(form)...)
		}
		problems = append(problems, checkText(form)...)
		switch {
		case r.file == nil:
			r.body = upload.Form(form)
		case form.Has("file"):
			problems = append(problems, problem("file", form.Get("file"), "must be given as TranscriptionStoreParams.File, not as a form field")...)
		case ctx != nil:
			bad, errs, err := r.multipartBody(ctx, r.file, form)
			if err != nil {
				return nil, newHistory(r).fail(r, err)
			}
			problems, causes = append(problems, bad...), errs
		}
		if r.once && r.create() {
			problems = append(problems, checkRequired(form, []string{"name"}, nil)...)
			r.name = normalText(form.Get("name"))
		}
	}
	if r.check != nil && !r.unchecked {
		overridden := append(slices.Clip(r.settings.query), r.settings.form...)
		problems = append(problems, slices.DeleteFunc(r.check(), func(p FieldProblem) bool {
			return slices.ContainsFunc(overridden, func(o pair) bool { return o.key == p.Field })
		})...)
	}
	return r, invalid(r.op, problems, causes...)
}

// valuesOf encodes a struct: what is not set is left out, a boolean is 1 or 0. Only what is no struct would be an error.
func valuesOf(params any) url.Values {
	values, _ := query.Values(params)
	return values
}

// complete writes booleans as the deployment reads them, and lays the caller's fields over them. Only a name that ends in [] may repeat.
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

// url is the address of a collection, or of a record in it: the one place where a segment is escaped.
func (c *Client) url(r *request) *url.URL {
	escaped := c.base.EscapedPath() + apiPrefix + "/" + r.collection
	if r.record {
		escaped += "/" + url.PathEscape(string(r.id))
	}
	u := &url.URL{Scheme: c.base.Scheme, Host: c.base.Host, RawQuery: r.call.query.Encode()}
	u.Path, _ = url.PathUnescape(escaped) // it was escaped, so it can be unescaped
	if u.Path != escaped {
		u.RawPath = escaped
	}
	return u
}

// send makes attempts until one succeeds or no other may follow.
func (c *Client) send(ctx context.Context, r *request) (err error) {
	if r.progress != nil && r.body != nil && r.body.HasFile() {
		r.meter = upload.NewMeter(r.body.FileSize(), func(sent, total int64, attempt int) { r.progress(Progress{sent, total, attempt}) })
		defer r.meter.Stop(ctx)
	}
	h := newHistory(r)
	defer func() { h.repay(c, r, err) }()
	if r.name != "" {
		unlock, err := c.names.lock(ctx, r.collection+"/"+r.name)
		if err != nil {
			return h.fail(r, err)
		}
		defer unlock()
	}
	// since is when a request was last seen that may still be executed; zero for none.
	for since, again := r.since, true; ; {
		if r.name != "" {
			switch found, err := c.lookFor(ctx, r, since, h.count); {
			case found:
				return nil
			case err != nil:
				return h.fail(r, err)
			}
		}
		if !again {
			return h.fail(r, nil)
		}
		key, err := c.token(ctx, r.bare)
		if err != nil || h.last.status == http.StatusUnauthorized && key == h.key {
			return h.fail(r, err)
		}
		h.key = key
		start := time.Now()
		h.add(c.try(ctx, r, h.count+1, key))
		took := time.Since(start)
		var pause time.Duration
		pause, again = h.next(c, r)
		settle := r.name != "" && !h.last.final && (h.last.outcome == OutcomeUnknown || h.last.outcome == OutcomeDone)
		c.log(ctx, r, h, took, pause, again && !settle)
		switch {
		case h.last.err == nil || h.deleted(r):
			return nil
		case settle:
			since = time.Now()
			continue
		case !again:
			return h.fail(r, nil)
		}
		since = time.Time{}
		if err := sleep(ctx, pause); err != nil {
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
