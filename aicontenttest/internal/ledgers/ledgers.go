// Package ledgers tests ledgers of package once.
package ledgers

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/once"
)

// Test returns the problems of the ledgers that open returns, and the error of open.
func Test(open func() (once.Ledger, error)) ([]error, error) {
	var both [2]once.Ledger
	for i := range both {
		var err error
		if both[i], err = open(); err != nil {
			return nil, err
		}
	}
	r := new(report)
	first, other := both[0], both[1]
	chains := []*chain{r.replace(first, other), r.copies(first, other), r.count(both[:]), r.cancel(first, other)}
	again, err := open()
	if err != nil {
		return nil, err
	}
	for _, c := range chains {
		c.get(again, "after opening again")
		c.put(again, []byte(`{"opened":"again"}`))
		c.stale(first, "after opening again")
		c.get(other, "after opening again and Put")
	}
	return r.problems, nil
}

// replace makes and replaces an entry, by turns in two ledgers of the same storage.
func (r *report) replace(first, other once.Ledger) *chain {
	c, neighbor := newChain(r), newChain(r)
	c.get(first, "before the first Put")
	c.put(first, []byte(`{"n":1}`))
	c.get(first, "after Put")
	c.get(other, "in another process")
	neighbor.get(first, "of a key beside it")
	_, err := put(context.Background(), first, neighbor.key, []byte("{}"), c.version())
	if !errors.Is(err, once.ErrChanged) {
		r.problem("Put of a missing entry with a version ends with %v, and not with ErrChanged", err)
	}
	neighbor.get(first, "of a key beside it")
	// The same bytes twice in a row, and again later: their version must be another one each time.
	for i, text := range []string{"a", "a", "b", "a", "", "a"} {
		c.put([]once.Ledger{other, first}[i%2], []byte(text))
		c.get(first, "after Put in one of two processes")
		c.get(other, "after Put in one of two processes")
		c.stale(first, "after later ones")
		c.stale(other, "after later ones")
		c.get(first, "after a Put that must fail")
	}
	neighbor.put(other, []byte(`{"n":2}`))
	c.get(first, "after Put of another key")
	neighbor.get(first, "after Put of another key")
	return c
}

// copies puts bytes of all kinds, and changes each slice that the ledger returns.
func (r *report) copies(first, other once.Ledger) *chain {
	every := make([]byte, 0, 1<<8)
	for b := range 1 << 8 {
		every = append(every, byte(b))
	}
	random := make([]byte, 1<<10)
	_, _ = rand.Read(random) // never fails
	c := newChain(r)
	for _, data := range [][]byte{
		[]byte(`{"name":"line one\nline two, \"quoted\", ü 日本 😀 \\ \u0000"}`), []byte(" \t\r\n "),
		every, random,
		[]byte(`{"name":"` + strings.Repeat("n", 20<<10) + `"}`),
	} {
		c.put(first, data)
		for range 2 {
			entry, _, err := get(context.Background(), first, c.key)
			if err != nil {
				break // as the next one says
			}
			for i := range entry {
				entry[i] = 'x'
			}
		}
		c.get(first, "after the slices of Put and Get were changed")
		c.get(other, "in another process")
	}
	return c
}

const goroutines, increments = 16, 8

// count has many goroutines increase a counter. Each tries again while another one was faster.
func (r *report) count(ledgers []once.Ledger) *chain {
	c := newChain(r)
	var seen sync.Map
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			l := ledgers[i%len(ledgers)]
			for range increments {
				version, err := increase(l, c.key)
				if err != nil {
					r.problem("while many processes replace an entry: %w", err)
					return
				}
				if _, had := seen.LoadOrStore(version, true); had {
					r.problem("two changes of an entry have the same version")
				}
			}
		})
	}
	all.Wait()
	changes := 0
	seen.Range(func(any, any) bool { changes++; return true })
	entry, version, err := get(context.Background(), ledgers[0], c.key)
	if err != nil {
		r.problem("Get after many changes: %w", err)
	} else if n, err := strconv.Atoi(string(entry)); err == nil && n < changes {
		r.problem("updates are lost: a counter that was increased %d times is %d", changes, n)
	} else if err != nil {
		r.problem("updates are lost: a counter is %q", entry)
	}
	c.data, c.versions = entry, []string{version}
	return c
}

// increase adds 1 to the counter and returns the version of the entry.
func increase(l once.Ledger, key string) (string, error) {
	const tries = goroutines * increments // each that fails is one of another goroutine that succeeds
	for range tries {
		entry, version, err := get(context.Background(), l, key)
		if err != nil {
			return "", fmt.Errorf("in Get: %w", err)
		}
		n := 0
		if version != "" {
			if n, err = strconv.Atoi(string(entry)); err != nil {
				return "", fmt.Errorf("in Get: not what was put: %w", err)
			}
		}
		next, err := put(context.Background(), l, key, strconv.AppendInt(nil, int64(n+1), 10), version)
		if err == nil {
			return next, nil
		}
		if !errors.Is(err, once.ErrChanged) {
			return "", fmt.Errorf("in Put: %w", err)
		}
	}
	return "", fmt.Errorf("in Put: ErrChanged %d times in a row", tries)
}

// cancel ends contexts before and during Get and Put.
func (r *report) cancel(first, other once.Ledger) *chain {
	c := newChain(r)
	c.put(first, []byte("before"))
	ended, end := context.WithCancel(context.Background())
	end()
	if _, version, err := get(ended, first, c.key); err == nil && version == "" {
		r.problem("Get with a context that has ended returns no error, and no entry where there is one")
	}
	for i := range 20 {
		ctx := ended
		if i > 0 {
			during, stop := context.WithCancel(context.Background())
			go stop()
			ctx = during
		}
		c.interrupted(ctx, first, other, fmt.Appendf(nil, `{"interrupted":%d}`, i))
	}
	return c
}

// interrupted puts data with a context that ends. After an error, the entry is the old or the new one, and can be
// replaced. A storage that is far away may do that when Put has ended already.
func (c *chain) interrupted(ctx context.Context, l, other once.Ledger, data []byte) {
	const when = "after a Put whose context has ended"
	version, err := put(ctx, l, c.key, data, c.version())
	if err == nil {
		c.changed(data, version)
		c.get(other, when+" without an error")
		return
	}
	if errors.Is(err, once.ErrChanged) {
		c.problem("Put whose context has ended says that the entry has changed, which it has not: %w", err)
	}
	const tries = 5
	for try := range tries {
		entry, version, err := get(context.Background(), l, c.key)
		switch {
		case err != nil:
			c.problem("Get %s: %w", when, err)
			return
		case version == c.version() && bytes.Equal(entry, c.data):
		case version == c.version():
			c.problem("Get %s: the entry has changed, and its version has not", when)
			return
		case string(entry) != string(data):
			c.problem("Get %s: the entry is neither the old nor the new one", when)
			return
		case slices.Contains(c.versions, version):
			c.problem("Get %s: a version comes back", when)
			return
		default:
			c.data, c.versions = data, append(c.versions, version)
		}
		after := fmt.Appendf(nil, "%s, and then", data)
		next, err := put(context.Background(), l, c.key, after, c.version())
		if err == nil {
			c.changed(after, next)
			c.get(other, when)
			return
		}
		if !errors.Is(err, once.ErrChanged) || try == tries-1 {
			c.problem("Put %s: %w", when, err)
			return
		}
		time.Sleep(20 * time.Millisecond << try) // A replicated storage may not be done with the Put.
	}
}
