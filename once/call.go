package once

import (
	"context"
	"errors"
	"fmt"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// Errors that end a round, not the call.
var (
	errAgain   = errors.New("another call has written the ledger's entry")
	errPending = errors.New("a request may still become a record")
	errAbsent  = errors.New("there is no record and never will be")
)

// call is one call for a name. It follows the rules in PROTOCOL.md.
type call[T, P any] struct {
	*records[T, P]
	slot
	params   P // of Store
	opts     []aicontent.CallOption
	deletes  bool // it is a Delete
	searched bool
	sent     bool // its create request was executed, or may have been
}

// run makes rounds until one ends the call.
func (c *call[T, P]) run(ctx context.Context) (*T, error) {
	defer c.leave()
	changes := 0 // rounds in a row that the write of another call ended
	for {
		record, err := c.round(ctx)
		if err == errAbsent {
			record, err = c.absent(ctx)
		}
		var wait time.Duration
		switch err {
		case errPending:
			if c.paused.IsZero() {
				c.paused = now()
			}
			changes, wait = 0, c.nextLook(time.Since(c.paused))
		case errAgain:
			if changes++; changes > 1 {
				wait = firstPause
			}
		default:
			return record, err
		}
		if ended := c.pause(ctx, wait, nil); ended != nil && record != nil {
			return record, nil
		} else if ended != nil {
			return nil, c.fail(true, ended)
		}
	}
}

// round looks for the record in the ledger and then on the service.
func (c *call[T, P]) round(ctx context.Context) (*T, error) {
	if err := c.get(ctx, ledgerTime); err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, searchKey{}, true)
	if c.entry.ID != "" {
		c.leave()
		if record, err := c.show(ctx); err != errAbsent {
			return record, err
		}
	}
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	return c.search(ctx)
}

// show is rule 1 for an entry with an ID.
func (c *call[T, P]) show(ctx context.Context) (*T, error) {
	c.sought = nil
	record, err := c.api.Show(ctx, c.entry.ID, c.opts...)
	switch {
	case err == nil:
		return c.compare(ctx, record)
	case !notFound(err):
		return nil, c.fail(c.open() || aicontent.Retryable(err), err)
	case c.deletes:
		return new(T), nil
	}
	made := min(c.entry.Made.Sub(c.seen), 0) // on the monotonic clock
	c.sought, c.until = errHidden, c.seen.Add(made+c.settle)
	if c.open() {
		return nil, errPending
	}
	c.entry = entry{} // because the record was deleted
	return nil, errAbsent
}

// search is rule 2. Only the first search of a call has the client's retries.
func (c *call[T, P]) search(ctx context.Context) (*T, error) {
	opts, open := c.opts, c.open()
	if c.searched {
		opts = append(opts, aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	}
	record, err := c.api.FindByName(ctx, c.blank.Name, opts...)
	c.searched, c.sought = true, err
	if notFound(err) {
		c.sought = nil
	}
	switch {
	case err == nil:
		return c.found(ctx, record)
	case open:
		return nil, errPending
	case c.sought == nil && !c.entry.Made.IsZero() && !c.deletes:
		return nil, c.fail(false, errGone)
	case c.sought == nil:
		return nil, errAbsent
	case c.entry.Free() && aicontent.OutcomeOf(err) != aicontent.OutcomeExecuted: // no list shows the name
		return nil, c.none(ctx, aicontent.Retryable(err), err)
	}
	return nil, c.fail(aicontent.Retryable(err), err)
}

// found writes the found record to the ledger. If that fails, nothing proves that the record has the form of this call.
func (c *call[T, P]) found(ctx context.Context, record *T) (*T, error) {
	id, name, _ := c.facts(record)
	next := c.blank
	next.Until, next.Form = c.entry.Until, c.entry.Form
	next.Made, next.ID, next.Named = now(), id, nameHash(name)
	err := c.write(ctx, next)
	if err == errAgain {
		return nil, err
	}
	c.entry = next
	if err != nil && c.form != "" {
		return nil, c.fail(true, err)
	}
	return c.compare(ctx, record)
}

// compare returns the record if it may be the caller's. With errPending, its result may still come.
func (c *call[T, P]) compare(ctx context.Context, record *T) (*T, error) {
	_, name, partial := c.facts(record)
	named, problem := nameHash(name), ""
	switch {
	case name != "" && named != c.entry.Named && named != nameHash(c.blank.Name):
		problem = "the record with its ID has another name: it was renamed, or IDs were given anew"
	case c.form != "" && c.entry.Form != "" && c.form != c.entry.Form:
		problem = "it was stored with other parameters"
	case partial && !c.deletes && c.open():
		return record, errPending
	default:
		return record, nil
	}
	conflict := c.fail(false, brief{
		&aicontent.ConflictError{Name: c.blank.Name, IDs: []aicontent.ID{c.entry.ID}, Problem: problem},
	})
	if c.deletes {
		_ = c.write(ctx, c.blank)
	}
	return nil, conflict
}

// absent ends the call for a name without a record, or sends the create request of a Store.
func (c *call[T, P]) absent(ctx context.Context) (*T, error) {
	if c.form == "" {
		return nil, c.none(ctx, false, aicontent.ErrNotFound)
	}
	if c.sent {
		return nil, c.none(ctx, true, errNothing)
	}
	return c.send(ctx)
}

// delete is rule 6.
func (c *call[T, P]) delete(ctx context.Context) error {
	c.deletes = true
	_, err := c.run(ctx)
	if e, ok := err.(*Error); ok && e.Err == aicontent.ErrNotFound {
		return nil
	} else if err != nil {
		return err
	}
	err = c.api.Delete(ctx, c.entry.ID, c.opts...)
	if err != nil && !notFound(err) {
		return c.fail(aicontent.Retryable(err), fmt.Errorf("%w; Delete again, to free the name", err))
	}
	_ = c.write(ctx, c.blank)
	return nil
}
