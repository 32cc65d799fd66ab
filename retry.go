package aicontent

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
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

// withDefaults replaces zero fields by their defaults, and negative durations by zero.
func (p RetryPolicy) withDefaults() RetryPolicy {
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

// next reports whether what the n-th attempt allows may follow it, and after which pause. Asked is how long the service
// asked to wait, 0 if it did not; random is in [0, 1).
func (p RetryPolicy) next(n int, allowed follow, asked time.Duration, random float64) (time.Duration, bool) {
	switch {
	case allowed == followRenew:
		return 0, true
	case allowed == followNone, n >= p.MaxAttempts, asked > p.MaxRetryAfter:
		return 0, false
	}
	return cmp.Or(asked, p.backoff(n, random)), true
}

// backoff is the pause after attempt n: random, up to a limit that doubles ("full jitter"), so that clients that
// failed together do not return together.
func (p RetryPolicy) backoff(n int, random float64) time.Duration {
	limit := math.Ldexp(float64(p.MinBackoff), n-1)
	return time.Duration(random * min(limit, float64(p.MaxBackoff)))
}

// parseRetryAfter reads the header's seconds or date. 0 is "not said", which includes what is unreadable, zero or past.
func parseRetryAfter(header string, now time.Time) time.Duration {
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
