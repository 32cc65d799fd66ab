// Package paging finds the next page of a list and detects endless lists.
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
	// maxEmptyPages limits the empty pages in a row. A service that filters after paging by cursor sends some.
	maxEmptyPages = 100
	// maxRepeats limits the repeated pages in a row, because a service that ignores page numbers sends them forever.
	maxRepeats = 3
	pageParam  = "page"
)

// Info is the place of a page in its list, from the response. Missing numbers are 0.
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
	Count  int        // number of records, including unreadable ones
}

// State is a position in a walk over the pages of a list. No method changes it. The zero value is a last page.
type State struct {
	Info
	next       url.Values // changes to the first query for the next page; empty if unknown
	noNext     error      // set if a next page may exist, but its query is unknown
	linked     bool       // next is from a link or cursor
	number     int        // of this page; 0 if unknown
	fromZero   bool       // this page is the first one, and its number is 0
	total      int        // latest number of records on all pages; 0 if unknown
	seen       int        // records up to and including this page
	emptyPages int        // empty pages in a row, up to and including this page
	repeats    int        // pages in a row, up to and including this page, with the records of the page before alone
	ids        []string   // of this page
	first      url.Values // query of the first page
	cursors    []string   // encoded queries of the earlier links and cursors
	sizes      []int      // documented page sizes, the default first
}

// Start returns the state after the first page. Sizes are the documented page sizes, the default first.
func Start(f Facts, sizes []int) State {
	return State{first: f.Query, sizes: sizes}.after(f, 0, 0)
}

// HasNext reports whether Next returns a query or an error.
func (s State) HasNext() bool { return len(s.next) > 0 || s.noNext != nil }

// Next returns the changes to the first page's query for the next page, or nil after the last page. It fails if the
// response leaves open whether a page follows, or leads back to an earlier page.
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

// Arrive returns the state after the page requested with Next, and the IDs of the page before. The caller must leave
// these out of the new page. It fails if the service repeats a page or keeps sending empty pages.
func (s State) Arrive(f Facts) (State, map[string]bool, error) {
	before := make(map[string]bool, len(s.ids))
	for _, id := range s.ids {
		before[id] = true
	}
	delete(before, "") // because records without an ID may differ
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
		ends := moved == len(s.ids) && !n.HasNext() // new records would have pushed others to a further page
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

// asksNothingNew reports whether a link has parameters, and the query has the same ones.
func asksNothingNew(link, query url.Values) bool {
	for name := range link {
		if link.Get(name) != query.Get(name) {
			return false
		}
	}
	return len(link) > 0
}
