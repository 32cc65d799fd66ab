// Package service is the service itself: it reads, judges and executes requests, and keeps records. Package response
// writes the responses.
package service

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// Config configures a service.
type Config struct {
	Lenient      bool            // accept undocumented names and values
	Allowed      map[string]bool // undocumented parameters and fields that are accepted
	BooleanWords bool            // true and false instead of 1 and 0
	KeepUploads  bool            // keep the bytes of files
	NewerValues  bool            // accept the values of newer deployments
	Cursors      bool            // pages are found by cursor, not by number
	LengthLimits bool            // refuse longer names and descriptions
	UniqueNames  bool            // refuse the name of another record
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
		Images:         &Collection{Resource: images, unique: config.UniqueNames},
		Transcriptions: &Collection{Resource: transcriptions, unique: config.UniqueNames},
		config:         config,
	}
}

// A Request is an HTTP request to the service.
type Request struct {
	*http.Request
	Body  io.Reader // replaces the body of the HTTP request
	Route Route
	Query url.Values
	Keys  []string // the API keys
}

// A Problem is a message of the validator about a field.
type Problem struct{ Field, Message string }

// A Reading is a request after it was read and judged.
type Reading struct {
	Form       url.Values // without files
	Upload     *Upload
	Violations []string // the rule, and the field with its value
	// Refusal is the result of a request that must not be executed; nil for others.
	Refusal *Result
	act     func() Result
}

// Act executes the request. There must be no refusal.
func (r *Reading) Act() Result { return r.act() }

// A Result is the result of a request. Record and Page are nil if there are none.
type Result struct {
	Status     int
	Collection *Collection
	Record     *Record // shown, stored, changed or deleted
	Deleted    bool
	Page       *Page
	Message    string    // of an error
	Problems   []Problem // of a refused form or query
	Allow      []string  // methods, with 405
	Refusal    string    // the body of a 200 that refuses
}

// Acted reports whether the request was executed.
func (r *Result) Acted() bool { return r.Status < 300 && r.Refusal == "" }

func refused(status int, message string) *Result { return &Result{Status: status, Message: message} }

func notFound() *Result { return refused(http.StatusNotFound, "Resource not found.") }

// reader reads one request.
type reader struct {
	Request
	Reading
	config   Config
	turns    *turns
	problems []Problem
}

// Read reads and judges a request.
func (s *Service) Read(r Request) *Reading {
	rd := &reader{Request: r, config: s.config, turns: &s.turns}
	rd.Refusal = rd.read()
	return &rd.Reading
}

func (r *reader) read() *Result {
	switch {
	case r.Route.Methods == nil:
		r.violate("path", "", "")
		return refused(http.StatusNotFound, "Not Found.")
	case r.Route.Operation(r.Method) == "":
		r.violate("method", "", "")
		message := fmt.Sprintf("The %s method is not supported for this route. Supported methods: %s.",
			r.Method, strings.Join(r.Route.Methods, ", "))
		return &Result{Status: http.StatusMethodNotAllowed, Message: message, Allow: r.Route.Methods}
	case r.Route.Picture:
		// Anyone may fetch a picture by its URL, without a key.
		r.act = r.picture
		return nil
	case !r.authorized():
		return refused(http.StatusUnauthorized, "Unauthenticated.")
	case r.Method == http.MethodGet && !r.config.Lenient && !acceptsJSON(r.Header):
		r.violate("accept", "Accept", r.Header.Get("Accept"))
		return refused(http.StatusNotAcceptable,
			"The request does not accept JSON. Send the header Accept: application/json.")
	}
	refusal := r.readInput()
	if r.config.SaysNo {
		r.refuse()
	}
	switch {
	case refusal != nil:
		return refusal
	case !r.validText():
		return refused(http.StatusInternalServerError, "Server Error")
	case len(r.problems) > 0:
		return &Result{Status: http.StatusUnprocessableEntity, Problems: r.problems}
	}
	return nil
}

// readInput reads query and body and selects the action. It returns a refusal if the body cannot be read.
func (r *reader) readInput() *Result {
	c := r.Route.Collection
	var parameters []contract.Field // of the query
	switch {
	case r.Method == http.MethodPost:
		r.act = r.store
	case r.Method == http.MethodDelete:
		r.act = r.remove
	case r.Method != http.MethodGet:
		r.act = r.update
	case r.Route.ID != "":
		r.act = r.show
	default:
		r.act, parameters = r.list, c.List
	}
	r.checkQuery(parameters)
	mediaType, fields := contract.URLEncoded, c.Update
	switch r.Method {
	case http.MethodGet, http.MethodDelete:
		return r.readNoBody()
	case http.MethodPost:
		mediaType, fields = c.MediaType, c.Store
	}
	refusal := r.readForm(mediaType)
	if refusal == nil {
		r.checkForm(fields)
	}
	return refusal
}

// readNoBody refuses a body.
func (r *reader) readNoBody() *Result {
	if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n == 0 {
		return nil
	}
	r.violate("body", "", "")
	if r.config.Lenient {
		return nil
	}
	return refused(http.StatusBadRequest, "Bad Request.")
}

// kept returns the value of a field that the service keeps.
func (r *reader) kept(field, value string) string {
	if r.config.Rewrites {
		return rewritten(field, value)
	}
	return value
}

func (r *reader) list() Result {
	c := r.Route.Collection
	return Result{Status: http.StatusOK, Collection: c, Page: c.page(r.query())}
}

// result returns the result with the record, unless there is a refusal.
func (r *reader) result(record *Record, refusal *Result) Result {
	if refusal != nil {
		return *refusal
	}
	return Result{Status: http.StatusOK, Collection: r.Route.Collection, Record: record}
}

func (r *reader) show() Result { return r.result(r.Route.Collection.find(r.Route.ID)) }

func (r *reader) picture() Result {
	record, refusal := r.Route.Collection.find(r.Route.ID)
	if refusal == nil && record.Pending() {
		refusal = notFound()
	}
	return r.result(record, refusal)
}

func (r *reader) store() Result {
	c := r.Route.Collection
	record := Record{Text: make(map[string]string)}
	for _, field := range c.Store {
		if v, ok := last(r.Form, field.Name); ok && field.Kind != contract.Audio && !field.Ignored {
			record.Text[field.Name] = r.kept(field.Name, v)
		}
	}
	if r.Upload != nil {
		record.Text["result"] = r.Upload.report()
	}
	now := time.Now()
	record.ready, record.listed = now.Add(r.config.ResultDelay), now.Add(r.config.ListDelay)
	result := r.result(c.store(record))
	if result.Acted() {
		result.Status = http.StatusCreated
	}
	return result
}

// update changes the fields in the form, with PUT as with PATCH.
func (r *reader) update() Result {
	c := r.Route.Collection
	return r.result(c.change(r.Route.ID, func(record *Record) {
		for _, field := range c.Update {
			v, present := last(r.Form, field.Name)
			if !present {
				continue
			}
			if field.Kind != contract.Flag {
				record.Text[field.Name] = r.kept(field.Name, v)
			} else if b, ok := r.boolean(v); ok {
				record.Favorite = b
			}
		}
	}))
}

func (r *reader) remove() Result {
	result := r.result(r.Route.Collection.remove(r.Route.ID))
	result.Deleted = result.Acted()
	return result
}
