package aicontent

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Page is one page of a list. It is not safe for concurrent use.
type Page[T any] struct {
	Items []T // in the order of the service
	PageInfo

	count    int             // records as sent, those of the page before included
	next     url.Values      // what to lay over the query for the next page; nil where the service names none
	last     bool            // the service says that nothing follows
	number   int             // this page's number; 0 where nobody says
	place    int             // how many pages were walked to it
	ids      map[ID]struct{} // as sent
	trail    map[uint64]int  // of a walk by cursor: the next links that were followed, by hash, and the place each led to
	first    url.Values      // the query of the walk's first page
	identity func(*T) ID
	fetch    fetchPage[T] // nil for a page that no call has returned
}

// PageInfo is what the service says of a page's place in the list. A number that it does not send is 0.
type PageInfo struct {
	Current int // this page's number, from 1
	Last    int // the last page's number
	PerPage int // records on a full page
	Total   int // records on all pages
}

// fetchPage gets the page to which a next link's query leads.
type fetchPage[T any] func(ctx context.Context, link url.Values) (*Page[T], error)

// linkSeed makes the hashes of next links unpredictable for a service.
var linkSeed = maphash.MakeSeed()

// HasNext reports whether Next has something to say: a page, or that the service does not tell whether one follows.
func (p *Page[T]) HasNext() bool { return p.fetch != nil && !p.last }

// Next retrieves the page that follows, nil and no error after the last. Records that moved onto it from this
// page while the caller was reading are left out. Filters and options are those of the first call.
//
// [ErrPagination] says that the service gives no word on what follows a full page, leads back to a page that was seen, or
// sent this page's records once more.
func (p *Page[T]) Next(ctx context.Context) (*Page[T], error) {
	if !p.HasNext() {
		return nil, nil
	}
	if p.next == nil {
		return nil, fmt.Errorf("%w: the service sent a full page of %d records and no word on whether more follow", ErrPagination, p.count)
	}
	number, err := p.advance()
	if err != nil {
		return nil, err
	}
	next, err := p.fetch(ctx, p.next)
	if err != nil {
		return nil, err
	}
	if next.number == 0 {
		next.number = number
	}
	next.place, next.trail, next.first = p.place+1, p.trail, p.first
	if !next.leaveOut(p.ids) {
		return nil, fmt.Errorf("%w: the service sent the records of the page before once more", ErrPagination)
	}
	return next, nil
}

// leaveOut drops the records that the page before has given, and reports whether that left any, or there were none.
func (p *Page[T]) leaveOut(given map[ID]struct{}) bool {
	before := len(p.Items)
	p.Items = slices.DeleteFunc(p.Items, func(item T) bool {
		_, twice := given[p.identity(&item)]
		return twice
	})
	return before == 0 || len(p.Items) > 0
}

// advance refuses a next link that leads back, and returns the number of the page that it leads to; 0 by cursor. Page
// numbers need no memory, as they grow. Cursors are remembered, eight bytes for each.
func (p *Page[T]) advance() (int, error) {
	if number, err := strconv.Atoi(p.next.Get(pageParam)); err == nil {
		if p.number > 0 && number <= p.number {
			return 0, fmt.Errorf("%w: the next link of page %d leads back to page %d", ErrPagination, p.number, number)
		}
		return number, nil
	}
	if p.trail == nil {
		p.trail = map[uint64]int{}
	}
	link := maphash.String(linkSeed, p.next.Encode())
	place, seen := p.trail[link]
	if seen && place != p.place+1 || leadsTo(p.next, p.first) {
		return 0, fmt.Errorf("%w: the next link leads back to a page that was seen", ErrPagination)
	}
	p.trail[link] = p.place + 1
	return 0, nil
}

// leadsTo reports whether a link asks for nothing that the query does not ask for already.
func leadsTo(link, query url.Values) bool {
	for key := range link {
		if link.Get(key) != query.Get(key) {
			return false
		}
	}
	return true
}

const (
	pageParam   = "page"
	cursorParam = "cursor"
	// maxRecords bounds one page: a few kilobytes, compressed, can be millions of records, and gigabytes of memory.
	maxRecords = 100_000
	// defaultPerPage is the interface's page size where the call names none.
	defaultPerPage = 10
)

// list makes a list call whose page knows how to fetch the one behind it.
func list[T any, R record[T]](ctx context.Context, c *Client, listing call, opts []CallOption) (*Page[T], error) {
	page, err := do(ctx, c, listing, opts, func(a *answer) (*Page[T], error) { return readPage[T, R](a, listing.path[0]) })
	if err != nil {
		return nil, err
	}
	page.fetch = func(ctx context.Context, link url.Values) (*Page[T], error) {
		following := listing
		following.link = link
		return list[T, R](ctx, c, following, opts)
	}
	return page, nil
}

