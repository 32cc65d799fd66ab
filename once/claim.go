package once

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
)

const (
	glance   = time.Second // between two looks at a name that another process has
	beat     = 10 * time.Second
	beatSend = time.Minute // while a create request is under way

	// A process that has not been heard of for the lease loses the name. It gives the name up by itself before that.
	lease      = 30 * time.Second
	leaseSend  = 5 * time.Minute
	giveUp     = 25 * time.Second
	giveUpSend = 4 * time.Minute

	skew = time.Minute // by which the clocks of two processes may differ
)

// names is what a process knows of the names that its calls are waiting for or have.
type names struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // of calls under way; closed when the name is free
	seen map[string]sight         // of names that another process has
}

// sight is a version of an entry, and since when this process has seen it.
type sight struct {
	version string
	since   time.Time
}

// lock takes the name for one call of this process. If another call has it, lock waits for that call to end and reports
// so, without taking the name: the ledger may know more by then.
func (n *names) lock(ctx context.Context, key string) (waited bool, err error) {
	n.mu.Lock()
	busy := n.busy[key]
	if busy == nil {
		n.busy[key] = make(chan struct{})
	}
	n.mu.Unlock()
	if busy == nil {
		return false, nil
	}
	select {
	case <-busy:
		return true, nil
	case <-ctx.Done():
		return true, ended(ctx)
	}
}

func (n *names) unlock(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.busy[key])
	delete(n.busy, key)
}

// over reports whether nobody has the name any more: there is no holder, the holder was a call of this process, which
// has ended, or the holder has lost the name. That is so if the calls of this process, taken together, have not seen
// the entry change for the lease, or if its last heartbeat is older than that by any clock.
func (n *names) over(process, key, version string, e entry) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	limit := e.lease()
	s := n.seen[key]
	if s.version != version {
		maps.DeleteFunc(n.seen, func(_ string, s sight) bool { return time.Since(s.since) > 2*leaseSend }) // given up
		s = sight{version, time.Now()}
		n.seen[key] = s
	}
	ours := strings.HasPrefix(e.Holder, process)
	if e.Holder == "" || ours || time.Since(s.since) >= limit || time.Since(e.Beat) > limit+skew {
		delete(n.seen, key)
		return true
	}
	return false
}

// lease is how long the holder of an entry may be silent.
func (e entry) lease() time.Duration {
	if e.Sending {
		return leaseSend
	}
	return lease
}

// take is step 2: it takes the name unless another process has it, and returns a context that ends when the name is
// lost, or nil.
func (c *call[T]) take(ctx context.Context) (context.Context, error) {
	if !c.names.over(c.process, c.key, c.version, c.last) {
		return nil, nil
	}
	held, lose := context.WithCancelCause(ctx)
	c.claim = &claim{
		ledger: c.ledger, key: c.key, token: c.process + "." + rand.Text(), lose: lose,
		lock: make(chan struct{}, 1), entry: c.last, version: c.version,
		limit: time.AfterFunc(giveUp, func() { lose(errLate) }),
	}
	if err := c.claim.put(held, c.takeOver()); err != nil {
		c.claim.limit.Stop()
		lose(nil)
		if errors.Is(err, ErrChanged) {
			return nil, nil
		}
		return nil, c.waitEnded("the ledger could not be written", err)
	}
	c.last = c.claim.entry
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.claim.stop = stop
	go c.claim.renew(renewing)
	return held, nil
}

// takeOver notes the new holder. A request that was under way ended at the latest when its sender lost the name. A time
// in the future comes from a clock that is ahead.
func (c *call[T]) takeOver() func(*entry) {
	before, now := c.last, time.Now().UTC()
	return func(e *entry) {
		e.Holder = c.claim.token
		if before.Sending {
			e.Sending = false
			if ended := before.Beat.Add(leaseSend); ended.After(e.Sent) {
				e.Sent = ended
			}
		}
		if e.Sent.After(now) {
			e.Sent = now
		}
		if e.Made.After(now) {
			e.Made = now
		}
		if !e.Sent.IsZero() {
			e.Until = e.Sent.Add(c.settle)
		}
	}
}

// claim is a name that a call has, until it is released or lost. The entry and its version are as last written or read.
type claim struct {
	ledger Ledger
	key    string
	token  string                  // of the process and the call
	lose   context.CancelCauseFunc // ends what the call does with the name
	stop   context.CancelFunc      // ends the renewal

	lock    chan struct{} // held during a Put; no mutex, as a Put may wait
	entry   entry
	version string
	wrote   time.Time // when the last Put that succeeded began
	limit   *time.Timer
}

// put writes the changed entry with a new heartbeat. After a Put that failed, the ledger's entry decides what follows:
// if it is the new one, the Put has succeeded; if it is the old one, or another with the claim's token, put tries again
// from there; if it is somebody else's, the name is lost.
func (c *claim) put(ctx context.Context, change func(*entry)) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer func() { <-c.lock }()
	var failed error
	for range 3 { // a ledger that fails once or twice costs nothing
		began, next := time.Now(), c.entry
		next.Beat = began.UTC()
		change(&next)
		data := next.encode()
		version, err := c.ledger.Put(ctx, c.key, data, c.version)
		if err != nil {
			failed = err
			var now []byte
			if now, version, err = c.ledger.Get(ctx, c.key); err != nil {
				return fmt.Errorf("%w; and then: %w", failed, err)
			}
			if !bytes.Equal(now, data) {
				if version == c.version {
					continue
				}
				e, err := decode(now, version, "", "")
				if err != nil || e.Holder != c.token {
					c.lose(errLost)
					return failed
				}
				c.entry, c.version = e, version
				continue
			}
		}
		c.entry, c.version, c.wrote = next, version, began
		wait := giveUp
		if next.Sending {
			wait = giveUpSend
		}
		c.limit.Reset(wait - time.Since(began))
		return nil
	}
	return failed
}

func (c *claim) acquire(ctx context.Context) error {
	select {
	case c.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// renew keeps the name until the context ends.
func (c *claim) renew(ctx context.Context) {
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if c.acquire(ctx) != nil {
			return
		}
		due := !c.entry.Sending || time.Since(c.wrote) >= beatSend
		<-c.lock
		if due {
			_ = c.put(ctx, func(*entry) {}) // The next tick tries again, until the limit.
		}
	}
}
