package main

import (
	"context"
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
	Query url.Values
}

// fetchList fetches the page of a collection that the query asks for, or the last one if there are fewer. It requests
// the page by number, which most deployments support; if the response is another page, it walks there from the first.
func fetchList[T any](
	ctx context.Context, query url.Values,
	get func(context.Context, url.Values, ...aicontent.CallOption) (*aicontent.Page[T], error),
) (list[T], error) {
	number, _ := strconv.Atoi(query.Get("page"))
	number = max(number, 1)
	page, err := get(ctx, query, aicontent.WithQuery("page", strconv.Itoa(number)))
	if err == nil && number > 1 && (page.Current != number || len(page.Items) == 0) {
		page, err = get(ctx, query)
		wanted := number
		for number = 1; number < wanted && err == nil && page.HasNext(); number++ {
			page, err = page.Next(ctx)
		}
	}
	if err != nil {
		return list[T]{}, err
	}
	return list[T]{page.Items, number, page.Last, page.Total, page.HasNext(), query}, nil
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
