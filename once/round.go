package once

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// A step is the next step of a call.
type step int

const (
	over    step = iota // end with the result
	again               // make another round at once
	changed             // make another round, because another call has written the entry
	pending             // pause and make another round, because a request may still become a record
	hidden              // the same for a while, because Show does not find a record of the ledger or a list
	absent              // there is no record and never will be
	gone                // end, because a record was created and no list shows it
	freed               // end with an error; Delete frees the name
)

// look makes rounds until the call ends. If there is no record, absence returns the next step.
func (c *call[T]) look(ctx context.Context, absence func(context.Context) (*T, step, error)) (*T, step, error) {
	if err := c.check(ctx); err != nil {
		return nil, over, err
	}
	for {
		if ended := whyEnded(ctx); ended != nil {
			return nil, over, c.end(ctx, ended)
		}
		record, next, err := c.round(ctx)
		if next == absent {
			record, next, err = absence(ctx)
		}
		wait, more := c.wait(record, next, err)
		if !more {
			return record, next, err
		}
		if ended := c.pause(ctx, wait); ended != nil {
			switch {
			case record != nil:
				return record, over, nil
			case next == hidden:
				e := c.fail(true, fmt.Errorf("%w: %w", ended, errHidden))
				e.outcome = aicontent.OutcomeExecuted
				return nil, over, e
			}
			return nil, over, c.fail(true, ended)
		}
	}
}

// wait returns the pause before the next round (rule 10), or false if there is none.
func (c *call[T]) wait(record *T, next step, err error) (time.Duration, bool) {
	switch {
	case next == again:
		return 0, true
	case next == changed:
		c.changes++
		return firstPause * time.Duration(min(c.changes-1, 1)), true
	case next == pending, record != nil && c.incomplete(record):
		c.asked = aicontent.RetryAt(err)
		pause := max(untilNextLook(since(&c.paused)), time.Until(c.asked))
		return min(pause, time.Until(c.until())), true
	case next == hidden && (!c.deleting || c.entry.ID == ""):
		age := since(&c.hidden)
		return min(untilNextLook(age), replicaLag-age), age < replicaLag
	}
	return 0, false
}

// since returns the time since t. It sets a zero t to the current time.
func since(t *time.Time) time.Duration {
	if t.IsZero() {
		*t = time.Now()
	}
	return time.Since(*t)
}

// round is rules 1 and 2: it looks for the record in the ledger and on the service.
func (c *call[T]) round(ctx context.Context) (*T, step, error) {
	if err := c.get(ctx, ledgerTime); err != nil {
		return nil, over, err
	}
	if c.entry.ID != "" {
		c.leave()
		if record, next, err := c.known(ctx); next != absent {
			return record, next, err
		}
	}
	if waited, err := c.enter(ctx); err != nil {
		return nil, over, err
	} else if waited {
		return nil, again, nil
	}
	return c.search(ctx)
}

// get reads the entry and compares its form with the form of this call.
func (c *call[T]) get(ctx context.Context, limit time.Duration) error {
	e, version, err := c.read(ctx, limit)
	if err != nil {
		return c.fail(!errors.Is(err, errEntry), err)
	}
	if version != c.version || c.seen.IsZero() {
		c.seen = time.Now()
	}
	c.entry, c.version = e, version
	made := !e.Made.IsZero()
	if e.ID == "" && (made || time.Now().Before(c.until())) {
		return c.compare(!made)
	}
	return nil
}

// compare returns an error if the entry has another form than this call.
func (c *call[T]) compare(retryable bool) error {
	if c.form == "" || c.entry.Form == "" || c.entry.Form == c.form {
		return nil
	}
	return c.conflict(retryable, "it was stored with other parameters")
}

