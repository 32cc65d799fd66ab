package once

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

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
	assert.Equal(t, "\n"+first+" "+lineSum(first)+"\n\n"+second+" "+lineSum(second)+"\n", string(data))

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
	return text + " " + lineSum(text)
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
		id, made := aicontent.ID(fmt.Sprint(n)), time.Unix(int64(n), 0).UTC()
		e := entry{Collection: "images", Name: "JOB *4711 0ab", ID: id, Made: made}
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

// A reader may see a line before it is there as a whole, and reads it again when more was appended.
func TestDirReadsOnWhereItEnded(t *testing.T) {
	t.Parallel()
	l := Dir(t.TempDir()).(dir)
	whole := "\n" + line("-", "FIRST", "1") + "\n" +
		"\n" + line("FIRST", "TORN", "2")[:20] +
		"\n" + line("FIRST", "SECOND", "3") + "\n" +
		"\nFIR" +
		"\n" + line("FIRST", "LOST", "4") + "\n" +
		"\n" + line("SECOND", "THIRD", "5") + "\n"
	file := filepath.Join(string(l), key)
	require.NoError(t, os.WriteFile(file, []byte(whole), 0o600))
	want, err := l.read(key)
	require.NoError(t, err)
	require.Equal(t, "THIRD", want.version)
	followed := 0
	for cut := range whole {
		require.NoError(t, os.WriteFile(file, []byte(whole[:cut]), 0o600))
		h, err := l.read(key)
		if err != nil {
			// The line break after a line that was cut off may as well be its own.
			require.ErrorContains(t, err, "is damaged", "cut at %d", cut)
			continue
		}
		followed++
		require.NoError(t, os.WriteFile(file, []byte(whole), 0o600))
		require.NoError(t, h.follow(), "cut at %d", cut)
		require.Equal(t, want, h, "cut at %d", cut)
	}
	require.Equal(t, len(whole)-2, followed)
}

// manyChanges writes the file of a name that changed n times, and returns its last version.
func manyChanges(tb testing.TB, folder string, n int) (version string) {
	tb.Helper()
	e := entry{Format: format, Collection: "images", Name: "job-4711", Call: rand.Text(), Form: strings.Repeat("f", 64)}
	text := escape.Replace(string(e.encode()))
	var file strings.Builder
	version = noVersion
	for range n {
		own := rand.Text()
		fmt.Fprintf(&file, "\n%s\n", line(version, own, text))
		version = own
	}
	require.NoError(tb, os.WriteFile(filepath.Join(folder, key), []byte(file.String()), 0o600))
	return version
}

func TestDirPutReadsTheFileOnce(t *testing.T) {
	const changes = 3_000
	folder := t.TempDir()
	version := manyChanges(t, folder, changes)
	l := Dir(folder)
	get := testing.AllocsPerRun(5, func() {
		_, now, err := l.Get(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, version, now)
	})
	put := testing.AllocsPerRun(5, func() {
		next, err := l.Put(t.Context(), key, []byte("next"), version)
		require.NoError(t, err)
		version = next
	})
	assert.Greater(t, get, float64(changes), "each line is read")
	assert.InDelta(t, get, put, changes/10)
}

func BenchmarkDirAfter26280Changes(b *testing.B) {
	folder := b.TempDir()
	version := manyChanges(b, folder, 26_280)
	l := Dir(folder)
	b.Run("Get", func(b *testing.B) {
		for b.Loop() {
			_, _, err := l.Get(b.Context(), key)
			require.NoError(b, err)
		}
	})
	b.Run("Put", func(b *testing.B) {
		for b.Loop() {
			next, err := l.Put(b.Context(), key, []byte("{}"), version)
			require.NoError(b, err)
			version = next
		}
	})
}

