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
	// Number counts requests from 1 in the order of arrival, Connection connections in the order of dialing.
	Number      int                 `json:"number"`
	Connection  int                 `json:"connection"`
	Operation   aicontent.Operation `json:"operation"` // empty for an unknown path or method
	Method      string              `json:"method"`
	Path        string              `json:"path"` // with the base path
	EscapedPath string              `json:"-"`    // as sent
	Query       url.Values          `json:"query"`
	Header      http.Header         `json:"header"` // the token of Authorization is masked
	Form        url.Values          `json:"form"`   // without the file
	File        *Upload             `json:"file"`
	Received    int64               `json:"received"` // bytes read from the body
	Fault       string              `json:"fault"`    // name of the fault; empty for none
	// Acted reports whether the service executed the request.
	Acted bool `json:"acted"`
	// RecordID is the ID of the created, shown, updated or deleted record.
	RecordID string `json:"record_id"`
	// Status is the status of the response; 0 for none.
	Status int `json:"status"`
	// Responded reports whether the whole response was written to the network. The client may not have received it.
	Responded bool `json:"responded"`
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
	Collection string `json:"collection"` // images or transcriptions
	ID         string `json:"id"`
	Name       string `json:"name"`    // at its creation
	Request    int    `json:"request"` // number of the request that created it; 0 if the test added it
	Deleted    bool   `json:"deleted"`
	DeletedBy  int    `json:"deleted_by"` // number of the request that deleted it
}

// The book is the history of requests, records and violations.
type book struct {
	mu         sync.Mutex
	last       int
	requests   []*Request
	records    []*Record
	byID       map[string]*Record // by collection and id
	violations []Violation
}

func newBook() *book { return &book{byID: make(map[string]*Record)} }

// open adds a request and numbers it.
func (b *book) open(r *Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	r.Number = b.last
	b.requests = append(b.requests, r)
}

// write changes an entry under the lock.
func (b *book) write(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

func (b *book) created(c *service.Collection, r *service.Record, request int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.byID[c.Name+"/"+r.ID]; old != nil && !old.Deleted {
		return // AddImage has replaced it
	}
	entry := &Record{Collection: c.Name, ID: r.ID, Name: r.Text["name"], Request: request}
	b.records = append(b.records, entry)
	b.byID[c.Name+"/"+r.ID] = entry
}

func (b *book) deleted(c *service.Collection, r *service.Record, request int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// ResetBook may have dropped the entry.
	if entry := b.byID[c.Name+"/"+r.ID]; entry != nil {
		entry.Deleted, entry.DeletedBy = true, request
	}
}

func (b *book) violation(v Violation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.violations = append(b.violations, v)
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

// Violations returns the violations since the last [Server.ResetBook].
func (s *Server) Violations() []Violation {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	return append([]Violation{}, s.book.violations...)
}

// ResetBook empties the lists of [Server.Requests], [Server.Records] and [Server.Violations]. The service keeps its
// records and queued faults, and the numbers of requests continue.
func (s *Server) ResetBook() {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	s.book.requests, s.book.records, s.book.violations = nil, nil, nil
	clear(s.book.byID)
}
