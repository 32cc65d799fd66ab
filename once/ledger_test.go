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
	v, err := l.Put(t.Context(), key, e.encode(), version)
	require.NoError(t, err)
	return v
}

func TestInMemoryForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := InMemory()
		start := time.Now()
		hold := map[string]entry{
			"open":       {Until: start.Add(time.Hour)},
			"open, made": {Made: start.Add(-time.Hour), ID: "2", Until: start.Add(time.Hour)},
			"without":    {Made: start},
			"over":       {Until: start.Add(time.Minute)},
			"old":        {Made: start, ID: "1"},
		}
		for key, e := range hold {
			put(t, l, key, e, "")
		}
		v := put(t, l, "nothing", entry{}, "")
		_, now, err := l.Get(t.Context(), "nothing")
		require.NoError(t, err)
		assert.Empty(t, now, "what holds nothing goes at once")
		_, err = l.Put(t.Context(), "nothing", nil, v)
		require.ErrorIs(t, err, ErrChanged)

		time.Sleep(2 * time.Minute)
		for n := range remembered + more {
			put(t, l, fmt.Sprint(n), entry{Made: start.Add(time.Duration(n+1) * time.Millisecond), ID: "1"}, "")
		}
		has := func(key string) bool {
			_, version, err := l.Get(t.Context(), key)
			require.NoError(t, err)
			return version != ""
		}
		for key := range hold {
			assert.Equal(t, key != "over" && key != "old", has(key), key)
		}
		// The pass came with the entry that made it 11,000, beside the six above.
		forgotten := 0
		for n := range remembered + more {
			if !has(fmt.Sprint(n)) {
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
		_, err := l.Put(t.Context(), fmt.Sprint(n), []byte(`{}`), "")
		require.NoError(t, err)
	}
	for n := range remembered + more + 10 {
		_, version, err := l.Get(t.Context(), fmt.Sprint(n))
		require.NoError(t, err)
		require.NotEmpty(t, version, n)
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
		_, version, err := l.Get(t.Context(), fmt.Sprint(n))
		require.NoError(t, err)
		require.Equal(t, n >= more, version != "", n)
	}
}

func TestInMemoryListsWhatItKeeps(t *testing.T) {
	t.Parallel()
	l := InMemory()
	until, made := time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC()
	put(t, l, "1", entry{Collection: "images", Name: "open", Until: until}, "")
	put(t, l, "2", entry{Collection: "transcriptions", Name: "made", Made: made, ID: "7"}, "")
	put(t, l, "3", entry{Collection: "images", Name: "free"}, "")
	_, err := l.Put(t.Context(), "4", []byte("{}"), "")
	require.NoError(t, err)
	var states []State
	var failed []string
	for state, err := range l.(Lister).List(t.Context()) {
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		states = append(states, state)
		_, _, err = l.Get(t.Context(), "1")
		require.NoError(t, err, "the ledger can be used meanwhile")
	}
	assert.ElementsMatch(t, []State{
		{Collection: "images", Name: "open", Until: until},
		{Collection: "transcriptions", Name: "made", Made: made, ID: "7"},
	}, states)
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
