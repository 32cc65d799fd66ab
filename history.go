package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// send makes attempts until one succeeds or no other may follow. The error of attempt says why it was not made.
func (k *call) send(attempt func(*exchange) error) (err error) {
	err = errPanic // until it has ended
	defer func() { k.conclude(err) }()
	defer k.panicked()
	for k.ctx.Err() == nil {
		x := k.newExchange()
		if err := attempt(x); err != nil {
			return k.fail(err)
		}
		k.add(x)
		pause, again := k.next()
		k.report(pause, again)
		switch {
		case x.ok:
			return nil
		case !again:
			return k.fail(k.stopped)
		}
		sleep(k.ctx, pause)
	}
	return k.fail(contextError(k.ctx))
}

// call is a call of a method: what it asks, and what its attempts have come to so far.
type call struct {
	request
	ctx    context.Context
	client *Client

	first    exchange // of the first attempt, so that most calls allocate once
	count    int
	last     *exchange
	worst    Outcome
	latest   *exchange             // the latest attempt that got a response; nil for none
	dones    []func(AttemptResult) // of the hooks that were asked about the attempt under way
	began    time.Time             // when they were asked
	bearer   string                // with another key, after a 401, until it is used; empty for none
	renewed  bool                  // a 401 has been answered so
	stopped  error                 // why no other attempt follows, if that is not the attempt itself
	taken    int                   // from the retry budget, for attempts that were made
	reserved bool                  // another one was taken, for the next attempt
}

func newCall(ctx context.Context, c *Client, ask request) *call {
	return &call{request: ask, ctx: ctx, client: c, worst: noAttempt}
}

// newExchange returns the next attempt, yet to be made.
func (k *call) newExchange() *exchange {
	x := &k.first
	if k.count > 0 {
		x = new(exchange)
	}
	x.call = k
	return x
}

// add takes the next attempt.
func (k *call) add(x *exchange) {
	if x.seen.status != 0 {
		k.latest = x
	}
	k.count++
	if k.reserved {
		k.taken++
		k.reserved = false
	}
	k.last = x
	k.worst = worse(k.worst, x.outcome)
}

// next decides on another attempt, and takes it from the budget. A wait that the service asked for costs nothing.
func (k *call) next() (time.Duration, bool) {
	x := k.last
	counted := k.count
	if k.renewed { // the attempt with a new key does not count
		counted--
	}
	pause, may := k.policy.next(counted, x.follow, x.retryAfter, rand.Float64())
	switch {
	case !may:
		if x.follow == followRetry && x.retryAfter > k.policy.MaxRetryAfter {
			x.note = fmt.Sprintf("the service asks to wait %v, the retry policy allows %v (MaxRetryAfter)",
				x.retryAfter, k.policy.MaxRetryAfter)
		}
		return 0, false
	case x.follow == followRenew && (!k.client.rotates || k.renewed):
		return 0, false
	case k.body != nil && !k.body.Replayable():
		x.note = noReplay
		return 0, false
	case endsWithin(k.ctx, pause):
		k.stopped = cmp.Or(contextError(k.ctx), context.DeadlineExceeded)
		return 0, false
	case x.follow == followRenew:
		return 0, k.renew()
	case x.retryAfter > 0:
		return pause, true
	}
	k.reserved = k.client.budget.take()
	if !k.reserved {
		x.note = "not retried: the client's retry budget is used up (WithRetryBudget)"
	}
	return pause, k.reserved
}

const noReplay = "not retried: the file's reader can be read only once, or a Read of it has not returned"

// renew asks the key source for another key than the one that was refused, once for a call.
func (k *call) renew() bool {
	k.renewed = true
	var err error
	if k.bearer, err = k.client.bearer(k.ctx); err != nil {
		k.stopped = k.last.key.Error(err) // which may name the key that was refused
	}
	return err == nil && keyOf(k.bearer) != k.last.key
}

