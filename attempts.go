package aicontent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"
)

// failure is an error of this package that one attempt has come to.
type failure interface {
	error
	judge() fate
	story() *trail
	reason() string
}

// history is what the attempts of a call have come to so far.
type history struct {
	last    failure // nil before the first
	worst   fate
	reasons []string
	count   int
	key     string // of the last attempt
	renewed bool   // a 401 has been answered with another key
}

// send makes attempts until one succeeds or no more may follow.
func (c *Client) send(ctx context.Context, x *exchange) error {
	policy := x.retry.complete()
	if x.progress != nil && x.payload != nil && x.payload.file != nil {
		x.meter = startMeter(x.progress, x.payload.fileSize)
		defer x.meter.stop()
	}
	var past history
	for {
		if x.lookedFor() && (past.last == nil || past.last.judge() < done) {
			patience := policy.SettleTime
			if past.last == nil {
				// Nothing is at stake yet.
				patience = 0
			}
			if found, err := c.look(ctx, x, patience, false); found || err != nil {
				return past.giveUp(x, policy, err)
			}
		}
		key, err := c.token(ctx)
		if err != nil {
			return past.giveUp(x, policy, err)
		}
		if past.count > 0 && errors.Is(past.last, ErrUnauthorized) && key == past.key {
			return past.finish(policy)
		}
		past.key = key
		start := time.Now()
		failed := c.attempt(ctx, x, past.count+1, key)
		pause, again := past.judge(c, x, policy, failed)
		c.log(ctx, x, &past, failed, time.Since(start), pause, again)
		if failed == nil || past.deleted(x) {
			return nil
		}
		if x.lookedFor() && failed.judge() >= done && !failed.story().final {
			found, err := c.look(ctx, x, policy.SettleTime, true)
			if found || err != nil {
				return past.giveUp(x, policy, err)
			}
			pause = 0
		}
		if !again {
			return past.finish(policy)
		}
		if err := sleep(ctx, pause); err != nil {
			return past.giveUp(x, policy, err)
		}
	}
}

// judge takes the failure of an attempt into the history, and says whether and after which pause another may follow.
func (h *history) judge(c *Client, x *exchange, policy RetryPolicy, failed failure) (time.Duration, bool) {
	h.count++
	if failed == nil {
		return 0, false
	}
	if h.last != nil {
		h.reasons = append(h.reasons, h.last.reason())
	}
	h.last = failed
	h.worst = max(h.worst, failed.judge())
	if h.count >= policy.MaxAttempts || x.payload != nil && !x.payload.again() {
		return 0, false
	}
	var api *APIError
	if errors.As(failed, &api) && api.StatusCode == http.StatusUnauthorized && c.rotates && !h.renewed {
		h.renewed = true
		return 0, true
	}
	lost := x.lookedFor() && failed.judge() == unknown && !failed.story().final
	if !lost && !repeatable(failed, x.store()) {
		return 0, false
	}
	if api != nil && api.RetryAfter > 0 {
		return api.RetryAfter, api.RetryAfter <= policy.MaxRetryAfter
	}
	return backoff(policy, h.count, rand.Float64()), true
}

// deleted reports whether a delete that may have been carried out before now finds nothing.
func (h *history) deleted(x *exchange) bool {
	return x.method == http.MethodDelete && h.count > 1 && h.worst == unknown && errors.Is(h.last, ErrNotFound)
}

// finish makes the last failure the error of the whole call.
func (h *history) finish(policy RetryPolicy) error {
	t := h.last.story()
	t.fate = h.worst
	if h.count > 1 {
		t.attempt = fmt.Sprintf("attempt %d of %d", h.count, policy.MaxAttempts)
		t.earlier = h.reasons
	}
	if e, ok := h.last.(*TransportError); ok {
		e.Attempts = h.count
	}
	return h.last
}

// giveUp ends a call between two attempts, with the last failure where there was one. A nil err is no failure.
func (h *history) giveUp(x *exchange, policy RetryPolicy, err error) error {
	var twice *duplicateError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &twice):
		twice.fate = max(h.worst, notSent)
		return twice
	case h.last == nil:
		e := &TransportError{Method: x.method, Path: x.url.EscapedPath(), Err: err}
		e.op, e.fate = x.op, notSent
		return e
	}
	h.last.story().ended = err
	return h.finish(policy)
}

// sleep waits, and not at all where the context would end it: the caller learns at once.
func sleep(ctx context.Context, pause time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
		return context.DeadlineExceeded
	}
	if pause <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ended(ctx)
	case <-timer.C:
		return nil
	}
}

// log writes what an attempt came to. What the service said stays out of it.
func (c *Client) log(ctx context.Context, x *exchange, past *history, failed failure, took, pause time.Duration, again bool) {
	if c.logger == nil || !c.logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("op", x.op), slog.String("method", x.method), slog.String("path", x.url.EscapedPath()),
		slog.Int("attempt", past.count), slog.Duration("took", took),
	}
	if failed == nil {
		attrs = append(attrs, slog.String("result", "ok"))
	} else {
		attrs = append(attrs, slog.String("result", failed.reason()), slog.String("outcome", failed.judge().outcome().String()))
	}
	if again {
		attrs = append(attrs, slog.Duration("pause", pause))
	}
	c.logger.LogAttrs(ctx, slog.LevelDebug, "aicontent attempt", attrs...)
}

func (e *APIError) reason() string { return fmt.Sprint(e.StatusCode) }
func (e *DecodeError) reason() string {
	return fmt.Sprintf("%d with an unreadable answer", e.StatusCode)
}
func (e *TransportError) reason() string { return fmt.Sprint(e.Err) }
