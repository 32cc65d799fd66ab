package aicontent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
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
		"Inf":                            0,
		"1e9":                            0,
		"1.2.3":                          0,
		"Mon, 04 May 2026 10:01:30 GMT":  90 * time.Second,
		"Mon, 04 May 2026 09:59:59 GMT":  0, // a clock that is ahead of the service's
		"Monday, 04-May-26 10:00:10 GMT": 10 * time.Second,
	} {
		assert.Equal(t, expected, parseRetryAfter(header, now), "Retry-After: %s", header)
	}
}

// The bound doubles up to the maximum, and the pause is anything below it.
func TestBackoff(t *testing.T) {
	t.Parallel()
	policy := RetryPolicy{MinBackoff: 500 * time.Millisecond, MaxBackoff: 3 * time.Second}
	for i, bound := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		assert.Equal(t, time.Duration(0), policy.backoff(i+1, 0))
		assert.Equal(t, bound/2, policy.backoff(i+1, 0.5), "attempt %d", i+1)
	}
	assert.Equal(t, 3*time.Second/2, policy.backoff(math.MaxInt32, 0.5), "a shift that would overflow")
	assert.Zero(t, RetryPolicy{MinBackoff: -1}.withDefaults().backoff(100, 0.99), "no pause is none after a hundred attempts either")
	long := RetryPolicy{MinBackoff: math.MaxInt64, MaxBackoff: math.MaxInt64}
	assert.Positive(t, long.backoff(40, 0.99))
}

// A policy that sets one field must not turn the others off.
func TestRetryPolicyZeroValuesHaveTheDefaults(t *testing.T) {
	t.Parallel()
	d := DefaultRetryPolicy()
	assert.Equal(t, RetryPolicy{4, 500 * time.Millisecond, 30 * time.Second, time.Minute}, d, "as documented")
	assert.Equal(t, d, RetryPolicy{}.withDefaults())
	assert.Equal(t, d, d.withDefaults())
	assert.Equal(t, time.Minute, RetryPolicy{MaxAttempts: 5}.withDefaults().MaxRetryAfter)
	assert.Equal(t, time.Hour, RetryPolicy{MinBackoff: time.Hour}.withDefaults().MaxBackoff, "a longer first pause raises the limit")
	short := RetryPolicy{MaxBackoff: time.Millisecond}.withDefaults()
	assert.Equal(t, RetryPolicy{4, time.Millisecond, time.Millisecond, time.Minute}, short, "the first pause follows a lower limit")
	assert.EqualValues(t, 1, RetryPolicy{MaxBackoff: 1}.withDefaults().MinBackoff)
	none := RetryPolicy{MinBackoff: -1, MaxBackoff: -1, MaxRetryAfter: -1}.withDefaults()
	assert.Equal(t, RetryPolicy{MaxAttempts: 4}, none, "negative is none")
}

func TestRetryPolicyRefusesNonsense(t *testing.T) {
	t.Parallel()
	_, err := NewClient("https://content.example.com", "test-key", WithRetryPolicy(RetryPolicy{MinBackoff: time.Hour}))
	require.NoError(t, err, "a limit that is not set is no lower one")
	for name, policy := range map[string]RetryPolicy{
		`max_attempts "-1"`:  {MaxAttempts: -1},
		`min_backoff "1m0s"`: {MinBackoff: time.Minute, MaxBackoff: time.Second},
	} {
		_, err := NewClient("https://content.example.com", "test-key", WithRetryPolicy(policy))
		require.ErrorIs(t, err, ErrInvalid)
		assert.Contains(t, err.Error(), name)
	}
}

