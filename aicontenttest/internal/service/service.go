// Package service is the service itself: its records, how requests are read and judged, and what they do.
// It knows requests and facts; package response writes the responses.
package service

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// Config says what the service accepts.
type Config struct {
	Lenient      bool            // overlook what the API does not allow
	Allowed      map[string]bool // undocumented parameters and fields that are accepted
	BooleanWords bool            // true and false instead of 1 and 0
	KeepUploads  bool            // keep the bytes of files
	UUIDs        bool            // ids that are no numbers
	NewerValues  bool            // what newer deployments accept
	Cursors      bool            // pages are found by cursor, not by number
	AudioTypes   bool            // refuse files that are not of a type in audioTypes
	LengthLimits bool            // refuse longer names and descriptions
	UniqueNames  bool            // refuse a name that another record of the account has
	NoChunks     bool            // see a chunked body as empty
	Rewrites     bool            // keep other texts than were sent
	SaysNo       bool            // refuse every change with status 200

	ResultDelay time.Duration // from a store until the record's result is there
	ListDelay   time.Duration // from a store until lists show the record
}

// A Service holds the records. It is safe for concurrent use.
type Service struct {
	Images, Transcriptions *Collection
	config                 Config
	turns                  turns
}

// New returns a service without records.
func New(config Config) *Service {
	images, transcriptions := contract.Images(), contract.Transcriptions()
	if config.NewerValues {
		images.Renew()
		transcriptions.Renew()
	}
	return &Service{
		Images:         newCollection(images, config),
		Transcriptions: newCollection(transcriptions, config),
		config:         config,
	}
}

// A Request is what the service reads of an HTTP request.
type Request struct {
	*http.Request
	Body  io.Reader // read instead of that of the HTTP request
	Route Route
	Query url.Values
	Keys  [][]string // the API keys of each account
}

// A Violation is something in a request that the API does not allow.
type Violation struct{ Rule, Field, Value string }

// A Problem is what the validator says about a field.
type Problem struct{ Field, Message string }

// A Reading is what a request holds.
type Reading struct {
	Form       url.Values // without files
	Upload     *Upload
	Violations []Violation
	// Refusal is the result where the request must not be acted on; else nil.
	Refusal *Result
	act     func() Result
}

// Act does what the request asks for. There must be no refusal.
func (r *Reading) Act() Result { return r.act() }

// A Result is what became of a request. Record and Page are nil where there are none.
type Result struct {
	Status     int
	Collection *Collection
	Record     *Record // shown, stored, changed or deleted
	Deleted    bool
	Page       *Page
	Message    string    // of an error
	Problems   []Problem // of a form or query that was refused
	Allow      []string  // methods, with 405
	NoKey      bool      // the key is missing or wrong
	NoRoute    bool      // there is nothing at the path
	Refusal    string    // the body of a 200 that refuses
}

// Acted reports whether the request was executed.
func (r *Result) Acted() bool { return r.Status < 300 && r.Refusal == "" }

// refused is a result that says why a request is not executed.
func refused(status int, message string) *Result {
	return &Result{Status: status, Message: message}
}

func notFound() *Result { return refused(http.StatusNotFound, "Resource not found.") }

// nameTaken refuses a name that another record has, as Laravel's rule unique does.
func nameTaken() *Result {
	problem := Problem{"name", "The name has already been taken."}
	return &Result{Status: http.StatusUnprocessableEntity, Problems: []Problem{problem}}
}

// reader reads one request.
type reader struct {
	Request
	Reading
	config  Config
	turns   *turns
	method  string
	account int
}

// Read reads and judges a request.
func (s *Service) Read(r Request) *Reading {
	rd := &reader{Request: r, config: s.config, turns: &s.turns, method: r.Method}
	rd.Refusal = rd.read()
	return &rd.Reading
}

