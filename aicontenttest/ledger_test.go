package aicontenttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/once"
)

// storage is what the ledgers of a test share. Each breakage below is the name of one thing that is wrong with them.
type storage struct {
	breakage string

	mu      sync.Mutex
	entries map[string]row
	last    int // version
	opened  int
	locked  bool // by a Put whose context has ended
}

type row struct {
	data    []byte
	version string
	before  [2]string // the versions before this one, the last one first
}

// aLedger is one opening of a storage.
type aLedger struct {
	*storage
	number int
	cache  map[string]row
}

func (s *storage) open() (once.Ledger, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	switch {
	case s.breakage == "cannot be opened again" && s.opened == 3:
		return nil, errors.New("the storage is in use")
	case s.breakage == "loses everything" && s.opened == 3:
		clear(s.entries)
	}
	return &aLedger{storage: s, number: s.opened, cache: make(map[string]row)}, nil
}

func (l *aLedger) key(key string) string {
	if l.breakage == "has one entry for all keys" {
		return "all"
	}
	return key
}

func (l *aLedger) Get(ctx context.Context, key string) ([]byte, string, error) {
	if l.breakage == "hangs" {
		<-ctx.Done()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		if l.breakage == "has no entry for an ended context" {
			err = nil
		}
		return nil, "", err
	}
	if l.locked {
		return nil, "", errors.New("the storage is locked")
	}
	found := l.entries[l.key(key)]
	if l.breakage == "reads what it has read before" {
		if old, ok := l.cache[key]; ok {
			found = old
		} else if found.version != "" {
			l.cache[key] = found
		}
	}
	if l.breakage == "gives its slice away" {
		return found.data, found.version, nil
	}
	return bytes.Clone(found.data), found.version, nil
}

