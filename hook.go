package aicontent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// Attempt is an attempt about to be made: see [WithAttemptHook].
type Attempt struct {
	Operation Operation
	Method    string
	Path      string // as sent, without the query
	Number    int    // of the attempt, from 1
}

// AttemptResult is the result of an attempt.
type AttemptResult struct {
	StatusCode int           // 0 if no response came
	RequestID  string        // from the usual headers; empty if none was sent
	Outcome    Outcome       // of this attempt
	Err        error         // nil for success
	BytesSent  int64         // of the request; 0 if the connection does not tell
	Duration   time.Duration // until the response was read, without waits for the limiter and the key
	WillRetry  bool          // the same request follows after Pause
	Pause      time.Duration
	Budget     int // retries left of [WithRetryBudget]; -1 for no limit
}

// WithAttemptHook calls hook before each attempt, including searches and downloads: for metrics, an audit log, a
// spending limit or a circuit breaker. It is called after the rate limiter and the key source, in the call's goroutine.
// Hooks given to a call are called after those given to [NewClient]. A hook that
// blocks delays its call, and one that stores the name of its own call with package once waits for itself. Nil is an
// error.
//
// If hook returns an error, the attempt is not made, not counted and not retried. Before the first attempt, the call
// returns a [*TransportError] that wraps the error, with the outcome NotSent; later, it returns the error of its last
// attempt, which then wraps both. A circuit breaker should let the searches of
// package once pass, which once.IsSearch tells: refusing one ends the call, though the record that it would find may
// have been billed.
//
// If done is not nil, it is called once with the result, before the pause for the next attempt, even if the attempt or
// a later hook panics, or a later hook refuses the attempt. Hooks are called in the order in which they were given,
// their done functions in reverse.
func WithAttemptHook(hook func(ctx context.Context, a Attempt) (done func(AttemptResult), err error)) CallOption {
	return callOption{
		check(hook != nil, "attempt_hook", nil, "must not be nil"),
		func(s *settings) { s.hooks = append(slices.Clip(s.hooks), hook) },
	}
}

type attemptHook = func(context.Context, Attempt) (func(AttemptResult), error)

// errPanic is the error of an attempt, or of a call, that ended in a panic.
var errPanic = errors.New("the attempt ended in a panic")

// begin asks the hooks for the next attempt of r. Those that were asked are told of it by tell.
func (h *history) begin(ctx context.Context, c *Client, r *request) error {
	hooks := slices.Concat(r.hooks, c.log)
	if len(hooks) == 0 {
		return nil
	}
	h.began = time.Now()
	a := Attempt{r.op.name, r.method, r.url.EscapedPath(), h.count + 1}
	for _, hook := range hooks {
		done, err := hook(ctx, a)
		if err != nil {
			h.tell(c, AttemptResult{Outcome: noAttempt, Err: err})
			return err
		}
		if done != nil {
			h.dones = append(h.dones, done)
		}
	}
	return nil
}

// tell tells the hooks what came of the attempt, each of them once, even if one panics.
func (h *history) tell(c *Client, res AttemptResult) {
	if len(h.dones) == 0 {
		return
	}
	last := len(h.dones) - 1
	done := h.dones[last]
	h.dones = h.dones[:last]
	defer h.tell(c, res)
	res.Budget = c.budget.retries()
	done(res)
}

// end tells the hooks what came of the last attempt, and what follows.
func (h *history) end(c *Client, r *request, pause time.Duration, again bool) {
	if len(h.dones) == 0 {
		return
	}
	x := h.last
	res := AttemptResult{
		StatusCode: x.status, RequestID: x.requestID, Outcome: x.outcome, BytesSent: x.sent, Duration: x.took,
		WillRetry: again, Pause: pause,
	}
	if x.err != nil {
		s := summary{op: r.op.name, host: r.url.Host, outcome: x.outcome, temporary: x.temporary, attempts: h.count}
		res.Err = x.err.with(s)
	}
	h.tell(c, res)
}

// panicked tells the hooks of an attempt that ended in a panic.
func (h *history) panicked(c *Client) {
	if len(h.dones) > 0 {
		h.tell(c, AttemptResult{Err: errPanic, Duration: time.Since(h.began)})
	}
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
				"status", res.StatusCode, "request_id", res.RequestID, "result", result(res),
				"outcome", res.Outcome.String(), "took", res.Duration, "sent", res.BytesSent, "budget", res.Budget,
			}
			if res.WillRetry {
				attrs = append(attrs, "pause", res.Pause)
			}
			l.DebugContext(ctx, "aicontent attempt", attrs...)
		}, nil
	}
}

// result is what the log says of an attempt: its status, or what failed.
func result(res AttemptResult) string {
	switch {
	case res.Err == nil:
		return "ok"
	case res.StatusCode/100 == 2:
		return strconv.Itoa(res.StatusCode) + " unreadable"
	case res.StatusCode != 0:
		return strconv.Itoa(res.StatusCode)
	}
	err := res.Err
	if e, ok := errors.AsType[*TransportError](err); ok {
		err = e.Err
	}
	return redact.WithoutQueries(oneLine.Replace(err.Error()))
}
