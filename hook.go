package aicontent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/aicontent/aicontent-go/internal/engine"
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
	BytesSent  int64         // bytes of the file that the transport has taken; 0 for a form
	Duration   time.Duration // until the response was read, without waits for the limiter and the key
	WillRetry  bool          // the same request follows after Pause
	Pause      time.Duration
	Budget     int // retries left of [WithRetryBudget]; -1 for no limit
}

// WithAttemptHook calls hook before each attempt, including searches and downloads: for metrics, an audit log, a
// spending limit or a circuit breaker. It is called after the rate limiter and the key source, in the call's goroutine,
// and delays the call while it blocks. A hook that stores the name of its own call with package once deadlocks. Nil is
// an error.
//
// If hook returns an error, the attempt is not made, and the call ends: before the first attempt with a [*CallError]
// that wraps the error, later with the error of its last attempt, which then wraps both. A circuit breaker should let
// the searches of package once pass, which once.IsSearch tells: they may find a record that was billed.
//
// If done is not nil, it is called once with the result, before the pause for the next attempt, even after a panic or
// if a later hook refuses the attempt. Hooks given to NewClient come first; done functions are called in reverse order.
// A panic of done, or of a logger, ends the call in its goroutine, and the result is lost.
func WithAttemptHook(hook func(ctx context.Context, a Attempt) (done func(AttemptResult), err error)) CallOption {
	return callOption{
		check(hook != nil, "attempt_hook", nil, "must not be nil"),
		func(s *settings) { s.hooks = append(slices.Clip(s.hooks), hook) },
	}
}

type attemptHook = func(context.Context, Attempt) (func(AttemptResult), error)

// hooksOf returns the hooks of a call for the engine.
func (c *Client) hooksOf(req *request) (list []engine.Hook) {
	for _, hook := range slices.Concat(req.set.hooks, c.log) {
		list = append(list, func(ctx context.Context, number int) (func(engine.Result), error) {
			path := c.lastKeys().Text(req.sent.URL.EscapedPath())
			done, err := hook(ctx, Attempt{req.op.name, req.sent.Method, path, number})
			if done == nil || err != nil {
				return nil, err
			}
			return func(r engine.Result) { done(c.attemptResult(req, r)) }, nil
		})
	}
	return list
}

// attemptResult returns the result of an attempt for a hook.
func (c *Client) attemptResult(req *request, r engine.Result) AttemptResult {
	res := AttemptResult{
		StatusCode: r.Reply.Status, RequestID: r.Reply.RequestID(), Outcome: Outcome(r.Verdict.Outcome),
		BytesSent: r.FileSent, Duration: r.Took, WillRetry: r.Again, Pause: r.Pause, Budget: r.Budget,
	}
	switch {
	case r.Verdict.OK:
	case r.Number == 0: // it was not made, or panicked
		res.Err = shield(r.Reply.Keys, r.Err)
	default:
		res.Err = c.newError(req, ending{
			outcome: Outcome(r.Verdict.Outcome), retryable: r.Verdict.Retryable, last: r.Attempt,
			noReply: r.Reply.Status == 0,
		})
	}
	return res
}

// logAttempts returns a hook that logs each attempt, or none without a logger.
func logAttempts(l *slog.Logger) []attemptHook {
	if l == nil {
		return nil
	}
	return []attemptHook{func(ctx context.Context, a Attempt) (func(AttemptResult), error) {
		return func(res AttemptResult) {
			attrs := []any{
				"op", string(a.Operation), "method", a.Method, "path", a.Path, "attempt", a.Number,
				"status", res.StatusCode, "request_id", res.RequestID, "result", loggedResult(res),
				"outcome", res.Outcome.String(), "took", res.Duration, "sent", res.BytesSent, "budget", res.Budget,
			}
			if res.WillRetry {
				attrs = append(attrs, "pause", res.Pause)
			}
			l.DebugContext(ctx, "aicontent attempt", attrs...)
		}, nil
	}}
}

// loggedResult returns the status of an attempt or, without a response, its error. A message of the service stays out
// of the log.
func loggedResult(res AttemptResult) string {
	call, ok := errors.AsType[*CallError](res.Err)
	switch {
	case res.Err == nil:
		return "ok"
	case res.StatusCode/100 == 2:
		return strconv.Itoa(res.StatusCode) + " unreadable"
	case res.StatusCode != 0:
		return strconv.Itoa(res.StatusCode)
	case ok:
		return call.Err.Error() // without the operation and the note
	}
	return res.Err.Error()
}
