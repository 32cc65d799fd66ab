package engine

import (
	"cmp"
	"math"
	"net/http"
	"sync"
	"time"
)

// Policy limits the attempts of a call and the pauses between them. Zero fields allow nothing.
type Policy struct {
	MaxAttempts   int
	MinBackoff    time.Duration
	MaxBackoff    time.Duration
	MaxRetryAfter time.Duration
}

// situation holds the facts for a decision about another attempt, besides the policy and the last attempt.
type situation struct {
	renewed    bool          // the key was renewed before; the attempt for it does not count
	rotates    bool          // there may be another key
	replayable bool          // the body can be sent again
	random     float64       // from [0, 1), for the pause
	left       time.Duration // time until the context ends; 0 if it has ended
}

// decide returns the pause before another attempt, or the reason that none follows.
func decide(p Policy, a Attempt, s situation) (pause time.Duration, again bool, why Why) {
	counted := a.Number
	if s.renewed {
		counted--
	}
	switch next := a.Verdict.Next; {
	case next == retried && a.RetryAfter > p.MaxRetryAfter:
		return 0, false, LongWait
	case next == retried && counted < p.MaxAttempts:
		pause = cmp.Or(a.RetryAfter, p.backoff(counted, s.random))
	case next == newKey && s.rotates && !s.renewed:
	default:
		return 0, false, Final
	}
	switch {
	case !s.replayable:
		return 0, false, NoReplay
	case s.left <= pause:
		return 0, false, Ended
	}
	return pause, true, Final
}

// backoff returns a random pause after attempt n, up to a limit that doubles with each attempt ("full jitter"). Clients
// that fail at the same time thus retry at different times.
func (p Policy) backoff(n int, random float64) time.Duration {
	limit := math.Ldexp(float64(p.MinBackoff), n-1)
	return time.Duration(random * min(limit, float64(p.MaxBackoff)))
}

// retryAfter returns the pause in the Retry-After header, 0 if missing, malformed or past.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := time.ParseDuration(text + "s"); err == nil {
		return max(seconds, 0)
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(date.Sub(now), 0)
}

// DefaultBudget is the number of retries that some 30 calls need to make four attempts each.
const DefaultBudget = 100

const budgetUnit = 10 // one retry; a call that succeeds without retries earns a tenth of one

// Budget limits the retries of all calls of a client together.
type Budget struct {
	mu        sync.Mutex
	left, cap int // in tenths of a retry; a cap of 0 means no limit
}

// NewBudget returns a full budget. Zero means no limit.
func NewBudget(retries int) *Budget {
	return &Budget{left: retries * budgetUnit, cap: retries * budgetUnit}
}

// take takes one retry. It returns false if none is left.
func (b *Budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cap > 0 && b.left < budgetUnit {
		return false
	}
	b.left -= min(b.left, budgetUnit)
	return true
}

// give adds tenths of a retry.
func (b *Budget) give(tenths int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.cap, b.left+tenths)
}

// Retries returns the number of retries left, or -1 without a limit.
func (b *Budget) Retries() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cap == 0 {
		return -1
	}
	return b.left / budgetUnit
}
