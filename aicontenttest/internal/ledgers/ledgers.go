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

const (
	testLimit = 5 * time.Minute
	callLimit = time.Minute
	grace     = 30 * time.Second // for a call to return after its context has ended
	lifetime  = 3 * time.Second  // after which an entry must still be there
)

// Test returns the problems of the ledgers that open returns, and the error of open.
func Test(open func() (once.Ledger, error)) ([]error, error) {
	first, err := open()
	other, otherErr := open()
	if err := errors.Join(err, otherErr); err != nil {
		return nil, err
	}
	ctx, end := context.WithTimeout(context.Background(), testLimit)
	defer end()
	r := &report{ctx: ctx, giveUp: end, known: make(map[string]bool)}
	first, other = limited{first, r}, limited{other, r}
	lasting := r.lasting(first)
	expiry := time.After(lifetime)
	chains := append(r.resemble(first, other), r.replace(first, other), r.count(first, other))
	chains = append(chains, r.interrupt(first, other)...)
	select {
	case <-expiry:
	case <-ctx.Done():
	}
	again, err := open()
	if err != nil {
		return nil, err
	}
	again = limited{again, r}
	for _, c := range lasting {
		c.get(other, fmt.Sprintf("%v after Put", lifetime))
	}
	for _, c := range append(chains, lasting...) {
		c.get(again, "after opening again")
		c.put(again, `{"opened":"again"}`, c.version)
		c.check(first, "after opening again and Put")
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.add(fmt.Errorf("the test was ended, as it took %v: %w", testLimit, ctx.Err()))
	}
	return r.problems, nil
}

// A report collects problems, each once.
type report struct {
	ctx      context.Context
	giveUp   context.CancelFunc
	mu       sync.Mutex
	known    map[string]bool
	problems []error
}

// problem reports a problem once. Two problems are the same if they differ only in their errors. It ignores calls after
// the end of the test.
func (r *report) problem(format string, args ...any) {
	key := format
	for _, arg := range args {
		err, ok := arg.(error)
		if errors.Is(err, errEnded) {
			return
		}
		if !ok {
			key += fmt.Sprint("\x00", arg)
		}
	}
	r.mu.Lock()
	known := r.known[key]
	r.known[key] = true
	r.mu.Unlock()
	if !known {
		r.add(fmt.Errorf(format, args...))
	}
}

func (r *report) add(problem error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, problem)
}

// errEnded is the error of calls after the end of the test.
var errEnded = errors.New("the test has ended")

// limited is a ledger whose calls return in time. A call that hangs ends the test, because others would hang, too.
type limited struct {
	ledger once.Ledger
	report *report
}

func (l limited) Get(ctx context.Context, key string) (entry []byte, version string, err error) {
	type result struct {
		entry   []byte
		version string
	}
	got, err := limit(ctx, l.report, "Get", func(ctx context.Context) (result, error) {
		entry, version, err := l.ledger.Get(ctx, key)
		return result{entry, version}, err
	})
	return got.entry, got.version, err
}

func (l limited) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	return limit(ctx, l.report, "Put", func(ctx context.Context) (string, error) {
		return l.ledger.Put(ctx, key, entry, version)
	})
}

