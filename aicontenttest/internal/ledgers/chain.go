package ledgers

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/once"
)

// patience is how long a Get or a Put may take.
const patience = 30 * time.Second

// A report collects problems, each once.
type report struct {
	mu       sync.Mutex
	problems []error
}

func (r *report) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := fmt.Errorf(format, args...)
	known := func(other error) bool { return other.Error() == err.Error() }
	if !slices.ContainsFunc(r.problems, known) {
		r.problems = append(r.problems, err)
	}
}

// A chain is what one entry must be, one change after the other.
type chain struct {
	*report
	key      string
	data     []byte
	versions []string // that it has had, the current one last
}

// newChain returns the chain of a key that no other run has.
func newChain(r *report) *chain {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return &chain{report: r, key: hex.EncodeToString(key)}
}

// version is the current one; empty where there is no entry.
func (c *chain) version() string {
	if len(c.versions) == 0 {
		return ""
	}
	return c.versions[len(c.versions)-1]
}

// put replaces the entry, which must succeed.
func (c *chain) put(l once.Ledger, data []byte) {
	version, err := put(context.Background(), l, c.key, data, c.version())
	switch {
	case errors.Is(err, once.ErrChanged):
		c.problem("Put with the entry's version says that it has changed: %w", err)
	case err != nil:
		c.problem("Put: %w", err)
	default:
		c.changed(data, version)
	}
}

// changed notes a change.
func (c *chain) changed(data []byte, version string) {
	switch {
	case version == "":
		c.problem("Put returns no version")
	case slices.Contains(c.versions, version):
		c.problem("a version comes back: an entry has had the one that Put returns")
	}
	c.data, c.versions = data, append(c.versions, version)
}

// get compares the entry with what it must be.
func (c *chain) get(l once.Ledger, when string) {
	entry, version, err := get(context.Background(), l, c.key)
	switch {
	case err != nil:
		c.problem("Get %s: %w", when, err)
	case version == "" && c.version() != "":
		c.problem("Get %s: the entry is gone", when)
	case !bytes.Equal(entry, c.data):
		c.problem("Get %s: the entry is not byte for byte what was put", when)
	case version != c.version():
		c.problem("Get %s: the version is not the one that Put has returned", when)
	}
}

// stale tries to replace the entry by versions that it no longer has.
func (c *chain) stale(l once.Ledger, when string) {
	for i, version := range append([]string{""}, c.versions[:max(0, len(c.versions)-1)]...) {
		if version == c.version() {
			continue // came back, which was noted
		}
		data := fmt.Appendf(nil, `{"stale":%d}`, i)
		next, err := put(context.Background(), l, c.key, data, version)
		behind := fmt.Sprintf("a version that is %d behind", len(c.versions)-i)
		if version == "" {
			behind = "no version"
		}
		switch {
		case err == nil:
			c.problem("Put with %s succeeds %s", behind, when)
			c.changed(data, next)
			return // what is stale now is another question
		case !errors.Is(err, once.ErrChanged):
			c.problem("Put with %s fails without ErrChanged %s: %w", behind, when, err)
		}
	}
}

// get calls Get. A ledger whose Get takes longer than patience ends with its context, or never.
func get(ctx context.Context, l once.Ledger, key string) ([]byte, string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.Get(ctx, key)
}

// put calls Put with a copy of the data, which it then overwrites: the ledger must not keep it.
func put(ctx context.Context, l once.Ledger, key string, data []byte, version string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lent := bytes.Clone(data)
	next, err := l.Put(ctx, key, lent, version)
	for i := range lent {
		lent[i] = 'x'
	}
	return next, err
}
