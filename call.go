package aicontent

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-querystring/query"

	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// call is one call as plain data.
type call struct {
	op       *operation
	id       ID             // of the record that is shown, updated or deleted
	query    url.Values     // nil for none
	page     url.Values     // what a page's link adds to the query
	form     url.Values     // nil for no body
	file     *File          // nil for a form without a file
	required []string       // form fields that must not be empty
	unlisted []FieldProblem // with values that the API does not document
}

// settings is what the options of a call set.
type settings struct {
	wait      time.Duration // for the response, except Store's
	storeWait time.Duration
	stall     time.Duration
	hooks     []attemptHook
	policy    RetryPolicy
	budget    *budget
	unchecked bool
	header    []pair
	query     []pair
	form      []pair
	response  **Response
	progress  func(Progress)
	readAhead int
}

func newSettings() *settings {
	return &settings{wait: 30 * time.Second, storeWait: 10 * time.Minute, stall: 60 * time.Second}
}

type pair struct{ key, value string }

// with appends without writing into a list that calls share.
func with(list []pair, key, value string) []pair { return append(slices.Clip(list), pair{key, value}) }

// request is a call made ready: what all its attempts send, except for the key.
type request struct {
	op     *operation
	method string
	url    url.URL
	query  url.Values // of url
	header []pair
	form   url.Values    // of body
	body   *upload.Body  // nil for none
	meter  *upload.Meter // nil for none
	limits wire.Limits
	hooks  []attemptHook
	policy RetryPolicy
	budget *budget
}

// Response is the raw response, for what records do not contain: see [WithResponse]. The API key is masked wherever the
// service sent it back.
type Response struct {
	StatusCode int
	Header     http.Header
	Body       []byte // decompressed; up to 1 MiB of a response other than 2xx
	RequestID  string // from the usual headers; empty if none was sent
	Attempts   int    // number of attempts, from 1
}

// do makes a call and returns what read takes from its response. With invalid arguments nothing is sent.
func do[T any](
	ctx context.Context, c *Client, call call, opts []CallOption, read func(*exchange) (T, error),
) (value T, err error) {
	s, problems := c.settings(ctx, opts)
	r, err := c.prepare(ctx, call, s, problems)
	if err != nil {
		return value, err
	}
	if s.progress != nil && call.file != nil {
		total := r.body.FileSize
		r.meter = upload.NewMeter(func(sent int64, attempt int) { s.progress(Progress{sent, total, attempt}) })
		defer r.meter.Stop(ctx)
	}
	take := func(x *exchange) (err error) {
		value, err = read(x)
		return err
	}
	h := newHistory()
	attempt := func() (*exchange, error) { return c.attempt(ctx, r, h, take) }
	err = errPanic // until it has ended
	defer func() { h.finish(r, s.response, err) }()
	err = c.send(ctx, r, h, attempt)
	return value, err
}

// validate reports what prepare would, without a client.
func validate(call call) error {
	_, err := noClient.prepare(context.Background(), call, noClient.defaults, nil)
	return err
}

// settings returns the settings of a call with the given options.
func (c *Client) settings(ctx context.Context, opts []CallOption) (*settings, []FieldProblem) {
	s := c.defaults
	if len(opts) > 0 {
		s = new(*s) // all calls share the defaults
	}
	problems := check(c != noClient, "client", nil, "was not created with NewClient")
	for _, opt := range opts {
		if opt == nil {
			problems = append(problems, problem("option", nil, "must not be nil")...)
		} else {
			problems = append(problems, opt.applyCall(s)...)
		}
	}
	if s.response != nil {
		*s.response = nil // an earlier call's must not be taken for this one's
	}
	return s, append(problems, check(ctx != nil, "ctx", nil, "must not be nil")...)
}

// request is a request of the operation with the limits that the options set.
func (s *settings) request(op *operation, method string) *request {
	limits := wire.Limits{Stall: s.stall, Wait: s.wait, Option: "WithResponseTimeout"}
	if op.creates() {
		limits.Wait, limits.Option = s.storeWait, "WithStoreTimeout"
	}
	return &request{
		op: op, method: method, limits: limits, hooks: s.hooks,
		policy: s.policy.complete(), budget: s.budget,
	}
}

// prepare checks and encodes a call. The file of an upload is looked at here, and not held open.
func (c *Client) prepare(ctx context.Context, call call, s *settings, problems []FieldProblem) (*request, error) {
	r := s.request(call.op, cmp.Or(call.op.method, c.updateMethod))
	r.header, r.query = s.header, c.complete(call.query, s.query)
	maps.Copy(r.query, call.page)
	r.url = c.url(call, r.query)
	if call.op.record {
		problems = append(problems, call.id.check()...)
	}
	problems = append(problems, checkText(r.query)...)
	var causes []error
	if call.form != nil {
		r.form = c.complete(call.form, s.form)
		problems = append(problems, checkForm(call, r.form, s)...)
		if call.file == nil {
			r.body = upload.Form(r.form)
		} else if ctx != nil {
			var bad []FieldProblem
			var err error
			if bad, causes, err = r.attach(ctx, call.file, s.unchecked); err != nil {
				return nil, newHistory().fail(r, err)
			}
			problems = append(problems, bad...)
		}
	}
	if !s.unchecked {
		replaced := slices.Concat(s.query, s.form)
		problems = append(problems, slices.DeleteFunc(call.unlisted, func(p FieldProblem) bool {
			return slices.ContainsFunc(replaced, func(with pair) bool { return with.key == p.Field })
		})...)
	}
	return r, invalid(call.op.name, problems, causes...)
}

// valuesOf encodes a struct: what is not set is left out, a boolean is 1 or 0. Only what is no struct would be an
// error.
func valuesOf(params any) url.Values {
	values, _ := query.Values(params)
	return values
}

// complete writes booleans as the deployment reads them, and lays the caller's fields over them. Only a name that
// ends in [] may repeat.
func (c *Client) complete(fields url.Values, extra []pair) url.Values {
	if fields == nil && extra == nil {
		return nil
	}
	values := url.Values{}
	maps.Copy(values, fields)
	if c.words && values.Has("favorite") {
		values.Set("favorite", strconv.FormatBool(values.Get("favorite") == "1"))
	}
	for _, p := range extra {
		if strings.HasSuffix(p.key, "[]") { // as no documented name does
			values.Add(p.key, p.value)
		} else {
			values.Set(p.key, p.value)
		}
	}
	return values
}

// url is the address of a collection, or of a record in it: the one place where a segment is escaped.
func (c *Client) url(call call, query url.Values) url.URL {
	segment := ""
	if call.op.record {
		segment = "/" + url.PathEscape(string(call.id))
	}
	escaped := c.base.EscapedPath() + apiPrefix + "/" + call.op.in.name + segment
	path, _ := url.PathUnescape(escaped) // it was escaped, so it can be unescaped
	return url.URL{Scheme: c.base.Scheme, Host: c.base.Host, Path: path, RawPath: escaped, RawQuery: query.Encode()}
}
