package once

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A Ledger keeps entries, each with a version and under a key of 64 digits, from 0 to 9 and a to f. It may refuse other
// keys. An entry is JSON of some 350 bytes. It contains the name but no secrets, as the API key, descriptions and texts
// are never in it. Entries must not expire.
//
// The methods must be safe for concurrent use, including by other processes that use the same storage, and return when
// their context ends. A ledger promises compare-and-set: of several Puts that replace the same version, at most one
// succeeds, and each later Get sees it. If a storage forgets an entry or returns an older one, a record may be created
// twice. Test your own ledger with [github.com/aicontent/aicontent-go/aicontenttest.TestLedger]. docs/recipes.md has
// two ledgers, and untested sketches of others. See also [Lister].
type Ledger interface {
	// Get returns the entry and its version. The version is empty if there is no entry. The caller may modify the
	// entry.
	Get(ctx context.Context, key string) (entry []byte, version string, err error)

	// Put replaces the entry if its version is still the given one, which is empty if there must be none. It returns
	// once the entry is as durable as the ledger is, with a version that no entry of the key ever had. It does not keep
	// the slice. The error wraps [ErrChanged] if the entry has another version, and for no other reason. After any
	// other error, the entry may have been written, or may be later.
	Put(ctx context.Context, key string, entry []byte, version string) (string, error)
}

// ErrChanged is the error of a Put for an entry that has another version.
var ErrChanged = errors.New("the entry has another version")

// InMemory keeps some 10,000 known records, which take 5 MB and are more than a process is likely to ask for again. It
// forgets the rest after each 1,000 more names.
const remembered, more = 10_000, 1000

// InMemory returns a ledger for one process. It remembers the last 10,000 records that calls stored or found, and each
// open name. It is lost when the process ends: the next process may then store a record again if the service does not
// list it yet. Use [Dir] for records that must survive. The ledger implements [Lister].
func InMemory() Ledger { return &memory{entries: map[string]kept{}, full: remembered + more} }

type memory struct {
	mu      sync.Mutex
	entries map[string]kept
	last    int // version
	full    int // entries at which it forgets
}

type kept struct {
	data    []byte
	version string // the number in digits
	number  int    // of the Put
	entry   entry
	open    time.Time // when the entry's Until is over, by the monotonic clock
}

// monotonic returns the same time with a reading of the monotonic clock, which does not step.
func monotonic(t time.Time) time.Time { return time.Now().Add(time.Until(t)) }

func (m *memory) Get(ctx context.Context, key string) ([]byte, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.entries[key]
	return bytes.Clone(k.data), k.version, ctx.Err()
}

func (m *memory) Put(ctx context.Context, key string, data []byte, version string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := ctx.Err()
	if err != nil {
		return "", err
	}
	if m.entries[key].version != version {
		return "", ErrChanged
	}
	m.last++
	k := kept{data: bytes.Clone(data), version: strconv.Itoa(m.last), number: m.last}
	if k.entry, err = decode(data, k.version); err != nil {
		k.entry = entry{Made: time.Now()} // which is kept
	}
	k.open = monotonic(k.entry.Until)
	m.entries[key] = k
	if k.entry.blank() {
		delete(m.entries, key)
	}
	if len(m.entries) >= m.full {
		m.forget()
		m.full = max(len(m.entries), remembered) + more
	}
	return k.version, nil
}

// List copies all entries first, so that the caller may use the ledger meanwhile.
func (m *memory) List(ctx context.Context) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		m.mu.Lock()
		entries := maps.Clone(m.entries)
		m.mu.Unlock()
		for key, k := range entries {
			if err := ctx.Err(); err != nil {
				yield(State{}, err)
				return
			}
			state, err := ParseState(k.data)
			if err != nil {
				err = fmt.Errorf("%s: %w", key, err)
			}
			if !yield(state, err) {
				return
			}
		}
	}
}

// forget drops names that are no longer open and have no record, and the oldest records if there are too many. No clock
// that steps may decide that.
func (m *memory) forget() {
	var made []string
	for key, k := range m.entries {
		switch e := k.entry; {
		case time.Now().Before(k.open):
		case e.Made.IsZero():
			delete(m.entries, key)
		case e.ID != "":
			made = append(made, key)
		}
	}
	slices.SortFunc(made, func(a, b string) int { return m.entries[a].number - m.entries[b].number })
	for _, key := range made[:max(len(made)-remembered, 0)] {
		delete(m.entries, key)
	}
}
