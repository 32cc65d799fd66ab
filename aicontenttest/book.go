package aicontenttest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// A Request is what the server knows of one request. What was not reached, because the
// connection went before, is zero.
type Request struct {
	Number      int    // from 1, in the order of arrival
	Connection  int    // from 1, in the order of dialing
	Operation   string // such as images.store; empty where the interface offers nothing
	Method      string
	Path        string
	EscapedPath string
	Query       url.Values
	Header      http.Header // the token of Authorization is masked
	Form        url.Values  // a file part is in File
	File        *Upload
	Received    int64  // bytes of the body that were taken
	Fault       string // name of the fault that struck; empty for none
	// Acted is true when the service did what it was asked to do.
	Acted bool
	// RecordID is the record that was made, shown, changed or deleted.
	RecordID string
	// Status is that of the answer that was begun; 0 when none was.
	Status int
	// Answered is true when all of an answer was handed to the network. Whether the client
	// got it, no server can know.
	Answered bool
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

// A Record says of one record, deleted ones included, which requests made and deleted it.
type Record struct {
	Collection string // images or transcriptions
	ID         string
	Name       string // at its making
	Request    int    // number of the request that made it; 0 for one that the test added
	Deleted    bool
	DeletedBy  int // number of the request that deleted it
}

// The book is what the server has seen and done.
type book struct {
	mu         sync.Mutex
	last       int
	requests   []*Request
	records    []*Record
	byID       map[string]*Record // by collection and id
	violations []Violation
}

func newBook() *book { return &book{byID: make(map[string]*Record)} }

// open enters a request, numbered.
func (b *book) open(r *Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	r.Number = b.last
	b.requests = append(b.requests, r)
}

// write changes an entry that others may be reading.
func (b *book) write(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

func (b *book) made(c *collection, r *record, request int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entry := &Record{Collection: c.name, ID: r.id, Name: r.name, Request: request}
	b.records = append(b.records, entry)
	b.byID[c.name+"/"+r.id] = entry
}

func (b *book) deleted(c *collection, r *record, request int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// After a reset of the book, a record may be unknown to it.
	if entry := b.byID[c.name+"/"+r.id]; entry != nil {
		entry.Deleted, entry.DeletedBy = true, request
	}
}

func (b *book) violation(v Violation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.violations = append(b.violations, v)
}

// Requests returns what the server knows of every request of the API since the start or the
// last [Server.ResetBook], in order of arrival; those still being answered are among them.
func (s *Server) Requests() []Request {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	out := make([]Request, len(s.book.requests))
	for i, r := range s.book.requests {
		out[i] = r.clone()
	}
	return out
}

// Records returns every record that was ever made, in order of making.
func (s *Server) Records() []Record {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	out := make([]Record, len(s.book.records))
	for i, r := range s.book.records {
		out[i] = *r
	}
	return out
}

// Violations returns what requests did that the interface does not allow.
func (s *Server) Violations() []Violation {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	return slices.Clone(s.book.violations)
}

// ResetBook forgets requests, violations and the history of records, so that a long run needs
// no more memory than a short one. The records themselves stay, and the numbers go on.
func (s *Server) ResetBook() {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	s.book.requests, s.book.records, s.book.violations = nil, nil, nil
	clear(s.book.byID)
}
