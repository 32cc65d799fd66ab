package aicontent

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// RetryPolicy sets how often a call is retried and the pauses in between. Zero fields have their defaults:
// RetryPolicy{} is [DefaultRetryPolicy]. The table of [OutcomeOf] lists the failures that are retried.
type RetryPolicy struct {
	MaxAttempts   int           // attempts in all, except the one after a 401; 1 is no retry; negative is an error
	MinBackoff    time.Duration // limit of the first pause, doubled for each further one; negative is no pause
	MaxBackoff    time.Duration // limit of every pause; negative is no pause
	MaxRetryAfter time.Duration // longest Retry-After that is obeyed; negative is none
}

// DefaultRetryPolicy returns the policy of a client without [WithRetryPolicy]: four attempts, random pauses of up to
// 500 ms, 1 s and 2 s, never above 30 s, and a Retry-After of up to a minute.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   4,
		MinBackoff:    500 * time.Millisecond,
		MaxBackoff:    30 * time.Second,
		MaxRetryAfter: time.Minute,
	}
}

// complete replaces zero fields by their defaults, and negative durations by zero.
func (p RetryPolicy) complete() RetryPolicy {
	d := DefaultRetryPolicy()
	if p.MaxBackoff > 0 {
		d.MinBackoff = min(d.MinBackoff, p.MaxBackoff)
	}
	p.MaxAttempts = cmp.Or(p.MaxAttempts, d.MaxAttempts)
	p.MinBackoff = max(cmp.Or(p.MinBackoff, d.MinBackoff), 0)
	p.MaxBackoff = max(cmp.Or(p.MaxBackoff, max(d.MaxBackoff, p.MinBackoff)), 0)
	p.MaxRetryAfter = max(cmp.Or(p.MaxRetryAfter, d.MaxRetryAfter), 0)
	return p
}

func (p RetryPolicy) check() (problems []FieldProblem) {
	if p.MaxAttempts < 0 {
		problems = problem("max_attempts", p.MaxAttempts, "must not be negative")
	}
	if p.MaxBackoff > 0 && p.MinBackoff > p.MaxBackoff {
		problems = append(problems, problem("min_backoff", p.MinBackoff, "must not be above max_backoff")...)
	}
	return problems
}

// next reports whether another attempt may follow the n-th, and after which pause. Random is in [0, 1).
func (p RetryPolicy) next(n int, x *exchange, random float64) (time.Duration, bool) {
	switch {
	case x.follow == followRenew:
		return 0, true
	case x.follow == followNone, n >= p.MaxAttempts, x.retryAfter > p.MaxRetryAfter:
		return 0, false
	}
	return cmp.Or(x.retryAfter, p.backoff(n, random)), true
}

// backoff is the pause after attempt n: random, up to a limit that doubles ("full jitter"), so that clients that
// failed together do not return together.
func (p RetryPolicy) backoff(n int, random float64) time.Duration {
	limit := math.Ldexp(float64(p.MinBackoff), n-1)
	return time.Duration(random * min(limit, float64(p.MaxBackoff)))
}

// send makes attempts until one succeeds or no other may follow. The error of attempt says why it was not made.
func (c *Client) send(ctx context.Context, r *request, attempt func(*history) (*exchange, error)) (err error) {
	h := newHistory()
	err = errPanic // until it has ended
	defer func() { h.finish(c, r, err) }()
	defer h.panicked(c)
	for ctx.Err() == nil {
		x, err := attempt(h)
		if err != nil {
			return h.fail(r, err)
		}
		h.add(x)
		pause, again := h.next(c, r)
		h.end(c, r, pause, again)
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
	pause, may := r.policy.next(h.counted(), x, rand.Float64())
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

// finish ends a call: what it took from the budget comes back with success, else what it took for an attempt that was
// not made.
func (h *history) finish(c *Client, r *request, err error) {
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

// retryAfter reads the header's seconds or date. 0 is "not said", which includes what is unreadable, zero or past.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if strings.Trim(header, "0123456789.") == "" {
		seconds, _ := strconv.ParseFloat(header, 64) // 0 for what is no number
		if seconds >= math.MaxInt64/float64(time.Second) {
			return math.MaxInt64
		}
		return time.Duration(seconds * float64(time.Second))
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
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

const (
	defaultBudget = 100 // the four attempts of some 30 calls at once; in an outage, at most so many requests more
	budgetUnit    = 10  // one retry: a call that succeeds at once returns a tenth of it
)

// budget is how many retries a client has left, for all its calls together.
type budget struct {
	mu        sync.Mutex
	left, cap int // in tenths of a retry; a cap of 0 is no limit
}

func newBudget(retries int) *budget {
	return &budget{left: retries * budgetUnit, cap: retries * budgetUnit}
}

// take takes one retry, and reports whether there was one.
func (b *budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cap > 0 && b.left < budgetUnit {
		return false
	}
	b.left -= min(b.left, budgetUnit)
	return true
}

// give gives tenths of a retry back.
func (b *budget) give(tenths int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.cap, b.left+tenths)
}

// retries is what is left, -1 where there is no limit.
func (b *budget) retries() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cap == 0 {
		return -1
	}
	return b.left / budgetUnit
}
