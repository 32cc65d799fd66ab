// Package paging finds the page that follows a page of a list, and notices a walk over the pages that does not end.
package paging

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/aicontent/aicontent-go/internal/lenient"
)

const (
	// maxEmptyPages is how many may come in a row: a filter behind a cursor leaves some empty.
	maxEmptyPages = 100
	// maxRepeats is how many may come in a row with growing page numbers: a service that ignores these never ends.
	maxRepeats = 3
	pageParam  = "page"
)

// Info is a page's place in the list by its response. A number is 0 if it was not sent.
type Info struct {
	Current int // this page's number, from 1
	Last    int // the last page's number
	PerPage int // records on a full page
	Total   int // records on all pages
}

// Facts describe the response that holds a page.
type Facts struct {
	Around lenient.Members // the JSON around the records
	Header http.Header
	Query  url.Values // of the request
	IDs    []string   // of the records, in order; empty for a record without one
	Count  int        // records as sent, those that cannot be read included
}

// State is where a walk over the pages of a list stands. No method changes it. The zero value is
// a page that nothing follows.
type State struct {
	Info
	next       url.Values // changes to the query for the page that follows; empty if unknown
	noNext     error      // why next is not known on a page that may not be the last
	linked     bool       // a link led to the page that follows
	number     int        // of this page; 0 if unknown
	total      int        // records on all pages, as last told; 0 if unknown
	seen       int        // records that came up to this page
	emptyPages int        // in a row, up to this page
	repeats    int        // pages in a row, up to this page, that had only records of the page before
	ids        []string
	first      url.Values // query of the first page
	cursors    []string   // that led here
	sizes      []int
}

// Start returns the state after the first page. The sizes are the page sizes that the API documents, the default first.
func Start(f Facts, sizes []int) State {
	return State{first: f.Query, sizes: sizes}.after(f, 0, 0)
}

// HasNext reports whether Next returns a query or an error.
func (s State) HasNext() bool { return len(s.next) > 0 || s.noNext != nil }

// Next returns the parameters that the page that follows has besides the first page's query, and nil after the last
// page. The error says that the service does not tell whether a page follows, or leads back.
func (s State) Next() (url.Values, error) {
	if len(s.next) == 0 {
		return nil, s.noNext
	}
	if number, ok := pageNumber(s.next); ok {
		if number <= s.number {
			return nil, fmt.Errorf("the next link of page %d leads back to page %d", s.number, number)
		}
	} else if slices.Contains(s.cursors, s.next.Encode()) || asksNothingNew(s.next, s.first) {
		return nil, errors.New("the next link leads back to an earlier page")
	}
	return maps.Clone(s.next), nil
}

// Arrive returns the state after the page that Next led to, and the IDs of the page before, which must be left out of
// it. The error says that the service repeats itself or sends no records.
func (s State) Arrive(f Facts) (State, map[string]bool, error) {
	before := make(map[string]bool, len(s.ids))
	for _, id := range s.ids {
		before[id] = true
	}
	delete(before, "") // records without an ID cannot be told apart
	moved := 0
	for _, id := range f.IDs {
		if before[id] {
			moved++
		}
	}
	n := s.after(f, moved, s.current()+1)
	_, byNumber := pageNumber(s.next)
	if !byNumber {
		n.cursors = append(slices.Clip(s.cursors), s.next.Encode())
	}
	if f.Count == 0 {
		n.emptyPages = s.emptyPages + 1
	}
	if n.emptyPages >= maxEmptyPages && n.HasNext() {
		err := fmt.Errorf("the service sent %d pages without records, and says that more follow", n.emptyPages)
		return State{}, nil, err
	}
	if moved > 0 && moved == len(f.IDs) {
		n.repeats = s.repeats + 1
		grows := byNumber && (n.Current == 0 || n.Current > s.number)
		ends := moved == len(s.ids) && !n.HasNext() // new records would have moved others to a further page
		if !grows || ends || n.repeats >= maxRepeats {
			return State{}, nil, errors.New("the service sent the records of the previous page again")
		}
	}
	return n, before, nil
}

func pageNumber(query url.Values) (int, bool) {
	number, err := strconv.Atoi(query.Get(pageParam))
	return number, err == nil
}

// asksNothingNew reports whether a link has parameters, and all of them are in the query too.
func asksNothingNew(link, query url.Values) bool {
	for name := range link {
		if link.Get(name) != query.Get(name) {
			return false
		}
	}
	return len(link) > 0
}
