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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/once"
)

// storage is shared by the ledgers of a test, each of which has opened it.
type storage struct {
	flaws flaws

	mu      sync.Mutex
	entries map[string]row
	last    int // version
	opened  int
	locked  bool
}

type row struct {
	data    []byte
	version string
	before  [2]string // the versions before this one, the last one first
	put     time.Time
}

// flaws change a ledger that is right. A field that is not set changes nothing.
type flaws struct {
	open     func(s *storage) error                                       // called before each opening
	key      func(key string) string                                      // in place of the key
	enter    func(ctx context.Context, s *storage)                        // called before each call
	anyTime  bool                                                         // contexts are not read
	endedGet func() error                                                 // for a context that has ended
	endedPut func(s *storage, key string, data []byte) error              // for a context that has ended
	found    func(l *opened, key string, found row) row                   // by Get
	lends    bool                                                         // Get returns the ledger's own slice
	replaces func(now row, version string) bool                           // whether Put may replace
	refusal  error                                                        // in place of ErrChanged
	pause    func()                                                       // between comparison and change
	keep     func(data []byte) []byte                                     // the bytes that Put keeps
	version  func(l *opened, data []byte) string                          // that Put makes
	result   func(version string, data []byte) (returned string, _ error) // of a Put that has changed the entry
	forget   bool                                                         // Put keeps nothing
}

// opened is one opening of a storage.
type opened struct {
	*storage
	cache map[string]row
	count int
}

func newStorage(f flaws) *storage { return &storage{flaws: f, entries: make(map[string]row)} }

func (s *storage) open() (once.Ledger, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	if s.flaws.open != nil {
		if err := s.flaws.open(s); err != nil {
			return nil, err
		}
	}
	return &opened{storage: s, cache: make(map[string]row)}, nil
}

// enter returns the key, with the storage locked.
func (l *opened) enter(ctx context.Context, key string) string {
	if l.flaws.enter != nil {
		l.flaws.enter(ctx, l.storage)
	}
	l.mu.Lock()
	if l.flaws.key != nil {
		return l.flaws.key(key)
	}
	return key
}

func (l *opened) ended(ctx context.Context) error {
	if l.flaws.anyTime {
		return nil
	}
	return ctx.Err()
}

func (l *opened) Get(ctx context.Context, key string) ([]byte, string, error) {
	key = l.enter(ctx, key)
	defer l.mu.Unlock()
	if err := l.ended(ctx); err != nil {
		if l.flaws.endedGet != nil {
			err = l.flaws.endedGet()
		}
		return nil, "", err
	}
	if l.locked {
		return nil, "", errLocked
	}
	found := l.entries[key]
	if l.flaws.found != nil {
		found = l.flaws.found(l, key, found)
	}
	if l.flaws.lends {
		return found.data, found.version, nil
	}
	return bytes.Clone(found.data), found.version, nil
}

func (l *opened) Put(ctx context.Context, key string, data []byte, version string) (string, error) {
	key = l.enter(ctx, key)
	defer l.mu.Unlock()
	if err := l.ended(ctx); err != nil {
		if l.flaws.endedPut != nil {
			err = l.flaws.endedPut(l.storage, key, data)
		}
		return "", err
	}
	if l.locked {
		return "", errLocked
	}
	now := l.entries[key]
	replaces := version == now.version
	if l.flaws.replaces != nil {
		replaces = l.flaws.replaces(now, version)
	}
	if !replaces {
		if l.flaws.refusal != nil {
			return "", l.flaws.refusal
		}
		return "", fmt.Errorf("the version is %q: %w", now.version, once.ErrChanged)
	}
	if l.flaws.pause != nil {
		l.mu.Unlock()
		l.flaws.pause()
		l.mu.Lock()
	}
	next := row{data: bytes.Clone(data), before: [2]string{now.version, now.before[0]}, put: time.Now()}
	if l.flaws.keep != nil {
		next.data = l.flaws.keep(data)
	}
	l.last++
	next.version = strconv.Itoa(l.last)
	if l.flaws.version != nil {
		next.version = l.flaws.version(l, data)
	}
	if !l.flaws.forget {
		l.entries[key] = next
	}
	delete(l.cache, key)
	if l.flaws.result != nil {
		return l.flaws.result(next.version, data)
	}
	return next.version, nil
}

