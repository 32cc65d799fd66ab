package once

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// ownTime limits a write to the ledger, which continues after the call's context has ended.
const ownTime = 5 * time.Second

// write writes to the ledger, even if the call's context has ended.
func (c *call[T]) write(ctx context.Context, change func(*entry)) error {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), ownTime)
	defer cancel()
	err := c.claim.put(own, change)
	if err != nil {
		c.logger.WarnContext(ctx, "once could not write to the ledger",
			"collection", c.collection, "name", c.name, "error", err)
	}
	return err
}

// send is step 4: one Store call. Sent reports whether it may have created the record.
func (c *call[T]) send(ctx context.Context, create create[T]) (record *T, sent bool, err error) {
	record, err = create(ctx, append(c.opts, c.notes(ctx))...)
	switch outcome := aicontent.OutcomeOf(err); {
	case err == nil:
		c.result = c.made(record)
		return record, true, nil
	case outcome == aicontent.OutcomeNotSent, outcome == aicontent.OutcomeRejected:
		record, err = c.refused(ctx, outcome, err)
		return record, false, err
	default:
		record, err = c.unclear(ctx, outcome, err)
		return record, true, err
	}
}

// notes is the hook that notes each attempt before it is made, or refuses it.
func (c *call[T]) notes(ctx context.Context) aicontent.CallOption {
	return aicontent.WithAttemptHook(func(context.Context, aicontent.Attempt) (func(aicontent.AttemptResult), error) {
		if err := ended(ctx); err != nil {
			return nil, err
		}
		return nil, c.write(ctx, func(e *entry) {
			e.forget()
			e.Sending, e.Sender, e.Form = true, c.process, c.form
		})
	})
}

// refused ends a call that created nothing. If names are unique, another call may have been faster.
func (c *call[T]) refused(ctx context.Context, outcome aicontent.Outcome, err error) (*T, error) {
	c.result = (*entry).forget
	e, ok := errors.AsType[*aicontent.APIError](err)
	taken := ok && (e.StatusCode == 409 || e.StatusCode == 422 && e.Fields["name"] != nil)
	if taken {
		record, failed := c.look(ctx, entry{}, nil)
		if record != nil || failed != nil && aicontent.OutcomeOf(failed) == aicontent.OutcomeDone {
			return record, failed
		}
	}
	return nil, c.fail(outcome, aicontent.Temporary(err) || taken && e.StatusCode == 409, err)
}

// unclear looks for the record of a request that may have been executed.
func (c *call[T]) unclear(ctx context.Context, outcome aicontent.Outcome, err error) (*T, error) {
	now := time.Now().UTC()
	note := func(e *entry) {
		e.Sending, e.Sent, e.Until = false, now, now.Add(c.settle)
		if outcome == aicontent.OutcomeDone {
			e.Made = now
		}
	}
	_ = c.write(ctx, note)
	e := entry{Sender: c.process} // as it is, even if it could not be written
	note(&e)
	if outcome == aicontent.OutcomeUnknown && hopeless(err) {
		return nil, c.fail(outcome, false, err)
	}
	record, failed := c.look(ctx, e, err)
	if record == nil && failed == nil {
		c.result = (*entry).forget
		failed = c.fail(aicontent.OutcomeNotSent, true, fmt.Errorf("no record came of it: %w", err))
	}
	return record, failed
}

// hopeless reports whether nothing is expected to come of a request of unknown outcome.
func hopeless(err error) bool {
	if e, ok := errors.AsType[*aicontent.DecodeError](err); ok {
		return json.Valid(e.Body)
	}
	e, ok := errors.AsType[*aicontent.APIError](err)
	return ok && e.StatusCode != 408 && (e.StatusCode < 500 || e.StatusCode == 501 || e.StatusCode == 505)
}

// release is step 5: it writes the result, and frees the name. An attempt that panicked may have been executed.
func (c *call[T]) release(ctx context.Context, err error) error {
	c.claim.stop()
	now := time.Now().UTC()
	written := c.write(ctx, func(e *entry) {
		c.result(e)
		if e.Sending {
			e.Sending, e.Sent, e.Until = false, now, now.Add(c.settle)
		}
		e.Holder, e.Beat = "", time.Time{}
	})
	c.claim.limit.Stop()
	c.claim.lose(nil)
	e, ok := err.(*Error)
	if ok && written != nil && (e.outcome == aicontent.OutcomeNotSent || e.outcome == aicontent.OutcomeRejected) {
		e.outcome = aicontent.OutcomeUnknown
		if errors.Is(err, aicontent.ErrNotFound) { // as nobody knows what another process does with the name
			e.Err = errors.New("no record has the name yet")
		}
		e.Err = fmt.Errorf("%w; the name could not be released: %w", e.Err, written)
	}
	return err
}
