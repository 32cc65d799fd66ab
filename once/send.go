package once

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// send is rules 3 and 4: one Store call, and its result in the ledger.
func (c *call[T, P]) send(ctx context.Context) (*T, error) {
	sending, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	record, err := c.api.Store(sending, c.params, append(c.opts, c.announces(cut))...)
	outcome, retryable := aicontent.OutcomeOf(err), aicontent.Retryable(err)
	if why := context.Cause(sending); err != nil && why != nil && ctx.Err() == nil {
		err = why // and not the error of a context, because that of the caller has not ended
	}
	next := c.blank
	next.Wrote, next.Form = now(), c.form
	switch {
	case outcome == aicontent.OutcomeExecuted:
		next.Made = next.Wrote
	case outcome == aicontent.OutcomeUnknown:
	case errors.Is(err, errAgain):
		return nil, errAgain
	default:
		return nil, c.none(ctx, retryable, err)
	}
	c.sent = true
	if err == nil {
		id, name, _ := c.facts(record)
		next.ID, next.Named = id, nameHash(name)
	}
	if next.ID == "" {
		next.Until = next.Wrote.Add(c.settle)
	}
	_ = c.write(ctx, next)
	if next.ID != "" {
		return record, nil
	}
	c.entry, c.until = next, next.Until // even if the ledger could not be written
	c.paused = time.Time{}
	if err != nil {
		c.failed = fmt.Errorf("the create request failed: %w", brief{err})
	}
	return nil, errAgain
}

// announces returns the hook that announces each attempt and renews the announcement during the attempt. It calls cut
// if the attempt must end because another process may send.
func (s *slot) announces(cut context.CancelCauseFunc) aicontent.CallOption {
	return aicontent.WithAttemptHook(func(
		ctx context.Context, _ aicontent.Attempt,
	) (func(aicontent.AttemptResult), error) {
		if err := s.announce(ctx, time.Time{}); err != nil {
			return nil, err
		}
		limit := time.AfterFunc(cutOff-time.Since(s.seen), func() { cut(errCut) })
		renewing, stop := context.WithCancel(ctx)
		var renewals sync.WaitGroup
		renewals.Go(func() { s.renew(renewing, limit, cut) })
		return func(aicontent.AttemptResult) {
			stop()
			renewals.Wait()
			limit.Stop()
		}, nil
	})
}

// announce writes the time until which the record of an attempt may appear.
func (s *slot) announce(ctx context.Context, wrote time.Time) error {
	next := s.blank
	next.Wrote, next.Until, next.Form = wrote, now().Add(margin+s.settle), s.form
	return s.put(ctx, cutOff, next)
}

// renew announces the attempt again and again until the context ends. A renewal keeps the time of the announcement,
// from which other calls count their looks. If another process has found a record, it is the record of this attempt,
// so the attempt goes on.
func (s *slot) renew(ctx context.Context, limit *time.Timer, cut context.CancelCauseFunc) {
	defer func() { recover() }() // because no caller can recover from a panic of the ledger here
	wrote := s.entry.Wrote
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(renewal):
		}
		switch err := s.announce(ctx, wrote); {
		case err == nil:
			limit.Reset(cutOff - time.Since(s.seen))
		case err == errAgain && s.entry.Made.IsZero():
			cut(err)
			return
		case err == errAgain:
			limit.Stop()
			return
		}
	}
}
