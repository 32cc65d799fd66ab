package aicontent

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-querystring/query"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/response"
	"github.com/aicontent/aicontent-go/internal/upload"
)

// Operation is the name of an operation: the collection, then the verb. Error texts begin with it.
type Operation string

// The operations of the API, and the download of a picture.
const (
	ImagesList     Operation = "images.list"
	ImagesShow     Operation = "images.show"
	ImagesStore    Operation = "images.store"
	ImagesUpdate   Operation = "images.update"
	ImagesDelete   Operation = "images.delete"
	ImagesDownload Operation = "images.download"

	TranscriptionsList   Operation = "transcriptions.list"
	TranscriptionsShow   Operation = "transcriptions.show"
	TranscriptionsStore  Operation = "transcriptions.store"
	TranscriptionsUpdate Operation = "transcriptions.update"
	TranscriptionsDelete Operation = "transcriptions.delete"
)

// operation is shared by all calls of one operation.
type operation struct {
	name     Operation
	in       *collection // nil for a download
	kind     engine.Kind
	record   bool     // the path ends in a record's ID
	required []string // fields of the form, except a file
}

// collection is a collection of records, with its operations.
type collection struct {
	name, singular string // in paths and in responses

	list, show, store, update, remove *operation
}

var (
	images = newCollection("images", "image",
		ImagesList, ImagesShow, ImagesStore, ImagesUpdate, ImagesDelete,
		"name", "description", "resolution")
	transcriptions = newCollection("transcriptions", "transcription",
		TranscriptionsList, TranscriptionsShow, TranscriptionsStore, TranscriptionsUpdate, TranscriptionsDelete,
		"name")
	imagesDownload = &operation{name: ImagesDownload, kind: engine.Fetch}
)

func newCollection(name, singular string, list, show, store, update, remove Operation, required ...string) *collection {
	c := &collection{name: name, singular: singular}
	c.list = &operation{list, c, engine.Read, false, nil}
	c.show = &operation{show, c, engine.Read, true, nil}
	c.store = &operation{store, c, engine.Create, false, required}
	c.update = &operation{update, c, engine.Change, true, nil}
	c.remove = &operation{remove, c, engine.Remove, true, nil}
	return c
}

// arguments are the arguments of a method.
type arguments struct {
	op     *operation
	id     ID         // of the record to show, update or delete
	params any        // the documented fields, as a struct; nil for none
	query  url.Values // of a page after the first, in place of the query of params and options
	file   *File      // nil for a form without a file
}

// request is a call that is ready to be sent.
type request struct {
	sent engine.Request
	set  *settings // shared with the client's other calls if the call has no options
	op   *operation
}

// settings is set by the options of a call.
type settings struct {
	wait       time.Duration // for the response, except Store's
	storeWait  time.Duration
	stall      time.Duration
	hooks      []attemptHook
	policy     RetryPolicy // with defaults
	unchecked  bool
	moreHeader []pair
	moreQuery  []pair
	moreForm   []pair
	response   **Response
	progress   func(Progress)
	search     *search // nil unless the call is a part of one
}

func newSettings() *settings {
	return &settings{
		wait: 30 * time.Second, storeWait: 10 * time.Minute, stall: 60 * time.Second,
		policy: DefaultRetryPolicy(),
	}
}

type pair struct{ key, value string }

// appended appends without writing into a list that calls share.
func appended(list []pair, key, value string) []pair {
	return append(slices.Clip(list), pair{key, value})
}

// Response is the raw response, with the parts that records do not contain: see [WithResponse]. The API key is masked
// wherever the service sent it back.
type Response struct {
	StatusCode int
	Header     http.Header
	Body       []byte // decompressed; up to 1 MiB of a response other than 2xx
	RequestID  string // from the usual headers; empty if none was sent
	Attempts   int    // number of attempts up to this response, from 1
}

// answer is a response to a request of a client.
type answer struct {
	client *Client
	req    *request
	reply  engine.Reply
}

// search marks the requests of a search for a record. Their errors are those of the search.
type search struct {
	op      Operation
	outcome Outcome // of the request that would have created the record
}

