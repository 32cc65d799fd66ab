package aicontent

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/redact"
)

const maxPages = 10 // of 100 records, in one search

// findByName returns the record with exactly the name, shown in full.
func findByName[T any, R record[T]](
	ctx context.Context, c *Client, in *collection, name string, opts []CallOption,
) (R, error) {
	_, problems := c.settings(ctx, opts)
	problems = append(problems, check(strings.TrimSpace(name) != "", "name", name, "is required")...)
	if err := invalid(in.list.name, problems); err != nil {
		return nil, err
	}
	id, err := c.find(ctx, in, normalText(name), append(slices.Clip(opts), unfiltered))
	if err != nil {
		return nil, err
	}
	if id == "" {
		u := c.url(call{op: in.list}, nil)
		e := APIError{
			StatusCode: http.StatusNotFound, Method: in.list.method, Path: u.EscapedPath(),
			Message: fmt.Sprintf("no %s has the name %s", in.singular, redact.Quote(name)),
		}
		return nil, e.with(summary{op: in.list.name, host: c.base.Host, outcome: OutcomeRejected})
	}
	return do(ctx, c, call{op: in.show, id: id}, opts, readRecord[T, R])
}

// listParams are the parameters that would keep a search from finding the name.
var listParams = strings.Fields(
	"search search_by resolution style medium filter favorite sort_by sort per_page page cursor")

// unfiltered leaves them out of the queries that the caller adds.
var unfiltered = callOption{set: func(s *settings) {
	s.query = slices.DeleteFunc(slices.Clone(s.query), func(p pair) bool { return slices.Contains(listParams, p.key) })
}}

// find returns the ID of the record with exactly the name, and none if there is no such record. Several are a
// ConflictError. Of either kind of record an Image holds the ID and the name.
func (c *Client) find(ctx context.Context, in *collection, name string, opts []CallOption) (ID, error) {
	params := ImageListParams{Search: searchable(name), SearchBy: ImageSearchByName, PerPage: PerPage100}
	var ids []ID
	page, err := list[Image](ctx, c, call{op: in.list, query: valuesOf(params)}, opts)
	for n := 1; page != nil && err == nil; n++ {
		for _, record := range page.Items {
			if normalText(record.Name) == name && len(ids) < 2 {
				ids = append(ids, record.ID)
			}
		}
		if n == maxPages && page.HasNext() {
			const text = "it finds more than %d pages of records; use a name that few others contain"
			return "", fmt.Errorf(text, maxPages)
		}
		page, err = page.Next(ctx)
	}
	switch {
	case err != nil || len(ids) == 0:
		return "", err
	case len(ids) == 1:
		return ids[0], nil
	}
	key, _ := c.key(ctx)
	for i, id := range ids {
		ids[i] = ID(redact.Shorten(redact.Key(key).Line(string(id)), 80))
	}
	s := summary{op: in.list.name, host: c.base.Host, outcome: OutcomeDone}
	return "", &ConflictError{Name: name, IDs: ids, Reason: "more than one record has the name", summary: s}
}

// normalText is a text as two of them are compared: services trim it, and browsers and databases change line breaks.
func normalText(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
}

// searchable returns the longest part of a name without a backslash, which databases take for an escape in a search,
// or a line break. What it finds besides the name is told apart afterwards.
func searchable(name string) string {
	parts := strings.FieldsFunc(name+" ", func(r rune) bool { return r == '\\' || r == '\n' })
	return strings.TrimSpace(slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) }))
}
