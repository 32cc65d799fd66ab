package aicontent

import (
	"context"
	"slices"
	"sync"
	"time"
)

const maxLost = 10_000 // names that a client remembers

// onceNames are the names of Store calls with WithOnce: those under way, and those that may still become records.
type onceNames struct {
	held sync.Map // for each name under way a channel, which is closed when the name is free

	mu   sync.Mutex
	lost []lostName // the oldest first
}

// lostName is a name whose last call had an unknown outcome.
type lostName struct {
	name  string
	ended time.Time
	until time.Time // from when on it is forgotten
}

// lock waits until the name is free, or the context ends.
func (n *onceNames) lock(ctx context.Context, name string) (unlock func(), err error) {
	mine := make(chan struct{})
	for {
		other, held := n.held.LoadOrStore(name, mine)
		if !held {
			return func() {
				n.held.Delete(name)
				close(mine)
			}, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, contextError(ctx)
		}
	}
}

// lastTry returns when a call for the name ended with an unknown outcome, or known if that was later.
func (n *onceNames) lastTry(name string, known time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lost {
		if l.name == name && l.ended.After(known) {
			return l.ended
		}
	}
	return known
}

// remember notes how a call for the name has ended. What was lost before stays so until the record is known.
func (n *onceNames) remember(name string, err error, settle time.Duration) {
	now := time.Now()
	lost := OutcomeOf(err) == OutcomeUnknown
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost = slices.DeleteFunc(n.lost, func(l lostName) bool {
		return now.After(l.until) || l.name == name && (lost || err == nil)
	})
	if lost {
		n.lost = append(n.lost[max(len(n.lost)-maxLost+1, 0):], lostName{name, now, now.Add(settle)})
	}
}
