package aicontent

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"slices"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/paging"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// Page is one page of a list. It is not safe for concurrent use.
type Page[T any] struct {
	Items []*T // in the service's order
	PageInfo

	state paging.State
	found paging.Facts
	// unclear makes the error of a page that cannot be used. A closure: the response may hold secrets, and printing a
	// page stops there.
	unclear func(err error, temporary bool) error
	// fetch returns the page to which the query of a link leads. It has not arrived: its place in the walk is unknown.
	fetch func(ctx context.Context, link url.Values, opts ...CallOption) (*Page[T], error)
}

// PageInfo has the page numbers and counts from the service. Zero is unknown.
type PageInfo struct {
	Current int // this page's number, from 1
	Last    int // the last page's number
	PerPage int // records on a full page
	Total   int // records on all pages
}

// pageSizes are the documented ones, the default first.
var pageSizes = []int{10, 25, 50, 100}

// HasNext reports whether Next returns a page, or an error because the service does not say whether one follows.
func (p *Page[T]) HasNext() bool { return p != nil && p.state.HasNext() }

// Next returns the next page, with the filters and options of the first call, or nil without an error after the last.
// Records that moved there from this page are left out. The error matches [ErrPagination] if the service does not say
// what follows a full page, leads back to an earlier page, or repeats this page's records. Deletions between the calls
// may hide records: see [ImagesService.All].
func (p *Page[T]) Next(ctx context.Context) (*Page[T], error) {
	if !p.HasNext() {
		return nil, nil
	}
	link, err := p.state.Next()
	if err != nil {
		return nil, p.unclear(fmt.Errorf("%w: %w", ErrPagination, err), false)
	}
	return p.arrive(p.fetch(ctx, link))
}

// arrive gives the page that was fetched after p its place.
func (p *Page[T]) arrive(next *Page[T], err error) (*Page[T], error) {
	if err != nil {
		return nil, err
	}
	state, moved, err := p.state.Arrive(next.found)
	if err != nil {
		return nil, next.unclear(fmt.Errorf("%w: %w", ErrPagination, err), false)
	}
	next.fetch, next.state, next.PageInfo = p.fetch, state, PageInfo(state.Info)
	kept := next.Items[:0]
	for i, id := range next.found.IDs {
		if !moved[id] {
			kept = append(kept, next.Items[i])
		}
	}
	next.Items = kept
	return next, nil
}

// list returns the first page.
func list[T any, R record[T]](ctx context.Context, c *Client, first request, opts []CallOption) (*Page[T], error) {
	fetch := func(ctx context.Context, link url.Values, more ...CallOption) (*Page[T], error) {
		ask := first
		ask.page = link
		return do(ctx, c, ask, append(slices.Clip(opts), more...), readPage[T, R])
	}
	page, err := fetch(ctx, nil)
	if err != nil {
		return nil, err
	}
	state := paging.Start(page.found, pageSizes)
	page.fetch, page.state, page.PageInfo = fetch, state, PageInfo(state.Info)
	return page, nil
}

// readPage finds the records of a list, and what is said about its place.
func readPage[T any, R record[T]](x *exchange) (*Page[T], error) {
	v, err := lenient.Parse(x.body)
	if err != nil {
		return nil, err
	}
	in := x.request.op.in
	found, err := lenient.FindList(v, in.name)
	if err != nil {
		return nil, err
	}
	count := len(found.Items)
	records, items, ids := make([]T, count), make([]*T, 0, count), make([]string, 0, count)
	for _, element := range found.Items {
		item := R(&records[len(items)])
		if raw, err := lenient.Record(element, in.singular, item); err == nil {
			id, _ := item.keep(string(raw))
			items = append(items, item)
			ids = append(ids, string(id))
		}
	}
	if count > 0 && len(items) == 0 {
		return nil, lenient.ErrNoRecord
	}
	return &Page[T]{Items: items, unclear: x.unclear, found: paging.Facts{
		Around: found.Around, Link: x.header.Values("Link"), Query: x.request.query, Count: count, IDs: ids,
	}}, nil
}

// Collect returns the records of an iterator, such as All's, as a slice. With an error, it returns the records before
// it.
func Collect[T any](records iter.Seq2[*T, error]) ([]*T, error) {
	var list []*T
	for record, err := range records {
		if err != nil {
			return list, err
		}
		list = append(list, record)
	}
	return list, nil
}

// all returns the records of all pages.
func all[T any, R record[T]](ctx context.Context, c *Client, first request, opts []CallOption) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var s settings
		c.set(ctx, &s, opts)
		page, err := list[T, R](ctx, c, first, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		ahead := readAhead[T]{pages: s.readAhead, response: s.response}
		defer ahead.stop()
		for page != nil {
			ahead.start(ctx, page)
			for _, record := range page.Items {
				if !yield(record, nil) {
					return
				}
			}
			if page, err = ahead.next(ctx, page); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

const maxReadAhead = 32 // pages

// WithReadAhead lets All prefetch up to the given number of pages; other methods ignore it. The default is 0; more than
// 32 is an error. Records, errors and panics of a middleware, hook, limiter or key source come in the same order as
// without it. No page after the last one is fetched if the service tells which is the last. Otherwise no
// more pages are prefetched than the loop has come to, so that a short list costs few requests in vain. Lists with
// cursors allow one page.
func WithReadAhead(pages int) CallOption {
	allowed := fmt.Sprintf("must be between 0 and %d", maxReadAhead)
	return callOption{
		check(pages >= 0 && pages <= maxReadAhead, "read_ahead", pages, allowed),
		func(s *settings) { s.readAhead = pages },
	}
}

// readAhead fetches pages before the loop reaches them.
type readAhead[T any] struct {
	pages    int         // how many at most
	come     int         // how many the loop has come to
	response **Response  // of WithResponse; nil for none
	row      []*ahead[T] // the next page first
}

// ahead is a page on its way.
type ahead[T any] struct {
	link     string
	cancel   context.CancelFunc
	done     <-chan error // gets the error when the fields below are set
	page     *Page[T]
	response *Response
}

// start fetches the pages after page that are not on their way. A link that is not the one foreseen ends those that
// are.
func (a *readAhead[T]) start(ctx context.Context, page *Page[T]) {
	a.come++
	links := page.state.Ahead(a.pages, a.come)
	if len(a.row) > 0 && (len(links) == 0 || a.row[0].link != links[0].Encode()) {
		a.stop()
	}
	for len(a.row) < len(links) {
		link := links[len(a.row)]
		ctx, cancel := context.WithCancel(ctx)
		f := &ahead[T]{link: link.Encode(), cancel: cancel}
		a.row = append(a.row, f)
		f.done = wire.Go(func() (err error) {
			f.page, err = page.fetch(ctx, link, WithResponse(&f.response))
			return err
		})
	}
}

// next returns the page that follows: the one on its way, if there is one. A panic below it continues in the loop.
func (a *readAhead[T]) next(ctx context.Context, page *Page[T]) (*Page[T], error) {
	if len(a.row) == 0 {
		return page.Next(ctx)
	}
	f := a.row[0]
	a.row = a.row[1:]
	err := <-f.done
	f.cancel()
	wire.Raise(err)
	if a.response != nil {
		*a.response = f.response
	}
	return page.arrive(f.page, err)
}

// stop ends the requests of the row, and waits for them.
func (a *readAhead[T]) stop() {
	for _, f := range a.row {
		f.cancel()
	}
	for _, f := range a.row {
		<-f.done
	}
	a.row = nil
}
