package once

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func put(t *testing.T, l Ledger, key string, state State, version string) string {
	t.Helper()
	entry, err := json.Marshal(entry{Format: format, State: state})
	require.NoError(t, err)
	return putText(t, l, key, string(entry), version)
}

func putText(t testing.TB, l Ledger, key, entry, version string) string {
	t.Helper()
	next, err := l.Put(t.Context(), key, []byte(entry), version)
	require.NoError(t, err)
	return next
}

func TestInMemoryKeepsEachNameUntilTheProcessEnds(t *testing.T) {
	t.Parallel()
	l := InMemory()
	const names = 20_000
	made := State{Made: time.Now(), ID: "1"}
	for n := range names {
		put(t, l, fmt.Sprint(n), made, "")
	}
	for n := range names {
		entry, version, err := l.Get(t.Context(), fmt.Sprint(n))
		require.NoError(t, err)
		require.NotEmpty(t, version, n)
		state, err := ParseState(entry)
		require.NoError(t, err)
		require.True(t, state.Made.Equal(made.Made))
	}
	version := put(t, l, "freed", State{}, put(t, l, "freed", made, ""))
	_, err := l.Put(t.Context(), "freed", nil, "")
	assert.ErrorIs(t, err, ErrChanged, "a name that is free has a version")
	putText(t, l, "freed", "", version)
}
