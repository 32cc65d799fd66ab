package once

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ledgers outlive versions of this package: the key of a name never changes.
func TestLedgerKeyOfANameNeverChanges(t *testing.T) {
	t.Parallel()
	// printf '["","https://content.example.com/ai","images","job-4711"]' | sha256sum
	const key = "4247dafb2c1b35460cb3cd607388666fb911f658666b83f1958e5a5f6445bc0f"
	const base = "https://content.example.com/ai"
	for _, same := range []struct{ base, name string }{
		{base, "job-4711"},
		{"https://Content.Example.COM:443/ai", "job-4711"},
		{"HTTPS://content.example.com/ai", "job-4711"},
		{base, " job-4711"},
		{base, "job-4711\r\n"},
	} {
		assert.Equal(t, key, ledgerKey("", same.base, "images", same.name), "%q", same)
	}
	assert.Equal(t, ledgerKey("", base, "images", "a\r\nb\rc"), ledgerKey("", base, "images", "a\nb\nc"))
	const local = "http://localhost"
	assert.Equal(t, ledgerKey("", local, "images", "a"), ledgerKey("", local+":80", "images", "a"))
	assert.Equal(t, ledgerKey("eu", base, "images", "a"), ledgerKey("eu", local, "images", "a"))
	seen := map[string]bool{}
	for _, other := range []struct{ scope, base, collection, name string }{
		{"", base, "images", "job-4711"},
		{"eu", base, "images", "job-4711"},
		{"", base + "/", "images", "job-4711"},
		{"", base, "transcriptions", "job-4711"},
		{"", base, "images", "Job-4711"},
		{"", "http://content.example.com/ai", "images", "job-4711"},
		{"", "https://content.example.com:80/ai", "images", "job-4711"},
		{"", "https://content.example.com/AI", "images", "job-4711"},
	} {
		k := ledgerKey(other.scope, other.base, other.collection, other.name)
		assert.False(t, seen[k], other)
		assert.Len(t, k, 64)
		seen[k] = true
	}
}

func TestFormHashIgnoresEmptyFieldsAndOuterSpace(t *testing.T) {
	t.Parallel()
	a := formHash(map[string]string{"name": "a", "description": "b", "style": ""})
	same := formHash(map[string]string{"description": " b\r\n", "name": "a"})
	assert.Equal(t, a, same, "empty fields and spaces do not count")
	assert.NotEqual(t, a, formHash(map[string]string{"name": "a", "description": "b", "style": "c"}))
	assert.NotEqual(t, formHash(map[string]string{"a": "b&c=d"}), formHash(map[string]string{"a": "b", "c": "d"}))
	assert.NotContains(t, a, "b&")
}

// Other versions read what this one wrote.
func TestEntryFormatNeverChanges(t *testing.T) {
	t.Parallel()
	e := entry{
		Format: 2, Collection: "images", Name: "a", Call: "c", ID: "7", Named: "n", Form: "f",
		Wrote: time.Unix(2, 0).UTC(), Until: time.Unix(3, 0).UTC(), Made: time.Unix(4, 0).UTC(),
	}
	const text = `{"format":2,"collection":"images","name":"a","call":"c","wrote":"1970-01-01T00:00:02Z",` +
		`"until":"1970-01-01T00:00:03Z","made":"1970-01-01T00:00:04Z","id":"7","named":"n","form":"f"}`
	assert.Equal(t, text, string(e.encode()))
	got, err := decode([]byte(text), "1")
	require.NoError(t, err)
	assert.Equal(t, e, got)

	none, err := decode(nil, "")
	require.NoError(t, err)
	assert.Equal(t, entry{}, none)
	for _, bad := range []string{
		``, `{`, `null`, `{}`, `[]`, `{"format":1}`, `{"format":3}`, `{"format":2,"made":"yesterday"}`,
	} {
		_, err := decode([]byte(bad), "1")
		assert.ErrorIs(t, err, errEntry, bad)
		_, err = ParseState([]byte(bad))
		assert.ErrorContains(t, err, "the ledger's entry cannot be read", bad)
	}
}

// A clock that is set during a call changes no wait. Times are compared on the monotonic clock, to which those of an
// entry are converted when it is first seen.
func TestTheTimesOfAnEntryAreOnTheMonotonicClock(t *testing.T) {
	t.Parallel()
	seen := time.Now()
	wall := seen.Round(0) // as an entry has it
	const limit = 17 * time.Minute
	for name, c := range map[string]struct{ until, want time.Duration }{
		"open":                        {10 * time.Minute, 10 * time.Minute},
		"over":                        {-time.Hour, -time.Hour},
		"by a clock that is ahead":    {3 * time.Hour, limit},
		"by a clock that went astray": {1 << 60, limit},
	} {
		got := entry{Until: wall.Add(c.until).UTC()}.until(seen, limit)
		assert.Equal(t, c.want, got.Sub(seen), name)
		assert.Contains(t, got.String(), " m=", "%s: no monotonic reading", name)
	}
	own := entry{Until: seen.Add(time.Minute)}.until(seen, limit) // not read back yet
	assert.Contains(t, own.String(), " m=")
	assert.Zero(t, entry{}.until(seen, limit), "no request is open")

	for made, want := range map[time.Duration]time.Duration{-time.Hour: -time.Hour, time.Hour: 0} {
		got := entry{Made: wall.Add(made).UTC()}.made(seen)
		assert.Equal(t, want, got.Sub(seen))
		assert.Contains(t, got.String(), " m=")
	}

	later := seen.Add(time.Minute)
	assert.Equal(t, time.Minute, entry{}.age(seen, later))
	assert.Equal(t, 2*time.Minute, entry{Wrote: wall.Add(-time.Minute).UTC()}.age(seen, later))
	assert.Equal(t, time.Minute, entry{Wrote: wall.Add(time.Hour).UTC()}.age(seen, later), "by a clock that is ahead")
}

func TestUntilNextLookFollowsTheSchedule(t *testing.T) {
	t.Parallel()
	var looks []time.Duration
	for age := time.Duration(0); age < 3*time.Minute; {
		age += untilNextLook(age)
		looks = append(looks, age/time.Second)
	}
	assert.Equal(t, []time.Duration{1, 3, 7, 15, 31, 61, 91, 121, 151, 181}, looks)
	for age, want := range map[time.Duration]time.Duration{
		500 * time.Millisecond:               500 * time.Millisecond,
		30 * time.Second:                     time.Second,
		45 * time.Second:                     16 * time.Second,
		50*365*24*time.Hour + 31*time.Second: 30 * time.Second,
	} {
		assert.Equal(t, want, untilNextLook(age), "%v", age)
	}
}

func TestEntryIsBlankWithoutARequestAndARecord(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, e := range []entry{{}, {Call: "c", Form: "f"}} {
		assert.True(t, e.blank(), "%+v", e)
	}
	for _, e := range []entry{{Until: now}, {Made: now}, {Made: now, ID: "1", Until: now}} {
		assert.False(t, e.blank(), "%+v", e)
	}
}