// known is rule 1 for an entry with an ID.
func (c *call[T]) known(ctx context.Context) (*T, step, error) {
	record, err := c.api.Show(asSearch(ctx), c.entry.ID, c.opts...)
	switch {
	case err == nil:
		name := nameHash(factsOf(record).name)
		if name != "" && c.entry.Named != "" && name != c.entry.Named && name != nameHash(c.name) {
			const reason = "the record with its ID has another name: it was renamed, or IDs were given anew"
			return nil, freed, c.conflict(false, reason)
		}
		if err := c.compare(false); err != nil {
			return nil, over, err
		}
		return record, over, nil
	case !answers(err, aicontent.ErrNotFound):
		c.entry.Until = time.Time{} // because the record is known, whatever is open
		return nil, over, c.fail(!final(err), err)
	}
	if c.entry.Until = c.entry.made(c.seen).Add(c.settle); time.Now().Before(c.entry.Until) {
		return nil, hidden, c.fail(true, fmt.Errorf("%w: %v", errHidden, err))
	}
	c.entry = entry{}
	return nil, absent, nil
}

// search is rule 2. Only the first search of a call has the client's retries.
func (c *call[T]) search(ctx context.Context) (*T, step, error) {
	opts := c.opts
	if c.searched {
		opts = append(opts, aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	}
	c.searched = true
	began := time.Now()
	record, err := c.api.FindByName(asSearch(ctx), c.name, opts...)
	none, open := answers(err, aicontent.ErrNotFound), began.Before(c.until())
	switch {
	case err == nil:
		return c.found(ctx, record)
	case none && open:
		return nil, pending, nil
	case none && c.outcome() == aicontent.OutcomeExecuted:
		return nil, gone, c.fail(false, errGone)
	case none:
		return nil, absent, nil
	case aicontent.OutcomeOf(err) == aicontent.OutcomeExecuted: // a list shows the name
		next, e := hidden, c.fail(!final(err), err)
		if e.outcome = aicontent.OutcomeExecuted; final(err) {
			next = over
		}
		return nil, next, e
	case c.entry.blank():
		return c.none(ctx, !final(err), err)
	case open && !final(err):
		c.cause = cmp.Or(c.cause, err)
		return nil, pending, err
	case lacksNames(err) && !open:
		return nil, freed, c.fail(false, err)
	}
	return nil, over, c.fail(!final(err) || c.deleting && open, err)
}

// found writes the found record to the ledger. If that fails, nothing proves that the record has the form of this call.
func (c *call[T]) found(ctx context.Context, record *T) (*T, step, error) {
	f := factsOf(record)
	next := entry{Until: c.until(), Made: time.Now(), ID: f.id, Named: nameHash(f.name), Form: c.entry.Form}
	err := c.write(ctx, next)
	if err == errChanged {
		return nil, changed, nil
	}
	if c.entry = next; err != nil && c.form != "" {
		return nil, over, c.fail(true, err)
	}
	if err := c.compare(false); err != nil {
		return nil, over, err
	}
	return record, over, nil
}

// incomplete reports whether the record may still get its result.
func (c *call[T]) incomplete(record *T) bool {
	return !c.deleting && factsOf(record).partial && time.Now().Before(c.until())
}

// none is rule 5: it returns the error for a name that has no record and never will have one.
func (c *call[T]) none(ctx context.Context, retryable bool, why error) (*T, step, error) {
	var err error
	if c.announced {
		err = c.write(ctx, entry{})
	} else {
		e, version, failed := c.read(context.WithoutCancel(ctx), ownTime)
		switch err = failed; {
		case e.Call == c.token && e.Made.IsZero(): // an announcement that was written, although its Put failed
			c.entry, c.version, c.seen = e, version, time.Now()
			err = c.write(ctx, entry{})
		case version != c.version && !e.blank() || errors.Is(err, errEntry):
			err = errChanged
		}
	}
	switch {
	case err == errChanged:
		return nil, changed, nil
	case err != nil:
		return nil, over, c.fail(true, err)
	}
	c.entry = entry{}
	e := c.fail(retryable, why)
	e.outcome = aicontent.OutcomeNotExecuted
	return nil, over, e
}
