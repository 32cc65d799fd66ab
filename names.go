package aicontent

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

const maxOpen = 10_000 // names that a client remembers

// onceNames are the names of Store calls with WithOnce: of calls under way, and of requests that may still become
// records.
type onceNames struct {
	settle time.Duration

	mu   sync.Mutex
	busy map[string]chan struct{} // of calls under way; closed when the name is free
	open map[string]time.Time     // when the last request that may still become a record ended
}

func newNames(settle time.Duration) *onceNames {
	return &onceNames{settle: settle, busy: map[string]chan struct{}{}, open: map[string]time.Time{}}
}

// claim is a name that a call has to itself.
type claim struct {
	names *onceNames
	key   string // collection and name
	text  string
	since time.Time // when the last request that may still become a record ended; zero for none
	sent  bool      // a request is under way
}

// claim waits until the name is free, or the context ends.
func (n *onceNames) claim(ctx context.Context, collection, name string) (*claim, error) {
	key := collection + "/" + name
	for {
		n.mu.Lock()
		busy, taken := n.busy[key]
		if !taken {
			defer n.mu.Unlock()
			n.busy[key] = make(chan struct{})
			c := &claim{names: n, key: key, text: name, since: n.open[key]}
			if time.Since(c.since) >= n.settle {
				c.since = time.Time{}
			}
			delete(n.open, key)
			return c, nil
		}
		n.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, contextError(ctx)
		}
	}
}

// attempt notes that a create request is under way before it is made. It remains so if the attempt panics, and the name
// open until the call has what it was made for.
func (c *claim) attempt(do func() (*exchange, error)) (*exchange, error) {
	c.sent = true
	x, err := do()
	c.sent = false
	if err == nil && (x.outcome == OutcomeUnknown || x.outcome == OutcomeDone) {
		c.since = time.Now()
	}
	return x, err
}

// release frees the name, and remembers it if a request may still become a record.
func (c *claim) release() {
	if c.sent {
		c.since = time.Now()
	}
	n := c.names
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.busy[c.key])
	delete(n.busy, c.key)
	if !c.since.IsZero() {
		n.remember(c.key, c.since)
	}
}

// remember makes room if it must: names whose time is over go first, and then the oldest.
func (n *onceNames) remember(name string, since time.Time) {
	if len(n.open) >= maxOpen {
		maps.DeleteFunc(n.open, func(_ string, ended time.Time) bool { return time.Since(ended) >= n.settle })
	}
	if len(n.open) >= maxOpen {
		byAge := func(a, b string) int { return n.open[a].Compare(n.open[b]) }
		delete(n.open, slices.MinFunc(slices.Collect(maps.Keys(n.open)), byAge))
	}
	n.open[name] = since
}

// takenName reports whether the service refused to create a record because another one has the name.
func (x *exchange) takenName() bool {
	e, ok := x.err.(*APIError)
	return ok && (x.status == http.StatusConflict || errors.Is(e, ErrInvalid) && e.Fields["name"] != nil)
}
