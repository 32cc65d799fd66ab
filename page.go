package aicontent

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/paging"
)

// Page is one page of a list. It is not safe for concurrent use.
type Page[T any] struct {
	Items []*T // in the service's order
	PageInfo

	state paging.State
	found paging.Facts
	// attempt is what read the page. A closure: the response may hold secrets, and printing a page stops there.
	attempt func() *exchange
	// fetch returns the page to which the query of a link leads. It has not arrived: its place in the walk is unknown.
	fetch func(ctx context.Context, link url.Values) (*Page[T], error)
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

// unclear is the error of a page that cannot be used.
func (p *Page[T]) unclear(err error, retryable bool) error {
	return p.attempt().unclear(err, retryable)
}

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
	next, err := p.fetch(ctx, link)
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
	fetch := func(ctx context.Context, link url.Values) (*Page[T], error) {
		ask := first
		ask.page = link
		page, x, err := perform(ctx, c, ask, opts, readPage[T, R])
		if err != nil {
			return nil, err
		}
		page.found.Query, page.attempt = x.call.query, func() *exchange { return x }
		return page, nil
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
func readPage[T any, R record[T]](body string, _ http.Header, op *operation) (*Page[T], error) {
	v, err := lenient.Parse(body)
	if err != nil {
		return nil, err
	}
	found, err := lenient.FindList(v, op.in.name)
	if err != nil {
		return nil, err
	}
	count := len(found.Items)
	records, items, ids := make([]T, count), make([]*T, 0, count), make([]string, 0, count)
	for _, element := range found.Items {
		item := R(&records[len(items)])
		if raw, err := lenient.Record(element, op.in.singular, item); err == nil {
			id, _ := item.keep(string(raw))
			items = append(items, item)
			ids = append(ids, string(id))
		}
	}
	if count > 0 && len(items) == 0 {
		return nil, lenient.ErrNoRecord
	}
	return &Page[T]{Items: items, found: paging.Facts{Around: found.Around, Count: count, IDs: ids}}, nil
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
		page, err := list[T, R](ctx, c, first, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		for page != nil {
			for _, record := range page.Items {
				if !yield(record, nil) {
					return
				}
			}
			if page, err = page.Next(ctx); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}
