package engine

import (
	"context"
	"math"
	"os"
	"sync"
	"time"
)

// Limits are the time limits of an attempt. Zero means no limit.
type Limits struct {
	Stall time.Duration // of sending a body or receiving a picture without progress
	Wait  time.Duration // from the end of the request's body, or a connection, until the response is read
}

// TimeoutError is the error of an attempt that exceeded one of its [Limits]. It matches [os.ErrDeadlineExceeded], never
// [context.DeadlineExceeded], because it does not end the call. It implements [net.Error].
type TimeoutError struct {
	Stalled bool // Limit is Stall, not Wait
	Limit   time.Duration
}

func (e *TimeoutError) Error() string {
	if e.Stalled {
		return "no progress for " + e.Limit.String()
	}
	return "no complete response within " + e.Limit.String()
}

// Timeout is always true.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary is always true.
func (e *TimeoutError) Temporary() bool { return true }

// Is reports whether target is [os.ErrDeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// phase is an activity of an attempt.
type phase int

const (
	pausing phase = iota // without a limit: dialing, and the time between Reads of a picture
	moving               // limited by Stall: bytes of the body or of a picture must move
	waiting              // limited by Wait, for all phases of this kind together
)

// clock is the context of an attempt, which ends if the attempt exceeds a limit. It is safe for concurrent use.
type clock struct {
	context.Context
	cancel context.CancelCauseFunc
	limits [3]time.Duration // by phase; 0 means none
	timer  *time.Timer

	mu       sync.Mutex
	left     [3]time.Duration // like limits, but for all phases of waiting together
	sending  phase            // of a request that has a connection: moving until its body is sent, then waiting
	phase    phase
	deadline time.Time // of the latest phase with a limit
}

// start starts the clock of an attempt. The caller must call stop in the end.
func (c *clock) start(ctx context.Context, limits Limits, body bool) {
	c.limits, c.sending = [3]time.Duration{moving: limits.Stall, waiting: limits.Wait}, waiting
	c.left = c.limits
	if body {
		c.sending = moving
	}
	c.Context, c.cancel = context.WithCancelCause(ctx)
	c.timer = time.AfterFunc(math.MaxInt64, c.expire)
	c.enter(c.sending)
}

// enter begins a phase and ends the one before.
func (c *clock) enter(p phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(p)
}

// begin is enter for a caller that holds mu.
func (c *clock) begin(p phase) {
	if c.phase == waiting && c.left[waiting] > 0 {
		c.left[waiting] = max(time.Until(c.deadline), 1)
	}
	c.phase = p
	c.timer.Stop()
	if limit := c.left[p]; limit > 0 {
		c.deadline = time.Now().Add(limit)
		c.timer.Reset(limit)
	}
}

func (c *clock) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.limits[c.phase]
	// The timer may have fired before it was stopped.
	if limit > 0 && !time.Now().Before(c.deadline) {
		c.cancel(&TimeoutError{Stalled: c.phase == moving, Limit: limit})
	}
}

// moved notes that bytes of the body move. Done means that the whole body was read.
func (c *clock) moved(done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done {
		c.sending = waiting
	}
	if c.phase == moving {
		c.begin(c.sending)
	}
}

// stop ends the attempt and its context.
func (c *clock) stop() {
	c.cancel(nil)
	c.timer.Stop()
}

// expired returns the [*TimeoutError] that ended the attempt, or nil.
func (c *clock) expired() error {
	if late, ok := context.Cause(c).(*TimeoutError); ok {
		return late
	}
	return nil
}
