package network

import "sync"

// A tracker counts the goroutines and connections that have to end before the network is closed.
type tracker struct {
	mu     sync.Mutex
	none   sync.Cond
	count  int
	closed bool
}

func newTracker() *tracker {
	t := new(tracker)
	t.none.L = &t.mu
	return t
}

// enter returns false once the network is closing.
func (t *tracker) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.count++
	}
	return !t.closed
}

func (t *tracker) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count--
	if t.count == 0 {
		t.none.Broadcast()
	}
}

// wait lets nothing more enter and returns when everything has left.
func (t *tracker) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for t.count > 0 {
		t.none.Wait()
	}
}