func (r *reader) read() *Result {
	if r.config.Lenient && r.method == http.MethodHead {
		r.method = http.MethodGet
	}
	switch {
	case r.Route.Methods == nil:
		r.violate(RulePath, "", "")
		return &Result{Status: http.StatusNotFound, NoRoute: true}
	case r.config.Lenient && r.method == http.MethodOptions:
		return &Result{Status: http.StatusOK, Allow: r.Route.Methods}
	case r.Route.Operation(r.method) == "":
		r.violate(RuleMethod, "", "")
		refusal := refused(http.StatusMethodNotAllowed, "The "+r.method+" method is not supported for this route. "+
			"Supported methods: "+strings.Join(r.Route.Methods, ", ")+".")
		refusal.Allow = r.Route.Methods
		return refusal
	case r.Route.Picture:
		// Whoever has the URL may fetch the picture, without a key.
		r.act = r.picture
		return nil
	case !r.authorized():
		refusal := refused(http.StatusUnauthorized, "Unauthenticated.")
		refusal.NoKey = true
		return refusal
	case r.method == http.MethodGet && !r.config.Lenient && !acceptsJSON(r.Header):
		r.violate(RuleAccept, "Accept", r.Header.Get("Accept"))
		return refused(http.StatusNotAcceptable,
			"The request does not accept JSON. Send the header Accept: application/json.")
	}
	problems, refusal := r.readInput()
	if refusal == nil && !r.validText() {
		refusal = refused(http.StatusInternalServerError, "Server Error")
	}
	if refusal == nil && len(problems) > 0 {
		refusal = &Result{Status: http.StatusUnprocessableEntity, Problems: problems}
	}
	if r.config.SaysNo {
		r.refuse()
	}
	return refusal
}

// readInput reads query and body and decides what the request does.
func (r *reader) readInput() ([]Problem, *Result) {
	coll := r.Route.Collection
	switch r.method {
	case http.MethodGet, http.MethodDelete:
		var parameters []contract.Field
		r.act = r.show
		if r.method == http.MethodDelete {
			r.act = r.remove
		} else if r.Route.ID == "" {
			r.act, parameters = r.list, coll.List
		}
		problems := r.checkQuery(parameters)
		if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
			r.violate(RuleBody, "", "")
			if !r.config.Lenient {
				return nil, refused(http.StatusBadRequest, "Bad Request.")
			}
		}
		return problems, nil
	}
	mediaType, fields := contract.URLEncoded, coll.Update
	r.act = r.update
	if r.method == http.MethodPost {
		mediaType, fields, r.act = coll.MediaType, coll.Store, r.store
	}
	problems := r.checkQuery(nil)
	fileProblems, refusal := r.readForm(mediaType)
	if refusal != nil {
		return nil, refusal
	}
	return append(problems, r.checkForm(fields, fileProblems)...), nil
}

// input returns a form field. To lenient servers, as to Laravel, the query counts too.
func (r *reader) input(name string) (value string, present bool) {
	value, present = last(r.Form, name)
	if !present && r.config.Lenient {
		value, present = last(r.Query, name)
	}
	return value, present
}

// kept is what the service keeps of a field.
func (r *reader) kept(field, value string) string {
	if r.config.Rewrites {
		return rewritten(field, value)
	}
	return value
}

func (r *reader) list() Result {
	coll := r.Route.Collection
	return Result{Status: http.StatusOK, Collection: coll, Page: coll.page(r.query())}
}

func (r *reader) one(record *Record, ok bool) Result {
	if !ok {
		return *notFound()
	}
	return r.result(record, nil)
}

func (r *reader) result(record *Record, refusal *Result) Result {
	if refusal != nil {
		return *refusal
	}
	return Result{Status: http.StatusOK, Collection: r.Route.Collection, Record: record}
}

func (r *reader) show() Result {
	coll := r.Route.Collection
	coll.mu.RLock()
	defer coll.mu.RUnlock()
	return r.one(coll.find(r.Route.ID, r.account))
}

func (r *reader) picture() Result {
	record, ok := r.Route.Collection.Find(r.Route.ID)
	return r.one(record, ok && !record.Pending())
}

func (r *reader) store() Result {
	coll := r.Route.Collection
	record := Record{account: r.account}
	for _, field := range coll.Store {
		if v, ok := r.input(field.Name); ok && field.Kind != contract.Audio && !field.Ignored {
			*record.Value(field.Name) = r.kept(field.Name, v)
		}
	}
	if r.Upload != nil {
		record.Upload = *r.Upload
		record.Result = r.Upload.report()
	}
	now := time.Now()
	record.ready, record.listed = now.Add(r.config.ResultDelay), now.Add(r.config.ListDelay)
	result := r.result(coll.store(record))
	if result.Acted() {
		result.Status = http.StatusCreated
	}
	return result
}

// update changes the fields that were sent, with PUT as with PATCH.
func (r *reader) update() Result {
	coll := r.Route.Collection
	return r.result(coll.change(r.Route.ID, r.account, func(record *Record) {
		for _, field := range coll.Update {
			v, present := r.input(field.Name)
			if !present {
				continue
			}
			if field.Kind != contract.Flag {
				*record.Value(field.Name) = r.kept(field.Name, v)
			} else if b, ok := r.boolean(v); ok {
				record.Favorite = b
			}
		}
	}))
}

func (r *reader) remove() Result {
	result := r.one(r.Route.Collection.remove(r.Route.ID, r.account))
	result.Deleted = result.Acted()
	return result
}