// reader reads the result of a call from a 2xx response.
type reader[T any] func(answer) (T, error)

// call makes a call and returns its result. With invalid arguments nothing is sent.
func call[T any](ctx context.Context, c *Client, args arguments, opts []CallOption, read reader[T]) (T, error) {
	var result T
	req, err := c.prepare(ctx, args, opts)
	if err != nil {
		return result, err
	}
	last, failure := c.sender().Do(ctx, req.sent, c.engineSettings(req), func(r engine.Reply) engine.Content {
		req.set.keep(r)
		if r.Status/100 != 2 || r.Err != nil {
			return contentOf(r, shield(r.Keys, r.Err))
		}
		value, err := read(answer{c, req, r})
		if err != nil {
			return contentOf(r, err)
		}
		return engine.Content{Kind: engine.Asked, Value: value}
	})
	if failure != nil {
		e := endingOf(failure)
		if search := req.set.search; search != nil {
			e.outcome = search.outcome
		}
		return result, c.newError(req, e)
	}
	result, _ = last.Facts.Content.Value.(T) // a Delete may succeed without one
	return result, nil
}

// unusable returns the error of a list that was read but cannot be used. It keeps nothing of the response's body.
func (a answer) unusable(cause error, retryable bool) error {
	a.reply.Body = ""
	e := ending{outcome: OutcomeExecuted, retryable: retryable}
	if search := a.req.set.search; search != nil {
		e.outcome = search.outcome
	}
	e.last = engine.Attempt{Number: a.reply.Attempts, Reply: a.reply, Err: cause}
	return a.client.newError(a.req, e)
}

// keep stores a response for WithResponse. The last one stays.
func (s *settings) keep(r engine.Reply) {
	if s.response != nil {
		*s.response = &Response{
			StatusCode: r.Status, Header: r.Keys.Header(r.Header), Body: []byte(r.Keys.Text(r.Body)),
			RequestID: r.RequestID(), Attempts: r.Attempts,
		}
	}
}

// engineSettings returns the engine's settings for a call.
func (c *Client) engineSettings(req *request) engine.Settings {
	set, body := req.set, req.sent.Body
	s := engine.Settings{
		Limits: engine.Limits{Stall: set.stall, Wait: set.wait},
		Policy: engine.Policy(set.policy), Hooks: c.hooksOf(req),
	}
	if req.op.kind == engine.Create {
		s.Limits.Wait = set.storeWait
	}
	if set.progress != nil && body != nil && body.HasFile() {
		s.Progress = func(sent int64, attempt int) { set.progress(Progress{sent, body.FileSize, attempt}) }
	}
	return s
}

// validate returns the errors a call would report before sending. It does not open the file.
func (c *Client) validate(args arguments, opts []CallOption) error {
	_, _, problems := c.encode(args, opts)
	return newValidationError(args.op.name, problems)
}

// prepare returns the complete request of a call, or the error of its arguments. It reads the first bytes of a file.
func (c *Client) prepare(ctx context.Context, args arguments, opts []CallOption) (*request, error) {
	req, form, problems := c.encode(args, opts)
	if args.file == nil {
		if form != nil {
			req.sent.Body = upload.Form(form)
		}
		return req, newValidationError(args.op.name, problems)
	}
	body, found, err := args.file.body(ctx, form, req.set, c.lastKeys())
	req.sent.Body = body
	problems = append(problems, found...)
	switch {
	case err == nil:
		return req, newValidationError(args.op.name, problems)
	case found != nil:
		return nil, newValidationError(args.op.name, problems, err)
	}
	e := ending{outcome: OutcomeNotExecuted, why: engine.FileError, stopped: err}
	if ctx.Err() != nil {
		e.why, e.retryable = engine.Ended, true
	}
	e.last.Reply.Keys = c.lastKeys()
	return nil, c.newError(req, e)
}

