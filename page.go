package aicontent

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/aicontent/aicontent-go/internal/response"
)

// Page is one page of a list. It is not safe for concurrent use.
type Page[T any] struct {
	Items []*T // in the service's order
	PageInfo

	found     response.Facts
	saysError bool // beside the records
	state     response.State
	broken    error   // returned by Next in place of a page; nil for none
	source    *source // of the pages that follow
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

// source requests the pages of a list.
type source struct {
	client *Client
	first  arguments
	opts   []CallOption
	query  url.Values // of the first page, because the caller may reuse what its parameters point to
}

// fetch returns the page to which the query of a link leads, or the first one. Its place in the list is unknown.
func fetch[T any](ctx context.Context, s *source, link url.Values) (*Page[T], answer, error) {
	args := s.first
	if link != nil {
		args.query = maps.Clone(s.query)
		maps.Copy(args.query, link)
	}
	page, from, err := send(ctx, s.client, args, s.opts, readPage[T])
	if err != nil {
		return nil, answer{}, err
	}
	page.found.Query = from.req.query
	return page, from, nil
}

// firstPage returns the first page of a list, and the response that holds it.
func firstPage[T any](ctx context.Context, s *source) (*Page[T], answer, error) {
	page, from, err := fetch[T](ctx, s, nil)
	if err != nil {
		return nil, answer{}, err
	}
	s.query = page.found.Query
	return page.after(response.Start(pageSizes), s, from)
}

// after puts a page in its place in the list, after the page of a state, and leaves out the records that moved from
// there.
func (p *Page[T]) after(before response.State, s *source, from answer) (*Page[T], answer, error) {
	state, moved, err := before.Arrive(p.found)
	if err != nil {
		return nil, answer{}, from.unusable(fmt.Errorf("%w: %w", ErrPagination, err), false)
	}
	kept := p.Items[:0]
	for i, id := range p.found.IDs {
		if !moved[id] {
			kept = append(kept, p.Items[i])
		}
	}
	p.Items, p.PageInfo, p.state, p.source = kept, PageInfo(state.Info), state, s
	if _, err := state.Next(); err != nil {
		p.broken = from.unusable(fmt.Errorf("%w: %w", ErrPagination, err), err == response.ErrShrank)
	}
	return p, from, nil
}

// HasNext reports whether Next returns a page, or an error because there may be more records.
func (p *Page[T]) HasNext() bool { return p != nil && p.state.HasNext() }

// Next returns the next page, with the filters and options of the first call except its page, or nil without an error
// after the last. It leaves out records that moved there from this page. The error matches [ErrPagination] if the
// service does not say whether a page follows a full one, leads back to an earlier page, or repeats this page's
// records. It also matches after the last page of a list that became shorter meanwhile, as in All.
func (p *Page[T]) Next(ctx context.Context) (*Page[T], error) {
	page, _, err := p.next(ctx)
	return page, err
}

// next is Next that also returns the response that holds the page.
func (p *Page[T]) next(ctx context.Context) (*Page[T], answer, error) {
	if !p.HasNext() {
		return nil, answer{}, nil
	}
	if p.broken != nil {
		return nil, answer{}, p.broken
	}
	link, _ := p.state.Next()
	page, from, err := fetch[T](ctx, p.source, link)
	if err != nil {
		return nil, answer{}, err
	}
	return page.after(p.state, p.source, from)
}

// list returns the first page. It copies the options for the pages that follow, because the caller may append to the
// same slice for another list.
func list[T any](ctx context.Context, c *Client, first arguments, opts []CallOption) (*Page[T], error) {
	page, _, err := firstPage[T](ctx, &source{client: c, first: first, opts: slices.Clone(opts)})
	return page, err
}

// readPage finds the records of a list, and the hints about its place.
func readPage[T any](body string, header http.Header, op *operation) (*Page[T], error) {
	v, err := response.Parse(body)
	if err != nil {
		return nil, err
	}
	found, err := response.FindList(v, op.in.name)
	if err != nil {
		return nil, err
	}
	count := len(found.Items)
	items, ids := make([]*T, 0, count), make([]string, 0, count)
	for _, element := range found.Items {
		item := new(T)
		if raw, err := response.Record(element, op.in.singular, item); err == nil {
			id, _ := any(item).(record).keep(string(raw))
			items = append(items, item)
			ids = append(ids, string(id))
		}
	}
	if count > 0 && len(items) == 0 {
		return nil, response.ErrNoRecord
	}
	facts := response.Facts{Hints: found.Hints(header), IDs: ids, Count: count}
	return &Page[T]{Items: items, found: facts, saysError: found.SaysError()}, nil
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
func all[T any](ctx context.Context, c *Client, first arguments, opts []CallOption) iter.Seq2[*T, error] {
	opts = slices.Clone(opts)
	return func(yield func(*T, error) bool) {
		page, err := list[T](ctx, c, first, opts)
		for ; page != nil && err == nil; page, err = page.Next(ctx) {
			for _, record := range page.Items {
				if !yield(record, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}