// replaceWith replaces the bytes of an entry, and its version if another is given.
func (s *storage) replaceWith(key string, data []byte, another bool) {
	now := s.entries[key]
	now.data = bytes.Clone(data)
	if another {
		s.last++
		now.version = strconv.Itoa(s.last)
	}
	s.entries[key] = now
}

var (
	errLocked = errors.New("the storage is locked")
	errEnded  = errors.New("the statement was interrupted")
)

func TestLedgerTestFindsEachFlaw(t *testing.T) {
	const (
		differs = ": the entry is not byte for byte what was put"
		neither = "the entry is neither the old one nor, with another version, the new one"
		stale   = "Put with no version, or one that is not the entry's, succeeds"
		after   = "after a Put whose context has ended: "
		twice   = "a version comes back: an entry has had the one that Put returns"
		alike   = "two keys that differ only in "
	)
	for name, test := range map[string]struct {
		flaws flaws
		says  string
	}{
		"checks before it writes": {flaws{pause: runtime.Gosched}, "updates are lost: a counter that was increased"},
		"has one entry for all keys": {
			flaws{key: func(string) string { return "all" }}, "Get of a key beside it" + differs,
		},
		"cuts keys to 32 characters": {
			flaws{key: func(key string) string { return key[:32] }}, alike + "the last of their 64 digits",
		},
		"keeps the last 63 characters of keys": {
			flaws{key: func(key string) string { return key[1:] }}, alike + "the first of their 64 digits",
		},
		"compares keys without case": {flaws{key: strings.ToLower}, alike + "the case of letters have the same entry"},
		"takes the version before": {
			flaws{replaces: func(now row, v string) bool { return v == now.version || v == now.before[0] && v != "" }},
			stale,
		},
		"takes no version for any": {
			flaws{replaces: func(now row, v string) bool { return v == now.version || v == "" }}, stale,
		},
		"takes any version for none": {
			flaws{replaces: func(now row, v string) bool { return v == now.version || now.version == "" }}, stale,
		},
		"forgets each entry": {flaws{forget: true}, "Get after Put: the entry is gone"},
		"expires entries after a second": {
			flaws{found: func(_ *opened, _ string, found row) row {
				if time.Since(found.put) >= time.Second {
					return row{}
				}
				return found
			}}, "Get 3s after Put: the entry is gone",
		},
		"has an error of its own": {
			flaws{refusal: errors.New("conflict")},
			"Put with no version, or one that is not the entry's, fails without ErrChanged: conflict",
		},
		"creates nothing": {
			flaws{replaces: func(now row, v string) bool { return v == now.version && v != "" }},
			"Put with the entry's version: the version is",
		},
		"makes versions of the bytes": {
			flaws{version: func(_ *opened, data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }},
			twice,
		},
		"counts in each process": {
			flaws{version: func(l *opened, _ []byte) string {
				l.count++
				return strconv.Itoa(l.count)
			}}, twice,
		},
		"returns no version": {
			flaws{result: func(string, []byte) (string, error) { return "", nil }}, "Put returns no version",
		},
		"returns another version": {
			flaws{result: func(version string, _ []byte) (string, error) { return version + "'", nil }},
			"Get after Put: the version is not the one that Put has returned",
		},
		"fails in between": {
			flaws{result: func(version string, data []byte) (string, error) {
				if string(data) == "b" {
					return "", errors.New("disk full")
				}
				return version, nil
			}}, "Put with the entry's version: disk full",
		},
		"reads what it has read before": {
			flaws{found: func(l *opened, key string, found row) row {
				if old, ok := l.cache[key]; ok {
					return old
				}
				if found.version != "" {
					l.cache[key] = found
				}
				return found
			}}, "Get after Put in another process" + differs,
		},
		"loses everything": {
			flaws{open: func(s *storage) error {
				if s.opened == 3 {
					clear(s.entries)
				}
				return nil
			}}, "Get after opening again: the entry is gone",
		},
		"keeps text": {
			flaws{keep: func(data []byte) []byte { return []byte(strings.ToValidUTF8(string(data), "?")) }},
			"Get after Put" + differs,
		},
		"keeps the caller's slice": {
			flaws{keep: func(data []byte) []byte {
				if bytes.HasPrefix(data, []byte("{")) { // what one goroutine alone puts
					return data
				}
				return bytes.Clone(data)
			}}, "Get after Put" + differs,
		},
		"gives its slice away": {flaws{lends: true}, "Get after Put, and after its slice was changed" + differs},
		"has no entry for an ended context": {
			flaws{endedGet: func() error { return nil }},
			"Get with a context that has ended returns no error, and no entry",
		},
		"stays locked": {
			flaws{endedPut: func(s *storage, _ string, _ []byte) error {
				s.locked = true
				return errEnded
			}}, after + "the storage is locked",
		},
		"writes half": {
			flaws{endedPut: func(s *storage, key string, data []byte) error {
				s.replaceWith(key, data, false)
				return errEnded
			}}, after + neither,
		},
		"blames a change": {
			flaws{endedPut: func(*storage, string, []byte) error { return once.ErrChanged }},
			"Put whose context has ended says that the entry has changed",
		},
		"blames a change for each failure of a new name": {
			flaws{endedPut: func(s *storage, key string, _ []byte) error {
				if s.entries[key].version == "" {
					return once.ErrChanged
				}
				return errEnded
			}}, "Put of a new name, whose context has ended, says that the entry has changed; there is none",
		},
		"waits until its context ends": {
			flaws{enter: func(ctx context.Context, _ *storage) { <-ctx.Done() }},
			"the test was ended, as it took 5m0s: context deadline exceeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := TestLedger(newStorage(test.flaws).open)
				require.ErrorContains(t, err, test.says)
				assert.True(t, strings.HasPrefix(err.Error(), "aicontenttest: TestLedger found problems:\n"), err)
				said := make(map[string]bool)
				for line := range strings.Lines(err.Error()) {
					assert.False(t, said[line], "it is said twice: %s", line)
					said[line] = true
				}
				assert.Less(t, len(said), 25, "they fit on a screen:\n%v", err)
				assert.LessOrEqual(t, time.Since(start), 6*time.Minute)
			})
		})
	}
}

