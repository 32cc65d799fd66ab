package once

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// keyOf returns the key of an image.
func keyOf(scope, base, name string) string {
	return (&config{scope: scope, base: base}).key("images", name)
}

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
		assert.Equal(t, key, keyOf("", same.base, same.name), "%q", same)
	}
	assert.Equal(t, keyOf("", base, "a\r\nb\rc"), keyOf("", base, "a\nb\nc"))
	const local = "http://localhost"
	assert.Equal(t, keyOf("", local, "a"), keyOf("", local+":80", "a"))
	assert.Equal(t, keyOf("eu", base, "a"), keyOf("eu", local, "a"))
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
		k := (&config{scope: other.scope, base: other.base}).key(other.collection, other.name)
		assert.False(t, seen[k], other)
		assert.Len(t, k, 64)
		seen[k] = true
	}
}

// A parameter that a later version adds is empty in older programs, so it must not change their hashes.
func TestFormHashIsThatOfEachTextThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	image := aicontent.ImageStoreParams{Name: "a", Description: "b", Resolution: aicontent.Resolution256x256}
	// printf 'Description=b&Name=a&Resolution=256x256' | sha256sum
	const sum = "c6f98d810044c94a230e1f883618a179d49dff7835dbee0fa4de9bbac99dd6e5"
	assert.Equal(t, sum, formHash(image))
	for _, change := range []func(*aicontent.ImageStoreParams){
		func(p *aicontent.ImageStoreParams) { p.Name = "c" },
		func(p *aicontent.ImageStoreParams) { p.Description = "b " },
		func(p *aicontent.ImageStoreParams) { p.Resolution = aicontent.Resolution512x512 },
		func(p *aicontent.ImageStoreParams) { p.Style = aicontent.StyleAnime },
		func(p *aicontent.ImageStoreParams) { p.Medium = aicontent.MediumInk },
		func(p *aicontent.ImageStoreParams) { p.Filter = aicontent.FilterSepia },
	} {
		other := image
		change(&other)
		assert.NotEqual(t, sum, formHash(other), "%+v", other)
	}
	text := aicontent.TranscriptionStoreParams{Name: "a", Description: "b", Language: "DE"}
	other := text
	other.File = aicontent.FileFromPath("another.mp3")
	assert.Equal(t, formHash(text), formHash(other), "files are not compared")
	other.Language = "FR"
	assert.NotEqual(t, formHash(text), formHash(other))
}

// Other versions read what this one wrote.
func TestEntryFormatNeverChanges(t *testing.T) {
	t.Parallel()
	e := entry{Format: 2, Call: "c", Named: "n", Form: "f", Wrote: time.Unix(2, 0).UTC(), State: State{
		Collection: "images", Name: "a", ID: "7", Until: time.Unix(3, 0).UTC(), Made: time.Unix(4, 0).UTC(),
	}}
	const text = `{"format":2,"collection":"images","name":"a","until":"1970-01-01T00:00:03Z",` +
		`"made":"1970-01-01T00:00:04Z","id":"7","call":"c","wrote":"1970-01-01T00:00:02Z","named":"n","form":"f"}`
	data, err := json.Marshal(e)
	require.NoError(t, err)
	assert.Equal(t, text, string(data))
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

// A clock that is set during a call changes no wait: the times of an entry are those of the monotonic clock, to which
// they are converted when the call first sees the version.
func TestTheTimesOfAnEntryAreOnTheMonotonicClock(t *testing.T) {
	t.Parallel()
	seen := time.Now()
	wall := seen.Round(0) // as an entry has it
	const settle = 15 * time.Minute
	for name, c := range map[string]struct{ until, want time.Duration }{
		"open":                        {10 * time.Minute, 10 * time.Minute},
		"over":                        {-time.Hour, -time.Hour},
		"by a clock that is ahead":    {3 * time.Hour, margin + settle},
		"by a clock that went astray": {1 << 60, margin + settle},
	} {
		s := slot{config: &config{settle: settle}}
		e := entry{State: State{Until: wall.Add(c.until).UTC()}}
		s.see(e, "1", seen)
		s.see(e, "1", seen.Add(time.Hour)) // which it has seen before
		assert.Equal(t, c.want, s.until.Sub(seen), name)
		assert.Contains(t, s.until.String(), " m=", "%s: no monotonic reading", name)
	}
	s := slot{config: &config{settle: settle}}
	s.see(entry{}, "1", seen)
	assert.False(t, s.open(), "no request is open")
}

func TestLooksFollowTheSchedule(t *testing.T) {
	t.Parallel()
	s := slot{until: time.Now().Add(100 * time.Hour)}
	var looks []time.Duration
	for age := time.Duration(0); age < 3*time.Minute; {
		age += s.nextLook(age)
		looks = append(looks, age/time.Second)
	}
	assert.Equal(t, []time.Duration{1, 3, 7, 15, 31, 61, 91, 121, 151, 181}, looks)
	for age, want := range map[time.Duration]time.Duration{
		500 * time.Millisecond:         500 * time.Millisecond,
		30 * time.Second:               time.Second,
		45 * time.Second:               16 * time.Second,
		24*time.Hour + 31*time.Second:  30 * time.Second,
		24*time.Hour + 45*time.Second:  16 * time.Second,
		24*time.Hour + 270*time.Second: time.Second,
	} {
		assert.Equal(t, want, s.nextLook(age), "%v", age)
	}
	s.until = time.Now().Add(time.Second)
	assert.LessOrEqual(t, s.nextLook(31*time.Second), time.Second, "at the latest when no request is open")
}

func TestEntryIsFreeWithoutARequestAndARecord(t *testing.T) {
	t.Parallel()
	now := time.Now()
	assert.True(t, entry{Call: "c", Form: "f"}.Free())
	for _, s := range []State{{Until: now}, {Made: now}, {Made: now, ID: "1", Until: now}} {
		assert.False(t, s.Free(), "%+v", s)
	}
}

// foreign is an error of this call that wraps the error of another one.
type foreign struct{ error }

func (foreign) Outcome() aicontent.Outcome { return aicontent.OutcomeUnknown }
func (foreign) Retryable() bool            { return true }
func (f foreign) Unwrap() error            { return f.error }

func TestAnErrorThatAnotherCallCausedSaysNothingOfTheRecord(t *testing.T) {
	t.Parallel()
	assert.True(t, notFound(aicontent.ErrNotFound))
	assert.False(t, notFound(foreign{aicontent.ErrNotFound}))
	assert.False(t, notFound(nil))
}
