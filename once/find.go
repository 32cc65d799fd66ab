package once

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// known is step 1: the record whose ID the ledger has. Without one, or if it was deleted, there is neither a record nor
// an error.
func (c *call[T]) known(ctx context.Context, enough bool) (*T, error) {
	if err := c.read(ctx); err != nil || !enough || c.last.ID == "" || c.last.Sending {
		return nil, err
	}
	record, err := c.shown(ctx, c.last)
	if errors.Is(err, aicontent.ErrNotFound) {
		return nil, nil
	}
	return record, err
}

// read reads the entry before the call has the name, and compares the form with the one that was sent for it.
func (c *call[T]) read(ctx context.Context) error {
	data, version, err := c.ledger.Get(ctx, c.key)
	if err != nil {
		return c.waitEnded("the ledger could not be read", err)
	}
	e, err := decode(data, version, c.collection, c.name)
	if err != nil {
		return c.fail(aicontent.OutcomeUnknown, false, err)
	}
	c.last, c.version = e, version
	if c.form != "" && e.Form != "" && e.Form != c.form {
		return c.conflict(e, "it was stored with other parameters")
	}
	return nil
}

// shown shows the record whose ID the entry has.
func (c *call[T]) shown(ctx context.Context, e entry) (*T, error) {
	record, err := c.show(searching(ctx), e.ID, c.opts...)
	if err != nil {
		return nil, c.failed(e.ID, aicontent.Temporary(err), err)
	}
	if name := nameHash(c.facts(record).name); name != "" && e.Named != "" && name != e.Named {
		return nil, c.conflict(e, "the record with its ID has another name: it was renamed, or IDs were given anew")
	}
	return c.completed(ctx, record, c.until(e)), nil
}

// find is steps 1 and 3 of a call that has the name. If there is no record, and none will be, there is neither a record
// nor an error.
func (c *call[T]) find(ctx context.Context) (*T, error) {
	e := c.last
	if e.ID != "" {
		record, err := c.shown(ctx, e)
		if !errors.Is(err, aicontent.ErrNotFound) {
			return record, err
		}
		if time.Since(e.Made) < c.settles(e) {
			return nil, c.failed(e.ID, true, fmt.Errorf("made at %v, and not shown: %w", e.Made, err))
		}
		if err := c.claim.put(ctx, (*entry).forget); err != nil {
			return nil, c.failed(e.ID, true, err)
		}
		e.forget()
	}
	return c.look(ctx, e, nil)
}

// until is when nothing that was sent can become a record any more, or be missing from lists. It is zero if nothing
// was sent.
func (c *call[T]) until(e entry) time.Time {
	sent := e.Sent
	if e.ID == "" && e.Made.After(sent) {
		sent = e.Made
	}
	if sent.IsZero() {
		return sent
	}
	return sent.Add(c.settles(e))
}

// settles is the settle time after a time in the entry, which may be of another clock.
func (c *call[T]) settles(e entry) time.Duration {
	if e.Sender != c.process {
		return c.settle + skew
	}
	return c.settle
}

