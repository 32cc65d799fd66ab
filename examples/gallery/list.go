package main

import (
	"context"
	"maps"
	"net/url"
	"strconv"

	"github.com/aicontent/aicontent-go"
)

// list is one page of a collection, as the templates show it.
type list[T any] struct {
	*aicontent.Page[T]
	Number int
	Query  url.Values
}

// pageSize is how many records a page has, and maxWalk how many pages are read to find one.
const (
	pageSize = aicontent.PerPage25
	maxWalk  = 80
)

// fetchList fetches the page of a collection that the query asks for, or the last one if there are fewer. It requests
// the page by number, which most deployments support; if the response is another page, it walks there from the start.
func (c *collection[T, L, U]) fetchList(ctx context.Context, query url.Values) (list[T], error) {
	number, _ := strconv.Atoi(query.Get("page"))
	number = min(max(number, 1), 1e6)
	params := c.filters(query)
	page, err := c.list(ctx, params, aicontent.WithQuery("page", strconv.Itoa(number)))
	if err == nil && page.Last > 0 && number > page.Last {
		number = page.Last
		page, err = c.list(ctx, params, aicontent.WithQuery("page", strconv.Itoa(number)))
	}
	if err == nil && number > 1 && (page.Current != number || len(page.Items) == 0) {
		wanted := min(number, maxWalk)
		page, err = c.list(ctx, params)
		for number = 1; err == nil && number < wanted && page.HasNext(); number++ {
			page, err = page.Next(ctx)
		}
	}
	if err != nil {
		page = &aicontent.Page[T]{}
	}
	return list[T]{page, number, query}, err
}

// Address returns the address of the page that is some pages further on, or back.
func (l list[T]) Address(pages int) string {
	query := maps.Clone(l.Query)
	query.Del("done")
	query.Set("page", strconv.Itoa(l.Number+pages))
	return "?" + query.Encode()
}

// favorite returns the choice of the query or form, or nil if it has none.
func favorite(values url.Values) *bool {
	if values.Get("favorite") == "" {
		return nil
	}
	return new(values.Get("favorite") == "1")
}
