package once

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"sync"
)

// A Ledger keeps versioned entries under keys of 64 digits, from 0 to 9 and a to f. It may refuse other keys. An entry
// is JSON of some 350 bytes. It contains the name, but neither the API key nor descriptions and texts. Entries must not
// expire. The ledger must be comparable, such as a pointer: the calls of a process for the same name on equal ledgers
// take turns.
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

// A Lister is a ledger with a list of its names, such as that of [Dir]:
//
//	for state, err := range once.Dir(path).(once.Lister).List(ctx) {
type Lister interface {
	// List returns the states of all names in any order, except for free ones. It may or may not yield changes made
	// during the iteration. An unreadable entry yields an error with its place, and the iteration goes on. If the
	// storage fails or ctx ends, the last element is the error.
	List(ctx context.Context) iter.Seq2[State, error]
}

// InMemory returns a ledger for one process. It keeps each name until the process ends, in some 500 bytes; the next
// process may store a record again if the service does not list it yet. Use [Dir] to keep the names.
func InMemory() Ledger { return &memory{entries: map[string]kept{}} }

type memory struct {
	sync.Mutex
	entries map[string]kept
}

type kept struct {
	data    []byte
	version string
}

func (m *memory) Get(ctx context.Context, key string) ([]byte, string, error) {
	m.Lock()
	defer m.Unlock()
	k := m.entries[key]
	return bytes.Clone(k.data), k.version, ctx.Err()
}

func (m *memory) Put(_ context.Context, key string, data []byte, version string) (string, error) {
	m.Lock()
	defer m.Unlock()
	if m.entries[key].version != version {
		return "", ErrChanged
	}
	k := kept{bytes.Clone(data), rand.Text()}
	m.entries[key] = k
	return k.version, nil
}