// look is step 3: it searches for the name, until what was sent is there or can no longer be. After is the error of the
// request that was sent, if this call sent it. Without a record, and with none to come, it returns nil and nil.
func (c *call[T]) look(ctx context.Context, e entry, after error) (*T, error) {
	until := c.until(e)
	if !until.IsZero() {
		c.logger.InfoContext(ctx, "once looks for what a create request may have become",
			"collection", c.collection, "name", c.name, "until", until)
	}
	one := append(c.opts, aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	pace := pace{ask: retryAfter(after)}
	for err := after; ; {
		if pace.ask > longestAsk {
			return nil, c.fail(c.outcome(e, err), true, err)
		}
		if ended := pace.wait(ctx, until); ended != nil {
			return nil, c.fail(c.outcome(e, err), true, because(ended, err))
		}
		began := time.Now()
		record, failed := c.search(searching(ctx), c.name, one...)
		pace.took, pace.ask = time.Since(began), retryAfter(failed)
		absent := missing(failed)
		switch {
		case failed == nil:
			return c.found(ctx, record, e), nil
		case errors.As(failed, new(*aicontent.ConflictError)):
			return nil, c.fail(aicontent.OutcomeDone, false, failed)
		case absent && began.Before(until):
			continue
		case absent && !e.Made.IsZero():
			return nil, c.fail(aicontent.OutcomeDone, false, errGone)
		case absent:
			return nil, nil
		case until.IsZero(), final(failed):
			return nil, c.fail(c.outcome(e, failed), !final(failed), because(failed, after))
		}
		err = failed
	}
}

// outcome is what is known of the record: a list may show it, though nobody knows its ID.
func (c *call[T]) outcome(e entry, err error) aicontent.Outcome {
	if err != nil && aicontent.OutcomeOf(err) == aicontent.OutcomeDone {
		return aicontent.OutcomeDone
	}
	return e.outcome()
}

// found writes down a record that was found, and returns it when it is complete.
func (c *call[T]) found(ctx context.Context, record *T, e entry) *T {
	done, until := c.made(record), c.until(e)
	c.result = func(now *entry) {
		done(now)
		now.Sent, now.Until = e.Sent, e.Until
	}
	if !c.facts(record).complete && time.Now().Before(until) {
		_ = c.write(ctx, c.result)
		record = c.completed(ctx, record, until)
	}
	if c.facts(record).complete || !time.Now().Before(until) {
		c.result = done
	}
	return record
}

// completed waits for what is missing in a record, until the given time or the end of the context.
func (c *call[T]) completed(ctx context.Context, record *T, until time.Time) *T {
	for pace := (pace{}); !c.facts(record).complete && time.Now().Before(until); {
		if pace.wait(ctx, until) != nil {
			break
		}
		if again, err := c.show(searching(ctx), c.facts(record).id, c.opts...); err == nil {
			record = again
		}
	}
	return record
}

// made is what the entry says of a record that is there.
func (c *call[T]) made(record *T) func(*entry) {
	f, now := c.facts(record), time.Now().UTC()
	return func(e *entry) {
		e.Sender = c.process
		e.Sending, e.Sent, e.Until = false, time.Time{}, time.Time{}
		e.Made, e.ID, e.Named = now, f.id, nameHash(f.name)
	}
}

var errGone = errors.New("the record was created, and no list shows it; nothing is sent again: " +
	"Delete frees the name")

// missing reports whether a search says that there is no record with the name. A service's own 404 does not say that.
func missing(err error) bool {
	return errors.Is(err, aicontent.ErrNotFound) && !errors.As(err, new(*aicontent.APIError))
}

// final reports whether a search that failed would fail again.
func final(err error) bool {
	if errors.As(err, new(*aicontent.ValidationError)) {
		return true
	}
	e, ok := errors.AsType[*aicontent.APIError](err)
	if !ok {
		return false
	}
	switch body := bytes.TrimSpace(e.Body); e.StatusCode {
	case 401:
		return true
	case 400, 403, 404: // as JSON, or a proxy said it
		return bytes.HasPrefix(body, []byte("{")) || bytes.HasPrefix(body, []byte("["))
	}
	return false
}

// because returns err, wrapped together with the error before it, if there was one.
func because(err, before error) error {
	if before == nil {
		return err
	}
	return fmt.Errorf("%w; before: %w", err, before)
}

// retryAfter returns how long the service asked to wait.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*aicontent.APIError](err); ok {
		return e.RetryAfter
	}
	return 0
}

const (
	firstPause = time.Second // between two looks; it doubles
	lastPause  = 30 * time.Second
	longestAsk = 15 * time.Minute // that is obeyed: a call that waits has the name
	// The last look before a context's deadline gets twice the time that the one before took, at most this, and
	// lastMoment on top of it.
	longestLook = 5 * time.Second
	lastMoment  = 100 * time.Millisecond
)

// pace is the time between looks.
type pace struct {
	pause time.Duration // zero before the first look
	took  time.Duration // by the latest look
	ask   time.Duration // how long the service asked to wait
}

// wait waits for the next look: the one after a time comes right then, and the last one right before the deadline.
func (p *pace) wait(ctx context.Context, until time.Time) error {
	wait := p.pause
	if left := time.Until(until); left > 0 {
		wait = min(wait, left)
	}
	wait = max(wait, p.ask)
	p.pause = min(max(2*p.pause, firstPause), lastPause)
	if deadline, ok := ctx.Deadline(); ok && wait > 0 {
		wait = min(wait, time.Until(deadline)-min(2*p.took, longestLook)-lastMoment)
		if wait <= 0 {
			return cmp.Or(ended(ctx), context.DeadlineExceeded)
		}
	}
	return sleep(ctx, wait)
}

// sleep waits, unless the context ends first.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return ended(ctx)
}

// ended returns why a context ended, or nil if it has not.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