func (l *aLedger) Put(ctx context.Context, key string, data []byte, version string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key = l.key(key)
	now := l.entries[key]
	if err := ctx.Err(); err != nil {
		switch l.breakage {
		case "stays locked":
			l.locked = true
		case "writes half":
			now.data = bytes.Clone(data)
			l.entries[key] = now
		case "blames a change":
			return "", once.ErrChanged
		case "writes something else":
			l.last++
			l.entries[key] = row{version: strconv.Itoa(l.last)}
		case "writes and fails": // which is allowed
			l.last++
			l.entries[key] = row{data: bytes.Clone(data), version: strconv.Itoa(l.last)}
		}
		return "", err
	}
	if l.locked {
		return "", errors.New("the storage is locked")
	}
	if !l.mayReplace(now, version) {
		if l.breakage == "has an error of its own" {
			return "", errors.New("conflict")
		}
		return "", fmt.Errorf("the version is %q: %w", now.version, once.ErrChanged)
	}
	if l.breakage == "checks before it writes" {
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
	next := row{data: l.kept(data), version: l.next(data), before: [2]string{now.version, now.before[0]}}
	l.entries[key] = next
	delete(l.cache, key)
	switch l.breakage {
	case "returns no version":
		return "", nil
	case "returns another version":
		return next.version + "'", nil
	case "fails in between":
		if len(data) == 1 && data[0] == 'b' {
			return "", errors.New("disk full")
		}
	}
	return next.version, nil
}

func (l *aLedger) mayReplace(now row, version string) bool {
	switch l.breakage {
	case "takes the version before":
		return version == now.version || version == now.before[0] && version != ""
	case "takes the version before that":
		return version == now.version || version == now.before[1] && version != ""
	case "takes no version for any":
		return version == now.version || version == ""
	case "takes any version for none":
		return version == now.version || now.version == ""
	case "creates nothing":
		return version == now.version && version != ""
	}
	return version == now.version
}

func (l *aLedger) kept(data []byte) []byte {
	switch l.breakage {
	case "keeps text":
		return []byte(strings.ToValidUTF8(string(data), "?"))
	case "keeps lines":
		return bytes.Clone(bytes.TrimSpace(data))
	case "keeps 4 KiB":
		return bytes.Clone(data[:min(len(data), 4<<10)])
	case "keeps the caller's slice":
		if bytes.HasPrefix(data, []byte("{")) { // what one goroutine alone puts
			return data
		}
	}
	return bytes.Clone(data)
}

func (l *aLedger) next(data []byte) string {
	l.last++
	switch l.breakage {
	case "makes versions of the bytes":
		return fmt.Sprintf("%x", sha256.Sum256(data))
	case "counts in each process":
		l.cache["counter"] = row{version: l.cache["counter"].version + "i"}
		return l.cache["counter"].version
	case "counts to four":
		return strconv.Itoa(l.last % 4)
	}
	return strconv.Itoa(l.last)
}

func ledgerStorage(breakage string) *storage {
	return &storage{breakage: breakage, entries: make(map[string]row)}
}

func TestLedgersThatAreWrong(t *testing.T) {
	const (
		bytes   = ": the entry is not byte for byte what was put"
		neither = "the entry is neither the old one nor, with another version, the new one"
		stale   = "Put with no version, or one that is not the entry's, succeeds"
		after   = "after a Put whose context has ended: "
		twice   = "a version comes back: an entry has had the one that Put returns"
		slice   = "Get after Put, and after its slice was changed" + bytes
		other   = "Get after Put in another process" + bytes
	)
	for breakage, says := range map[string]string{
		"checks before it writes":           "updates are lost: a counter that was increased",
		"has one entry for all keys":        "Get of a key beside it" + bytes,
		"takes the version before":          stale,
		"takes the version before that":     stale,
		"takes no version for any":          stale,
		"takes any version for none":        stale,
		"has an error of its own":           "Put with no version, or one that is not the entry's, fails without ErrChanged: conflict",
		"creates nothing":                   "Put with the entry's version: the version is",
		"makes versions of the bytes":       twice,
		"counts in each process":            twice,
		"counts to four":                    twice,
		"returns no version":                "Put returns no version",
		"returns another version":           "Get after Put: the version is not the one that Put has returned",
		"reads what it has read before":     other,
		"loses everything":                  "Get after opening again: the entry is gone",
		"keeps text":                        "Get after Put" + bytes,
		"keeps lines":                       "Get after Put" + bytes,
		"keeps 4 KiB":                       "Get after Put" + bytes,
		"keeps the caller's slice":          "Get after Put" + bytes,
		"gives its slice away":              slice,
		"has no entry for an ended context": "Get with a context that has ended returns no error, and no entry",
		"stays locked":                      after + "the storage is locked",
		"writes half":                       after + neither,
		"writes something else":             after + neither,
		"blames a change":                   "Put whose context has ended says that the entry has changed",
		"fails in between":                  "Put with the entry's version: disk full",
	} {
		t.Run(breakage, func(t *testing.T) {
			err := TestLedger(ledgerStorage(breakage).open)
			require.ErrorContains(t, err, says)
			assert.True(t, strings.HasPrefix(err.Error(), "aicontenttest: TestLedger found problems:\n"), err)
			lines := make(map[string]bool)
			for line := range strings.Lines(err.Error()) {
				assert.False(t, lines[line], "it is said twice: %s", line)
				lines[line] = true
			}
		})
	}
	err := TestLedger(ledgerStorage("cannot be opened again").open)
	assert.EqualError(t, err, "aicontenttest: TestLedger: open: the storage is in use")
	synctest.Test(t, func(t *testing.T) {
		err := TestLedger(ledgerStorage("hangs").open)
		assert.ErrorContains(t, err, "Get after Put: context deadline exceeded")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestLedgersThatAreRight(t *testing.T) {
	shared, folder := once.InMemory(), t.TempDir()
	for name, open := range map[string]func() (once.Ledger, error){
		"a map":                 ledgerStorage("").open,
		"a map that fails late": ledgerStorage("writes and fails").open,
		"in memory":             func() (once.Ledger, error) { return shared, nil },
		"a folder":              func() (once.Ledger, error) { return once.Dir(folder), nil },
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				require.NoError(t, TestLedger(open), "it can be tested again")
			}
		})
	}
}