// encode makes the URL and the form of a request, and reports problems with the arguments.
func (c *Client) encode(args arguments, opts []CallOption) (req *request, form url.Values, problems []FieldProblem) {
	op := args.op
	set, problems := c.set(opts)
	if op.record {
		for _, p := range args.id.check() {
			p.Value = ID(c.lastKeys().Text(string(args.id))) // the service may have sent it
			problems = append(problems, p)
		}
	}
	if op.kind == engine.Create {
		problems = append(problems, checkTimeout(c.timeout, set.storeWait)...)
	}
	fields := valuesOf(args.params)
	if op.kind == engine.Create || op.kind == engine.Change {
		form = c.overlay(fields, set.moreForm)
		problems = append(problems, checkForm(args, form, fields, set.moreForm)...)
		fields = nil
	}
	query := c.overlay(fields, set.moreQuery)
	if args.query != nil {
		query = args.query
	}
	problems = append(problems, checkText(query)...)
	if !set.unchecked {
		replaced := slices.Concat(set.moreQuery, set.moreForm)
		problems = append(problems, slices.DeleteFunc(unlisted(args.params), func(p FieldProblem) bool {
			return slices.ContainsFunc(replaced, func(with pair) bool { return with.key == p.Field })
		})...)
	}
	req = &request{set: set, op: op}
	req.sent = engine.Request{Kind: op.kind, Method: c.method(op.kind), URL: c.url(op, args.id, query)}
	if len(set.moreHeader) > 0 {
		req.sent.Header = make(http.Header, len(set.moreHeader))
	}
	for _, h := range set.moreHeader {
		req.sent.Header[h.key] = []string{h.value}
	}
	return req, form, problems
}

// contentOf classifies a response without the expected content. Err is the reason, nil for a status.
func contentOf(r engine.Reply, err error) engine.Content {
	c := engine.Content{
		Kind: kindOf(r.Body, r.Header), Err: err,
		Cut: errors.Is(r.Err, engine.ErrCutOff) || errors.Is(err, response.ErrCutOff),
	}
	if errors.Is(err, response.ErrSaysError) {
		c.Kind = engine.Error
	}
	if r.Status/100 != 2 {
		c.Err = nil
	}
	return c
}

func kindOf(body string, header http.Header) engine.ContentKind {
	v, err := response.Parse(body)
	html := strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), "text/html")
	switch {
	case v.SaysError():
		return engine.Error
	case v.Kind() == '{', v.Kind() == '[':
		return engine.JSON
	case errors.Is(err, response.ErrEmpty):
		return engine.None
	case errors.Is(err, response.ErrHTML), err != nil && html:
		return engine.Page
	}
	return engine.Text
}

// method returns the HTTP method for a kind of request.
func (c *Client) method(kind engine.Kind) string {
	switch kind {
	case engine.Create:
		return http.MethodPost
	case engine.Change:
		return c.updateMethod
	case engine.Remove:
		return http.MethodDelete
	}
	return http.MethodGet
}

// set returns the settings of a call with the given options.
func (c *Client) set(opts []CallOption) (*settings, []FieldProblem) {
	s := c.defaults
	if len(opts) > 0 {
		s = new(*s)
	}
	var problems []FieldProblem
	for _, opt := range opts {
		problems = append(problems, opt.applyCall(s)...)
	}
	if s.response != nil {
		*s.response = nil // an earlier call's must not be taken for this one's
	}
	return s, problems
}

// valuesOf encodes a struct without its unset fields. A boolean is 1 or 0. The result is nil for no struct.
func valuesOf(params any) url.Values {
	if params == nil {
		return nil
	}
	values, _ := query.Values(params)
	return values
}

// overlay writes booleans as the deployment reads them, and lays the caller's fields over them. Only a name that
// ends in [] may repeat.
func (c *Client) overlay(fields url.Values, extra []pair) url.Values {
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

// url returns the address of a collection, or of a record in it: the one place where a segment is escaped.
func (c *Client) url(op *operation, id ID, query url.Values) url.URL {
	segment := ""
	if op.record {
		segment = "/" + url.PathEscape(string(id))
	}
	escaped := c.base.EscapedPath() + apiPrefix + "/" + op.in.name + segment
	path, _ := url.PathUnescape(escaped) // it was escaped, so it can be unescaped
	return url.URL{Scheme: c.base.Scheme, Host: c.base.Host, Path: path, RawPath: escaped, RawQuery: query.Encode()}
}
