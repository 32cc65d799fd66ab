package once

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

const (
	margin  = 2 * time.Minute // that the ledger has in advance while a request is under way
	cutOff  = margin - 15*time.Second
	beat    = 30 * time.Second
	ownTime = 5 * time.Second // for the ledger after the call's context has ended
)

// send is rules 3 and 4: one Store call. The error is overtaken if the record must be looked for.
func (c *call[T]) send(ctx context.Context, create create[T]) (*T, error) {
	sending, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	record, err := create(sending, append(c.opts, c.announces(cut))...)
	outcome, retryable := aicontent.OutcomeOf(err), aicontent.Retryable(err)
	if ctx.Err() == nil && errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: %v", context.Cause(sending), err)
	}
	c.cause = err
	c.paid = outcome == aicontent.OutcomeExecuted || outcome == aicontent.OutcomeUnknown
	result := entry{Until: time.Now().Add(c.settle), Form: c.form}
	switch {
	case !c.paid:
		return c.refused(ctx, outcome, retryable, err)
	case outcome == aicontent.OutcomeUnknown:
		_ = c.write(ctx, result)
		e, ok := errors.AsType[*aicontent.APIError](err)
		switch {
		case !ok:
		case e.StatusCode == 501 || e.StatusCode == 505:
			return nil, c.fail(false, err)
		case e.StatusCode/100 == 4 && e.StatusCode != 408 && e.StatusCode != 499: // a firewall's page
			return nil, c.fail(true, err)
		}
		return nil, overtaken{}
	}
	result.Made = time.Now()
	if err == nil {
		result.ID, result.Named = c.facts(record).id, nameHash(c.facts(record).name)
	}
	if c.made = true; result.ID == "" {
		_ = c.write(ctx, result)
		return nil, overtaken{}
	}
	if result.Named != "" && result.Named != nameHash(c.name) {
		const text = "once: the service changed the name, so it would not find a record whose response is lost"
		c.log.WarnContext(ctx, text, "now", c.facts(record).name)
	}
	result.Until = time.Time{}
	_ = c.write(ctx, result)
	return record, nil
}

// refused ends a call that created nothing. If names are unique, another call may have been faster.
func (c *call[T]) refused(ctx context.Context, outcome aicontent.Outcome, retryable bool, err error) (*T, error) {
	e, ok := errors.AsType[*aicontent.APIError](err)
	taken := ok && (e.StatusCode == 409 || e.StatusCode == 422 && e.Fields["name"] != nil)
	if taken {
		retryable = e.StatusCode == 409
		record, failed := c.search(ctx)
		if record != nil || c.made {
			return record, failed
		}
	}
	return nil, c.none(ctx, outcome, retryable, err)
}

// none is rule 5: the error that says that there is no record, and none will be, and why.
func (c *call[T]) none(ctx context.Context, outcome aicontent.Outcome, retryable bool, why error) error {
	var err error
	if c.noted {
		err = c.write(ctx, entry{})
	} else {
		e, version, failed := c.read(context.WithoutCancel(ctx), ownTime)
		if err = failed; version != c.version && !e.blank() || errors.Is(err, errEntry) {
			err = overtaken{e}
		}
	}
	switch {
	case changed(err):
		return err
	case err != nil:
		return c.fail(true, err)
	}
	c.entry = entry{}
	e := c.fail(retryable, why)
	e.outcome = outcome
	return e
}

// announces is the hook that announces each attempt, and keeps the announcement ahead of it while it is under way. The
// attempt is cut off when that fails.
func (c *call[T]) announces(cut context.CancelCauseFunc) aicontent.CallOption {
	type done = func(aicontent.AttemptResult)
	return aicontent.WithAttemptHook(func(ctx context.Context, _ aicontent.Attempt) (done, error) {
		first := time.Now()
		began, err := c.announce(ctx, first)
		if err != nil {
			return nil, err
		}
		limit := time.AfterFunc(time.Until(began.Add(cutOff)), func() { cut(errCut) })
		beating, stop := context.WithCancel(ctx)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			c.beat(beating, first, limit, cut)
		}()
		return func(aicontent.AttemptResult) {
			stop()
			<-stopped
			limit.Stop()
		}, nil
	})
}

// announce notes until when the record of a request under way may appear, and returns when it began to.
func (c *call[T]) announce(ctx context.Context, first time.Time) (began time.Time, err error) {
	began = time.Now()
	err = c.put(ctx, cutOff, entry{Wrote: first, Until: began.Add(margin + c.settle), Form: c.form})
	c.noted = c.noted || c.entry.Call == c.token
	return began, err
}

// beat announces the request again and again until the context ends. A record that another process has found is that of
// this request, which is paid for.
func (c *call[T]) beat(ctx context.Context, first time.Time, limit *time.Timer, cut context.CancelCauseFunc) {
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		began, err := c.announce(ctx, first)
		switch other, lost := err.(overtaken); {
		case lost && !other.entry.Made.IsZero():
			limit.Stop()
			return
		case lost:
			cut(err)
			return
		case err == nil:
			limit.Reset(time.Until(began.Add(cutOff)))
		}
	}
}

// overtaken says that another round must follow, as another call has written the entry.
type overtaken struct{ entry entry }

func (overtaken) Error() string { return "another call has written the ledger's entry" }

func changed(err error) bool {
	_, ok := err.(overtaken)
	return ok
}

// write is put, even if the call's context has ended.
func (c *call[T]) write(ctx context.Context, next entry) error {
	err := c.put(context.WithoutCancel(ctx), ownTime, next)
	if err != nil {
		c.log.WarnContext(ctx, "once: the ledger was not written", "error", err)
	}
	return err
}

// put is rule 7: it writes the entry in place of the version that the call has. One that took longer than the limit is
// no success, as it may be replaced already.
func (c *call[T]) put(ctx context.Context, limit time.Duration, next entry) (err error) {
	own, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	next.Format, next.Collection, next.Name, next.Call = format, c.collection, c.name, c.token
	if next.Wrote.IsZero() {
		next.Wrote = time.Now()
	}
	next.Wrote, next.Until, next.Made = next.Wrote.UTC(), next.Until.UTC(), next.Made.UTC()
	data := next.encode()
	for range 3 { // a ledger that fails once or twice costs nothing
		version, failed := c.ledger.Put(own, c.key, data, c.version)
		if failed == nil {
			c.set(next, version)
			return context.Cause(own)
		}
		err = ledgerError(ctx, "written", failed)
		now, version, failed := c.ledger.Get(own, c.key)
		e, unreadable := decode(now, version)
		switch {
		case failed != nil:
			return err
		case bytes.Equal(now, data):
			c.set(next, version)
			return context.Cause(own)
		case version != c.version && (unreadable != nil || e.Call != c.token):
			return overtaken{e}
		}
		c.version = version // of an earlier Put of this call that came late, or the same
	}
	return err
}
