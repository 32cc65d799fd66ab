package once

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

const (
	firstPause = time.Second // between two rounds; it doubles
	lastPause  = 30 * time.Second
	glance     = time.Second // between two looks at the ledger in a pause
)

// pending says that another round must follow a pause: what was sent may still become the record, or a part of it. It
// has the error of the search that failed, if one did.
type pending struct{ error }

// look is rules 1 and 2, round after round, and then what absent does if there is no record, and none will be.
func (c *call[T]) look(ctx context.Context, absent func() (*T, error)) (*T, error) {
	for {
		if ended := whyEnded(ctx); ended != nil {
			return nil, c.leave(ctx, ended)
		}
		var record *T
		err := c.get(ctx, cutOff)
		if err == nil && c.entry.ID != "" {
			record, err = c.known(ctx)
		}
		if record == nil && err == nil {
			record, err = c.search(ctx)
		}
		if record == nil && err == nil {
			record, err = absent()
		}
		switch err := err.(type) {
		case nil:
			return record, nil
		default:
			return nil, err
		case overtaken:
		case pending:
			if ended := c.pause(ctx, err.error); ended != nil && record != nil {
				return record, nil
			} else if ended != nil {
				return nil, c.fail(true, ended)
			}
		}
	}
}

// get reads the entry, and compares the form with the one that was sent.
func (c *call[T]) get(ctx context.Context, limit time.Duration) error {
	e, version, err := c.read(ctx, limit)
	if err != nil {
		return c.fail(!errors.Is(err, errEntry), err)
	}
	c.set(e, version)
	made := !e.Made.IsZero()
	if e.ID == "" && (made || time.Now().Before(c.until())) {
		return c.compare(!made)
	}
	return nil
}

// read returns the entry and its version.
func (c *call[T]) read(ctx context.Context, limit time.Duration) (e entry, version string, err error) {
	own, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	data, version, err := c.ledger.Get(own, c.key)
	if err = cmp.Or(err, context.Cause(own)); err != nil {
		return e, "", ledgerError(ctx, "read", err)
	}
	e, err = decode(data, version)
	return e, version, err
}

func (c *call[T]) set(e entry, version string) {
	if version != c.version || c.since.IsZero() {
		c.since = time.Now()
	}
	c.entry, c.version = e, version
}

// until is rule 8: when what was sent is a record that lists have, or never will be, by a clock that may be ahead. It
// is zero if nothing was sent.
func (c *call[T]) until() time.Time {
	if latest := c.since.Add(margin + c.settle); latest.Before(c.entry.Until) {
		return latest
	}
	return c.entry.Until
}

// compare is the error of a form that the entry rules out.
func (c *call[T]) compare(retryable bool) error {
	if c.form == "" || c.entry.Form == "" || c.entry.Form == c.form {
		return nil
	}
	return c.conflict(retryable, "it was stored with other parameters")
}

// known is rule 1 for an entry with an ID: the record, unless it was deleted.
func (c *call[T]) known(ctx context.Context) (*T, error) {
	record, err := c.api.Show(asSearch(ctx), c.entry.ID, c.opts...)
	if err == nil {
		name := nameHash(c.facts(record).name)
		if name != "" && c.entry.Named != "" && name != c.entry.Named && name != nameHash(c.name) {
			const reason = "the record with its ID has another name: it was renamed, or IDs were given anew"
			return nil, c.conflict(false, reason)
		}
		return record, cmp.Or(c.compare(false), c.unfinished(record))
	}
	if !errors.Is(err, aicontent.ErrNotFound) {
		final := errors.Is(err, aicontent.ErrForbidden) || errors.Is(err, aicontent.ErrInvalid)
		return nil, c.fail(!final || aicontent.Retryable(err), err)
	}
	made := c.entry.Made
	if c.since.Before(made) { // by a clock that is ahead
		made = c.since
	}
	if c.entry.Until = made.Add(c.settle); time.Now().Before(c.entry.Until) {
		return nil, c.fail(true, fmt.Errorf("%w: %v", errNotShown, err))
	}
	c.entry = entry{}
	return nil, nil
}

// search is rule 2. The first one of a call has the client's retries.
func (c *call[T]) search(ctx context.Context) (*T, error) {
	opts := c.opts
	if c.searched {
		opts = append(opts, aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	}
	c.searched = true
	began := time.Now()
	record, err := c.api.FindByName(asSearch(ctx), c.name, opts...)
	open, retryable, none := began.Before(c.until()), aicontent.Retryable(err), errors.Is(err, aicontent.ErrNotFound)
	switch {
	case err == nil:
		return c.found(ctx, record)
	case aicontent.OutcomeOf(err) == aicontent.OutcomeExecuted:
		c.made = true
		return nil, c.fail(retryable, err)
	case none && open:
		return nil, pending{}
	case none && c.outcome() == aicontent.OutcomeExecuted:
		return nil, c.fail(false, errGone)
	case none:
		return nil, nil
	case c.entry.blank():
		return nil, c.none(ctx, aicontent.OutcomeNotExecuted, retryable, err)
	case open && retryable:
		c.cause = cmp.Or(c.cause, err)
		return nil, pending{err}
	}
	return nil, c.fail(retryable || errors.Is(err, aicontent.ErrUnauthorized), err) // The key source may lag.
}

// found writes down a record that a search found. Nobody knows its form if that fails.
func (c *call[T]) found(ctx context.Context, record *T) (*T, error) {
	next := c.entry
	next.Made, next.ID, next.Named = time.Now(), c.facts(record).id, nameHash(c.facts(record).name)
	err := c.write(ctx, next)
	switch {
	case err == nil:
		err = c.compare(false)
	case c.form == "" && !changed(err):
		err = nil
	case !changed(err):
		c.entry, c.made = next, true
		err = c.fail(true, err)
	}
	return record, cmp.Or(err, c.unfinished(record))
}

// unfinished is pending for a record of which something is yet to come.
func (c *call[T]) unfinished(record *T) error {
	if c.partial(record) && time.Now().Before(c.until()) {
		return pending{}
	}
	return nil
}

// pause waits for the next round, until the entry changes at the latest. The error says what does not let it wait;
// failed is that of the search before it.
func (c *call[T]) pause(ctx context.Context, failed error) error {
	until := c.until()
	wait := max(min(max(c.delay, retryAfter(failed)), time.Until(until)), 0)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return cmp.Or(whyEnded(ctx), context.DeadlineExceeded)
	}
	if c.waited+wait > c.maxWait {
		return ErrMaxWait
	}
	if c.delay == firstPause {
		c.log.InfoContext(ctx, "once waits for what a create request may have become", "until", until)
	}
	if c.delay == firstPause && c.entry.Until.After(until.Add(time.Minute)) {
		c.log.WarnContext(ctx, "once: the clock of another process is ahead", "until", c.entry.Until)
	}
	c.delay = min(2*c.delay, lastPause)
	start := time.Now()
	defer func() { c.waited += time.Since(start) }()
	over, ticks := time.After(wait), time.NewTicker(glance)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return whyEnded(ctx)
		case <-over:
			return nil
		case <-ticks.C:
		}
		e, version, err := c.read(ctx, cutOff)
		moved := e.Call == c.entry.Call && e.Made.Equal(c.entry.Made) && e.ID == c.entry.ID
		if err == nil && version != c.version && !moved {
			return nil
		}
	}
}

// retryAfter returns how long the service asked to wait.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*aicontent.APIError](err); ok {
		return e.RetryAfter
	}
	return 0
}
