package once

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func put(t *testing.T, l Ledger, key string, e entry, version string) string {
	t.Helper()
	e.Format = format
	return putText(t, l, key, string(e.encode()), version)
}

func putText(t testing.TB, l Ledger, key, entry, version string) string {
	t.Helper()
	next, err := l.Put(t.Context(), key, []byte(entry), version)
	require.NoError(t, err)
	return next
}

// has reports whether the ledger has an entry for the key.
func has(t *testing.T, l Ledger, key string) bool {
	t.Helper()
	_, version, err := l.Get(t.Context(), key)
	require.NoError(t, err)
	return version != ""
}

// listed returns the states and the errors of a list.
func listed(ctx context.Context, l Ledger) (states []State, failed []string) {
	for state, err := range l.(Lister).List(ctx) {
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		states = append(states, state)
	}
	return states, failed
}

func TestInMemoryForgetsNoOpenRequestAndNoRecordWithoutAnID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := InMemory()
		start := time.Now()
		rows := map[string]struct {
			entry entry
			kept  bool
		}{
			"open":       {entry{Until: start.Add(time.Hour)}, true},
			"open, made": {entry{Made: start.Add(-time.Hour), ID: "2", Until: start.Add(time.Hour)}, true},
			"without":    {entry{Made: start}, true},
			"over":       {entry{Until: start.Add(time.Minute)}, false},
			"old":        {entry{Made: start, ID: "1"}, false},
		}
		for key, row := range rows {
			put(t, l, key, row.entry, "")
		}
		v := put(t, l, "nothing", entry{}, "")
		assert.False(t, has(t, l, "nothing"), "a blank entry goes at once")
		_, err := l.Put(t.Context(), "nothing", nil, v)
		require.ErrorIs(t, err, ErrChanged)

		time.Sleep(2 * time.Minute)
		for n := range remembered + more {
			put(t, l, fmt.Sprint(n), entry{Made: start.Add(time.Duration(n+1) * time.Millisecond), ID: "1"}, "")
		}
		for key, row := range rows {
			assert.Equal(t, row.kept, has(t, l, key), key)
		}
		// The pass came with the entry that made it 11,000, beside the six above.
		forgotten := 0
		for n := range remembered + more {
			if !has(t, l, fmt.Sprint(n)) {
				forgotten++
				assert.Less(t, n, more, "the records made first go")
			}
		}
		assert.Equal(t, more-5, forgotten)
	})
}

func TestInMemoryKeepsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	l := InMemory()
	for n := range remembered + more + 10 {
		putText(t, l, fmt.Sprint(n), `{}`, "")
	}
	for n := range remembered + more + 10 {
		require.True(t, has(t, l, fmt.Sprint(n)), n)
	}
}

// A clock that is set forward must not make the ledger forget a name that is open.
func TestInMemoryForgetsByTheMonotonicClock(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(time.Hour).Round(0) // as it is read from an entry
	assert.NotContains(t, until.String(), " m=")
	assert.Contains(t, monotonic(until).String(), " m=")
	assert.WithinDuration(t, until, monotonic(until), time.Minute)
}

// A clock that is set back must not make the ledger forget the newest records.
func TestInMemoryForgetsTheRecordsThatWerePutFirst(t *testing.T) {
	t.Parallel()
	l := InMemory()
	start := time.Now()
	for n := range remembered + more {
		put(t, l, fmt.Sprint(n), entry{Made: start.Add(-time.Duration(n) * time.Millisecond), ID: "1"}, "")
	}
	for n := range remembered + more {
		require.Equal(t, n >= more, has(t, l, fmt.Sprint(n)), n)
	}
}

func TestInMemoryListsWhatItKeeps(t *testing.T) {
	t.Parallel()
	l := InMemory()
	until, made := time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC()
	put(t, l, "1", entry{Collection: "images", Name: "open", Until: until}, "")
	put(t, l, "2", entry{Collection: "transcriptions", Name: "made", Made: made, ID: "7"}, "")
	put(t, l, "3", entry{Collection: "images", Name: "free"}, "")
	putText(t, l, "4", "{}", "")
	states, failed := listed(t.Context(), l)
	assert.ElementsMatch(t, []State{
		{Collection: "images", Name: "open", Until: until},
		{Collection: "transcriptions", Name: "made", Made: made, ID: "7"},
	}, states)
	for range l.(Lister).List(t.Context()) {
		assert.True(t, has(t, l, "1"), "the ledger can be used meanwhile")
	}
	require.Len(t, failed, 1)
	assert.Contains(t, failed[0], "4: the ledger's entry cannot be read")
}

func TestListEndsWithItsContextAndItsCaller(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]Ledger{"in memory": InMemory(), "a folder": Dir(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			for _, digit := range []string{"1", "2", "3"} {
				put(t, l, digit+key[1:], entry{Made: time.Unix(1, 0)}, "")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			states := 0
			var last error
			for _, err := range l.(Lister).List(ctx) {
				require.NoError(t, last, "an error of the context is the last")
				last = err
				states++
				cancel()
			}
			assert.Equal(t, 2, states)
			require.ErrorIs(t, last, context.Canceled)
			states = 0
			for _, err := range l.(Lister).List(t.Context()) {
				require.NoError(t, err)
				states++
				break
			}
			assert.Equal(t, 1, states)
		})
	}
}
