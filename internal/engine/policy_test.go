package engine

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnotherAttemptFollowsOnlyIfNothingForbidsIt(t *testing.T) {
	t.Parallel()
	policy := Policy{
		MaxAttempts: 4, MinBackoff: 500 * time.Millisecond, MaxBackoff: 30 * time.Second, MaxRetryAfter: time.Minute,
	}
	const half, full, minute = 250 * time.Millisecond, 500 * time.Millisecond, time.Minute
	usual := situation{rotates: true, replayable: true, random: 0.5, left: math.MaxInt64}
	attempt := func(number int, next step, retryAfter time.Duration) Attempt {
		return Attempt{Number: number, Verdict: Verdict{Next: next}, RetryAfter: retryAfter}
	}
	with := func(change func(*situation)) situation {
		s := usual
		change(&s)
		return s
	}
	renewed := with(func(s *situation) { s.renewed = true })
	oneKey := with(func(s *situation) { s.rotates = false })
	usedUp := with(func(s *situation) { s.replayable = false })
	ended := with(func(s *situation) { s.left = 0 })
	both := with(func(s *situation) { s.left, s.replayable = 0, false })
	soon := with(func(s *situation) { s.left = 250 * time.Millisecond })
	later := with(func(s *situation) { s.left = 250*time.Millisecond + 1 })
	for name, row := range map[string]struct {
		a     Attempt
		s     situation
		pause time.Duration
		again bool
		why   Why
	}{
		"a verdict that stops":                      {attempt(1, final, 0), usual, 0, false, Final},
		"a transient failure":                       {attempt(1, retried, 0), usual, half, true, Final},
		"the second transient failure":              {attempt(2, retried, 0), usual, full, true, Final},
		"the last attempt but one":                  {attempt(3, retried, 0), usual, time.Second, true, Final},
		"the last attempt":                          {attempt(4, retried, 0), usual, 0, false, Final},
		"the last attempt, after a renewal":         {attempt(5, retried, 0), renewed, 0, false, Final},
		"the last but one, after a renewal":         {attempt(4, retried, 0), renewed, time.Second, true, Final},
		"the longest Retry-After":                   {attempt(1, retried, minute), usual, minute, true, Final},
		"a Retry-After that is too long":            {attempt(1, retried, minute+1), usual, 0, false, LongWait},
		"a long Retry-After after the last attempt": {attempt(4, retried, minute+1), usual, 0, false, LongWait},
		"a long Retry-After of a final failure":     {attempt(1, final, minute+1), usual, 0, false, Final},
		"a refused key":                             {attempt(1, newKey, 0), usual, 0, true, Final},
		"a refused key with a long Retry-After":     {attempt(1, newKey, time.Hour), usual, 0, true, Final},
		"a refused key at the last attempt":         {attempt(4, newKey, 0), usual, 0, true, Final},
		"a second refused key":                      {attempt(2, newKey, 0), renewed, 0, false, Final},
		"a refused key without a source":            {attempt(1, newKey, 0), oneKey, 0, false, Final},
		"a transient failure without a source":      {attempt(1, retried, 0), oneKey, half, true, Final},
		"a body that cannot be sent again":          {attempt(1, retried, 0), usedUp, 0, false, NoReplay},
		"a refused key and such a body":             {attempt(1, newKey, 0), usedUp, 0, false, NoReplay},
		"a final failure and such a body":           {attempt(1, final, 0), usedUp, 0, false, Final},
		"a context that has ended":                  {attempt(1, retried, 0), ended, 0, false, Ended},
		"a refused key after the context":           {attempt(1, newKey, 0), ended, 0, false, Ended},
		"a final failure after the context":         {attempt(1, final, 0), ended, 0, false, Final},
		"a deadline at the end of the pause":        {attempt(1, retried, 0), soon, 0, false, Ended},
		"a deadline after the pause":                {attempt(1, retried, 0), later, half, true, Final},
		"a Retry-After beyond the deadline":         {attempt(1, retried, time.Second), later, 0, false, Ended},
		"such a body after the context":             {attempt(1, retried, 0), both, 0, false, NoReplay},
	} {
		pause, again, why := decide(policy, row.a, row.s)
		assert.Equal(t, row.pause, pause, name)
		assert.Equal(t, row.again, again, name)
		assert.Equal(t, row.why, why, name)
	}
	_, again, _ := decide(Policy{}, attempt(1, retried, 0), usual)
	assert.False(t, again, "the zero policy allows one attempt")
}

// Clients that failed together must not return together: the limit doubles, and the pause is any time below it.
func TestBackoffIsARandomPartOfADoublingLimit(t *testing.T) {
	t.Parallel()
	policy := Policy{MinBackoff: 500 * time.Millisecond, MaxBackoff: 3 * time.Second}
	limits := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}
	for i, limit := range limits {
		assert.Zero(t, policy.backoff(i+1, 0), "attempt %d", i+1)
		assert.Equal(t, limit/2, policy.backoff(i+1, 0.5), "attempt %d", i+1)
	}
	assert.Equal(t, 3*time.Second/2, policy.backoff(math.MaxInt32, 0.5), "the limit does not overflow")
	assert.Zero(t, Policy{MaxBackoff: time.Second}.backoff(100, 0.99), "no pause after a hundred attempts either")
	long := Policy{MinBackoff: math.MaxInt64, MaxBackoff: math.MaxInt64}
	assert.Positive(t, long.backoff(40, 0.99))
}

func TestRetryAfterIsReadInSecondsAndAsADate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                                0,
		"5":                               5 * time.Second,
		"1.5":                             1500 * time.Millisecond,
		"0":                               0,
		"-3":                              0,
		"soon":                            0,
		"NaN":                             0,
		"Infinity":                        0,
		"1e9":                             0,
		"0x10":                            0,
		"1.2.3":                           0,
		".":                               0,
		"Mon, 04 May 2026 10:01:30 GMT":   90 * time.Second,
		"Mon, 04 May 2026 09:59:59 GMT":   0,
		"Monday, 04-May-26 10:00:10 GMT":  10 * time.Second,
		"Mon May  4 10:00:20 2026":        20 * time.Second,
		"Mon, 04 May 2026 10:00:30 +0200": 0,
	} {
		assert.Equal(t, want, retryAfter(http.Header{"Retry-After": {text}}, now), text)
	}
	assert.Zero(t, retryAfter(nil, now))
}

// Clients must not multiply an outage that they suffer from.
func TestBudgetIsUsedUpByRetriesAndEarnedBySuccesses(t *testing.T) {
	t.Parallel()
	b := NewBudget(2)
	require.True(t, b.take())
	require.True(t, b.take())
	require.False(t, b.take())
	for range 9 {
		b.give(1)
	}
	require.False(t, b.take(), "nine successes do not pay for a retry")
	assert.Zero(t, b.Retries())
	b.give(1)
	assert.Equal(t, 1, b.Retries())
	require.True(t, b.take())
	b.give(budgetUnit)
	assert.Equal(t, 1, b.Retries(), "a retry that is given back is whole")
	b.give(50 * budgetUnit)
	assert.Equal(t, 2, b.Retries(), "a budget never holds more than at first")
}

func TestBudgetOfZeroHasNoLimit(t *testing.T) {
	t.Parallel()
	free := NewBudget(0)
	for range 1000 {
		require.True(t, free.take())
	}
	free.give(budgetUnit)
	assert.Equal(t, -1, free.Retries())
}
