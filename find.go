package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/names"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/response"
)

// maxPages is how many pages of 100 records one search reads. A name that 1,000 others contain is not one to search
// for: each page is a request that rate limits count.
const maxPages = 10

// findByName returns the record with exactly the name, shown in full.
func findByName[T any](ctx context.Context, c *Client, in *collection, name string, opts []CallOption) (*T, error) {
	op := Operation(in.name + ".findByName")
	_, problems := c.set(opts)
	problems = append(problems, check(names.Canonical(name) != "", "name", name, "is required")...)
	if err := newValidationError(op, problems); err != nil {
		return nil, err
	}
	opts = slices.Clip(opts)
	id, page, err := c.search(ctx, in, names.Canonical(name), append(opts, searching(op, OutcomeUnknown)))
	switch {
	case err != nil:
		return nil, err
	case id == "":
		text := fmt.Sprintf("no %s has the name %s", in.singular, redact.Quote(name))
		return nil, &nameError{text, summary{op: op}}
	}
	args := arguments{op: in.show, id: id}
	found, err := call(ctx, c, args, append(opts, searching(op, OutcomeExecuted)), readRecord[T])
	_, unsendable := err.(*ValidationError)
	refused, _ := err.(*APIError)
	switch {
	case err == nil:
		at, shown, _ := any(found).(record).parts()
		*at = cmp.Or(*at, id)
		if *shown == "" || names.Canonical(*shown) == names.Canonical(name) {
			return found, nil
		}
		err = fmt.Errorf("its name is %s", redact.Quote(*shown)) // the list is older than Show, or Show than the list
	case !unsendable && (refused == nil || refused.StatusCode != http.StatusNotFound):
		return nil, err
	}
	from := page.from()
	const text = "the list has a record with the name and the ID %s, but Show does not: %v"
	return nil, c.newError(from.req, ending{
		outcome: OutcomeExecuted, retryable: !unsendable,
		last: engine.Attempt{Number: from.reply.Attempts, Reply: from.reply, Err: fmt.Errorf(text, id, err)},
	})
}

// nameError reports that no record has a name.
type nameError struct {
	text string
	summary
}

// Error is one line: the operation and the name.
func (e *nameError) Error() string { return e.line("", e.text) }

// Reason returns the text without the operation, for the function [Reason].
func (e *nameError) Reason() string { return e.text }

// Unwrap returns ErrNotFound.
func (e *nameError) Unwrap() error { return ErrNotFound }

// listParams are the parameters that would keep a search from finding the name.
var listParams = []string{
	"search", "search_by", "resolution", "style", "medium", "filter", "favorite", "sort_by", "sort", "per_page", "page",
	"cursor",
}

// searching makes a call a part of a search. It removes the caller's parameters that could hide the record, and
// bypasses caches.
func searching(op Operation, outcome Outcome) CallOption {
	return callOption{set: func(s *settings) {
		s.search = &search{op, outcome}
		s.moreQuery = slices.DeleteFunc(slices.Clone(s.moreQuery), func(p pair) bool {
			return slices.Contains(listParams, p.key)
		})
		s.moreHeader = appended(s.moreHeader, "Cache-Control", "no-cache")
	}}
}

// search returns the ID of the record with exactly the name, and the page that has it. The ID is empty if the whole
// list has no such record. One found ID counts, even if the rest of the list cannot be read or trusted. Several are a
// ConflictError. Image has the ID and the name of any kind of record.
func (c *Client) search(
	ctx context.Context, in *collection, name string, opts []CallOption,
) (ID, *Page[Image], error) {
	params := ImageListParams{Search: searchable(name), SearchBy: ImageSearchByName, PerPage: PerPage100}
	var ids []ID
	var on *Page[Image]
	page, err := list[Image](ctx, c, arguments{op: in.list, params: params}, opts)
	for n := 1; page != nil && err == nil; n++ {
		missing := false
		for _, record := range page.Items {
			match := names.Canonical(record.Name) == name
			missing = missing || record.Name == "" || match && record.ID == ""
			if match && record.ID != "" && !slices.Contains(ids, record.ID) {
				ids, on = append(ids, record.ID), page
			}
		}
		switch {
		case missing:
			err = page.from().unusable(errors.New("the list has a record without a name or an ID"), false)
		case len(page.found.IDs) < page.found.Count:
			err = page.from().unusable(errors.New("the list has something other than a record"), false)
		case page.saysError:
			err = page.from().unusable(fmt.Errorf("the list may lack records: %w", response.ErrSaysError), true)
		case n == maxPages && page.HasNext():
			const text = "the search found more than %d pages of records; use a name that few others contain"
			err = page.from().unusable(fmt.Errorf(text, maxPages), false)
		default:
			page, err = page.Next(ctx)
		}
	}
	switch {
	case len(ids) == 1:
		return ids[0], on, nil
	case len(ids) == 0:
		return "", nil, err
	}
	ids = ids[:2]
	for i, id := range ids {
		ids[i] = ID(on.from().reply.Keys.Line(string(id)))
	}
	s := summary{op: Operation(in.name + ".findByName"), outcome: OutcomeExecuted}
	return "", nil, &ConflictError{Name: name, IDs: ids, Problem: "more than one record has the name", summary: s}
}

// searchable returns the longest part of a name without a backslash, which databases treat as an escape in a search,
// or a line break. What it finds besides the name is told apart afterwards.
func searchable(name string) string {
	parts := strings.FieldsFunc(name+" ", func(r rune) bool { return r == '\\' || r == '\n' })
	return names.Trim(slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) }))
}
