package once

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
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

// An operator reads the file, and so do other versions of this package.
func TestDirIsReadable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	l := Dir(path)
	v := put(t, l, key, entry{Collection: "images", Name: `a \n "b"`}, "")
	w := put(t, l, key, entry{Collection: "images", Name: "c", Form: "f"}, v)
	data, err := os.ReadFile(filepath.Join(path, key))
	require.NoError(t, err)
	first := "- " + v + ` {"format":2,"collection":"images","name":"a\s\\\\n\s\\"b\\""}`
	second := v + " " + w + ` {"format":2,"collection":"images","name":"c","form":"f"}`
	assert.Equal(t, "\n"+first+" "+hash(first)[:16]+"\n\n"+second+" "+hash(second)[:16]+"\n", string(data))

	folder, err := os.Stat(path)
	require.NoError(t, err)
	file, err := os.Stat(filepath.Join(path, key))
	require.NoError(t, err)
	if os.PathSeparator == '/' {
		assert.Equal(t, os.FileMode(0o700), folder.Mode().Perm())
		assert.Equal(t, os.FileMode(0o600), file.Mode().Perm())
	}
}

// A line that was cut off anywhere, by a full disk or a power cut, does not count, and spoils no other.
func TestDirAfterACutOffLine(t *testing.T) {
	t.Parallel()
	l := Dir(t.TempDir())
	file := filepath.Join(string(l.(dir)), key)
	first := []byte("first entry with spaces \\n and \n\r breaks")
	v, err := l.Put(t.Context(), key, first, "")
	require.NoError(t, err)
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	second := []byte(`{"a": "` + strings.Repeat("B", 26) + ` C"}`)
	_, err = l.Put(t.Context(), key, second, v)
	require.NoError(t, err)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for cut := len(before); cut < len(whole)-1; cut++ {
		for _, rest := range []string{"", "\x00\x00\x00"} {
			if rest != "" && cut < len(before)+2 {
				continue // a line of zeros alone is damage
			}
			require.NoError(t, os.WriteFile(file, append(bytes.Clone(whole[:cut]), rest...), 0o600))
			got, version, err := l.Get(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, v, version, "cut at %d", cut)
			require.Equal(t, first, got)
			third, err := l.Put(t.Context(), key, []byte("third"), v)
			require.NoError(t, err, "cut at %d", cut)
			got, version, err = l.Get(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, third, version)
			require.Equal(t, "third", string(got))
		}
	}
}

// line is a line of a file of Dir.
func line(replaced, own, entry string) string {
	text := replaced + " " + own + " " + entry
	return text + " " + hash(text)[:sumLength]
}

// A line of a process that had read an older version does not count, whenever it was written.
func TestDirOfALateLine(t *testing.T) {
	t.Parallel()
	l := Dir(t.TempDir()).(dir)
	v, err := l.Put(t.Context(), key, []byte("1"), "")
	require.NoError(t, err)
	w, err := l.Put(t.Context(), key, []byte("2"), v)
	require.NoError(t, err)
	require.NoError(t, l.write(key, line(v, "X", "late"), false))
	require.NoError(t, l.write(key, line("-", "Y", "late"), false))
	got, version, err := l.Get(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, w, version)
	assert.Equal(t, "2", string(got))
	x, err := l.Put(t.Context(), key, []byte("3"), w)
	require.NoError(t, err)
	_, err = l.Put(t.Context(), key, []byte("4"), w)
	require.ErrorIs(t, err, ErrChanged)
	got, version, err = l.Get(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, x, version)
	assert.Equal(t, "3", string(got))

	// What nobody made cannot have been replaced: a line is missing.
	for _, replaced := range []string{"X", "Z"} {
		require.NoError(t, l.write(key, line(replaced, "N", "lost"), false))
		_, _, err = l.Get(t.Context(), key)
		require.ErrorContains(t, err, filepath.Join(string(l), key)+" is damaged at line ")
		_, err = l.Put(t.Context(), key, []byte("5"), x)
		require.ErrorContains(t, err, "is damaged")
		require.NotErrorIs(t, err, ErrChanged)
	}
}

// A file that was damaged is never read as an older entry, or as none: each bit, and what disks and people do.
func TestDirOfADamagedFile(t *testing.T) {
	t.Parallel()
	l := Dir(t.TempDir())
	file := filepath.Join(string(l.(dir)), key)
	version := ""
	for n := range 3 {
		e := entry{Collection: "images", Name: "JOB *4711 0ab", ID: aicontent.ID(fmt.Sprint(n)), Made: time.Unix(int64(n), 0).UTC()}
		version = put(t, l, key, e, version)
	}
	want, _, err := l.Get(t.Context(), key)
	require.NoError(t, err)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	check := func(data []byte, what string) {
		require.NoError(t, os.WriteFile(file, data, 0o600))
		got, v, err := l.Get(t.Context(), key)
		if err == nil {
			assert.Equal(t, version, v, what)
			assert.Equal(t, string(want), string(got), what)
		}
	}
	damaged := 0
	for at := range whole {
		for bit := range 8 {
			data := bytes.Clone(whole)
			data[at] ^= 1 << bit
			check(data, fmt.Sprintf("bit %d of byte %d, %q", bit, at, whole[at]))
			damaged++
		}
	}
	require.Greater(t, damaged, 3000)
	lines := strings.SplitAfter(string(whole), "\n\n")
	require.Len(t, lines, 3)
	for what, data := range map[string]string{
		"zeros":           strings.Repeat("\x00", len(whole)),
		"first line lost": strings.Join(lines[1:], ""), "second line lost": lines[0] + lines[2],
		"zeros at the beginning": strings.Repeat("\x00", 100) + string(whole[100:]),
		"another file":           "hello\n", "its end": string(whole[100:]),
	} {
		require.NoError(t, os.WriteFile(file, []byte(data), 0o600))
		_, _, err := l.Get(t.Context(), key)
		assert.ErrorContains(t, err, "is damaged", what)
	}
}

func TestDirThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, ""} {
		_, err := Dir(path).Put(t.Context(), key, []byte("1"), "")
		require.Error(t, err, path)
		assert.NotErrorIs(t, err, ErrChanged)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := Dir(t.TempDir())
	_, err := l.Put(ctx, key, []byte("1"), "")
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = l.Get(ctx, key)
	require.ErrorIs(t, err, context.Canceled)
	_, version, err := l.Get(t.Context(), key)
	require.NoError(t, err)
	assert.Empty(t, version)
}
