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

// request is an engine.Request with the parts that it was made from.
type request struct {
	engine.Request
	*settings // shared with the client's other calls if the call has no options

	op    *operation
	query url.Values
	form  url.Values // nil if there is none
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
	Attempts   int    // number of attempts, from 1
}

// reader reads the result of a call from the body of a 2xx response.
type reader[T any] func(body string, header http.Header, op *operation) (T, error)

// call makes a call and returns its result. With invalid arguments nothing is sent.
func call[T any](ctx context.Context, c *Client, args arguments, opts []CallOption, read reader[T]) (T, error) {
	value, _, err := send(ctx, c, args, opts, read)
	return value, err
}

// answer is the response to a successful call.
type answer struct {
	client *Client
	req    *request
	reply  engine.Reply
}

// unusable returns the error of a list that was read but cannot be used.
func (a answer) unusable(cause error, retryable bool) error {
	bare := a.reply
	bare.Body = ""
	return a.client.newError(a.req, engine.Failure{
		Outcome: engine.Executed, Retryable: retryable, Keys: bare.Keys,
		Last: engine.Attempt{Number: bare.Attempts, Reply: bare, Err: cause},
	})
}

// send is call that also returns the response.
func send[T any](
	ctx context.Context, c *Client, args arguments, opts []CallOption, read reader[T],
) (value T, from answer, err error) {
	req, err := c.prepare(ctx, args, opts)
	if err != nil {
		return value, answer{}, err
	}
	last, err := c.do(ctx, req, func(r engine.Reply) engine.Content {
		if r.Status/100 != 2 {
			return contentOf(r, nil)
		}
		err := shield(nil, r.Err)
		var value T
		if err == nil {
			value, err = read(r.Body, r.Header, args.op)
		}
		if err != nil {
			return contentOf(r, err)
		}
		return engine.Content{Kind: engine.Asked, Value: value}
	})
	value, _ = last.Facts.Content.Value.(T) // a Delete may succeed without one
	return value, answer{c, req, last.Reply}, err
}

// do makes a call.
func (c *Client) do(ctx context.Context, req *request, read engine.Reader) (engine.Attempt, error) {
	last, failure := c.sender().Do(ctx, req.Request, c.settingsOf(req), read)
	if failure != nil {
		return engine.Attempt{}, c.newError(req, *failure)
	}
	return last, nil
}

// keepResponse is a hook that stores the response of each attempt in dst. The last one stays, even if a later attempt
// panics.
func (c *Client) keepResponse(dst **Response) engine.Hook {
	return func(context.Context, int) (func(engine.Result), error) {
		return func(r engine.Result) {
			if r.Reply.Status == 0 {
				if *dst != nil && r.Number > 0 {
					(*dst).Attempts = r.Number
				}
				return
			}
			reply := c.masking(r.Reply)
			*dst = &Response{
				StatusCode: reply.Status, Header: reply.Keys.Header(reply.Header),
				Body: []byte(reply.Keys.Text(reply.Body)), RequestID: reply.RequestID(), Attempts: reply.Attempts,
			}
		}, nil
	}
}

// masking returns a reply with the keys to mask in it. A picture is fetched without one, but its URL or its host may
// repeat the last one that was sent.
func (c *Client) masking(reply engine.Reply) engine.Reply {
	if reply.Keys == nil {
		reply.Keys = c.lastKeys()
	}
	return reply
}

// settingsOf returns the engine's settings for a call.
func (c *Client) settingsOf(req *request) engine.Settings {
	s := engine.Settings{
		Limits: engine.Limits{Stall: req.stall, Wait: req.wait},
		Policy: engine.Policy(req.policy), Hooks: c.hooksOf(req),
	}
	if req.Kind == engine.Create {
		s.Limits.Wait = req.storeWait
	}
	if report := req.progress; report != nil && req.Body != nil && req.Body.HasFile() {
		s.Progress = func(sent int64, attempt int) { report(Progress{sent, req.Body.FileSize, attempt}) }
	}
	return s
}

// validate returns the errors a call would report before sending. It does not open the file.
func (c *Client) validate(args arguments, opts []CallOption) error {
	_, problems := c.encode(args, opts)
	return invalid(args.op.name, problems)
}

// prepare checks the arguments of a call and returns its request. It looks at the file of an upload, and closes it.
func (c *Client) prepare(ctx context.Context, args arguments, opts []CallOption) (*request, error) {
	req, problems := c.encode(args, opts)
	var causes []error
	switch {
	case req.form == nil:
	case args.file == nil:
		req.Body = upload.Form(req.form)
	default:
		found, errs, err := req.attach(ctx, args.file, c.lastKeys())
		if err != nil {
			f := engine.Failure{Outcome: engine.NotExecuted, Why: engine.FileError, Stopped: err}
			if ctx.Err() != nil {
				f.Why, f.Retryable = engine.Ended, true
			}
			return nil, c.newError(req, f)
		}
		problems, causes = append(problems, found...), errs
	}
	return req, invalid(args.op.name, problems, causes...)
}

// encode makes the query, the form and the URL of a call, and reports problems with them.
func (c *Client) encode(args arguments, opts []CallOption) (*request, []FieldProblem) {
	set, problems := c.set(opts)
	op := args.op
	req := &request{settings: set, op: op}
	req.Kind, req.Method = op.kind, c.method(op.kind)
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
		req.form = c.overlay(fields, set.moreForm)
		problems = append(problems, checkForm(args, req.form, fields, set.moreForm)...)
		fields = nil
	}
	req.query = c.overlay(fields, set.moreQuery)
	if args.query != nil {
		req.query = args.query
	}
	problems = append(problems, checkText(req.query)...)
	if !set.unchecked {
		replaced := slices.Concat(set.moreQuery, set.moreForm)
		problems = append(problems, slices.DeleteFunc(unlisted(args.params), func(p FieldProblem) bool {
			return slices.ContainsFunc(replaced, func(with pair) bool { return with.key == p.Field })
		})...)
	}
	if len(set.moreHeader) > 0 {
		req.Header = make(http.Header, len(set.moreHeader))
	}
	for _, h := range set.moreHeader {
		req.Header[h.key] = []string{h.value}
	}
	req.URL = c.url(op, args.id, req.query)
	return req, problems
}

// contentOf classifies a response that does not hold the expected content. Err says why, if it was read for it.
func contentOf(r engine.Reply, err error) engine.Content {
	c := engine.Content{
		Kind: kindOf(r.Body, r.Header), Err: err,
		Cut: errors.Is(r.Err, engine.ErrCutOff) || errors.Is(err, response.ErrCutOff),
	}
	if errors.Is(err, response.ErrSaysError) {
		c.Kind = engine.Error
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
