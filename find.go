package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/names"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/response"
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
func findByName[T any](ctx context.Context, c *Client, in *collection, name string, opts []CallOption) (*T, error) {
	op := Operation(in.name + ".findByName")
	_, problems := c.set(opts)
	problems = append(problems, check(names.Canonical(name) != "", "name", name, "is required")...)
	if err := invalid(op, problems); err != nil {
		return nil, err
	}
	opts = append(slices.Clip(opts), searching)
	id, from, err := c.search(ctx, in, names.Canonical(name), opts)
	for again := 0; again < maxAgain && errors.Is(err, response.ErrShrank); again++ {
		id, from, err = c.search(ctx, in, names.Canonical(name), opts)
	}
	switch {
	case err != nil:
		return nil, about(err, op, OutcomeUnknown)
	case id == "":
		text := fmt.Sprintf("no %s has the name %s", in.singular, redact.Quote(name))
		return nil, &nameError{text, summary{op: op}}
	}
	found, err := call(ctx, c, arguments{op: in.show, id: id}, opts, readRecord[T])
	renamed := false
	if err == nil {
		shown := identify(found, id)
		if renamed = shown != "" && names.Canonical(shown) != names.Canonical(name); !renamed {
			return found, nil
		}
		err = fmt.Errorf("its name is %s", redact.Quote(shown)) // the list is older than Show, or Show than the list
	}
	// A record that the list has exists, whatever Show says.
	_, refused := err.(*ValidationError)
	if missing, ok := err.(*APIError); refused || renamed || ok && missing.Is(ErrNotFound) {
		const text = "the list has a record with the name and the ID %s, but Show does not: %v"
		err = from.unusable(fmt.Errorf(text, id, err), !refused)
	}
	return nil, about(err, op, OutcomeExecuted)
}

// identify sets the ID of a record unless it has one, and returns the name.
func identify(record any, id ID) (name string) {
	switch r := record.(type) {
	case *Image:
		r.ID, name = cmp.Or(r.ID, id), r.Name
	case *Transcription:
		r.ID, name = cmp.Or(r.ID, id), r.Name
	}
	return name
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
var listParams = append(paramNames(ImageListParams{}, TranscriptionListParams{}), "page", "cursor")

// paramNames are the names in the tags of structs.
func paramNames(structs ...any) (list []string) {
	for _, s := range structs {
		for field := range reflect.TypeOf(s).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("url"), ",")
			list = append(list, name)
		}
	}
	return list
}

// searching removes the caller's parameters that could hide the record, and bypasses caches.
var searching = callOption{set: func(s *settings) {
	s.moreQuery = slices.DeleteFunc(slices.Clone(s.moreQuery), func(p pair) bool {
		return slices.Contains(listParams, p.key)
	})
	s.moreHeader = appended(s.moreHeader, "Cache-Control", "no-cache")
}}

// search returns the ID of the record with exactly the name, and the response that shows it. The ID is empty if the
// whole list has no such record. Several are a ConflictError. Image has the ID and the name of any kind of record.
func (c *Client) search(ctx context.Context, in *collection, name string, opts []CallOption) (ID, answer, error) {
	params := ImageListParams{Search: searchable(name), SearchBy: ImageSearchByName, PerPage: PerPage100}
	var ids []ID
	var on answer
	first := arguments{op: in.list, params: params}
	page, from, err := firstPage[Image](ctx, &source{client: c, first: first, opts: opts})
	last := from
	for n := 1; page != nil && err == nil; n++ {
		if len(page.found.IDs) < page.found.Count {
			return "", from, from.unusable(errors.New("the list has something other than a record"), false)
		}
		if page.saysError {
			return "", from, from.unusable(fmt.Errorf("the list may lack records: %w", response.ErrSaysError), false)
		}
		for _, record := range page.Items {
			match := names.Canonical(record.Name) == name
			if record.Name == "" || match && record.ID == "" {
				return "", from, from.unusable(names.ErrMissing, false)
			}
			if match && !slices.Contains(ids, record.ID) {
				ids, on = append(ids, record.ID), from
			}
		}
		if n == maxPages && page.HasNext() && len(ids) == 0 {
			const text = "the search found more than %d pages of records; use a name that few others contain"
			return "", from, from.unusable(fmt.Errorf(text, maxPages), false)
		}
		if n == maxPages {
			break
		}
		last = from
		page, from, err = page.next(ctx)
	}
	switch {
	case len(ids) == 1: // even if a later page cannot be read
		return ids[0], on, nil
	case len(ids) < 2:
		return "", last, err
	}
	ids = ids[:2]
	for i, id := range ids {
		ids[i] = ID(on.reply.Keys.Line(string(id)))
	}
	s := summary{op: Operation(in.name + ".findByName"), outcome: OutcomeExecuted}
	return "", last, &ConflictError{Name: name, IDs: ids, Problem: "more than one record has the name", summary: s}
}

// searchable returns the longest part of a name without a backslash, which databases treat as an escape in a search,
// or a line break. What it finds besides the name is told apart afterwards.
func searchable(name string) string {
	parts := strings.FieldsFunc(name+" ", func(r rune) bool { return r == '\\' || r == '\n' })
	return names.Trim(slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) }))
}
