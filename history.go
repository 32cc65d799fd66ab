package aicontent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// send makes attempts until one succeeds or no other may follow. The error of attempt says why it was not made.
func (c *Client) send(ctx context.Context, r *request, attempt func(*history) (*exchange, error)) (err error) {
	h := newHistory()
	err = errPanic // until it has ended
	defer func() { h.conclude(c, r, err) }()
	defer h.panicked(c)
	for ctx.Err() == nil {
		x, err := attempt(h)
		if err != nil {
			return h.fail(r, err)
		}
		h.add(x)
		pause, again := h.next(c, r)
		h.report(c, r, pause, again)
		switch {
		case x.ok:
			return nil
		case !again:
			return h.fail(r, h.stopped)
		}
		sleep(ctx, pause)
	}
	return h.fail(r, contextError(ctx))
}

// history is what the attempts of a call have come to so far.
type history struct {
	count    int
	last     *exchange
	worst    Outcome
	latest   *exchange             // the latest attempt that got a response; nil for none
	dones    []func(AttemptResult) // of the hooks that were asked about the attempt under way
	began    time.Time             // when they were asked
	key      redact.Key            // with which a 401 was answered, until it is used; empty for none
	renewed  bool                  // a 401 has been answered so
	stopped  error                 // why no other attempt follows, if that is not the attempt itself
	taken    int                   // from the retry budget, for attempts that were made
	reserved bool                  // another one was taken, for the next attempt
}

func newHistory() *history { return &history{worst: noAttempt} }

// add takes the next attempt.
func (h *history) add(x *exchange) {
	if x.status != 0 {
		h.latest = x
	}
	h.count++
	if h.reserved {
		h.taken++
		h.reserved = false
	}
	h.last = x
	h.worst = worse(h.worst, x.outcome)
}

// lost reports whether the service may have executed an attempt that got no response.
func (h *history) lost() bool { return h.count > 0 && h.worst == OutcomeUnknown }

// counted is how many attempts count for MaxAttempts: all but the one with a new key.
func (h *history) counted() int {
	if h.renewed {
		return h.count - 1
	}
	return h.count
}

// next decides on another attempt, and takes it from the budget. A wait that the service asked for costs nothing.
func (h *history) next(c *Client, r *request) (time.Duration, bool) {
	x := h.last
	pause, may := r.policy.next(h.counted(), x.follow, x.retryAfter, rand.Float64())
	switch {
	case !may:
		if x.follow == followRetry && x.retryAfter > r.policy.MaxRetryAfter {
			x.note = fmt.Sprintf("the service asks to wait %v, the retry policy allows %v (MaxRetryAfter)",
				x.retryAfter, r.policy.MaxRetryAfter)
		}
		return 0, false
	case x.follow == followRenew && (!c.rotates || h.renewed):
		return 0, false
	case r.body != nil && !r.body.Replayable():
		x.note = noReplay
		return 0, false
	case endsWithin(x.ctx, pause):
		h.stopped = cmp.Or(contextError(x.ctx), context.DeadlineExceeded)
		return 0, false
	case x.follow == followRenew:
		return 0, h.renew(c)
	case x.retryAfter > 0:
		return pause, true
	}
	h.reserved = c.budget.take()
	if !h.reserved {
		x.note = "not retried: the client's retry budget is used up (WithRetryBudget)"
	}
	return pause, h.reserved
}

const noReplay = "not retried: the file's reader can be read only once, or a Read of it has not returned"

// renew asks the key source for another key than the one that was refused, once for a call.
func (h *history) renew(c *Client) bool {
	h.renewed = true
	var err error
	if h.key, err = c.currentKey(h.last.ctx); err != nil {
		h.stopped = h.last.key.Error(err) // which may name the key that was refused
	}
	return err == nil && h.key != h.last.key
}

// conclude ends a call: what it took from the budget comes back with success, else what it took for an attempt that was
// not made.
func (h *history) conclude(c *Client, r *request, err error) {
	switch {
	case err == nil:
		c.budget.give(max(h.taken*budgetUnit, 1)) // a tenth of a retry for a success at once
	case h.reserved:
		c.budget.give(budgetUnit)
	}
	if r.response != nil {
		*r.response = h.response()
	}
}

// response returns the last response of the call, or nil if none came.
func (h *history) response() *Response {
	x := h.latest
	if x == nil {
		return nil
	}
	return &Response{
		StatusCode: x.status, Header: x.key.Header(x.header), Body: bytes.Clone(x.key.Bytes(x.body)),
		RequestID: x.requestID, Attempts: h.count,
	}
}

// fail makes the error of the whole call. Stopped is what ended the wait for another attempt, or all of it; nil for
// nothing.
func (h *history) fail(r *request, stopped error) error {
	s := summary{op: r.op.name, host: r.url.Host, outcome: h.worst, attempts: h.count}
	if h.count == 0 {
		s.temporary = !errors.Is(stopped, ErrFile)
		return r.failed(stopped).with(s)
	}
	add := func(holds bool, detail string) {
		if holds {
			s.details = append(s.details, detail)
		}
	}
	s.stopped, s.temporary = stopped, h.last.temporary || stopped != nil
	add(stopped != nil, fmt.Sprintf("not retried: %v", stopped))
	add(h.last.note != "", h.last.note)
	add(h.count > 1, fmt.Sprintf("attempt %d of %d", h.count, max(h.count, r.policy.MaxAttempts)))
	add(h.last.requestID != "", "request "+h.last.requestID)
	add(h.last.status == 0, "host "+s.host)
	if done := r.op.done; done != "" {
		add(h.worst == OutcomeUnknown, "outcome unknown: it may have been "+done)
		add(h.worst == OutcomeDone, "outcome done: it was "+done)
		add(h.worst == OutcomeNotSent, "nothing was "+done)
	}
	return h.last.err.with(s)
}

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

// report tells the hooks what came of the last attempt, and what follows.
func (h *history) report(c *Client, r *request, pause time.Duration, again bool) {
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

// endsWithin reports whether the context has ended, or its deadline comes before the pause is over.
func endsWithin(ctx context.Context, pause time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(deadline) < pause
}

// sleep waits, unless the context ends first.
func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
