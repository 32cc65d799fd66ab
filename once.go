package aicontent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The pauses between two looks for a record that a lost store may still make.
const (
	firstLook = time.Second
	lastLook  = 30 * time.Second
)

// duplicateError says that the name of a store with WithOnce is not one record's alone.
type duplicateError struct {
	op, name string
	ids      []ID
	fate     fate
}

func (e *duplicateError) Error() string {
	return fmt.Sprintf("%s: WithOnce: more than one record has the name %s: ids %s and %s", e.op, quoted(e.name), e.ids[0], e.ids[1])
}

func (e *duplicateError) Is(target error) bool { return target == ErrConflict }
func (e *duplicateError) judge() fate          { return e.fate }

// entry is as much of a record of either kind as the search for a name needs.
type entry struct {
	ID   ID
	Name string
	raw  json.RawMessage
}

func (e *entry) fields(list []field) []field {
	return append(list, field{"id", (*string)(&e.ID)}, field{"name", &e.Name})
}
func (e *entry) keep(raw json.RawMessage) { e.raw = raw }
func (e *entry) identity() ID             { return e.ID }

// find looks for the record with exactly the store's name, on all pages, and reads it as the store's answer. More than
// one is an error.
func find(ctx context.Context, c *Client, x *exchange) (bool, error) {
	wanted := strings.TrimSpace(x.name)
	listing := call{
		op: x.path[0] + ".list", method: http.MethodGet, path: x.path,
		query: valuesOf(TranscriptionListParams{Search: searchable(wanted), SearchBy: TranscriptionSearchByName, PerPage: PerPage100}),
	}
	var found []*entry
	for e, err := range walk(ctx, func(ctx context.Context) (*Page[entry], error) {
		return list[entry](ctx, c, listing, []CallOption{x.forLooking()})
	}) {
		if err != nil {
			return false, fmt.Errorf("WithOnce: looking for the record: %w", err)
		}
		if strings.TrimSpace(e.Name) == wanted {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return false, nil
	case 1:
		return true, x.read(&answer{body: found[0].raw})
	}
	// An id is the service's to choose, and goes into an error's text.
	key, _ := c.key(ctx)
	shown := func(e *entry) ID { return ID(shortened(oneLine(string(e.ID), key), 80)) }
	return false, &duplicateError{op: x.op, name: x.name, ids: []ID{shown(found[0]), shown(found[1])}}
}

// look looks again and again, with growing pauses, for as long as settle: with late until the record is there, else until
// one look has succeeded. A look that fails in passing says nothing, and the record may be paid for.
func (c *Client) look(ctx context.Context, x *exchange, settle time.Duration, late bool) (bool, error) {
	end := time.Now().Add(settle)
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		found, err := x.find(ctx, c, x)
		left := time.Until(end)
		if found || left <= 0 || err == nil && !late || err != nil && !passes(err) {
			return found, err
		}
		if err := sleep(ctx, min(pause, left)); err != nil {
			return false, err
		}
	}
}

// passes reports whether a look that failed may succeed later.
func passes(err error) bool {
	var api *APIError
	var decode *DecodeError
	var transport *TransportError
	switch {
	case errors.As(err, &api):
		return api.judge() == unknown || api.StatusCode < 400 || repeatable(api, false)
	case errors.As(err, &transport):
		return !transport.final
	}
	return errors.As(err, &decode)
}

// forLooking is the store's own settings, less those that are the store's alone.
func (x *exchange) forLooking() CallOption {
	return callOption(func(s *settings, _ *problems) {
		*s = x.settings
		s.timeout, s.form, s.response, s.progress, s.once = nil, nil, nil, nil, false
		s.query = slices.DeleteFunc(slices.Clone(s.query), func(p pair) bool {
			return slices.Contains([]string{"search", "search_by", "sort", "sort_by", "per_page", pageParam}, p.key)
		})
	})
}

// searchable is the longest part of a name without a backslash, which databases take for an escape in a search. The
// names that it finds too are told apart afterwards.
func searchable(name string) string {
	return slices.MaxFunc(strings.Split(name, `\`), func(a, b string) int { return len(a) - len(b) })
}
