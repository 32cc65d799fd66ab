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

	count    int        // records as sent, those of the page before included
	next     url.Values // what to lay over the query for the next page; nil where the service names none
	last     bool       // the service says that nothing follows
	puzzle   string     // why there is no next on a page that is not the last
	number   int        // this page's number; 0 where nobody says
	blank    int        // how many pages before it had no records
	ids      []ID       // as sent
	trail    []uint64   // of a walk by cursor: the next links that led here, by hash
	first    url.Values // the query of the walk's first page
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
		return nil, fmt.Errorf("%w: %s", ErrPagination, p.puzzle)
	}
	number, trail, err := p.advance()
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
	next.trail, next.first = trail, p.first
	if next.count == 0 {
		next.blank = p.blank + 1
	}
	if next.blank >= maxBlank {
		return nil, fmt.Errorf("%w: the service sent %d pages without records, and each time says that more follow", ErrPagination, maxBlank)
	}
	if !next.leaveOut(p.ids) {
		return nil, fmt.Errorf("%w: the service sent the records of the page before once more", ErrPagination)
	}
	return next, nil
}

// leaveOut drops the records that the page before has given, and reports whether that left any, or there were none.
func (p *Page[T]) leaveOut(given []ID) bool {
	before := len(p.Items)
	seen := make(map[ID]struct{}, len(given))
	for _, id := range given {
		seen[id] = struct{}{}
	}
	p.Items = slices.DeleteFunc(p.Items, func(item T) bool {
		_, twice := seen[p.identity(&item)]
		return twice
	})
	return before == 0 || len(p.Items) > 0
}

// advance refuses a next link that leads back. It returns the number of the page that the link leads to, and the trail to
// it. Page numbers need no trail, as they grow. Cursors do, eight bytes for each.
func (p *Page[T]) advance() (int, []uint64, error) {
	if number, err := strconv.Atoi(p.next.Get(pageParam)); err == nil {
		if p.number > 0 && number <= p.number {
			return 0, nil, fmt.Errorf("%w: the next link of page %d leads back to page %d", ErrPagination, p.number, number)
		}
		return number, p.trail, nil
	}
	link := maphash.String(linkSeed, p.next.Encode())
	if slices.Contains(p.trail, link) || leadsTo(p.next, p.first) {
		return 0, nil, fmt.Errorf("%w: the next link leads back to a page that was seen", ErrPagination)
	}
	return 0, append(p.trail, link), nil
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
	pageParam = "page"
	// maxRecords bounds one page: a few kilobytes, compressed, can be millions of records, and gigabytes of memory.
	maxRecords = 100_000
	// maxBlank bounds how many pages in a row may have no records, or a walk might never end.
	maxBlank = 100
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

// readPage finds the records of a list and what is said of its place.
func readPage[T any, R record[T]](a *answer, collection string) (*Page[T], error) {
	text, err := parse(a.body)
	if err != nil {
		return nil, err
	}
	page := &Page[T]{Items: []T{}, first: a.params, identity: func(item *T) ID { return R(item).identity() }}
	rd := newReader(strings.TrimSuffix(collection, "s"), R(new(T)).fields(make([]field, 0, maxFields)))
	around, found := findList(&cursor{text: text}, collection, 0, func(c *cursor) { readItems[T, R](page, rd, c) })
	switch {
	case !found:
		return nil, errNoList
	case page.count > maxRecords:
		return nil, errTooMany
	case page.count > 0 && len(page.Items) == 0:
		return nil, errNoRecord
	}
	page.locate(around, a)
	return page, nil
}

// readItems takes an array as the page's records. What is none in it is left out.
func readItems[T any, R record[T]](page *Page[T], rd *reader, c *cursor) {
	clear(page.Items)
	page.Items, page.ids, page.count = page.Items[:0], page.ids[:0], 0
	for c.enter(); c.more(); page.count++ {
		if cap(page.Items) == 0 {
			room := c.room()
			page.Items, page.ids = make([]T, 0, room), make([]ID, 0, room)
		}
		if page.count >= maxRecords {
			c.skip()
			continue
		}
		if !rd.find(c) {
			continue
		}
		if n := len(page.Items); n < cap(page.Items) {
			page.Items = page.Items[:n+1]
		} else {
			page.Items = append(page.Items, *new(T))
		}
		item := R(&page.Items[len(page.Items)-1])
		rd.fields = item.fields(rd.fields[:0])
		item.keep(rd.fill())
		if id := item.identity(); id != "" {
			page.ids = append(page.ids, id)
		}
	}
}

// room guesses from an array's first element how many there are.
func (c *cursor) room() int {
	const most = 128
	first := *c
	first.skip()
	return min((len(c.text)-c.at)/(first.at-c.at)*9/8+1, most)
}
