package aicontent

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/response"
)

// Page is one page of a list. It is not safe for concurrent use.
type Page[T any] struct {
	Items []*T // in the service's order
	PageInfo

	found     response.Facts
	saysError bool // beside the records
	state     response.State
	broken    error         // returned by Next in place of a page; nil for none
	source    *source       // of the pages that follow
	from      func() answer // the response without its body; a closure, because it leads to the key
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
func fetch[T any](ctx context.Context, s *source, link url.Values) (*Page[T], error) {
	args := s.first
	if link != nil {
		args.query = maps.Clone(s.query)
		maps.Copy(args.query, link)
	}
	return call(ctx, s.client, args, s.opts, readPage[T])
}

// list returns the first page. It copies the options for the pages that follow, because the caller may append to the
// same slice for another list.
func list[T any](ctx context.Context, c *Client, first arguments, opts []CallOption) (*Page[T], error) {
	s := &source{client: c, first: first, opts: slices.Clone(opts)}
	page, err := fetch[T](ctx, s, nil)
	if err != nil {
		return nil, err
	}
	s.query = page.found.Query
	return page.after(response.Start(pageSizes), s)
}

// after puts a page in its place in the list, after the page of a state, and leaves out the records that moved from
// there.
func (p *Page[T]) after(before response.State, s *source) (*Page[T], error) {
	state, moved, err := before.Arrive(p.found)
	if err != nil {
		return nil, p.from().unusable(fmt.Errorf("%w: %w", ErrPagination, err), false)
	}
	kept := p.Items[:0]
	for i, id := range p.found.IDs {
		if !moved[id] {
			kept = append(kept, p.Items[i])
		}
	}
	p.Items, p.PageInfo, p.state, p.source = kept, PageInfo(state.Info), state, s
	if _, err := state.Next(); err != nil {
		p.broken = p.from().unusable(fmt.Errorf("%w: %w", ErrPagination, err), err == response.ErrShrank)
	}
	return p, nil
}

// Format writes the page's number and the number of its records. A next link may hold the API key.
func (p Page[T]) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "Page(%d of %d, %d records)", p.Current, p.Last, len(p.Items))
}

// HasNext reports whether Next returns a page, or an error because there may be more records.
func (p *Page[T]) HasNext() bool { return p != nil && p.state.HasNext() }

// Next returns the next page, with the filters and options of the first call except its page. After the last page it
// returns nil without an error. It leaves out records that moved there from this page.
//
// The error matches [ErrPagination] if the list may have more records than were read:
//
//   - this page is full, and the service does not say whether another follows
//   - the next link leads back to an earlier page
//   - the next page repeats the records of this page
//   - this page is the last, and the list became shorter during the walk
func (p *Page[T]) Next(ctx context.Context) (*Page[T], error) {
	if !p.HasNext() {
		return nil, nil
	}
	if p.broken != nil {
		return nil, p.broken
	}
	link, _ := p.state.Next()
	page, err := fetch[T](ctx, p.source, link)
	if err != nil {
		return nil, err
	}
	return page.after(p.state, p.source)
}

// readPage finds the records of a list, and the hints about its place.
func readPage[T any](a answer) (*Page[T], error) {
	in := a.req.op.in
	v, err := response.Parse(a.reply.Body)
	if err != nil {
		return nil, err
	}
	found, err := response.FindList(v, in.name)
	if err != nil {
		return nil, err
	}
	count := len(found.Items)
	items, ids := make([]*T, 0, count), make([]string, 0, count)
	for _, element := range found.Items {
		item, own := new(T), strings.Clone(string(element)) // a kept record must not keep the page
		if sent, err := response.Record(response.Value(own), in.singular, item); err == nil {
			id, _, raw := any(item).(record).parts()
			*raw = string(sent)
			items = append(items, item)
			ids = append(ids, string(*id))
		}
	}
	if count > 0 && len(items) == 0 {
		return nil, response.ErrNoRecord
	}
	facts := response.Facts{
		Hints: found.Hints(a.reply.Header), Query: a.req.sent.URL.Query(), IDs: ids, Count: count,
	}
	a.reply.Body = "" // because the page may be kept
	from := func() answer { return a }
	return &Page[T]{Items: items, found: facts, saysError: found.Around.SaysError(), from: from}, nil
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
