package response

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxEmptyPages limits the empty pages in a row. A service that filters after paging by cursor sends some.
	maxEmptyPages = 100
	// maxRepeats limits the repeated pages in a row. While records are created, some are normal.
	maxRepeats = 3
)

// ErrShrank means that records were deleted while a list was read: others may have moved to pages already read.
var ErrShrank = errors.New("the list became shorter while it was read")

// Info is the place of a page in its list, from the response. Missing numbers are 0.
type Info struct {
	Current int // this page's number, from 1
	Last    int // the last page's number
	PerPage int // records on a full page
	Total   int // records on all pages
}

// Hints are the hints of further pages in a response.
type Hints struct {
	Info
	next     url.Values // query of a next link, page or cursor; nil for none
	unusable bool       // a next link cannot be followed
	ends     bool       // a next link is null
	fromZero bool       // the number of this page is 0
	more     bool       // a flag reports further pages
	told     bool       // a flag, page or cursor reports that no page follows
}

// Hints reads the members around a list, those in meta and pagination, and the header. The first link, page or cursor
// counts, and the largest of several numbers, so that no page is missed.
func (l List) Hints(header http.Header) (h Hints) {
	h.read(l.Around, 2)
	h.Total = max(h.Total, atoi(header.Get("X-Total")), atoi(header.Get("X-Total-Count")))
	if link := nextLink.FindStringSubmatch(strings.Join(header["Link"], ",")); link != nil {
		h.follow(link[1])
	}
	return h
}

// read reads the members of an object, and those of meta and pagination down to depth.
func (h *Hints) read(v Value, depth int) {
	for name, value := range v.members() {
		switch name {
		case "meta", "pagination":
			if depth > 0 {
				h.read(value, depth-1)
			}
		case "links":
			h.lead("", value.member("next"))
		case "next_page_url", "next":
			h.lead("", value)
		case "next_page":
			h.lead("page", value)
		case "next_cursor":
			h.lead("cursor", value)
		case "has_more":
			h.more, h.told = h.more || value.isTrue(), h.told || value.isFalse()
		case "current_page":
			h.Current, h.fromZero = max(h.Current, value.int()), h.fromZero || value.Text() == "0"
		case "per_page":
			h.PerPage = max(h.PerPage, value.int())
		case "last_page", "total_pages":
			h.Last = max(h.Last, value.int())
		case "total", "total_count":
			h.Total = max(h.Total, value.int())
		}
	}
}

// nextLink matches a link of a Link header with the relation next. The group is its target.
var nextLink = regexp.MustCompile(`<([^<>]*)>[^<]*;\s*rel="?next"?\s*(?:[;,]|$)`)

// lead reads a member that leads to the next page: a link or, if param is not empty, the value of this parameter.
func (h *Hints) lead(param string, v Value) {
	text := strings.Clone(v.Text())
	switch {
	case v == "":
	case v.isBlank():
		h.told, h.ends = true, h.ends || param == ""
	case text == "":
		h.unusable = true
	case param == "":
		h.follow(text)
	case h.next == nil:
		h.next = url.Values{param: {text}}
	}
}

// follow sets next to the query of a link, unless it is set already. It ignores the rest of the link, because an
// application behind a proxy may not know its own scheme and host.
func (h *Hints) follow(link string) {
	_, query, _ := strings.Cut(link, "?")
	query, _, _ = strings.Cut(query, "#")
	values, err := url.ParseQuery(query)
	switch {
	case err != nil, len(values) == 0:
		h.unusable = true
	case h.next == nil:
		h.next = values
	}
}

// Facts describe a page.
type Facts struct {
	Hints Hints
	Query url.Values // of the request
	IDs   []string   // of the records, in order; empty for a record without one
	Count int        // number of records, including unreadable ones
}

// State is a position in a walk over the pages of a list. No method changes it. The zero value is a last page.
type State struct {
	Info               // of this page, with the Last and Total of an earlier page if this one has none
	next    url.Values // changes to the first query for the next page; nil for none
	noNext  error      // set if more records may exist, but no further page is known
	number  int        // of this page, counted if neither the request nor the response has one
	known   int        // number, or 0 if it is counted
	shrank  bool       // Last or Total fell
	linked  bool       // next is from the service
	seen    int        // records up to and including this page
	empty   int        // empty pages in a row, up to and including this page
	repeats int        // pages in a row, up to and including this page, with the records of the page before alone
	ids     []string   // of this page
	queries []string   // encoded queries of the earlier links and cursors
	sizes   []int      // documented page sizes, the default first
}