func TestNextAttempt(t *testing.T) {
	t.Parallel()
	p := RetryPolicy{}.withDefaults()
	for follow, want := range map[follow]bool{followNone: false, followRenew: true, followRetry: true} {
		_, may := p.next(1, follow, 0, 0)
		assert.Equal(t, want, may, "%d", follow)
		_, may = p.next(4, follow, 0, 0)
		assert.Equal(t, follow == followRenew, may, "the last attempt but for one with another key: %d", follow)
	}
	pause, may := p.next(1, followRetry, time.Minute, 0.5)
	assert.True(t, may)
	assert.Equal(t, time.Minute, pause)
	_, may = p.next(1, followRetry, time.Minute+1, 0.5)
	assert.False(t, may, "longer than the policy allows")
	pause, _ = p.next(1, followRetry, 0, 0.5)
	assert.Equal(t, 250*time.Millisecond, pause, "a pause also where the service did not ask for one")
	pause, _ = p.next(1, followRenew, 0, 0.5)
	assert.Zero(t, pause, "another key need not be waited for")
}

// A call that may make one attempt alone must not end with a key that was replaced meanwhile.
func TestAnotherKeyIsTriedWhateverMaxAttemptsSays(t *testing.T) {
	t.Parallel()
	refused := fakes.Respond(401, `{"message":"Unauthenticated."}`)
	for most, row := range []struct {
		responses fakes.Responses
		attempts  int
	}{
		1: {fakes.Responses{refused, fakes.OK(fakes.StoredImage)}, 2},
		2: {fakes.Responses{fakes.Respond(429, ``), refused, fakes.OK(fakes.StoredImage)}, 3},
		3: {fakes.Responses{refused, fakes.Respond(429, ``), fakes.Respond(429, ``), fakes.OK(fakes.StoredImage)}, 4},
	} {
		if most == 0 {
			continue
		}
		for _, name := range []string{"images.show", "images.store"} {
			asked := 0
			source := WithAPIKeySource(func(context.Context) (string, error) { asked++; return fmt.Sprint("key-number-", asked), nil })
			policy := quick
			policy.MaxAttempts = most
			s := &fakes.Script{Responses: slices.Clone(row.responses)}
			require.NoError(t, allTen(over(t, s, source, WithRetryPolicy(policy)))[name](t.Context()), "%s, %d", name, most)
			assert.Len(t, s.Asked, row.attempts)

			s = &fakes.Script{Responses: append(slices.Clone(row.responses[:row.attempts-1]), fakes.Respond(429, ``))}
			err := allTen(over(t, s, source, WithRetryPolicy(policy)))[name](t.Context())
			require.ErrorIs(t, err, ErrRateLimited)
			assert.ErrorContains(t, err, fmt.Sprintf("attempt %d of %[1]d", row.attempts), "no further one follows")
		}
	}
}

// An outage must not be multiplied by the clients that suffer from it.
func TestBudget(t *testing.T) {
	t.Parallel()
	b := newBudget(2)
	require.True(t, b.take())
	require.True(t, b.take())
	require.False(t, b.take())
	for range 9 {
		b.give(1)
	}
	require.False(t, b.take(), "nine successes are no retry yet")
	b.give(1)
	assert.Equal(t, 1, b.retries())
	require.True(t, b.take())
	b.give(budgetUnit)
	assert.Equal(t, 1, b.retries(), "what a successful call took comes back")
	b.give(50 * budgetUnit)
	assert.Equal(t, 2, b.retries(), "it never holds more than at first")
	free := newBudget(0)
	for range 1000 {
		require.True(t, free.take())
	}
	assert.Equal(t, -1, free.retries())
}

