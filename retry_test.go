package aicontent

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	for header, expected := range map[string]time.Duration{
		"":                               0,
		"5":                              5 * time.Second,
		" 120 ":                          2 * time.Minute,
		"1.5":                            1500 * time.Millisecond,
		"0":                              0,
		"-3":                             0,
		"soon":                           0,
		"NaN":                            0,
		"99999999999999999999":           math.MaxInt64,
		"Inf":                            math.MaxInt64,
		"Mon, 04 May 2026 10:01:30 GMT":  90 * time.Second,
		"Mon, 04 May 2026 09:59:59 GMT":  0, // a clock that is ahead of the service's
		"Monday, 04-May-26 10:00:10 GMT": 10 * time.Second,
	} {
		assert.Equal(t, expected, retryAfter(header, now), "Retry-After: %s", header)
	}
}

// The bound doubles up to the maximum, and the pause is anything below it.
func TestBackoff(t *testing.T) {
	policy := RetryPolicy{MinBackoff: 500 * time.Millisecond, MaxBackoff: 3 * time.Second}
	for i, bound := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		assert.Equal(t, time.Duration(0), backoff(policy, i+1, 0))
		assert.Equal(t, bound/2, backoff(policy, i+1, 0.5), "attempt %d", i+1)
	}
	assert.Equal(t, 3*time.Second/2, backoff(policy, math.MaxInt32, 0.5), "a shift that would overflow")
	long := RetryPolicy{MinBackoff: math.MaxInt64, MaxBackoff: math.MaxInt64}
	assert.Positive(t, backoff(long, 40, 0.99))
}

func TestRetryPolicyZeroValuesTakeTheDefaults(t *testing.T) {
	d := DefaultRetryPolicy()
	p := RetryPolicy{}.complete()
	assert.Equal(t, RetryPolicy{MaxAttempts: 1, MinBackoff: d.MinBackoff, MaxBackoff: d.MaxBackoff, MaxRetryAfter: d.MaxRetryAfter}, p)
	assert.Equal(t, 5*time.Minute, d.SettleTime)
	assert.Equal(t, d, d.complete())
	assert.Equal(t, time.Hour, RetryPolicy{MinBackoff: time.Hour}.complete().MaxBackoff, "a longer first pause lifts the bound")
}

func TestRetryPolicyRefusesNonsense(t *testing.T) {
	for name, policy := range map[string]RetryPolicy{
		`max_attempts "-1"`:   {MaxAttempts: -1},
		`min_backoff "-1ns"`:  {MinBackoff: -1},
		`max_backoff "-1ns"`:  {MaxBackoff: -1},
		`settle_time "-1ns"`:  {SettleTime: -1},
		`max_retry_after "-1`: {MaxRetryAfter: -1},
		`min_backoff "1m0s"`:  {MinBackoff: time.Minute, MaxBackoff: time.Second},
	} {
		_, err := NewClient("https://content.example.com", "test-key", WithRetryPolicy(policy))
		require.ErrorIs(t, err, ErrInvalid)
		assert.Contains(t, err.Error(), name)
	}
}

// The one table that must never be wrong: what of a store is sent again.
func TestStoreIsRepeatedOnlyWhereTheServiceCannotHaveActed(t *testing.T) {
	repeated := map[int]bool{http.StatusTooManyRequests: true}
	for status := 300; status < 600; status++ {
		err := &APIError{StatusCode: status, Method: http.MethodPost}
		assert.Equal(t, repeated[status], repeatable(err, true), "status %d", status)
	}
	assert.True(t, repeatable(&APIError{StatusCode: 503, Method: http.MethodPost, RetryAfter: 1}, true))
	for f, again := range map[fate]bool{notSent: true, rejected: true, unknown: false} {
		err := &TransportError{trail: trail{fate: f}}
		assert.Equal(t, again, repeatable(err, true), "fate %d", f)
		err.final = true
		assert.False(t, repeatable(err, true))
		assert.False(t, repeatable(err, false))
	}
	assert.False(t, repeatable(&DecodeError{Err: errCutOff}, true))
	assert.False(t, repeatable(&ValidationError{}, true))
}
