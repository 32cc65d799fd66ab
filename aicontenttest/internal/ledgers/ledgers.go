// Package ledgers tests ledgers of package once.
package ledgers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
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
	first, err := open()
	other, otherErr := open()
	if err := errors.Join(err, otherErr); err != nil {
		return nil, err
	}
	ctx, end := context.WithTimeout(context.Background(), 5*time.Minute) // for one that hangs
	defer end()
	r := &report{ctx: ctx}
	chains := []*chain{r.replace(first, other), r.count(first, other), r.interrupt(first, other)}
	again, err := open()
	if err != nil {
		return nil, err
	}
	for _, c := range chains {
		c.get(again, "after opening again")
		c.put(again, `{"opened":"again"}`, c.version)
		c.check(first, "after opening again and Put")
	}
	return r.problems, nil
}

// A report collects problems, each once.
type report struct {
	ctx      context.Context
	mu       sync.Mutex
	problems []error
}

func (r *report) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := fmt.Errorf(format, args...)
	if !slices.ContainsFunc(r.problems, func(known error) bool { return known.Error() == err.Error() }) {
		r.problems = append(r.problems, err)
	}
}

// replace replaces an entry by turns in two ledgers of the same storage.
func (r *report) replace(first, other once.Ledger) *chain {
	c, neighbor := r.chain(), r.chain()
	c.get(first, "before the first Put")
	// The same bytes twice in a row, and again later, have another version each time.
	for _, data := range []string{
		`{"n":1}`, "a", "a", "b", "a", "", "a", `"ü 日本 😀 \ \u0000"`, " \t\r\n ", "\x00\x7f\x80\xc0\xf5\xff",
		strings.Repeat("n", 20<<10),
	} {
		c.put(first, data, c.version)
		c.check(first, "after Put")
		c.check(other, "after Put in another process")
		neighbor.get(first, "of a key beside it")
		neighbor.put(first, `{"stale":true}`, c.version)
		first, other = other, first
	}
	return c
}

// count has many goroutines increase a counter, each of which tries again while another one was faster.
func (r *report) count(first, other once.Ledger) *chain {
	const goroutines, increments = 16, 8
	c, all := r.chain(), sync.WaitGroup{}
	versions := make(chan string, goroutines*increments)
	for i := range goroutines {
		l := []once.Ledger{first, other}[i%2]
		all.Go(func() {
			// Each try that fails is one of another goroutine that succeeds.
			for left, tries := increments, 0; left > 0 && tries < goroutines*increments; tries++ {
				entry, version, err := l.Get(r.ctx, c.key)
				n, _ := strconv.Atoi(string(entry))
				if err == nil {
					version, err = c.write(r.ctx, l, strconv.Itoa(n+1), version)
				}
				if err == nil {
					left--
					versions <- version
				} else if !errors.Is(err, once.ErrChanged) {
					r.problem("while many processes replace an entry: %w", err)
					return
				}
			}
		})
	}
	all.Wait()
	close(versions)
	for version := range versions {
		c.changed("", version)
	}
	entry, version, err := first.Get(r.ctx, c.key)
	if n, _ := strconv.Atoi(string(entry)); err != nil || n != goroutines*increments {
		r.problem("updates are lost: a counter that was increased %d times is %d: %v", goroutines*increments, n, err)
	}
	c.data, c.version = string(entry), version
	return c
}

// interrupt ends contexts before and during Get and Put.
func (r *report) interrupt(first, other once.Ledger) *chain {
	c := r.chain()
	c.put(first, "before", "")
	for i := range 20 {
		ctx, stop := context.WithCancel(r.ctx)
		if i == 0 {
			stop()
		}
		go stop()
		if _, version, err := first.Get(ctx, c.key); err == nil && version == "" {
			r.problem("Get with a context that has ended returns no error, and no entry where there is one")
		}
		data := fmt.Sprintf(`{"interrupted":%d}`, i)
		version, err := c.write(ctx, first, data, c.version)
		if err == nil {
			c.changed(data, version)
		} else if errors.Is(err, once.ErrChanged) {
			r.problem("Put whose context has ended says that the entry has changed, which it has not: %w", err)
		} else if err = c.recover(first, data); err != nil {
			r.problem("after a Put whose context has ended: %w", err)
		}
		c.get(other, "after a Put whose context has ended")
	}
	return c
}

// recover replaces the entry after a Put of data that failed. It is the old or the new one. A storage that is far away
// may not be done with the Put when that returns.
func (c *chain) recover(l once.Ledger, data string) error {
	for pause := 20 * time.Millisecond; ; pause *= 2 {
		entry, version, err := l.Get(c.ctx, c.key)
		old := version == c.version && string(entry) == c.data
		switch {
		case err != nil:
			return err
		case !old && (version == c.version || string(entry) != data):
			return errors.New("the entry is neither the old one nor, with another version, the new one")
		case !old:
			c.changed(data, version)
		}
		version, err = c.write(c.ctx, l, data+"!", version)
		if err == nil {
			c.changed(data+"!", version)
		}
		if !errors.Is(err, once.ErrChanged) || pause > time.Second/2 {
			return err
		}
		time.Sleep(pause)
	}
}

// A chain is what one entry must be, one change after the other.
type chain struct {
	*report
	key, data, version string
	had                []string // versions
}

// chain returns the chain of a key that no other run has.
func (r *report) chain() *chain {
	return &chain{report: r, key: fmt.Sprintf("%x", sha256.Sum256([]byte(rand.Text())))}
}

// put replaces the entry, which must succeed if it has the version.
func (c *chain) put(l once.Ledger, data, version string) {
	next, err := c.write(c.ctx, l, data, version)
	switch right := version == c.version; {
	case right && err != nil:
		c.problem("Put with the entry's version: %w", err)
	case !right && err == nil:
		c.problem("Put with no version, or one that is not the entry's, succeeds")
	case !right && !errors.Is(err, once.ErrChanged):
		c.problem("Put with no version, or one that is not the entry's, fails without ErrChanged: %w", err)
	}
	if err == nil {
		c.changed(data, next)
	}
}

// write calls Put with bytes that it then overwrites: the ledger must not keep them.
func (c *chain) write(ctx context.Context, l once.Ledger, data, version string) (string, error) {
	lent := []byte(data)
	defer clear(lent)
	return l.Put(ctx, c.key, lent, version)
}

// changed notes a change.
func (c *chain) changed(data, version string) {
	if version == "" {
		c.problem("Put returns no version")
	} else if slices.Contains(c.had, version) {
		c.problem("a version comes back: an entry has had the one that Put returns")
	}
	c.data, c.version, c.had = data, version, append(c.had, version)
}

// get compares the entry with what it must be.
func (c *chain) get(l once.Ledger, when string) {
	entry, version, err := l.Get(c.ctx, c.key)
	defer clear(entry) // the ledger must not keep it
	switch {
	case err != nil:
		c.problem("Get %s: %w", when, err)
	case version == "" && c.version != "":
		c.problem("Get %s: the entry is gone", when)
	case string(entry) != c.data:
		c.problem("Get %s: the entry is not byte for byte what was put", when)
	case version != c.version:
		c.problem("Get %s: the version is not the one that Put has returned", when)
	}
}

// check also tries to replace the entry by versions that it no longer has.
func (c *chain) check(l once.Ledger, when string) {
	c.get(l, when)
	c.get(l, when+", and after its slice was changed")
	for _, version := range append([]string{""}, c.had[:max(0, len(c.had)-1)]...) {
		c.put(l, `{"stale":true}`, version)
	}
	c.get(l, "after a Put that must fail")
}