func TestDirRefusesKeysThatAreNoHashes(t *testing.T) {
	t.Parallel()
	l := Dir(t.TempDir())
	for _, bad := range []string{"", "../" + key[3:], key[1:], key + "0", strings.ToUpper(key)} {
		_, _, err := l.Get(t.Context(), bad)
		require.ErrorContains(t, err, fmt.Sprintf("the key %q must have 64 digits from 0 to 9 and a to f", bad))
		_, err = l.Put(t.Context(), bad, []byte("1"), "")
		require.ErrorContains(t, err, "must have 64 digits")
	}
}

func TestDirCheckCreatesTheFolderAndLeavesNoFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "ledger")
	for range 2 {
		require.NoError(t, dir(path).check())
	}
	files, err := os.ReadDir(path)
	require.NoError(t, err)
	assert.Empty(t, files)
}

func TestDirCheckNamesTheFolderThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, filepath.Join(file, "below")} {
		err := dir(path).check()
		assert.ErrorContains(t, err, fmt.Sprintf("the folder %q cannot be used: ", path))
	}
}

func TestDirListsEachNameThatIsNotFree(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	l := Dir(folder)
	until, made := time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC()
	keys := map[string]string{}
	for n, name := range []string{"open", "made", "free", "torn", "damaged", "unreadable"} {
		keys[name] = fmt.Sprintf("%064x", n)
	}
	put(t, l, keys["open"], entry{Collection: "images", Name: "open", Until: until}, "")
	put(t, l, keys["made"], entry{Collection: "transcriptions", Name: "made", Made: made, ID: "7"}, "")
	v := put(t, l, keys["free"], entry{Collection: "images", Name: "free", Made: made, ID: "8"}, "")
	put(t, l, keys["free"], entry{Collection: "images", Name: "free"}, v)
	v = put(t, l, keys["torn"], entry{Collection: "images", Name: "torn", Until: until}, "")
	require.NoError(t, os.WriteFile(filepath.Join(folder, keys["damaged"]), []byte("zap\n"), 0o600))
	_, err := l.Put(t.Context(), keys["unreadable"], []byte(`{"format":1}`), "")
	require.NoError(t, err)
	torn, err := os.OpenFile(filepath.Join(folder, keys["torn"]), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = torn.WriteString("\n" + line(v, "OTHER", "{}")[:40])
	require.NoError(t, errors.Join(err, torn.Close()))
	for _, other := range []string{".check-1", "README", key[1:], strings.ToUpper(key)} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, other), []byte("other"), 0o600))
	}

	var states []State
	var failed []string
	for state, err := range l.(Lister).List(t.Context()) {
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		states = append(states, state)
	}
	assert.ElementsMatch(t, []State{
		{Collection: "images", Name: "open", Until: until},
		{Collection: "images", Name: "torn", Until: until},
		{Collection: "transcriptions", Name: "made", Made: made, ID: "7"},
	}, states)
	slices.Sort(failed)
	require.Len(t, failed, 2)
	assert.Contains(t, failed[0], filepath.Join(folder, keys["damaged"])+" is damaged at line 1")
	assert.Contains(t, failed[1], filepath.Join(folder, keys["unreadable"])+": the ledger's entry cannot be read")
}

func TestDirListsManyNames(t *testing.T) {
	t.Parallel()
	const names = 3_000
	folder := t.TempDir()
	for n := range names {
		e := entry{Format: format, Collection: "images", Name: fmt.Sprint("job-", n), Made: time.Unix(1, 0)}
		text := "\n" + line("-", rand.Text(), escape.Replace(string(e.encode()))) + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%064x", n)), []byte(text), 0o600))
	}
	listed := map[string]bool{}
	for state, err := range Dir(folder).(Lister).List(t.Context()) {
		require.NoError(t, err)
		listed[state.Name] = true
	}
	assert.Len(t, listed, names)
}

func TestDirListReportsAMissingFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "missing")
	results := 0
	for _, err := range Dir(path).(Lister).List(t.Context()) {
		results++
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorContains(t, err, path)
	}
	assert.Equal(t, 1, results)
}
