// Package service is the service itself: its records, how requests are read and judged, and what they do.
// It knows requests and facts; package answer writes the responses.
package service

import (
	"io"
	"net/http"
	"net/url"
	"strings"

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
}

// A Service holds the records. It is safe for concurrent use.
type Service struct {
	Images, Transcriptions *Collection
	config                 Config
}

// New returns a service without records.
func New(config Config) *Service {
	images, transcriptions := contract.Images(), contract.Transcriptions()
	if config.NewerValues {
		images.Renew()
		transcriptions.Renew()
	}
	return &Service{
		Images:         newCollection(images, config.UUIDs),
		Transcriptions: newCollection(transcriptions, config.UUIDs),
		config:         config,
	}
}

// A Request is what the service reads of an HTTP request.
type Request struct {
	*http.Request
	Body  io.Reader // read instead of that of the HTTP request
	Route Route
	Query url.Values
	Key   string // the API key that is accepted
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
}

// Acted reports whether the request was executed.
func (r *Result) Acted() bool { return r.Status < 300 }

// refused is a result that says why a request is not executed.
func refused(status int, message string) *Result {
	return &Result{Status: status, Message: message}
}

// reader reads one request.
type reader struct {
	Request
	Reading
	config Config
}

// Read reads and judges a request.
func (s *Service) Read(r Request) *Reading {
	rd := &reader{Request: r, config: s.config}
	rd.Refusal = rd.read()
	return &rd.Reading
}

func (r *reader) read() *Result {
	operation := r.Route.Operation(r.Method)
	if r.Route.Methods == nil {
		r.violate(RulePath, "", "")
		return refused(http.StatusNotFound, "Resource not found.")
	}
	if operation == "" {
		r.violate(RuleMethod, "", "")
		refusal := refused(http.StatusMethodNotAllowed, "The "+r.Method+" method is not supported for this route. "+
			"Supported methods: "+strings.Join(r.Route.Methods, ", ")+".")
		refusal.Allow = r.Route.Methods
		return refusal
	}
	if !r.authorized() {
		refusal := refused(http.StatusUnauthorized, "Unauthenticated.")
		refusal.NoKey = true
		return refusal
	}
	if r.Method == http.MethodGet && !r.config.Lenient && !acceptsJSON(r.Header) {
		r.violate(RuleAccept, "Accept", r.Header.Get("Accept"))
		return refused(http.StatusNotAcceptable, "Not Acceptable.")
	}
	var parameters []contract.Field
	if r.Method == http.MethodGet && r.Route.ID == "" {
		parameters = r.Route.Collection.List
	}
	problems := r.checkQuery(parameters)
	switch r.Method {
	case http.MethodGet, http.MethodDelete:
		if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
			r.violate(RuleBody, "", "")
			if !r.config.Lenient {
				return refused(http.StatusBadRequest, "Bad Request.")
			}
		}
		r.act = r.show
		if r.Route.ID == "" {
			r.act = r.list
		}
		if r.Method == http.MethodDelete {
			r.act = r.remove
		}
	default:
		mediaType, fields, act := contract.URLEncoded, r.Route.Collection.Update, r.update
		if r.Method == http.MethodPost {
			mediaType, fields, act = r.Route.Collection.MediaType, r.Route.Collection.Store, r.store
		}
		fileProblems, refusal := r.readForm(mediaType)
		if refusal != nil {
			return refusal
		}
		problems = append(problems, r.checkForm(fields, fileProblems)...)
		r.act = act
	}
	if len(problems) > 0 {
		return &Result{Status: http.StatusUnprocessableEntity, Problems: problems}
	}
	return nil
}

func (r *reader) list() Result {
	coll := r.Route.Collection
	query := coll.newQuery(r.Query, r.config.Allowed)
	if v, given := last(r.Query, "favorite"); given {
		if b, ok := r.boolean(v); ok {
			query.favorite = &b
		}
	}
	if !r.config.Cursors {
		query.cursor = nil
	}
	return Result{Status: http.StatusOK, Collection: coll, Page: coll.page(query)}
}

func (r *reader) one(record *Record, ok bool) Result {
	if !ok {
		return *refused(http.StatusNotFound, "Resource not found.")
	}
	return Result{Status: http.StatusOK, Collection: r.Route.Collection, Record: record}
}

func (r *reader) show() Result { return r.one(r.Route.Collection.Find(r.Route.ID)) }

func (r *reader) store() Result {
	coll := r.Route.Collection
	var record Record
	for _, field := range coll.Store {
		if v, ok := last(r.Form, field.Name); ok && field.Kind != contract.Audio {
			*record.Value(field.Name) = v
		}
	}
	if r.Upload != nil {
		record.Upload = *r.Upload
		record.Result = r.Upload.report()
	}
	result := r.one(coll.Add(record), true)
	result.Status = http.StatusCreated
	return result
}

// update changes the fields that were sent, with PUT as with PATCH.
func (r *reader) update() Result {
	coll := r.Route.Collection
	return r.one(coll.change(r.Route.ID, func(record *Record) {
		for _, field := range coll.Update {
			v, present := last(r.Form, field.Name)
			if !present {
				continue
			}
			if field.Kind != contract.Flag {
				*record.Value(field.Name) = v
			} else if b, ok := r.boolean(v); ok {
				record.Favorite = b
			}
		}
	}))
}

func (r *reader) remove() Result {
	result := r.one(r.Route.Collection.remove(r.Route.ID))
	result.Deleted = result.Acted()
	return result
}