// walk gives the records of all pages, one page at a time.
func walk[T any](ctx context.Context, first func(context.Context) (*Page[T], error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		page, err := first(ctx)
		for ; page != nil && err == nil; page, err = page.Next(ctx) {
			for i := range page.Items {
				if !yield(&page.Items[i], nil) {
					return
				}
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// readPage finds the records of a list and what is said of its place. The array may be bare or under data (two levels
// of it), the collection's name, items or results.
func readPage[T any, R record[T]](a *answer, collection string) (*Page[T], error) {
	v, err := parse(a.body)
	if err != nil {
		return nil, err
	}
	array, around := findArray(v, collection)
	if array == nil {
		return nil, errNoList
	}
	page := &Page[T]{first: a.params, identity: func(item *T) ID { return R(item).identity() }}
	for range array.elements() {
		if page.count++; page.count > maxRecords {
			return nil, errTooMany
		}
	}
	page.Items = make([]T, 0, page.count)
	page.ids = make(map[ID]struct{}, page.count)
	room := make([]field, 0, maxFields)
	for element := range array.elements() {
		page.Items = page.Items[:len(page.Items)+1]
		r := R(&page.Items[len(page.Items)-1])
		if !fill(r, element, room) {
			page.Items = page.Items[:len(page.Items)-1]
			continue
		}
		if id := r.identity(); id != "" {
			page.ids[id] = struct{}{}
		}
	}
	if page.count > 0 && len(page.Items) == 0 {
		return nil, errNoRecord
	}
	page.locate(envelope{around, v}, a)
	return page, nil
}

// findArray returns a list's array and the object around it that may tell of pages.
func findArray(v value, collection string) (array, around value) {
	if v.isArray() {
		return v, nil
	}
	for _, object := range []value{v, v.member("data")} {
		for _, name := range []string{"data", collection, "items", "results"} {
			if m := object.member(name); m.isArray() {
				return m, object
			}
		}
	}
	return nil, nil
}

// envelope is the objects around a list's array, the nearest first, that may tell of pages.
type envelope []value

// member is the first member of the name that any of the objects has.
func (e envelope) member(name string) value {
	for _, v := range e {
		if m := v.member(name); m != nil {
			return m
		}
	}
	return nil
}

// locate reads the page's numbers and decides what follows: by links.next, next_page_url, the Link header, or the numbers, in
// that order. The first one that says anything counts; null says that this is the last page.
func (p *Page[T]) locate(around envelope, a *answer) {
	meta := around.member("meta")
	number := func(name string) int {
		if n := meta.member(name).number(); n > 0 {
			return n
		}
		return max(around.member(name).number(), 0)
	}
	p.PageInfo = PageInfo{number("current_page"), number("last_page"), number("per_page"), number("total")}
	if p.number = p.Current; p.number == 0 {
		p.number, _ = strconv.Atoi(a.params.Get(pageParam))
	}
	for _, next := range []value{around.member("links").member("next"), around.member("next_page_url")} {
		if next != nil {
			p.follow(next.text(), a)
			return
		}
	}
	if links := a.header.Values("Link"); len(links) > 0 {
		target, found := nextLink(links)
		if found {
			p.follow(target, a)
			return
		}
	}
	size := p.PerPage
	if size == 0 {
		size, _ = strconv.Atoi(a.params.Get("per_page"))
	}
	if size == 0 {
		size = defaultPerPage
	}
	switch {
	case p.Last > 0 && p.Current > 0:
		p.last = p.Current >= p.Last
		p.next = url.Values{pageParam: {strconv.Itoa(p.Current + 1)}}
	default:
		p.last = p.count < size
	}
}

// follow takes a next link. Its host is the one that the application believes it has, so only its query counts.
func (p *Page[T]) follow(link string, a *answer) {
	if link == "" {
		p.last = true
		return
	}
	// What cannot be read of the link leaves the page without a next, which Next reports.
	if u, err := url.Parse(link); err == nil {
		if query, err := url.ParseQuery(u.RawQuery); err == nil && len(query) > 0 {
			p.next = query
		}
	}
}

// nextLink finds the target with rel="next" in Link headers (RFC 8288).
func nextLink(headers []string) (string, bool) {
	for _, header := range headers {
		for rest := header; ; {
			_, after, found := strings.Cut(rest, "<")
			if !found {
				break
			}
			target, params, found := strings.Cut(after, ">")
			if !found {
				break
			}
			rest = params
			params, _, _ = strings.Cut(params, "<")
			for param := range strings.SplitSeq(params, ";") {
				name, value, _ := strings.Cut(strings.TrimRight(strings.TrimSpace(param), ", "), "=")
				rels := strings.Fields(strings.Trim(strings.TrimSpace(value), `"`))
				if strings.EqualFold(strings.TrimSpace(name), "rel") && slices.ContainsFunc(rels, func(rel string) bool { return strings.EqualFold(rel, "next") }) {
					return target, true
				}
			}
		}
	}
	return "", false
}
