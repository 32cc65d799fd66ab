package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// Do makes attempts until one succeeds or no other may follow. Exactly one result is set: the response, or the failure.
func (s *Sender) Do(ctx context.Context, req Request, set Settings) (*Reply, *Failure) {
	c := call{ctx: ctx, sender: s, req: &req, set: &set, outcome: NotExecuted}
	defer c.end()
	for ctx.Err() == nil {
		bearer, why, err := c.enter()
		if err != nil {
			return nil, c.fail(why, err)
		}
		c.add(s.attempt(ctx, &req, &set, bearer, c.last.Number+1, c.outcome == Unknown))
		pause, again, why := decide(set.Policy, c.last, c.situation())
		if again {
			again, why, err = c.reserve()
		}
		c.tell(Result{Attempt: c.last, Again: again, Pause: pause})
		switch {
		case c.last.Verdict.OK:
			return c.succeed(), nil
		case !again:
			return nil, c.fail(why, err)
		}
		sleep(ctx, pause)
	}
	return nil, c.fail(Ended, ContextError(ctx))
}

// call is the history of a call.
type call struct {
	ctx    context.Context
	sender *Sender
	req    *Request
	set    *Settings

	outcome   Outcome // of all attempts together
	last      Attempt
	lastReply *Reply
	keys      redact.Keys
	bearer    string         // that replaces a refused one; empty for none
	renewed   bool           // a 401 was answered by asking for another key
	taken     int            // retries taken from the budget for attempts that were made
	reserved  bool           // one was taken for the next attempt
	dones     []func(Result) // of the hooks that wait for the result of the attempt
	asked     time.Time      // when they were asked
}

// bearerPrefix precedes the key in an Authorization header.
const bearerPrefix = "Bearer "

// enter waits for the rate limiter, gets the key and asks the hooks. A picture is fetched without limiter and key.
func (c *call) enter() (bearer string, why Why, err error) {
	bearer, c.bearer = c.bearer, ""
	if c.req.Kind != Fetch {
		if c.sender.Limiter != nil {
			if err := c.sender.Limiter.Wait(c.ctx); err != nil {
				return "", LimiterError, err
			}
		}
		if bearer == "" {
			if bearer, err = c.sender.Bearer(c.ctx); err != nil {
				return "", KeyError, err
			}
		}
		c.keys = c.keys.With(KeyOf(bearer))
	}
	return bearer, HookError, c.ask()
}

// BearerOf returns the Authorization header for a key.
func BearerOf(key string) string { return bearerPrefix + key }

// KeyOf returns the key in an Authorization header.
func KeyOf(bearer string) redact.Key { return redact.Key(strings.TrimPrefix(bearer, bearerPrefix)) }

// add records an attempt that was made.
func (c *call) add(a Attempt) {
	a.Reply.Keys, a.Reply.Attempts = c.keys, a.Number
	if a.Reply.Status != 0 {
		c.lastReply = &a.Reply
	}
	if c.reserved {
		c.taken++
		c.reserved = false
	}
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
		replayable: c.req.Body == nil || c.req.Body.Replayable(), random: rand.Float64(), left: left,
	}
}

// reserve gets the resource that another attempt needs: a new key after a 401, else a retry from the budget. A pause
// that the service asked for costs nothing.
func (c *call) reserve() (again bool, why Why, err error) {
	switch {
	case c.last.Verdict.Next == Renew:
		c.renewed = true
		old := c.keys[len(c.keys)-1]
		if c.bearer, err = c.sender.Bearer(c.ctx); err != nil {
			return false, KeyError, err
		}
		return KeyOf(c.bearer) != old, Final, nil
	case c.last.RetryAfter > 0:
		return true, Final, nil
	}
	c.reserved = c.sender.Budget.take()
	return c.reserved, NoBudget, nil
}

// succeed returns the response, and returns to the budget what the call has taken, or rewards a success at once.
func (c *call) succeed() *Reply {
	c.sender.Budget.give(max(c.taken*budgetUnit, 1))
	return c.lastReply
}

// fail returns the failure of the call.
func (c *call) fail(why Why, stopped error) *Failure {
	if why == Ended {
		stopped = cmp.Or(stopped, ContextError(c.ctx), context.DeadlineExceeded)
	}
	return &Failure{
		Outcome: c.outcome, Retryable: c.last.Verdict.Retryable || stopped != nil, Attempts: c.last.Number,
		Last: c.last, LastReply: c.lastReply, Keys: c.keys, Why: why, Stopped: stopped,
	}
}

// ErrPanic is the error of an attempt that panicked.
var ErrPanic = errors.New("the attempt ended in a panic")

// end tells hooks of an attempt that panicked, and returns a reserved retry to the budget.
func (c *call) end() {
	if c.reserved {
		c.sender.Budget.give(budgetUnit)
	}
	c.tell(Result{Attempt: Attempt{Err: ErrPanic, Took: time.Since(c.asked)}})
}

// ask asks the hooks for the next attempt. If one refuses, those before it are told.
func (c *call) ask() error {
	c.asked = time.Now()
	for _, hook := range c.set.Hooks {
		done, err := hook(c.ctx, c.last.Number+1)
		if err != nil {
			c.tell(Result{Attempt: Attempt{Err: err, Verdict: Verdict{Outcome: NotExecuted}}})
			return err
		}
		if done != nil {
			c.dones = append(c.dones, done)
		}
	}
	return nil
}

// tell tells the hooks the result in reverse order, each of them once, even if one panics.
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

// ContextError returns why a context ended: its error, with its cause if that says more. It is nil before the end.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// sleep waits, unless the context ends first.
func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
