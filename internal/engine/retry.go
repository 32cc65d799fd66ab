package engine

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Policy sets how often a call is retried and the pauses in between. Zero fields allow nothing.
type Policy struct {
	MaxAttempts   int
	MinBackoff    time.Duration
	MaxBackoff    time.Duration
	MaxRetryAfter time.Duration
}

// situation is what a decision about another attempt depends on, apart from the policy and the last attempt.
type situation struct {
	renewed    bool          // the key was renewed already; that attempt does not count
	rotates    bool          // there may be another key
	replayable bool          // the body can be sent again
	random     float64       // from [0, 1), for the pause
	left       time.Duration // until the context ends; 0 if it has ended
}

// decide returns the pause before another attempt, or why none follows.
func decide(p Policy, a Attempt, s situation) (pause time.Duration, again bool, why Why) {
	counted := a.Number
	if s.renewed {
		counted--
	}
	switch next := a.Verdict.Next; {
	case next == Retry && a.RetryAfter > p.MaxRetryAfter:
		return 0, false, LongWait
	case next == Stop, next == Renew && (s.renewed || !s.rotates), next == Retry && counted >= p.MaxAttempts:
		return 0, false, Final
	case next == Retry:
		pause = cmp.Or(a.RetryAfter, p.backoff(counted, s.random))
	}
	switch {
	case !s.replayable:
		return 0, false, NoReplay
	case s.left <= pause:
		return 0, false, Ended
	}
	return pause, true, Final
}

// backoff returns a random pause after attempt n, up to a limit that doubles ("full jitter"), so that clients that
// failed together do not return together.
func (p Policy) backoff(n int, random float64) time.Duration {
	limit := math.Ldexp(float64(p.MinBackoff), n-1)
	return time.Duration(random * min(limit, float64(p.MaxBackoff)))
}

// retryAfter reads the Retry-After header, in seconds or as a date. A date counts from the response's own Date, because
// the local clock may differ from the server's. The result is 0 if the header is missing, unreadable or past.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789.") == "" {
		seconds, _ := strconv.ParseFloat(text, 64) // 0 for text that is no number
		if seconds >= math.MaxInt64/float64(time.Second) {
			return math.MaxInt64
		}
		return time.Duration(seconds * float64(time.Second))
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		now = sent
	}
	return max(date.Sub(now), 0)
}

// DefaultBudget allows the four attempts of some 30 calls at once, and in an outage as many retries more.
const DefaultBudget = 100

const budgetUnit = 10 // one retry; a call that succeeds at the first attempt earns a tenth of it

// Budget limits the retries of all calls of a client together.
type Budget struct {
	mu        sync.Mutex
	left, cap int // in tenths of a retry; a cap of 0 is no limit
}

// NewBudget returns a full budget. Zero retries are no limit.
func NewBudget(retries int) *Budget {
	return &Budget{left: retries * budgetUnit, cap: retries * budgetUnit}
}

// take takes one retry, and reports whether there was one.
func (b *Budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cap > 0 && b.left < budgetUnit {
		return false
	}
	b.left -= min(b.left, budgetUnit)
	return true
}

// give gives tenths of a retry back.
func (b *Budget) give(tenths int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.cap, b.left+tenths)
}

// Retries returns the retries that are left, -1 for no limit.
func (b *Budget) Retries() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cap == 0 {
		return -1
	}
	return b.left / budgetUnit
}
