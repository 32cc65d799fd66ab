package once

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	aicontent "github.com/aicontent/aicontent-go"
)

// service is what a call needs to know of a collection.
type service[T any] struct {
	*config
	collection string
	search     func(context.Context, string, ...aicontent.CallOption) (*T, error)
	show       func(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error)
	remove     func(context.Context, aicontent.ID, ...aicontent.CallOption) error
	facts      func(*T) facts
}

// facts are what a call must know of a record.
type facts struct {
	id       aicontent.ID
	name     string
	complete bool // nothing of it is yet to come
}

// call is one call for a name.
type call[T any] struct {
	service[T]
	name string // as given
	key  string
	form string // hash of the form that would be sent; empty if none would
	opts []aicontent.CallOption

	last    entry        // as read before the call had the name
	version string       // of it
	claim   *claim       // the name
	result  func(*entry) // what the release writes
}

func (s service[T]) call(name string, opts []aicontent.CallOption) *call[T] {
	key := ledgerKey(s.scope, s.base, s.collection, name)
	return &call[T]{service: s, name: name, key: key, opts: slices.Clip(opts), result: func(*entry) {}}
}

// create sends the create request.
type create[T any] func(context.Context, ...aicontent.CallOption) (*T, error)

func (c *call[T]) store(ctx context.Context, form string, create create[T]) (record *T, found bool, err error) {
	c.form = form
	sent := false
	record, err = c.run(ctx, true, func(ctx context.Context) (*T, error) {
		record, err := c.find(ctx)
		if record == nil && err == nil {
			record, sent, err = c.send(ctx, create)
		}
		return record, err
	})
	return record, record != nil && !sent, err
}

func (c *call[T]) findOnly(ctx context.Context) (*T, error) {
	return c.run(ctx, true, func(ctx context.Context) (*T, error) {
		record, err := c.find(ctx)
		if record == nil && err == nil {
			c.result = (*entry).forget
			err = c.fail(aicontent.OutcomeNotSent, true, aicontent.ErrNotFound)
		}
		return record, err
	})
}

func (c *call[T]) delete(ctx context.Context) error {
	_, err := c.run(ctx, false, func(ctx context.Context) (*T, error) {
		record, err := c.find(ctx)
		if err != nil && !errors.Is(err, errGone) {
			return nil, err
		}
		if record != nil {
			id := c.facts(record).id
			err := c.remove(ctx, id, c.opts...)
			if err != nil && !errors.Is(err, aicontent.ErrNotFound) {
				return nil, c.failed(id, aicontent.Temporary(err), err)
			}
		}
		c.result = (*entry).forget
		return nil, nil
	})
	return err
}

// run calls do while the call has the name. With enough, a record that the ledger knows and Show returns ends the call.
func (c *call[T]) run(
	ctx context.Context, enough bool, do func(context.Context) (*T, error),
) (record *T, err error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	for waited := true; waited; {
		if record, err = c.known(ctx, enough); record != nil || err != nil {
			return record, err
		}
		if waited, err = c.names.lock(ctx, c.key); err != nil {
			return nil, c.waitEnded("another call has the name", err)
		}
	}
	defer c.names.unlock(c.key)
	held, err := c.take(ctx)
	if held == nil && err == nil {
		c.logger.InfoContext(ctx, "once waits for another process that has the name", "collection", c.collection,
			"name", c.name, "holder", c.last.Holder, "until", c.last.Beat.Add(c.last.lease()+skew))
	}
	for ; held == nil && err == nil; held, err = c.take(ctx) {
		if err := sleep(ctx, glance); err != nil {
			return nil, c.waitEnded("another process has the name", err)
		}
		if record, err = c.known(ctx, enough); record != nil || err != nil {
			return record, err
		}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = c.release(ctx, err) }()
	return do(held)
}

func (c *call[T]) check(ctx context.Context) error {
	problem := aicontent.FieldProblem{Field: "name", Value: c.name}
	switch {
	case ctx == nil:
		problem = aicontent.FieldProblem{Field: "ctx", Reason: "must not be nil"}
	case strings.TrimSpace(c.name) == "":
		problem.Reason = "is required"
	case !utf8.ValidString(c.name):
		problem.Reason = "must be valid UTF-8"
	default:
		return nil
	}
	return &aicontent.ValidationError{Problems: []aicontent.FieldProblem{problem}}
}

// fail makes the error of the call. A ValidationError is returned as it is.
func (c *call[T]) fail(outcome aicontent.Outcome, temporary bool, err error) error {
	if _, ok := err.(*aicontent.ValidationError); ok {
		return err
	}
	return &Error{Collection: c.collection, Name: c.name, Err: err, outcome: outcome, temporary: temporary}
}

// failed is the error of a record that is known by its ID.
func (c *call[T]) failed(id aicontent.ID, temporary bool, err error) error {
	return &Error{c.collection, c.name, id, err, aicontent.OutcomeDone, temporary}
}

// conflict is the error for a name whose record may not be the one that the caller means.
func (c *call[T]) conflict(e entry, reason string) error {
	var ids []aicontent.ID
	if e.ID != "" {
		ids = append(ids, e.ID)
	}
	return c.fail(e.outcome(), false, &aicontent.ConflictError{Name: c.name, IDs: ids, Reason: reason})
}

// waitEnded is the error of a call that did not get the name.
func (c *call[T]) waitEnded(reason string, err error) error {
	outcome := aicontent.OutcomeUnknown
	if !c.last.Made.IsZero() {
		outcome = aicontent.OutcomeDone
	}
	return c.fail(outcome, true, fmt.Errorf("%s: %w", reason, err))
}
