package wire

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits are the time limits of an attempt. Zero is no limit.
type Limits struct {
	Upload bool          // the request has a body whose sending is reported to the Clock
	Stall  time.Duration // how long sending may go on without a byte of the body being taken
	Wait   time.Duration // from the last byte sent until the response was read, for all redirects together
	Option string        // sets Wait, for the text of the error
	Source error         // matched by the error of a source that took too long
}

// Phase is an activity of an attempt. Each phase has a limit of its own.
type Phase int

const (
	Pausing   Phase = iota // nothing is timed
	Waiting                // for the response
	Receiving              // the next part of the response
	Reading                // the source of the body has to give bytes
	Sending                // the network has to accept them
)

// forever is the time that a phase without a limit may take.
const forever time.Duration = math.MaxInt64

// Clock ends an attempt that stalls or waits too long, by ending the context of its request. It is safe for concurrent
// use.
//
// Waiting for a connection, dialing and the TLS handshake count for no limit, as far as the transport reports them
// through httptrace.
type Clock struct {
	ctx    context.Context // of the attempt
	cancel context.CancelCauseFunc
	limits Limits // no limit is forever

	traced    atomic.Bool // the transport reports its connections
	responded atomic.Bool // the header of the response is here

	mu       sync.Mutex
	timer    *time.Timer
	phase    Phase
	deadline time.Time     // when the phase has taken too long
	wait     time.Duration // the rest of Limits.Wait for later phases
}

// NewClock starts the clock of work that sends no request, such as reading the first bytes of a file. The returned
// context is for that work. The caller must call [Clock.Stop] in the end.
func NewClock(ctx context.Context, limits Limits) (context.Context, *Clock) {
	c := new(Clock)
	c.start(ctx, limits)
	return c.ctx, c
}

// start begins with Sending. A transport that reports its connections stops the clock until there is one.
func (c *Clock) start(ctx context.Context, limits Limits) {
	limits.Stall, limits.Wait = cmp.Or(limits.Stall, forever), cmp.Or(limits.Wait, forever)
	c.limits, c.wait = limits, limits.Wait
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.timer = time.AfterFunc(forever, c.expire)
	c.begin(Sending)
}

// begin ends the phase and begins p. If phases are given, it does so during one of these alone. A request without a
// body has nothing to send.
func (c *Clock) begin(p Phase, during ...Phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(during) > 0 && !slices.Contains(during, c.phase) || c.ctx.Err() != nil {
		return
	}
	if c.phase == Waiting {
		c.wait = time.Until(c.deadline)
	}
	if p == Sending && !c.limits.Upload {
		p = Waiting
	}
	left := c.limits.Stall
	switch p {
	case Pausing:
		left = forever
	case Waiting:
		left = c.wait
	}
	c.phase, c.deadline = p, time.Now().Add(left)
	c.timer.Reset(left)
}

func (c *Clock) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.deadline) {
		// The timer had fired before it was reset.
		return
	}
	late := &TimeoutError{Phase: c.phase, Limit: c.limits.Stall}
	switch c.phase {
	case Waiting:
		late.Limit, late.Option = c.limits.Wait, c.limits.Option
	case Reading:
		late.Source = c.limits.Source
	}
	c.cancel(late)
}

// connecting notes that the transport waits for a connection, and so reports its connections. The time before the
// first report was not spent waiting for a response.
func (c *Clock) connecting() {
	c.begin(Pausing)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.traced.Swap(true) {
		c.wait = c.limits.Wait
	}
}

// written notes that the transport has written the request.
func (c *Clock) written() { c.begin(Waiting, Reading, Sending) }

// Reading notes that the transport waits for the source of the body from now on: it got rid of the bytes that it had.
func (c *Clock) Reading() { c.begin(Reading, Sending) }

// Taken notes that the transport was handed bytes of the body; done says that they were the last.
func (c *Clock) Taken(done bool) {
	next := Sending
	if done && !c.traced.Load() {
		next = Waiting
	}
	c.begin(next, Reading, Sending)
}

// Responded notes that the header of the response is here, which may be before the request was written. A 2xx does not
// end an upload: the wait for the rest of the response begins with the last byte of the request.
func (c *Clock) Responded(status int) {
	c.responded.Store(true)
	if status/100 == 2 {
		c.begin(Waiting, Waiting, Pausing)
	} else {
		c.begin(Waiting)
	}
}

// Receiving notes that a byte of the response is waited for, until Pause.
func (c *Clock) Receiving() { c.begin(Receiving) }

// Pause stops the clock until the next phase begins.
func (c *Clock) Pause() { c.begin(Pausing) }

// Stop ends the attempt and its context. The clock does not run afterwards, whatever a transport reports.
func (c *Clock) Stop() {
	c.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
}

// Expired returns the error with which the attempt ended itself, mostly a [*TimeoutError], or nil.
func (c *Clock) Expired() error {
	cause := context.Cause(c.ctx)
	if _, late := cause.(*TimeoutError); late || cause == errRepeats {
		return cause
	}
	return nil
}
