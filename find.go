package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
)

const (
	// maxPages is how many pages of 100 records one search reads. A name that 1,000 others contain is not one to search
	// for: each page is a request that rate limits count.
	maxPages = 10
	// maxAgain is how often a search is repeated if records were deleted meanwhile. A service from which they are
	// deleted all the time is not asked forever.
	maxAgain = 3
)

// findByName returns the record with exactly the name, shown in full.
func findByName[T any, R record[T]](
	ctx context.Context, c *Client, in *collection, name string, opts []CallOption,
) (R, error) {
	_, problems := c.set(ctx, opts)
	problems = append(problems, check(strings.TrimSpace(name) != "", "name", name, "is required")...)
	if err := invalid(in.list.name, problems); err != nil {
		return nil, err
	}
	opts = append(slices.Clip(opts), searching)
	id, page, err := c.search(ctx, in, normalText(name), opts)
	for again := 0; again < maxAgain && errors.Is(err, errShrank); again++ {
		id, page, err = c.search(ctx, in, normalText(name), opts)
	}
	if e, ok := err.(*APIError); ok {
		e.blind = true
	}
	if err != nil {
		return nil, about(err, OutcomeUnknown)
	}
	if id == "" {
		text := fmt.Sprintf("no %s has the name %s", in.singular, redact.Quote(name))
		return nil, &nameError{text, summary{op: in.list.name, host: c.base.Host}}
	}
	found, err := do(ctx, c, request{op: in.show, id: id}, opts, readRecord[T, R])
	if err == nil {
		return found, nil
	}
	// What a list shows is there, whatever Show says.
	if _, sent := err.(callError); !sent || errors.Is(err, ErrNotFound) {
		const text = "the list has a record with the name and the ID %s, but Show does not: %v"
		err = page.unclear(fmt.Errorf(text, id, err), sent)
	}
	return nil, about(err, listed)
}

// about gives an error the outcome that it has for the record.
func about(err error, outcome Outcome) error {
	if e, ok := err.(callError); ok {
		e.facts().outcome = outcome
	}
	return err
}

// nameError reports that no record has a name.
type nameError struct {
	text string
	summary
}

// Error is one line: the operation and the name.
func (e *nameError) Error() string { return e.line("", e.text) }

// Unwrap returns ErrNotFound.
func (e *nameError) Unwrap() error { return ErrNotFound }

// listParams are the parameters that would keep a search from finding the name.
var listParams = append(paramNames(ImageListParams{}, TranscriptionListParams{}), "page", "cursor")

// paramNames are the names in the tags of structs.
func paramNames(structs ...any) (names []string) {
	for _, s := range structs {
		for field := range reflect.TypeOf(s).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("url"), ",")
			names = append(names, name)
		}
	}
	return names
}

// searching leaves out what the caller adds and would hide the record, and asks caches for nothing.
var searching = callOption{set: func(s *settings) {
	s.moreQuery = slices.DeleteFunc(slices.Clone(s.moreQuery), func(p pair) bool {
		return slices.Contains(listParams, p.key)
	})
	s.moreHeader = appended(s.moreHeader, "Cache-Control", "no-cache")
}}

// errShrank is the error of a search during which records were deleted: one may have moved past the reader.
var errShrank = errors.New("the list became shorter while it was read")

// search returns the ID of the record with exactly the name, and the page that shows it. The ID is empty if a list that
// was read to its end has no such record. Several are a ConflictError. Of either kind of record an Image holds the ID
// and the name.
func (c *Client) search(ctx context.Context, in *collection, name string, opts []CallOption) (ID, *Page[Image], error) {
	params := ImageListParams{Search: searchable(name), SearchBy: ImageSearchByName, PerPage: PerPage100}
	var ids []ID
	var on, last *Page[Image]
	total, pages, shrank := 0, 0, false
	page, err := list[Image](ctx, c, request{op: in.list, params: params}, opts)
	for n := 1; page != nil && err == nil; n++ {
		if len(page.found.IDs) < page.found.Count {
			return "", nil, page.unclear(errors.New("the list has something other than a record"), false)
		}
		if page.found.Around.SaysError() {
			return "", nil, page.unclear(fmt.Errorf("the list may lack records: %w", lenient.ErrSaysError), false)
		}
		shrank = shrank || page.Total > 0 && page.Total < total || page.Last > 0 && page.Last < pages
		total, pages = cmp.Or(page.Total, total), cmp.Or(page.Last, pages)
		for _, record := range page.Items {
			match := normalText(record.Name) == name
			if record.Name == "" || match && record.ID == "" {
				return "", nil, page.unclear(errors.New("the list has a record without a name or an ID"), false)
			}
			if match && !slices.Contains(ids, record.ID) {
				ids, on = append(ids, record.ID), page
			}
		}
		if n == maxPages && page.HasNext() && len(ids) == 0 {
			const text = "the search found more than %d pages of records; use a name that few others contain"
			return "", nil, page.unclear(fmt.Errorf(text, maxPages), false)
		}
		if n == maxPages {
			break
		}
		last = page
		page, err = page.Next(ctx)
	}
	switch {
	case len(ids) == 1: // even if a later page cannot be read
		return ids[0], on, nil
	case len(ids) == 0 && err == nil && shrank:
		return "", nil, last.unclear(errShrank, true)
	case len(ids) < 2:
		return "", nil, err
	}
	ids = ids[:2]
	for i, id := range ids {
		ids[i] = ID(on.attempt().key.Line(string(id)))
	}
	s := summary{op: in.list.name, host: c.base.Host, outcome: listed}
	return "", nil, &ConflictError{Name: name, IDs: ids, Reason: "more than one record has the name", summary: s}
}

// normalText is a text as two of them are compared: services trim it, and browsers and databases change line breaks.
func normalText(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
}

// searchable returns the longest part of a name without a backslash, which databases treat as an escape in a search,
// or a line break. What it finds besides the name is told apart afterwards.
func searchable(name string) string {
	parts := strings.FieldsFunc(name+" ", func(r rune) bool { return r == '\\' || r == '\n' })
	return strings.TrimSpace(slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) }))
}
