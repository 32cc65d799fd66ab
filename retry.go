package aicontent

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// RetryPolicy sets how often a call is retried and how long it waits in between. A zero field has its default, so that RetryPolicy{}
// is [DefaultRetryPolicy]; a negative duration is none. Which failures are retried at all is said in the package documentation.
type RetryPolicy struct {
	MaxAttempts   int           // attempts in all; 1 is no retry; a negative number is refused
	MinBackoff    time.Duration // limit of the first pause, doubled for each further one; negative is no pause
	MaxBackoff    time.Duration // limit of every pause; negative is no pause
	MaxRetryAfter time.Duration // a service that asks for a longer wait ends the call; negative never waits
	SettleTime    time.Duration // with [WithOnce]: how long to look for a record that an earlier request may still be creating; negative is one look
}

// DefaultRetryPolicy is the policy of a client without [WithRetryPolicy]: four attempts, random pauses of up to 500 ms, 1 s
// and 2 s, never above 30 s, a Retry-After of up to a minute, and five minutes to settle.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   4,
		MinBackoff:    500 * time.Millisecond,
		MaxBackoff:    30 * time.Second,
		MaxRetryAfter: time.Minute,
		SettleTime:    5 * time.Minute,
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
	p.SettleTime = max(cmp.Or(p.SettleTime, d.SettleTime), 0)
	return p
}

func (p RetryPolicy) check() []FieldProblem {
	return append(problemIf(p.MaxAttempts < 0, "max_attempts", p.MaxAttempts, "must not be negative"),
		problemIf(p.MaxBackoff > 0 && p.MinBackoff > p.MaxBackoff, "min_backoff", p.MinBackoff, "must not be above max_backoff")...)
}

// result is what one attempt came to.
type result struct {
	err        callError // nil for success
	outcome    Outcome
	transient  bool          // another attempt may succeed
	final      bool          // the call must not be retried
	spent      bool          // the file was read, and cannot be read again
	retryAfter time.Duration // how long the service asked to wait; 0 where it did not
	status     int           // 0 where no response came
	requestID  string
	sent       int64  // bytes of the request
	word       string // for the log and for the errors of later attempts
	note       string // what helps whoever reads the error
}

// next reports whether another attempt may follow the n-th, and after which pause. A create request may only where the service
// cannot have executed it. With once it may after any unknown outcome, as the record has been looked for by then. random is in [0, 1).
func (p RetryPolicy) next(n int, r result, create, once bool, random float64) (time.Duration, bool) {
	again := r.transient && (!create || r.outcome == OutcomeNotSent || r.outcome == OutcomeRejected) || once && r.outcome == OutcomeUnknown
	if !again || r.final || n >= p.MaxAttempts || r.retryAfter > p.MaxRetryAfter {
		return 0, false
	}
	return cmp.Or(r.retryAfter, p.backoff(n, random)), true
}

// backoff is the pause after attempt n: random, up to a limit that doubles ("full jitter"), so that clients that failed together
// do not return together.
func (p RetryPolicy) backoff(n int, random float64) time.Duration {
	limit := math.Ldexp(float64(p.MinBackoff), n-1)
	return time.Duration(random * min(limit, float64(p.MaxBackoff)))
}

// history is what the attempts of a call have come to so far.
type history struct {
	policy  RetryPolicy
	count   int
	last    result
	worst   Outcome
	words   []tally // of the attempts before the last, in the order of their first
	key     redact.Key
	renewed bool // a 401 has been answered with another key
	taken   int  // from the retry budget
	charged bool // one of them is for the next attempt
}

type tally struct {
	word  string
	count int
}

func newHistory(r *request) *history { return &history{policy: r.retry, worst: OutcomeNotSent} }

// add takes the result of the next attempt.
func (h *history) add(r result) {
	if h.count > 0 {
		i := slices.IndexFunc(h.words, func(t tally) bool { return t.word == h.last.word })
		if i < 0 {
			i = len(h.words)
			h.words = append(h.words, tally{word: h.last.word})
		}
		h.words[i].count++
	}
	h.count++
	h.charged = false
	h.last = r
	h.worst = worse(h.worst, r.outcome)
}

// next decides on another attempt, and takes it from the budget.
func (h *history) next(c *Client, r *request) (time.Duration, bool) {
	renew := h.last.status == http.StatusUnauthorized && c.rotates && !r.bare && !h.renewed && (h.count < h.policy.MaxAttempts || r.looking)
	pause, again := h.policy.next(h.count, h.last, r.create(), r.name != "", rand.Float64())
	switch {
	case (renew || again) && h.last.spent:
		h.last.note = "not retried: the file's reader can be read only once"
		return 0, false
	case renew:
		h.renewed = true
		return 0, true
	case !again, h.last.retryAfter > 0:
		return pause, again
	case !c.budget.take():
		h.last.note = "not retried: the client's retry budget is used up (WithRetryBudget)"
		return 0, false
	}
	h.taken++
	h.charged = true
	return pause, true
}

// repay gives the budget back what a successful call took, else what was taken for an attempt that was not made.
func (h *history) repay(c *Client, r *request, err error) {
	switch {
	case err == nil && !r.looking:
		c.budget.give(h.taken)
	case h.charged:
		c.budget.give(1)
	}
}

// deleted reports whether a delete that may have been executed by an earlier attempt finds nothing.
func (h *history) deleted(r *request) bool {
	return r.method == http.MethodDelete && h.count > 1 && h.worst == OutcomeUnknown && h.last.status == http.StatusNotFound
}

// transientStatuses are those after which another attempt may succeed.
var transientStatuses = []int{
	http.StatusRequestTimeout, http.StatusTooManyRequests,
	http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
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

// sleep waits, and not at all where the context's deadline comes first: the caller learns at once.
func sleep(ctx context.Context, pause time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
		return context.DeadlineExceeded
	}
	if pause <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return contextError(ctx)
	case <-time.After(pause):
		return nil
	}
}

const (
	defaultBudget = 100
	budgetUnit    = 10 // one retry: a call that succeeds at once returns a tenth of it
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

// give returns the retries that a call took, or a tenth of one for a call that took none.
func (b *budget) give(took int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.cap, b.left+max(took*budgetUnit, 1))
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