// A ledger in memory may wait for a lock that a call has kept, whatever becomes of its context.
func TestLedgerTestEndsWithoutTheLedger(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string]int{"from the first call on": 0, "after 100 calls": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start, release := time.Now(), make(chan struct{})
				left := calls
				s := newStorage(flaws{enter: func(_ context.Context, s *storage) {
					s.mu.Lock()
					left--
					hangs := left < 0
					s.mu.Unlock()
					if hangs {
						<-release
					}
				}})
				err := TestLedger(s.open)
				require.ErrorContains(t, err, "t does not return: its context ended 30s ago")
				assert.Equal(t, 2, strings.Count(err.Error(), "\n")+1, "nothing else is said: %v", err)
				assert.LessOrEqual(t, time.Since(start), 2*time.Minute)
				close(release)
			})
		})
	}
}

func TestLedgerTestReportsALedgerThatCannotBeOpenedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := TestLedger(newStorage(flaws{open: func(s *storage) error {
			if s.opened == 3 {
				return errors.New("the storage is in use")
			}
			return nil
		}}).open)
		assert.EqualError(t, err, "aicontenttest: TestLedger: open: the storage is in use")
	})
}

// The ledgers of package once are tested there.
func TestLedgerTestPassesLedgersThatAreRight(t *testing.T) {
	t.Parallel()
	late := newStorage(flaws{endedPut: func(s *storage, key string, data []byte) error {
		s.replaceWith(key, data, true)
		return errEnded
	}})
	strict := newStorage(flaws{})
	for name, open := range map[string]func() (once.Ledger, error){
		"a map":                           newStorage(flaws{}).open,
		"a map that reads no context":     newStorage(flaws{anyTime: true}).open,
		"a map that writes and fails":     late.open,
		"a map that refuses capital keys": func() (once.Ledger, error) { return lowerCase{strict}.open() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for range 2 {
					require.NoError(t, TestLedger(open), "it can be tested again")
				}
			})
		})
	}
}

// lowerCase is a storage that refuses other keys.
type lowerCase struct{ *storage }

type lowerCaseLedger struct{ once.Ledger }

func (s lowerCase) open() (once.Ledger, error) {
	l, err := s.storage.open()
	return lowerCaseLedger{l}, err
}

func (l lowerCaseLedger) Put(ctx context.Context, key string, data []byte, version string) (string, error) {
	if key != strings.ToLower(key) {
		return "", errors.New("the key has capital letters")
	}
	return l.Ledger.Put(ctx, key, data, version)
}
