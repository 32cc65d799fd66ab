package engine

import (
	"context"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClockLimitsStallsAndTheWaitAndNothingElse(t *testing.T) {
	t.Parallel()
	const limit = 20 * time.Second
	stall := &TimeoutError{Stalled: true, Limit: limit}
	response := &TimeoutError{Limit: 2 * limit}
	type step = func(*clock)
	after := func(d time.Duration) step { return func(*clock) { time.Sleep(d) } }
	almost, half, hour := after(limit-1), after(limit/2), after(time.Hour)
	connect, stop := func(c *clock) { c.enter(c.sending) }, (*clock).stop
	dial := func(c *clock) { c.enter(pausing) }
	pause, receiving := dial, func(c *clock) { c.enter(moving) }
	moved := func(c *clock) { c.moved(false) }
	movedAll := func(c *clock) { c.moved(true) }
	slowly := slices.Repeat([]step{receiving, almost, pause, hour}, 10)
	both, onlyWait, onlyStall := Limits{Stall: limit, Wait: 2 * limit}, Limits{Wait: 2 * limit}, Limits{Stall: limit}
	for name, row := range map[string]struct {
		limits Limits
		body   bool
		steps  []step
		err    *TimeoutError
		after  time.Duration // the last step
	}{
		"nothing moves":              {both, true, nil, stall, limit},
		"a slow upload":              {both, true, slices.Repeat([]step{almost, moved}, 10), stall, limit},
		"the response to an upload":  {both, true, []step{almost, moved, almost, movedAll}, response, 2 * limit},
		"Reads beyond the end":       {both, true, []step{movedAll, half, movedAll, moved}, response, 3 * limit / 2},
		"no body":                    {both, false, nil, response, 2 * limit},
		"no body, no limit":          {onlyStall, false, nil, nil, 0},
		"no stall limit":             {onlyWait, true, []step{hour, movedAll}, response, 2 * limit},
		"no limit for the response":  {onlyStall, true, []step{movedAll}, nil, 0},
		"dialing":                    {both, true, []step{almost, dial}, nil, 0},
		"dialing without a body":     {both, false, []step{dial}, nil, 0},
		"an upload after dialing":    {both, true, []step{almost, dial, hour, connect}, stall, limit},
		"a body read before dialing": {both, true, []step{movedAll, dial, hour, connect}, response, 2 * limit},
		"a body read while dialing":  {both, true, []step{dial, movedAll, hour, connect}, response, 2 * limit},
		"a slow middleware":          {both, false, []step{half, dial, hour, connect}, response, 3 * limit / 2},
		"a request that is repeated": {both, false, []step{dial, connect, half, connect}, response, 3 * limit / 2},
		"a picture that stalls":      {both, false, []step{almost, receiving}, stall, limit},
		"a slow picture":             {both, false, slowly, nil, 0},
		"an attempt that has ended":  {both, true, []step{stop}, nil, 0},
		"a report after the attempt": {both, false, []step{stop, dial, connect}, nil, 0},
		"a Read after the attempt":   {both, true, []step{stop, moved}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 1000*time.Hour)
				defer cancel()
				var c clock
				c.start(ctx, row.limits, row.body)
				defer c.stop()
				for _, do := range row.steps {
					do(&c)
				}
				if row.err == nil {
					time.Sleep(100 * time.Hour)
					require.NoError(t, c.expired())
					return
				}
				start := time.Now()
				<-c.Done()
				assert.Equal(t, row.after, time.Since(start))
				assert.Equal(t, row.err, c.expired())
			})
		})
	}
}

// Callers ask for timeouts in three ways, and must not take this one for the end of their context.
func TestTimeoutErrorIsATimeoutButNoEndOfTheContext(t *testing.T) {
	t.Parallel()
	for text, late := range map[string]*TimeoutError{
		"no complete response within 1s": {Limit: time.Second},
		"no progress for 1s":             {Stalled: true, Limit: time.Second},
	} {
		assert.EqualError(t, late, text)
		var err net.Error = late
		assert.True(t, err.Timeout())
		assert.True(t, os.IsTimeout(err))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
	}
}

// The end of a call's context is no timeout of the SDK, and a timer may have fired before it was set anew.
func TestClockExpiresForNoOtherReason(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var c clock
	c.start(ctx, Limits{Stall: time.Minute}, true)
	c.expire()
	assert.NoError(t, c.Err())
	cancel()
	assert.NoError(t, c.expired())
	c.stop()
	assert.NoError(t, c.expired())
	assert.ErrorIs(t, context.Cause(&c), context.Canceled)
}
