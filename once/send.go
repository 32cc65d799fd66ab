package once

import (
	"context"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// send is rules 3 and 4: one Store call.
func (c *call[T]) send(ctx context.Context, create create[T]) (*T, step, error) {
	sending, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	record, err := create(sending, append(c.opts, c.announces(cut))...)
	ended := time.Now()
	if err == nil && factsOf(record).id != "" {
		return c.created(ctx, record, ended), over, nil
	}
	outcome, retryable, status, taken := aicontent.OutcomeOf(err), aicontent.Retryable(err), 0, false
	if e, ok := err.(*aicontent.APIError); ok {
		status, taken = e.StatusCode, e.StatusCode == 409 || e.StatusCode == 422 && e.Fields["name"] != nil
	}
	why := context.Cause(sending)
	if err != nil && why != nil && ctx.Err() == nil {
		err = foreign{err, why}
	}
	c.cause = err
	next := entry{Until: ended.Add(c.settle), Form: c.form}
	switch {
	case outcome == aicontent.OutcomeExecuted: // without an ID
		c.made, next.Made = true, ended
	case outcome == aicontent.OutcomeUnknown:
	case why == errChanged && !c.announced:
		return nil, changed, nil
	case taken:
		c.entry.Form = "" // because the record has the form of another request
		record, next, found := c.search(ctx)
		if record != nil {
			return record, next, found
		}
		if found != nil && aicontent.OutcomeOf(found) == aicontent.OutcomeExecuted {
			_ = c.write(ctx, entry{})
			return nil, next, found
		}
		return c.none(ctx, true, err)
	default:
		return c.none(ctx, retryable, err)
	}
	c.sent, c.paused = true, time.Time{}
	_ = c.write(ctx, next)
	switch {
	case c.made:
	case status == 501, status == 505:
		return nil, over, c.fail(false, err)
	case status/100 == 4 && status != 408 && status != 499: // a firewall's page
		return nil, over, c.fail(true, err)
	}
	return nil, again, nil
}

// created writes the new record to the ledger.
func (c *call[T]) created(ctx context.Context, record *T, at time.Time) *T {
	c.sent, c.made = true, true
	f := factsOf(record)
	next := entry{Made: at, ID: f.id, Named: nameHash(f.name), Form: c.form}
	c.entry = next
	if next.Named != "" && next.Named != nameHash(c.name) {
		const text = "once: the service changed the name, so it would not find a record whose response is lost"
		c.log.WarnContext(ctx, text, "now", f.name)
	}
	_ = c.write(ctx, next)
	return record
}

// announces returns the hook that announces each attempt and renews the announcement during the attempt. It calls cut
// if the attempt must end because another process may send.
func (c *call[T]) announces(cut context.CancelCauseFunc) aicontent.CallOption {
	type done = func(aicontent.AttemptResult)
	return aicontent.WithAttemptHook(func(ctx context.Context, _ aicontent.Attempt) (done, error) {
		began, _, err := c.announce(ctx)
		if err != nil {
			if err == errChanged {
				cut(err)
			}
			return nil, err
		}
		limit := time.AfterFunc(time.Until(began.Add(cutOff)), func() { cut(errCut) })
		renewing, stop := context.WithCancel(ctx)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			defer func() {
				if p := recover(); p != nil { // because no caller could recover from a panic of the ledger here
					c.log.WarnContext(ctx, "once: the ledger panicked", "panic", p)
				}
			}()
			c.renew(renewing, limit, cut)
		}()
		return func(aicontent.AttemptResult) {
			stop()
			<-stopped
			limit.Stop()
		}, nil
	})
}

// announce writes the time until which the record of an attempt may appear. It returns the time at which the write
// began and, with errChanged, the entry of another call.
func (c *call[T]) announce(ctx context.Context) (began time.Time, other entry, err error) {
	began = time.Now()
	other, err = c.put(ctx, cutOff, entry{Until: began.Add(margin + c.settle), Form: c.form})
	c.announced = c.announced || c.entry.Call == c.token
	return began, other, err
}

// renew announces the attempt again and again until the context ends. If another process has found a record, it is the
// record of this attempt, so the attempt goes on.
func (c *call[T]) renew(ctx context.Context, limit *time.Timer, cut context.CancelCauseFunc) {
	ticks := time.NewTicker(renewal)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		switch began, other, err := c.announce(ctx); {
		case err == nil:
			limit.Reset(time.Until(began.Add(cutOff)))
		case err == errChanged && other.Made.IsZero():
			cut(err)
			return
		case err == errChanged:
			limit.Stop()
			return
		}
	}
}
