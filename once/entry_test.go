package once

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ledgers outlive versions of this package: the key of a name never changes.
func TestLedgerKey(t *testing.T) {
	t.Parallel()
	// printf '["","https://content.example.com/ai","images","job-4711"]' | sha256sum
	const key = "4247dafb2c1b35460cb3cd607388666fb911f658666b83f1958e5a5f6445bc0f"
	for _, base := range []string{
		"https://content.example.com/ai", "https://Content.Example.COM:443/ai", "HTTPS://content.example.com/ai",
	} {
		assert.Equal(t, key, ledgerKey("", base, "images", "job-4711"), base)
	}
	for _, name := range []string{" job-4711", "job-4711\r\n"} {
		assert.Equal(t, key, ledgerKey("", "https://content.example.com/ai", "images", name), "%q", name)
	}
	const base = "https://content.example.com/ai"
	assert.Equal(t, ledgerKey("", base, "images", "a\r\nb\rc"), ledgerKey("", base, "images", "a\nb\nc"))
	assert.Equal(t, ledgerKey("", "http://localhost", "images", "a"), ledgerKey("", "http://localhost:80", "images", "a"))
	assert.Equal(t, ledgerKey("eu", base, "images", "a"), ledgerKey("eu", "http://localhost", "images", "a"))
	seen := map[string]bool{}
	for _, other := range [][4]string{
		{"", base, "images", "job-4711"}, {"eu", base, "images", "job-4711"}, {"", base + "/", "images", "job-4711"},
		{"", base, "transcriptions", "job-4711"}, {"", base, "images", "Job-4711"}, {"", "http://content.example.com/ai", "images", "job-4711"},
		{"", "https://content.example.com:80/ai", "images", "job-4711"}, {"", "https://content.example.com/AI", "images", "job-4711"},
	} {
		k := ledgerKey(other[0], other[1], other[2], other[3])
		assert.False(t, seen[k], other)
		assert.Len(t, k, 64)
		seen[k] = true
	}
}

func TestFormHash(t *testing.T) {
	t.Parallel()
	a := formHash(map[string]string{"name": "a", "description": "b", "style": ""})
	assert.Equal(t, a, formHash(map[string]string{"description": " b\r\n", "name": "a"}), "empty fields and spaces do not count")
	assert.NotEqual(t, a, formHash(map[string]string{"name": "a", "description": "b", "style": "c"}))
	assert.NotEqual(t, formHash(map[string]string{"a": "b&c=d"}), formHash(map[string]string{"a": "b", "c": "d"}))
	assert.NotContains(t, a, "b&")
}

// Other versions read what this one wrote.
func TestEntryFormat(t *testing.T) {
	t.Parallel()
	e := entry{
		Format: 2, Collection: "images", Name: "a", Call: "c", Until: time.Unix(3, 0).UTC(), Made: time.Unix(4, 0).UTC(),
		ID: "7", Named: "n", Form: "f",
	}
	const text = `{"format":2,"collection":"images","name":"a","call":"c","until":"1970-01-01T00:00:03Z",` +
		`"made":"1970-01-01T00:00:04Z","id":"7","named":"n","form":"f"}`
	assert.Equal(t, text, string(e.encode()))
	got, err := decode([]byte(text), "1")
	require.NoError(t, err)
	assert.Equal(t, e, got)

	none, err := decode(nil, "")
	require.NoError(t, err)
	assert.Equal(t, entry{}, none)
	for _, bad := range []string{``, `{`, `{}`, `[]`, `{"format":1}`, `{"format":3}`, `{"format":2,"made":"yesterday"}`} {
		_, err := decode([]byte(bad), "1")
		assert.ErrorIs(t, err, errEntry, bad)
	}
}

func TestBlankEntries(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, e := range []entry{{}, {Call: "c", Form: "f"}} {
		assert.True(t, e.blank(), "%+v", e)
	}
	for _, e := range []entry{{Until: now}, {Made: now}, {Made: now, ID: "1", Until: now}} {
		assert.False(t, e.blank(), "%+v", e)
	}
}
