package main

import (
	"context"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/aicontent/aicontent-go"
)

// list is one page of a collection, as the templates show it.
type list[T any] struct {
	Items []*T
	Page  int
	Pages int // 0 if unknown
	Total int // records on all pages; 0 if unknown
	More  bool
	Cut   bool // whether the page asked for is further from the start than the gallery walks
	Query url.Values
}

// pageSize is how many records a page has, and maxWalk how many are read, hundreds at a time, to find one.
const (
	pageSize = aicontent.PerPage25
	maxWalk  = 2000
)

// fetchList fetches the page of a collection that the query asks for, or the last one if there are fewer. It requests
// the page by number, which most deployments support; if the response is another page, it walks there from the start.
func (c *collection[T, L, S]) fetchList(ctx context.Context, query url.Values) (list[T], error) {
	number, _ := strconv.Atoi(query.Get("page"))
	number = min(max(number, 1), 1e6)
	page, err := c.fetchPage(ctx, query, number)
	if err == nil && page.Last > 0 && number > page.Last {
		number = page.Last
		page, err = c.fetchPage(ctx, query, number)
	}
	if err != nil {
		return list[T]{Page: number, Query: query}, err
	}
	found := list[T]{page.Items, number, page.Last, page.Total, page.HasNext(), false, query}
	if number > 1 && (page.Current != number || len(page.Items) == 0) {
		err = found.walk(c.all(ctx, c.filters(query, aicontent.PerPage100)))
	}
	return found, err
}

func (c *collection[T, L, S]) fetchPage(ctx context.Context, query url.Values, number int) (*aicontent.Page[T], error) {
	return c.list(ctx, c.filters(query, pageSize), aicontent.WithQuery("page", strconv.Itoa(number)))
}

// walk fills the list with its page of the records, or with the last one that can be reached.
func (l *list[T]) walk(records iter.Seq2[*T, error]) error {
	wanted, read := l.Page, 0
	l.Items, l.Page, l.More = nil, 1, false
	for record, err := range records {
		if err != nil {
			return err
		}
		if len(l.Items) == int(pageSize) {
			l.More, l.Cut = l.Page == wanted, read == maxWalk && l.Page < wanted
			if l.More || l.Cut {
				return nil
			}
			l.Items, l.Page = nil, l.Page+1
		}
		l.Items = append(l.Items, record)
		read++
	}
	return nil
}

// Address returns the address of a page of the list.
func (l list[T]) Address(page int) string {
	query := maps.Clone(l.Query)
	query.Del("done")
	query.Set("page", strconv.Itoa(page))
	return "?" + query.Encode()
}

func (l list[T]) Previous() string { return l.Address(l.Page - 1) }
func (l list[T]) Next() string     { return l.Address(l.Page + 1) }

// Filtered reports whether the list may leave records out.
func (l list[T]) Filtered() bool {
	filters := []string{"search", "favorite", "resolution", "style", "medium", "filter"}
	return slices.ContainsFunc(filters, func(name string) bool { return l.Query.Get(name) != "" })
}

// favorite returns what the query or form says of favorites, or nil if it says nothing.
func favorite(values url.Values) *bool {
	if values.Get("favorite") == "" {
		return nil
	}
	return new(values.Get("favorite") == "1")
}

// order returns the order that the query asks for. The default is newest first.
func order(query url.Values) (aicontent.SortBy, aicontent.Sort) {
	switch query.Get("order") {
	case "oldest":
		return aicontent.SortByID, aicontent.SortAsc
	case "name":
		return aicontent.SortByName, aicontent.SortAsc
	}
	return aicontent.SortByID, aicontent.SortDesc
}