func limit[T any](ctx context.Context, r *report, method string, call func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if r.ctx.Err() != nil {
		return none, errEnded
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		value, err := call(ctx)
		done <- result{value, err}
	}()
	select {
	case got := <-done:
		return got.value, got.err
	case <-time.After(callLimit + grace):
		r.problem("%s does not return: its context ended %v ago", method, grace)
		r.giveUp()
		return none, errEnded
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

// resemble puts entries under keys that resemble each other.
func (r *report) resemble(first, other once.Ledger) []*chain {
	c := r.chain()
	middle := c.key[1:63]
	c.key = "a" + middle + "a"
	c.put(first, `{"key":"first"}`, "")
	chains := []*chain{c}
	for difference, key := range map[string]string{"first": "b" + middle + "a", "last": "a" + middle + "b"} {
		alike := &chain{report: r, key: key}
		if _, version, err := other.Get(r.ctx, key); err == nil && version != "" {
			r.problem("two keys that differ only in the %s of their 64 digits have the same entry", difference)
			continue
		}
		alike.put(other, fmt.Sprintf(`{"key":%q}`, difference), "")
		alike.get(first, "of a key that differs in one digit")
		chains = append(chains, alike)
	}
	upper := strings.ToUpper(c.key)
	_, version, err := other.Get(r.ctx, upper)
	if err == nil && version == "" {
		_, err = other.Put(r.ctx, upper, []byte(`{"key":"upper"}`), "")
	}
	// A ledger may refuse such a key.
	if version != "" || errors.Is(err, once.ErrChanged) {
		r.problem("two keys that differ only in the case of letters have the same entry")
	}
	c.get(first, "after Put of a key that resembles it")
	return chains
}

// lasting puts entries that a storage may take for old ones.
func (r *report) lasting(l once.Ledger) (chains []*chain) {
	for _, data := range []string{
		"an entry",
		`{"format":2,"collection":"images","name":"open","call":"a","until":"2001-02-03T04:05:06Z"}`,
		`{"format":2,"collection":"images","name":"made","call":"a","made":"2001-02-03T04:05:06Z","id":"1"}`,
	} {
		c := r.chain()
		c.put(l, data, "")
		chains = append(chains, c)
	}
	return chains
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
	if n, _ := strconv.Atoi(string(entry)); err != nil {
		r.problem("Get after many processes replaced an entry: %w", err)
	} else if n != goroutines*increments {
		r.problem("updates are lost: a counter that was increased %d times is %d", goroutines*increments, n)
	}
	c.data, c.version = string(entry), version
	return c
}

// interrupt ends contexts before and during Get and Put, of an entry and of new names.
func (r *report) interrupt(first, other once.Ledger) []*chain {
	c := r.chain()
	c.put(first, "before", "")
	chains := []*chain{c}
	for i := range 20 {
		c.interrupted(first, i == 0)
		c.get(other, "after a Put whose context has ended")
	}
	for i := range 10 {
		c := r.chain()
		c.interrupted(first, i == 0)
		c.get(other, "of a new name after a Put whose context has ended")
		chains = append(chains, c)
	}
	return chains
}

// interrupted calls Get and Put with a context that has ended, or will soon.
func (c *chain) interrupted(l once.Ledger, ended bool) {
	ctx, stop := context.WithCancel(c.ctx)
	if ended {
		stop()
	}
	go stop()
	if _, version, err := l.Get(ctx, c.key); err == nil && version == "" && c.version != "" {
		c.problem("Get with a context that has ended returns no error, and no entry where there is one")
	}
	data := fmt.Sprintf(`{"interrupted":%d}`, len(c.had))
	version, err := c.write(ctx, l, data, c.version)
	switch {
	case err == nil:
		c.changed(data, version)
	case errors.Is(err, once.ErrChanged) && c.version == "":
		c.problem("Put of a new name, whose context has ended, says that the entry has changed; there is none: %w", err)
	case errors.Is(err, once.ErrChanged):
		c.problem("Put whose context has ended says that the entry has changed, which it has not: %w", err)
	default:
		if err := c.recover(l, data); err != nil {
			c.problem("after a Put whose context has ended: %w", err)
		}
	}
}

// recover replaces the entry, which is the old or the new one, after a failed Put of data. A remote storage may still
// be executing that Put.
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

// A chain is the expected state of one entry, change after change.
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
func (c *chain) put(l once.Ledger, data, version string) (replaced bool) {
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
	return err == nil
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

// get compares the entry with its expected state.
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

// check also tries to replace the entry by versions that it no longer has, until one succeeds: each success is a
// version more.
func (c *chain) check(l once.Ledger, when string) {
	c.get(l, when)
	c.get(l, when+", and after its slice was changed")
	for _, version := range append([]string{""}, c.had[:max(0, len(c.had)-1)]...) {
		if version != c.version && c.put(l, `{"stale":true}`, version) {
			break
		}
	}
	c.get(l, "after a Put that must fail")
}
