package network

import "sync"

// A tracker counts the goroutines and connections that have to end before the network is closed.
type tracker struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

// enter returns false once the network is closing.
func (t *tracker) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.all.Add(1)
	}
	return !t.closed
}

func (t *tracker) leave() { t.all.Done() }

// wait lets nothing more enter and returns when everything has left.
func (t *tracker) wait() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.all.Wait()
}
