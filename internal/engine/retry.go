package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// Do makes attempts until one succeeds or no other may follow. It returns either the last attempt or a failure.
func (s *Sender) Do(ctx context.Context, req Request, set Settings, read Reader) (Attempt, *Failure) {
	c := call{ctx: ctx, sender: s, req: req, set: set, outcome: NotExecuted, keys: s.Keys()}
	// If hooks still wait for a result in the end, the attempt has panicked.
	defer c.tell(Result{Attempt: Attempt{Err: ErrPanic}})
	for ctx.Err() == nil {
		why, err := c.enter()
		if err != nil {
			return Attempt{}, c.fail(why, err)
		}
		c.add(c.attempt(read))
		pause, again, why := decide(set.Policy, c.last, c.situation())
		if again {
			again, why, err = c.reserve()
		}
		c.tell(Result{Attempt: c.last, Again: again, Pause: pause})
		switch {
		case c.last.Verdict.OK:
			return c.succeed(), nil
		case !again:
			return Attempt{}, c.fail(why, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return Attempt{}, c.fail(Ended, nil)
}

// call is the history of a call.
type call struct {
	ctx    context.Context
	sender *Sender
	req    Request
	set    Settings

	outcome Outcome // of all attempts together
	last    Attempt
	replied bool           // an attempt got a response
	keys    redact.Keys    // to mask: the latest two
	key     *Credential    // of the last attempt; nil for a picture
	renewal *Credential    // replaces a refused key in the next attempt; nil for none
	renewed bool           // the call has asked for another key after a 401
	taken   int            // retries from the budget
	dones   []func(Result) // hooks waiting for the result of the attempt
}

// enter waits for the rate limiter, gets the key and calls the hooks. A picture needs neither limiter nor key.
func (c *call) enter() (why Why, err error) {
	if c.req.Kind != Fetch {
		if c.sender.Limiter != nil {
			if err := c.sender.Limiter.Wait(c.ctx); err != nil {
				return LimiterError, err
			}
		}
		if err := c.takeKey(); err != nil {
			return KeyError, err
		}
	}
	return HookError, c.ask()
}

// add records an attempt.
func (c *call) add(a Attempt) {
	c.replied = c.replied || a.Reply.Status != 0
	c.last, c.outcome = a, Together(c.outcome, a.Verdict.Outcome)
}

func (c *call) situation() situation {
	left := time.Duration(math.MaxInt64)
	if deadline, ok := c.ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	if c.ctx.Err() != nil {
		left = 0
	}
	return situation{
		renewed: c.renewed, rotates: c.sender.Rotates && c.req.Kind != Fetch,
		replayable: c.req.Body.Replayable(), random: rand.Float64(), left: left,
	}
}

// reserve gets a new key for an attempt after a 401, else a retry from the budget. If the service sent a Retry-After, a
// retry is free.
func (c *call) reserve() (again bool, why Why, err error) {
	switch {
	case c.last.Verdict.Next == newKey:
		return c.renewKey()
	case c.last.RetryAfter > 0:
		return true, Final, nil
	}
	if again = c.sender.Budget.take(); again {
		c.taken++
	}
	return again, NoBudget, nil
}

// succeed returns the last attempt, and the call's retries to the budget. It rewards a call without retries.
func (c *call) succeed() Attempt {
	c.sender.Budget.give(max(c.taken*budgetUnit, 1))
	return c.last
}

// fail returns the failure of the call.
func (c *call) fail(why Why, stopped error) *Failure {
	if why == Ended {
		stopped = cmp.Or(stopped, ContextError(c.ctx), context.DeadlineExceeded)
	}
	c.last.Reply.Keys = c.keys
	return &Failure{
		Outcome: c.outcome, Retryable: c.last.Verdict.Retryable || stopped != nil,
		Last: c.last, Replied: c.replied, Why: why, Stopped: stopped,
	}
}

// ErrPanic is the error of an attempt that ended in a panic.
var ErrPanic = errors.New("the attempt ended in a panic")

// ask calls the hooks for the next attempt. If a hook refuses it, the earlier hooks get its error as their result.
func (c *call) ask() error {
	for _, hook := range c.set.Hooks {
		done, err := hook(c.ctx, c.last.Number+1)
		if err != nil {
			refused := Attempt{Err: err, Reply: Reply{Keys: c.keys}, Verdict: Verdict{Outcome: NotExecuted}}
			c.tell(Result{Attempt: refused})
			return err
		}
		if done != nil {
			c.dones = append(c.dones, done)
		}
	}
	return nil
}

// tell passes the result to the hooks in reverse order, once to each, even if one panics.
func (c *call) tell(r Result) {
	if len(c.dones) == 0 {
		return
	}
	last := len(c.dones) - 1
	done := c.dones[last]
	c.dones = c.dones[:last]
	defer c.tell(r)
	r.Budget = c.sender.Budget.Retries()
	done(r)
}

// ContextError returns the error of a context and, if it differs, the cause, or the cause alone if it wraps the error.
// It is nil before the context ends.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
