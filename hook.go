package aicontent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"
)

// Attempt is an attempt that is about to be made: see [WithAttemptHook].
type Attempt struct {
	Operation Operation
	Method    string
	Path      string // as sent, without the query
	Number    int    // of the attempt, from 1; each search of WithOnce counts on its own
	Search    bool   // [WithOnce] looks for the record
}

// AttemptResult is what came of an attempt.
type AttemptResult struct {
	StatusCode int           // 0 if no response came
	RequestID  string        // from the usual headers; empty where none was sent
	Outcome    Outcome       // of this attempt
	Err        error         // nil for success
	BytesSent  int64         // of the request; 0 where the connection does not tell
	Duration   time.Duration // until the response was read, without waits for the limiter and the key
	WillRetry  bool          // another attempt follows after Pause; false if WithOnce searches first
	Pause      time.Duration
	Budget     int // retries left of [WithRetryBudget]; -1 for no limit
}

// WithAttemptHook calls hook before each attempt, those of searches and downloads included: for metrics, an audit
// log, a limit on what is spent, or a circuit breaker. It is called after the rate limiter and the key source, in the
// goroutine of the call, or of several with [WithReadAhead]. Nil is an error. A hook that blocks holds up its call.
//
// An error refuses the attempt, which is then not made, not counted and not retried. Before the first attempt it is
// the cause of a [*TransportError] with the outcome NotSent; later the call ends with the error of its last attempt,
// which also unwraps to it. A circuit breaker should let searches pass: what they would find may have been billed.
//
// Done, if it is not nil, is called once with the result, before the pause that precedes the next attempt; also if
// the attempt panics, or if another hook refuses it. Several hooks are called in the order in which they were given,
// and what they return in reverse.
func WithAttemptHook(hook func(ctx context.Context, a Attempt) (done func(AttemptResult), err error)) Option {
	return clientOption{
		check(hook != nil, "attempt_hook", nil, "must not be nil"),
		func(c *Client) { c.hooks = append(c.hooks, hook) },
	}
}

type attemptHook = func(context.Context, Attempt) (func(AttemptResult), error)

// begin asks the hooks for the n-th attempt of r. Done tells them what came of it.
func (c *Client) begin(ctx context.Context, r *request, n int) (done func(AttemptResult), err error) {
	if len(c.hooks) == 0 {
		return func(AttemptResult) {}, nil
	}
	a := Attempt{Operation: r.op.name, Method: r.method, Path: r.url.EscapedPath(), Number: n, Search: r.search}
	dones := make([]func(AttemptResult), 0, len(c.hooks))
	done = func(res AttemptResult) {
		for _, one := range slices.Backward(dones) {
			if one != nil {
				one(res)
			}
		}
	}
	for _, hook := range c.hooks {
		one, err := hook(ctx, a)
		if err != nil {
			done(AttemptResult{Outcome: OutcomeNotSent, Err: err, Budget: c.budget.retries()})
			return nil, err
		}
		dones = append(dones, one)
	}
	return done, nil
}

// errPanic is the error of an attempt that ended in a panic.
var errPanic = errors.New("the attempt ended in a panic")

// end tells the hooks what came of the last attempt, and what follows.
func (h *history) end(c *Client, r *request, pause time.Duration, again bool) {
	l := h.last
	res := AttemptResult{
		StatusCode: l.status, RequestID: l.requestID, Outcome: l.outcome, BytesSent: l.sent, Duration: l.took,
		WillRetry: again, Pause: pause, Budget: c.budget.retries(),
	}
	if l.err != nil {
		res.Err = l.err.with(summary{op: r.op.name, host: r.url.Host, outcome: l.outcome, attempts: h.count})
	}
	l.done(res)
}

// logAttempts is a hook that logs each attempt. What the service said stays out of the log.
func logAttempts(l *slog.Logger) attemptHook {
	return func(ctx context.Context, a Attempt) (func(AttemptResult), error) {
		if !l.Enabled(ctx, slog.LevelDebug) {
			return nil, nil
		}
		return func(res AttemptResult) {
			attrs := []any{
				"op", string(a.Operation), "method", a.Method, "path", a.Path, "attempt", a.Number,
				"status", res.StatusCode, "request_id", res.RequestID, "result", word(res.StatusCode, res.Err),
				"outcome", res.Outcome.String(), "took", res.Duration, "sent", res.BytesSent, "budget", res.Budget,
			}
			if res.WillRetry {
				attrs = append(attrs, "pause", res.Pause)
			}
			l.DebugContext(ctx, "aicontent attempt", attrs...)
		}, nil
	}
}

// word is what the log and the errors of later attempts say of an attempt: its status, or what failed, without
// addresses.
func word(status int, err error) string {
	switch {
	case err == nil:
		return "ok"
	case status/100 == 2:
		return strconv.Itoa(status) + " unreadable"
	case status != 0:
		return strconv.Itoa(status)
	}
	return failureWord(err)
}
