package once

import (
	"context"
	"sync"
	"time"
)

// queue makes the calls of this process for a name take turns (rule 9).
type queue struct {
	turn  chan struct{} // full while a call has the turn
	calls int           // number of calls, including the call with the turn
}

// place identifies a queue.
type place struct {
	id  any // of the ledger
	key string
}

var (
	queues     = map[place]*queue{} // only queues with calls
	queuesLock sync.Mutex
)

// queued adds a number of calls, which may be negative, to the queue at a place, and returns the queue.
func queued(at place, calls int) *queue {
	queuesLock.Lock()
	defer queuesLock.Unlock()
	q := queues[at]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		queues[at] = q
	}
	if q.calls += calls; q.calls == 0 {
		delete(queues, at)
	}
	return q
}

// enter takes the turn unless the call has it. It reports whether the call had to wait for another one.
func (c *call[T]) enter(ctx context.Context) (waited bool, err error) {
	if c.turn != nil {
		return false, nil
	}
	turn := queued(c.place, 1).turn
	select {
	case turn <- struct{}{}:
		c.turn = turn
		return false, nil
	default:
	}
	start := time.Now()
	select {
	case turn <- struct{}{}:
		c.turn = turn
	case <-ctx.Done():
		err = c.end(ctx, whyEnded(ctx))
	case <-time.After(c.maxWait - c.waited):
		err = c.end(ctx, ErrMaxWait)
	}
	if err != nil {
		queued(c.place, -1)
	}
	c.waited += time.Since(start)
	return true, err
}

// leave gives the turn to the next call.
func (c *call[T]) leave() {
	if c.turn != nil {
		<-c.turn
		c.turn = nil
		queued(c.place, -1)
	}
}
