package once

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A Ledger keeps entries, each under a key of 64 hexadecimal digits, with a version. An entry is JSON of some 350 bytes
// without secrets: the API key, a description and a text are never in it, but the name is. Entries must not expire.
//
// The methods must be safe for concurrent use, including by other processes that use the same storage, and return when
// their context ends. A ledger promises compare-and-set: of several Puts that replace the same version, at most one
// succeeds, and whoever calls Get afterwards sees it. A storage that forgets an entry, or returns an older one, breaks
// that promise, and a record may be created twice. Test your own with
// [github.com/aicontent/aicontent-go/aicontenttest.TestLedger]; docs/recipes.md has two,
// and untested sketches of others.
type Ledger interface {
	// Get returns the entry and its version. The version is empty if there is no entry. The caller may modify the
	// entry.
	Get(ctx context.Context, key string) (entry []byte, version string, err error)

	// Put replaces the entry if its version is still the given one, which is empty if there must be none. It returns
	// once the entry is as durable as the ledger is, with a version that no entry of the key ever had. It does not keep
	// the slice. The error wraps [ErrChanged] if the entry has another version; after any other error, the entry may
	// have been written, or may be later.
	Put(ctx context.Context, key string, entry []byte, version string) (string, error)
}

// ErrChanged is the error of a Put for an entry that has another version.
var ErrChanged = errors.New("the entry has another version")

// remembered is how many made records InMemory keeps: some 5 MB, and more than a process is likely to be asked for
// again. It looks for what it can forget after so many more names.
const remembered, more = 10_000, 1000

// InMemory returns a ledger for one process. It remembers the last 10,000 records that were made or found, and each
// name whose request may still create a record, for as long as it may. It is lost when the process ends: the next one
// may then store again what the service does not list yet. For what must survive, see [Dir].
func InMemory() Ledger { return &memory{entries: map[string]kept{}, full: remembered + more} }

type memory struct {
	mu      sync.Mutex
	entries map[string]kept
	last    int // version
	full    int // entries at which it forgets
}

type kept struct {
	data    []byte
	version string
	entry   entry
}

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
	k := kept{data: bytes.Clone(data), version: strconv.Itoa(m.last)}
	if k.entry, err = decode(data, k.version); err != nil {
		k.entry = entry{Made: time.Now()} // which is kept
	}
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

// forget drops what can no longer become a record, and the records made first if there are too many.
func (m *memory) forget() {
	var made []string
	for key, k := range m.entries {
		switch e := k.entry; {
		case time.Now().Before(e.Until):
		case e.Made.IsZero():
			delete(m.entries, key)
		case e.ID != "":
			made = append(made, key)
		}
	}
	slices.SortFunc(made, func(a, b string) int { return m.entries[a].entry.Made.Compare(m.entries[b].entry.Made) })
	for _, key := range made[:max(len(made)-remembered, 0)] {
		delete(m.entries, key)
	}
}
