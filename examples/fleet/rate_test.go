package main

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestScheduleSpacesRequests(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := func(perSecond float64, next time.Duration) schedule {
		return schedule{PerSecond: perSecond, Next: now.Add(next)}
	}
	tests := map[string]struct {
		schedule schedule
		at, next time.Duration // after now
		ok       bool
	}{
		"idle for long: no burst":    {at(2, -time.Hour), 0, 500 * time.Millisecond, true},
		"the next moment is taken":   {at(2, time.Second), time.Second, 3 * time.Second / 2, true},
		"too far ahead: asked again": {at(2, 3*time.Second), 2 * time.Second, 3 * time.Second, false},
		"stopped":                    {at(0, -time.Hour), ahead, -time.Hour, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			at, after, ok := test.schedule.reserve(now)
			assert.Equal(t, now.Add(test.at), at)
			assert.Equal(t, now.Add(test.next), after.Next)
			assert.Equal(t, test.ok, ok)
		})
	}
}

func TestWorkersShareOneRate(t *testing.T) {
	q := testQueue(t, limits{})
	var mu sync.Mutex
	var moments []time.Time
	var group sync.WaitGroup
	for range 4 {
		l := &limiter{bucket: q.rate, stop: t.Context()}
		for range 5 {
			group.Go(func() {
				at, err := l.reserve(t.Context())
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				moments = append(moments, at)
			})
		}
	}
	group.Wait()
	slices.SortFunc(moments, time.Time.Compare)
	for i := range len(moments) - 1 {
		assert.GreaterOrEqual(t, moments[i+1].Sub(moments[i]), time.Millisecond, "two requests in one moment")
	}
}

func TestChangedRateHoldsForRequestsThatWait(t *testing.T) {
	q := testQueue(t, limits{Rate: perSecond(0)})
	l := &limiter{bucket: q.rate, stop: t.Context()}
	waited := make(chan error)
	go func() { waited <- l.Wait(t.Context()) }()
	require.NoError(t, setRate(t.Context(), q.rate, 100))
	require.NoError(t, <-waited)
	s, _, err := read[schedule](t.Context(), q.rate, scheduleKey)
	require.NoError(t, err)
	assert.False(t, s.Next.IsZero(), "the request was not reserved")

	require.NoError(t, setRate(t.Context(), q.rate, 0))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { waited <- l.Wait(ctx) }()
	cancel()
	require.ErrorIs(t, <-waited, context.Canceled)
}

func TestRaisedRatePullsTheNextRequestNear(t *testing.T) {
	q := testQueue(t, limits{Rate: perSecond(0.001)})
	_, err := (&limiter{bucket: q.rate, stop: t.Context()}).reserve(t.Context())
	require.NoError(t, err)
	require.NoError(t, setRate(t.Context(), q.rate, 5))
	s, _, err := read[schedule](t.Context(), q.rate, scheduleKey)
	require.NoError(t, err)
	assert.LessOrEqual(t, time.Until(s.Next), ahead)
	assert.InDelta(t, 5, s.PerSecond, 0)
}
