package aicontenttest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// A Request describes a received request. If the connection ended early, later fields are zero.
type Request struct {
	Number    int                 `json:"number"`    // from 1, in the order of arrival
	Operation aicontent.Operation `json:"operation"` // empty for an unknown path or method
	Method    string              `json:"method"`
	Path      string              `json:"path"` // as sent: escaped, with the base path
	Query     url.Values          `json:"query"`
	Header    http.Header         `json:"header"` // the token of Authorization is masked
	Form      url.Values          `json:"form"`   // without the file
	File      *Upload             `json:"file"`
	Received  int64               `json:"received"` // bytes read from the body
	Fault     string              `json:"fault"`    // name of the fault; empty for none
	// Acted reports whether the service executed the request.
	Acted bool `json:"acted"`
	// RecordID is the ID of the created, shown, updated or deleted record.
	RecordID aicontent.ID `json:"record_id"`
	// Status is the status of the response; 0 for none. The client may not have received it.
	Status int `json:"status"`
}

// An Upload describes a received file.
type Upload struct {
	Name        string `json:"name"`         // as sent, with its path
	ContentType string `json:"content_type"` // of the part
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256"` // in hex
	Data        []byte `json:"-"`      // only with [KeepUploads]
}

func (r *Request) clone() Request {
	c := *r
	c.Query, c.Header, c.Form = maps.Clone(r.Query), r.Header.Clone(), maps.Clone(r.Form)
	if r.File != nil {
		file := *r.File
		c.File = &file
	}
	return c
}

// A Record is the history of a record, even a deleted one.
type Record struct {
	Collection string       `json:"collection"` // images or transcriptions
	ID         aicontent.ID `json:"id"`
	Name       string       `json:"name"`       // at its creation
	Request    int          `json:"request"`    // number of the request that created it; 0 if the test added it
	DeletedBy  int          `json:"deleted_by"` // number of the request that deleted it; 0 for none
	File       *Upload      `json:"-"`          // from which a request created a transcription
}

// The book is the history of requests, records and violations.
type book struct {
	mu         sync.Mutex
	last       int
	requests   []*Request
	records    []*Record
	violations []string
}

// open adds a request and numbers it.
func (b *book) open(r *Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	r.Number = b.last
	b.requests = append(b.requests, r)
}

// created adds the entry of a record that by has created; nil for the test.
func (b *book) created(c *service.Collection, r *service.Record, by *Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current(c, r) != nil {
		return // AddImage has replaced it
	}
	entry := &Record{Collection: c.Name, ID: aicontent.ID(r.ID), Name: r.Text["name"]}
	if by != nil {
		entry.Request, entry.File = by.Number, by.File
	}
	b.records = append(b.records, entry)
}

func (b *book) deleted(c *service.Collection, r *service.Record, request int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// ResetBook may have dropped the entry.
	if entry := b.current(c, r); entry != nil {
		entry.DeletedBy = request
	}
}

// current returns the entry of a record that is not deleted, or nil. It requires the lock.
func (b *book) current(c *service.Collection, r *service.Record) *Record {
	for _, entry := range slices.Backward(b.records) {
		if entry.Collection == c.Name && string(entry.ID) == r.ID && entry.DeletedBy == 0 {
			return entry
		}
	}
	return nil
}

// Requests returns every request since the last [Server.ResetBook], in the order of arrival, including requests in
// progress.
func (s *Server) Requests() []Request {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	out := make([]Request, len(s.book.requests))
	for i, r := range s.book.requests {
		out[i] = r.clone()
	}
	return out
}

// Records returns the history of every record since the last [Server.ResetBook], in the order of creation.
func (s *Server) Records() []Record {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	out := make([]Record, len(s.book.records))
	for i, r := range s.book.records {
		out[i] = *r
	}
	return out
}

// Created returns the records that requests have created since the last [Server.ResetBook], even if they were deleted
// later. They are those that a service would have billed.
func (s *Server) Created() []Record {
	return slices.DeleteFunc(s.Records(), func(r Record) bool { return r.Request == 0 })
}

// Violations returns the violations since the last [Server.ResetBook], one line each: the request, the rule, and the
// field with its value. The rules are:
//
//	path                    an unknown path
//	method                  a wrong method for the path
//	authorization           a missing bearer token
//	accept                  a list or show without application/json
//	body                    an unexpected or unreadable body
//	content-type            a wrong type for the operation
//	multipart               a malformed form
//	file-name               a file part without a name
//	query                   a malformed query
//	undocumented-parameter  in the query
//	undocumented-field      in the form
//	repeated                a parameter or field sent twice
//	value                   an undocumented value
//	boolean                 a boolean other than 1 or 0; see [BooleanWords]
//	encoding                invalid UTF-8
func (s *Server) Violations() []string {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	return append([]string{}, s.book.violations...)
}

// ResetBook empties the lists of [Server.Requests], [Server.Records] and [Server.Violations]. The service keeps its
// records and queued faults, and the numbers of requests continue.
func (s *Server) ResetBook() {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	s.book.requests, s.book.records, s.book.violations = nil, nil, nil
}
