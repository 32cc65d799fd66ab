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

// A Ledger keeps versioned entries under keys of 64 digits, from 0 to 9 and a to f. It may refuse other keys. An entry
// is JSON of some 350 bytes. It contains the name, but neither the API key nor descriptions and texts. Entries must not
// expire.
//
// The methods must be safe for concurrent use, also by other processes with the same storage, and return when their
// context ends. A ledger promises compare-and-set: among several Puts that replace the same version, at most one
// succeeds, and each later Get sees it. If a storage loses an entry or returns an older one, a record may be created
// twice. Test your own ledger with [github.com/aicontent/aicontent-go/aicontenttest.TestLedger]. docs/recipes.md has
// ledgers for databases. See also [Lister].
type Ledger interface {
	// Get returns the entry and its version. The version is empty if there is no entry. The caller may modify the
	// entry.
	Get(ctx context.Context, key string) (entry []byte, version string, err error)

	// Put replaces the entry if it has the given version. An empty version means that there must be no entry. Put waits
	// until the entry is durable and returns a new version, which no entry of the key ever had. It does not keep the
	// slice. The error wraps [ErrChanged] exactly if the entry has another version. After any other error, the
	// entry may have been written, or may be written later.
	Put(ctx context.Context, key string, entry []byte, version string) (string, error)
}

// ErrChanged is the error of a Put if the entry has another version.
var ErrChanged = errors.New("the entry has another version")

// InMemory forgets the oldest records beyond 10,000 after each 1,000 more names. 10,000 records take 5 MB.
const remembered, more = 10_000, 1000

// InMemory returns a ledger for one process. It remembers the last 10,000 records that calls stored or found, and each
// open name. It ends with the process: the next process may store a record again if the service does not list it yet.
// Use [Dir] to keep the names. The ledger implements [Lister].
func InMemory() Ledger { return &memory{entries: map[string]kept{}, full: remembered + more} }

type memory struct {
	mu      sync.Mutex
	entries map[string]kept
	last    int // version
	full    int // number of entries that triggers forget
}

type kept struct {
	data    []byte
	version string // the number in digits
	number  int    // of the Put
	entry   entry
	open    time.Time // the entry's Until on the monotonic clock
}

// monotonic returns t with a reading of the monotonic clock, which never jumps.
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
		k.entry = entry{Made: time.Now()} // so that forget keeps it
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

// List copies all entries first, so that the caller may use the ledger during the iteration.
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

// forget removes closed names without a record, and the oldest records beyond the limit. It relies on the monotonic
// clock alone, because the wall clock may jump.
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
