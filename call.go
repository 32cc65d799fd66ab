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

// operation is what all calls of one operation have in common.
type operation struct {
	name   Operation
	in     *collection // nil for a download
	method string      // empty for an update: the client has the choice
	record bool        // the path ends in a record's ID
	done   string      // what it does to a record, for texts of errors; empty if it changes nothing
	// required are the fields of a form that must not be empty, except a file.
	required []string
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
	imagesDownload = &operation{name: ImagesDownload, method: "GET"}
)

func newCollection(name, singular string, list, show, store, update, remove Operation, required ...string) *collection {
	c := &collection{name: name, singular: singular}
	c.list = &operation{list, c, "GET", false, "", nil}
	c.show = &operation{show, c, "GET", true, "", nil}
	c.store = &operation{store, c, "POST", false, "created", required}
	c.update = &operation{update, c, "", true, "updated", nil}
	c.remove = &operation{remove, c, "DELETE", true, "deleted", nil}
	return c
}

// creates reports whether a request that is sent twice makes two records.
func (op *operation) creates() bool { return op.method == "POST" }

// request is what a call asks: the arguments of its method, what the options set, and what prepare makes of both for
// all its attempts, except for the key.
type request struct {
	op     *operation
	id     ID         // of the record that is shown, updated or deleted
	params any        // the documented fields, as a struct; nil for none
	page   url.Values // what a page's link adds to the query
	file   *File      // nil for a form without a file

	*settings // shared with the client's other calls if the call has no options

	method string
	url    url.URL
	query  url.Values   // of url
	form   url.Values   // of body
	header []pair       // none for a download
	body   *upload.Body // nil for none
}

// settings is what the options of a call set.
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

// Response is the raw response, for what records do not contain: see [WithResponse]. The API key is masked wherever the
// service sent it back.
type Response struct {
	StatusCode int
	Header     http.Header
	Body       []byte // decompressed; up to 1 MiB of a response other than 2xx
	RequestID  string // from the usual headers; empty if none was sent
	Attempts   int    // number of attempts, from 1
}

// reader takes what a call returns from the body of a 2xx response.
type reader[T any] func(body string, header http.Header, op *operation) (T, error)

// do makes a call and returns what read takes from its response. With invalid arguments nothing is sent.
func do[T any](ctx context.Context, c *Client, ask request, opts []CallOption, read reader[T]) (T, error) {
	value, _, err := perform(ctx, c, ask, opts, read)
	return value, err
}

// perform is do that also returns the attempt that succeeded.
func perform[T any](
	ctx context.Context, c *Client, ask request, opts []CallOption, read reader[T],
) (value T, x *exchange, err error) {
	k := newCall(ctx, c, ask)
	if err := k.prepare(opts); err != nil {
		return value, nil, err
	}
	err = k.send(func(x *exchange) error {
		if err := x.admit(); err != nil {
			return err
		}
		return x.run(c.network().api, func(resp *http.Response) error {
			err := x.readBody(resp, c.maxResponse)
			if err == nil {
				value, err = read(x.body, x.header, k.op)
			}
			return err
		})
	})
	return value, k.last, err
}

// validate reports what a call would refuse before it sends anything, its file aside.
func (c *Client) validate(r request, opts []CallOption) error {
	var problems []FieldProblem
	r.settings, problems = c.set(context.Background(), opts)
	return invalid(r.op.name, append(problems, c.encode(&r)...))
}

// set returns the settings of a call with the given options.
func (c *Client) set(ctx context.Context, opts []CallOption) (*settings, []FieldProblem) {
	s := c.defaults
	if len(opts) > 0 {
		s = new(*s)
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

// prepare checks a call and makes its URL and body. The file of an upload is looked at here, and not held open.
func (k *call) prepare(opts []CallOption) error {
	var problems []FieldProblem
	k.settings, problems = k.client.set(k.ctx, opts)
	problems = append(problems, k.client.encode(&k.request)...)
	var causes []error
	switch {
	case k.form == nil:
	case k.file == nil:
		k.body = upload.Form(k.form)
	case k.ctx != nil:
		found, errs, err := k.attach(k.ctx)
		if err != nil {
			return k.fail(err)
		}
		problems, causes = append(problems, found...), errs
	}
	return invalid(k.op.name, problems, causes...)
}

// encode makes the query, the form and the URL of a call, and reports what is wrong with them.
func (c *Client) encode(r *request) (problems []FieldProblem) {
	r.method = cmp.Or(r.op.method, c.updateMethod)
	query, form := valuesOf(r.params), url.Values(nil)
	if r.op.done != "" {
		query, form = nil, query
	}
	r.header, r.query = r.moreHeader, c.overlay(query, r.moreQuery)
	maps.Copy(r.query, r.page)
	r.url = c.url(r)
	if r.op.record {
		problems = r.id.check()
	}
	problems = append(problems, checkText(r.query)...)
	if form != nil {
		r.form = c.overlay(form, r.moreForm)
		problems = append(problems, checkForm(r, form)...)
	}
	if !r.unchecked {
		replaced := slices.Concat(r.moreQuery, r.moreForm)
		problems = append(problems, slices.DeleteFunc(unlisted(r.params), func(p FieldProblem) bool {
			return slices.ContainsFunc(replaced, func(with pair) bool { return with.key == p.Field })
		})...)
	}
	return problems
}

// limits are the time limits of an attempt.
func (r *request) limits() wire.Limits {
	l := wire.Limits{Stall: r.stall, Wait: r.wait, Option: "WithResponseTimeout", Source: ErrFile}
	if r.op.creates() {
		l.Wait, l.Option = r.storeWait, "WithStoreTimeout"
	}
	l.Upload = r.body != nil && r.body.Tracked()
	return l
}

// valuesOf encodes a struct: what is not set is left out, a boolean is 1 or 0. It is nil for no struct.
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

// url is the address of a collection, or of a record in it: the one place where a segment is escaped.
func (c *Client) url(r *request) url.URL {
	segment := ""
	if r.op.record {
		segment = "/" + url.PathEscape(string(r.id))
	}
	escaped := c.base.EscapedPath() + apiPrefix + "/" + r.op.in.name + segment
	path, _ := url.PathUnescape(escaped) // it was escaped, so it can be unescaped
	return url.URL{Scheme: c.base.Scheme, Host: c.base.Host, Path: path, RawPath: escaped, RawQuery: r.query.Encode()}
}