// Start returns the state before the first page. Sizes are the documented page sizes, the default first.
func Start(sizes []int) State { return State{sizes: sizes} }

// HasNext reports whether Next returns a query or an error.
func (s State) HasNext() bool { return s.next != nil || s.noNext != nil }

// Next returns the changes to the first page's query for the next page, or nil after the last page. It fails if the
// next link leads back, and after the last page if there may be more records: the responses leave it open, or records
// were deleted meanwhile.
func (s State) Next() (url.Values, error) {
	if s.next == nil {
		return nil, s.noNext
	}
	if number, err := strconv.Atoi(s.next.Get("page")); err == nil && number <= s.known {
		return nil, fmt.Errorf("the next link of page %d leads back to page %d", s.known, number)
	}
	if slices.Contains(s.queries, s.next.Encode()) {
		return nil, errors.New("the next link leads back to an earlier page")
	}
	return s.next, nil
}

// Arrive returns the state after a page, and the IDs of the page before. The caller must leave these out of the new
// page. It fails if the service repeats a page or keeps sending empty pages.
func (s State) Arrive(f Facts) (State, map[string]bool, error) {
	before := make(map[string]bool, len(s.ids))
	for _, id := range s.ids {
		before[id] = id != "" // because records without an ID may differ
	}
	moved := 0
	for _, id := range f.IDs {
		if before[id] {
			moved++
		}
	}
	n := s.after(f, moved)
	if s.next != nil && !s.next.Has("page") {
		n.queries = append(slices.Clip(s.queries), s.next.Encode())
	}
	if f.Count == 0 {
		n.empty = s.empty + 1
	}
	if n.empty >= maxEmptyPages && n.HasNext() {
		err := fmt.Errorf("the service sent %d pages without records, and says that more follow", n.empty)
		return State{}, nil, err
	}
	if moved > 0 && moved == len(f.IDs) {
		n.repeats = s.repeats + 1
		ends := moved == len(s.ids) && !n.HasNext() // new records would have pushed others to a further page
		if ends || n.repeats >= maxRepeats {
			return State{}, nil, errors.New("the service sent the records of the previous page again")
		}
	}
	return n, before, nil
}

// after returns the state after page f. Moved is the number of its records that were already on the page before.
func (s State) after(f Facts, moved int) State {
	h := f.Hints
	n := State{Info: h.Info, next: h.next, linked: h.next != nil, queries: s.queries, ids: f.IDs, sizes: s.sizes}
	// A service that ignores the requested number must not hold the walk at one page.
	n.known = max(h.Current, atoi(f.Query.Get("page")))
	if n.number = n.known; n.number == 0 && !h.fromZero {
		n.number = s.number + 1
	}
	n.Last, n.Total = cmp.Or(h.Last, s.Last), cmp.Or(h.Total, s.Total)
	n.shrank = s.shrank || n.Last < s.Last || n.Total < s.Total
	n.seen = s.seen + f.Count - moved
	if s.number == 0 { // the walk may begin in the middle
		n.seen += max(n.number-1, 0) * cmp.Or(h.PerPage, f.Count)
	}
	// An empty page ends a list in spite of a total, because services count without the filter.
	counted := f.Count > 0 && (h.Last > n.number || n.Total > n.seen)
	switch {
	case n.linked, h.ends:
	case h.more || counted:
		n.next = url.Values{"page": {strconv.Itoa(n.number + 1)}}
	case h.unusable:
		n.noNext = errors.New("the service sent a next link that cannot be followed")
	case !h.told && h.Last == 0 && n.Total == 0 && f.Count >= n.fullPage(f) && !s.linked:
		const noWord = "the service sent a full page of %d records and does not say whether more follow"
		n.noNext = fmt.Errorf(noWord, f.Count)
	}
	if n.shrank && n.next == nil {
		n.noNext = ErrShrank
	}
	return n
}

// fullPage returns the number of records on a full page, as far as known.
func (s State) fullPage(f Facts) int {
	full := cmp.Or(s.PerPage, max(atoi(f.Query.Get("per_page")), 0), s.sizes[0])
	// A service may silently replace a page size.
	if s.PerPage == 0 && !slices.Contains(s.sizes, full) && slices.Contains(s.sizes, f.Count) {
		return f.Count
	}
	return full
}