// What a call takes from the budget for an attempt that is not made must come back.
func TestBudgetOfAttemptsThatAreNotMade(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	second := func() func() error {
		calls := 0
		return func() error {
			if calls++; calls > 1 {
				return gone
			}
			return nil
		}
	}
	limit, source := second(), second()
	long := WithRetryPolicy(RetryPolicy{MinBackoff: 1000 * time.Hour, MaxBackoff: 1000 * time.Hour})
	for name, row := range map[string]struct {
		opts []Option
		end  error
	}{
		"the deadline is nearer": {[]Option{long}, context.DeadlineExceeded},
		"the rate limiter fails": {[]Option{WithRateLimiter(fakes.Limiter(func(context.Context) error { return limit() }))}, gone},
		"the key source fails":   {[]Option{WithAPIKeySource(func(context.Context) (string, error) { return fakes.Key, source() })}, gone},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, ``)}}
		c := over(t, s, append([]Option{WithRetryPolicy(quick)}, row.opts...)...)
		require.True(t, c.budget.take())
		require.True(t, c.budget.take())
		_, err := c.Images.Show(ctx, "7")
		assert.ErrorIs(t, err, row.end, name)
		assert.ErrorIs(t, err, ErrServer, name)
		assert.Len(t, s.Asked, 1)
		assert.Equal(t, 98, c.budget.retries(), name)
		cancel()
	}
}

// A header that is not what HTTP allows must not make a call wait for ever, or give up.
func TestRetryAfterThatIsNoNumber(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"inf", "Infinity", "1e9", "0x10", "nan", "-5", "1_000", "1.2.3"} {
		synctest.Test(t, func(t *testing.T) {
			s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ``, "Retry-After", header), fakes.OK(fakes.StoredImage)}}
			_, err := over(t, s).Images.Show(t.Context(), "7")
			require.NoError(t, err, header)
			assert.LessOrEqual(t, s.Pauses()[0], 500*time.Millisecond, header)
		})
	}
}

// An error that speaks of the policy where the policy allows the wait sends whoever reads it to the wrong place.
func TestRetryAfterThatThePolicyAllows(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{"60": false, "61": true} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ``, "Retry-After", header)}}
		_, err := over(t, s, WithRetryPolicy(oneAttempt)).Images.Show(t.Context(), "7")
		require.ErrorIs(t, err, ErrRateLimited)
		assert.Equal(t, want, strings.Contains(err.Error(), "the retry policy allows 1m0s (MaxRetryAfter)"), "%v", err)
	}
}

// net/http recovers a panic in a handler: the budget must not shrink with each of them.
func TestBudgetAfterAPanic(t *testing.T) {
	t.Parallel()
	attempts := 0
	c := over(t, fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
		if attempts++; attempts == 2 {
			panic("boom")
		}
		return fakes.Respond(500, ``)(nil)
	}), WithRetryPolicy(quick))
	var resp *Response
	assert.Panics(t, func() { _, _ = c.Images.Show(t.Context(), "7", WithResponse(&resp)) })
	assert.Equal(t, 100, c.budget.retries())
	assert.Equal(t, 500, resp.StatusCode)
}

// A user who left is named, even if no pause was due.
func TestContextThatEndsWithoutAPause(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	none := RetryPolicy{MinBackoff: -1, MaxBackoff: -1}
	hook := func(context.Context, Attempt) (func(AttemptResult), error) {
		return func(AttemptResult) { cancel(errUserLeft) }, nil
	}
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(500, ``)}}
	_, err := over(t, s, WithRetryPolicy(none), WithAttemptHook(hook)).Images.Show(ctx, "7")
	require.ErrorIs(t, err, errUserLeft)
	require.ErrorIs(t, err, ErrServer)
	assert.Len(t, s.Sent, 1)
}

// A page that a proxy sends during a deploy is no word on the record.
func TestDeleteAfterALostAttempt(t *testing.T) {
	t.Parallel()
	for body, gone := range map[string]bool{`{"message":"Resource not found."}`: true, `[]`: true, ``: false, `404 page not found`: false, `<html>deploying</html>`: false} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Lose, fakes.Respond(404, body)}}
		err := over(t, s, WithRetryPolicy(quick)).Images.Delete(t.Context(), "7")
		assert.Equal(t, gone, err == nil, "%q: %v", body, err)
		assert.Equal(t, gone, OutcomeOf(err) == OutcomeExecuted, body)
	}
}