// conclude ends a call: what it took from the budget comes back with success, else what it took for an attempt that was
// not made.
func (k *call) conclude(err error) {
	switch {
	case err == nil:
		k.client.budget.give(max(k.taken*budgetUnit, 1)) // a tenth of a retry for a success at once
	case k.reserved:
		k.client.budget.give(budgetUnit)
	}
	if k.response != nil {
		*k.response = k.lastResponse()
	}
}

// lastResponse returns the last response of the call, or nil if none came.
func (k *call) lastResponse() *Response {
	x := k.latest
	if x == nil {
		return nil
	}
	return &Response{
		StatusCode: x.seen.status, Header: x.key.Header(x.header), Body: []byte(x.key.Text(x.body)),
		RequestID: x.requestID(), Attempts: k.count,
	}
}

// fail makes the error of the whole call. Stopped is what ended the wait for another attempt, or all of it; nil for
// nothing.
func (k *call) fail(stopped error) error {
	s := summary{op: k.op.name, host: k.url.Host, outcome: k.worst, attempts: k.count}
	if k.count == 0 {
		s.retryable = !errors.Is(stopped, ErrFile)
		return k.failed(stopped).with(s)
	}
	add := func(holds bool, detail string) {
		if holds {
			s.details = append(s.details, detail)
		}
	}
	s.stopped, s.retryable = stopped, k.last.retryable || stopped != nil
	if s.retryable && k.last.retryAfter > 0 {
		s.retryAt = time.Now().Add(k.last.retryAfter)
	}
	add(stopped != nil, fmt.Sprintf("not retried: %v", stopped))
	add(k.last.note != "", k.last.note)
	add(k.count > 1, fmt.Sprintf("attempt %d of %d", k.count, max(k.count, k.policy.MaxAttempts)))
	add(k.last.requestID() != "", "request "+k.last.requestID())
	add(k.last.seen.status == 0, "host "+s.host)
	if done := k.op.done; done != "" {
		add(k.worst == OutcomeUnknown, "outcome unknown: it may have been "+done)
		add(k.worst == OutcomeExecuted, "outcome executed: it was "+done)
		add(k.worst == OutcomeNotExecuted && (k.latest == nil || !k.last.seen.complete), "nothing was "+done)
	}
	return k.last.err.with(s)
}

// errPanic is the error of an attempt, or of a call, that ended in a panic.
var errPanic = errors.New("the attempt ended in a panic")

// begin asks the hooks for the next attempt. Those that were asked are told of it by tell.
func (k *call) begin() error {
	k.began = time.Now()
	a := Attempt{k.op.name, k.method, k.url.EscapedPath(), k.count + 1}
	for _, hook := range slices.Concat(k.hooks, k.client.log) {
		done, err := hook(k.ctx, a)
		if err != nil {
			k.tell(AttemptResult{Outcome: noAttempt, Err: err})
			return err
		}
		if done != nil {
			k.dones = append(k.dones, done)
		}
	}
	return nil
}

// tell tells the hooks what came of the attempt, each of them once, even if one panics.
func (k *call) tell(res AttemptResult) {
	if len(k.dones) == 0 {
		return
	}
	last := len(k.dones) - 1
	done := k.dones[last]
	k.dones = k.dones[:last]
	defer k.tell(res)
	res.Budget = k.client.budget.retries()
	done(res)
}

// report tells the hooks what came of the last attempt, and what follows.
func (k *call) report(pause time.Duration, again bool) {
	x := k.last
	res := AttemptResult{
		StatusCode: x.seen.status, RequestID: x.requestID(), Outcome: x.outcome,
		Duration: x.took, WillRetry: again, Pause: pause,
	}
	if x.evidence != nil {
		res.BytesSent = x.evidence.Sent()
	}
	if x.err != nil {
		s := summary{op: k.op.name, host: k.url.Host, outcome: x.outcome, retryable: x.retryable, attempts: k.count}
		res.Err = x.err.with(s)
	}
	k.tell(res)
}

// panicked tells the hooks of an attempt that ended in a panic.
func (k *call) panicked() { k.tell(AttemptResult{Err: errPanic, Duration: time.Since(k.began)}) }

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
