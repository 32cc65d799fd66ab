package once

import (
	"context"
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

// newDir returns a ledger in a new folder, and the file of the key.
func newDir(t *testing.T) (l dir, file string) {
	folder := t.TempDir()
	return dir(folder), filepath.Join(folder, key)
}

// overwrite replaces a file.
func overwrite(t testing.TB, file, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
}

// content returns a file.
func content(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}

// requireEntry fails unless the ledger has the entry with the version.
func requireEntry(t *testing.T, l Ledger, entry, version, when string) {
	t.Helper()
	got, v, err := l.Get(t.Context(), key)
	require.NoError(t, err, when)
	require.Equal(t, version, v, when)
	require.Equal(t, entry, string(got), when)
}

// line is a line of a file of Dir.
func line(replaced, own, entry string) string {
	text := replaced + " " + own + " " + entry
	return hash(text) + " " + text
}

// An operator reads the file, and so do other versions of this package.
func TestDirIsReadable(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "ledger")
	require.NoError(t, dir(folder).check())
	v := put(t, Dir(folder), key, State{Collection: "images", Name: `a \n "b"`}, "")
	w := putText(t, Dir(folder), key, "a\nb\\", v)
	file := filepath.Join(folder, key)
	first := line("", v, `{"format":2,"collection":"images","name":"a \\\\n \\"b\\""}`)
	second := line(v, w, `a\nb\\`)
	assert.Equal(t, "\n"+first+"\n\n"+second+"\n", content(t, file))
	if os.PathSeparator == '/' {
		for path, want := range map[string]os.FileMode{folder: 0o700, file: 0o600} {
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, want, info.Mode().Perm(), path)
		}
	}
}

// A line that was cut off anywhere, by a full disk or a power cut, does not count, and spoils no other.
func TestDirIgnoresALineThatWasCutOff(t *testing.T) {
	t.Parallel()
	l, file := newDir(t)
	const first = "first entry with spaces \\n and \n\r breaks"
	v := putText(t, l, key, first, "")
	before := len(content(t, file))
	putText(t, l, key, `{"a": "`+strings.Repeat("B", 26)+` C"}`, v)
	whole := content(t, file)
	for cut := before; cut < len(whole)-1; cut++ {
		for _, rest := range []string{"", "\x00\x00\x00"} {
			if rest != "" && cut < before+2 {
				continue // zeros alone are damage
			}
			when := fmt.Sprintf("cut at %d, then %q", cut, rest)
			overwrite(t, file, whole[:cut]+rest)
			requireEntry(t, l, first, v, when)
			requireEntry(t, l, "third", putText(t, l, key, "third", v), when)
		}
	}
}

// A line of a process that had read an older version does not count, whenever it was written.
func TestDirIgnoresALateLineAndReportsALostOne(t *testing.T) {
	t.Parallel()
	l, file := newDir(t)
	v := putText(t, l, key, "1", "")
	w := putText(t, l, key, "2", v)
	require.NoError(t, l.write(key, line(v, "X", "late")))
	require.NoError(t, l.write(key, line("", "Y", "late")))
	requireEntry(t, l, "2", w, "after late lines")
	x := putText(t, l, key, "3", w)
	_, err := l.Put(t.Context(), key, []byte("4"), w)
	require.ErrorIs(t, err, ErrChanged)
	requireEntry(t, l, "3", x, "after a late Put")

	// A version that no line made cannot have been replaced: a line is missing.
	for _, replaced := range []string{"X", "Z"} {
		require.NoError(t, l.write(key, line(replaced, "N", "lost")))
		_, _, err = l.Get(t.Context(), key)
		require.ErrorContains(t, err, file+" is damaged at line ")
		_, err = l.Put(t.Context(), key, []byte("5"), x)
		require.ErrorContains(t, err, "is damaged")
		require.NotErrorIs(t, err, ErrChanged)
	}
}

// A file that was damaged is never read as an older entry, or as none: each bit, and the work of disks and people.
func TestDirReadsNoDamagedFileAsAnOlderEntry(t *testing.T) {
	t.Parallel()
	l, file := newDir(t)
	version := ""
	for n := range 3 {
		id, made := aicontent.ID(fmt.Sprint(n)), time.Unix(int64(n), 0).UTC()
		version = put(t, l, key, State{Collection: "images", Name: "JOB *4711 0ab", ID: id, Made: made}, version)
	}
	want, _, err := l.Get(t.Context(), key)
	require.NoError(t, err)
	whole := content(t, file)
	require.Greater(t, len(whole)*8, 3000)
	for at := range whole {
		for bit := range 8 {
			data := []byte(whole)
			data[at] ^= 1 << bit
			overwrite(t, file, string(data))
			if got, v, err := l.Get(t.Context(), key); err == nil {
				what := fmt.Sprintf("bit %d of byte %d, %q", bit, at, whole[at])
				assert.Equal(t, version, v, what)
				assert.Equal(t, string(want), string(got), what)
			}
		}
	}
	lines := strings.SplitAfter(whole, "\n\n")
	require.Len(t, lines, 3)
	for what, data := range map[string]string{
		"zeros":                  strings.Repeat("\x00", len(whole)),
		"first line lost":        lines[1] + lines[2],
		"second line lost":       lines[0] + lines[2],
		"zeros at the beginning": strings.Repeat("\x00", 100) + whole[100:],
		"another file":           "hello\n",
		"its end":                whole[100:],
	} {
		overwrite(t, file, data)
		_, _, err := l.Get(t.Context(), key)
		assert.ErrorContains(t, err, "is damaged", what)
	}
}

func TestDirSaysThatItsFolderCannotBeUsed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	overwrite(t, file, "")
	for _, path := range []string{file, filepath.Join(file, "below")} {
		_, err := Dir(path).Put(t.Context(), key, []byte("1"), "")
		require.Error(t, err, path)
		assert.NotErrorIs(t, err, ErrChanged)
	}
	requireUnusable(t, file, "must be a usable folder: mkdir "+file+": ")
	requireUnusable(t, filepath.Join(file, "below"), "must be a usable folder: mkdir "+file+": ")
	requireUnusable(t, "", "must be a usable folder: mkdir : no such file or directory")
}

// requireUnusable requires that New refuses the folder with this reason.
func requireUnusable(t *testing.T, path, reason string) {
	t.Helper()
	client, err := aicontent.NewClient("https://content.example.com", "key-number-1")
	require.NoError(t, err)
	_, err = New(client, Dir(path))
	invalid, ok := errors.AsType[*aicontent.ValidationError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "ledger", invalid.Problems[0].Field)
	assert.Contains(t, invalid.Problems[0].Reason, reason)
}

func TestDirWithAnEndedContextDoesNothing(t *testing.T) {
	t.Parallel()
	l, _ := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Put(ctx, key, []byte("1"), "")
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = l.Get(ctx, key)
	require.ErrorIs(t, err, context.Canceled)
	requireEntry(t, l, "", "", "after both")
}

// A reader may see a part of a line that another process is writing: it counts when it is whole.
func TestDirCountsALineWhenItIsWhole(t *testing.T) {
	t.Parallel()
	l, file := newDir(t)
	whole := "\n" + line("", "FIRST", "1") + "\n" +
		"\n" + line("FIRST", "TORN", "2")[:70] +
		"\n" + line("FIRST", "SECOND", "3") + "\n" +
		"\n" + line("FIRST", "LOST", "4")[:3] +
		"\n" + line("FIRST", "LOST", "4") + "\n" +
		"\n" + line("SECOND", "THIRD", "5") + "\n"
	versions := map[string]bool{}
	for cut := range whole {
		overwrite(t, file, whole[:cut])
		_, version, err := l.Get(t.Context(), key)
		if err != nil {
			// The line break after a line that was cut off may as well be its own.
			require.ErrorContains(t, err, "is damaged", "cut at %d", cut)
			continue
		}
		versions[version] = true
	}
	assert.Equal(t, map[string]bool{"": true, "FIRST": true, "SECOND": true, "THIRD": true}, versions)
}

func TestDirRefusesKeysThatAreNoHashes(t *testing.T) {
	t.Parallel()
	l, _ := newDir(t)
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

func TestDirListsEachNameThatIsNotFree(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	l := Dir(folder)
	until, made := time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC()
	keys, files := map[string]string{}, map[string]string{}
	for n, name := range []string{"open", "made", "free", "torn", "damaged", "unreadable"} {
		keys[name] = fmt.Sprintf("%064x", n)
		files[name] = filepath.Join(folder, keys[name])
	}
	put(t, l, keys["open"], State{Collection: "images", Name: "open", Until: until}, "")
	put(t, l, keys["made"], State{Collection: "transcriptions", Name: "made", Made: made, ID: "7"}, "")
	v := put(t, l, keys["free"], State{Collection: "images", Name: "free", Made: made, ID: "8"}, "")
	put(t, l, keys["free"], State{Collection: "images", Name: "free"}, v)
	v = put(t, l, keys["torn"], State{Collection: "images", Name: "torn", Until: until}, "")
	overwrite(t, files["torn"], content(t, files["torn"])+"\n"+line(v, "OTHER", "{}")[:70])
	overwrite(t, files["damaged"], "zap\n")
	putText(t, l, keys["unreadable"], `{"format":1}`, "")
	for _, other := range []string{".check-1", "README", key[1:], strings.ToUpper(key)} {
		overwrite(t, filepath.Join(folder, other), "other")
	}

	states, failed := listed(t.Context(), l)
	assert.ElementsMatch(t, []State{
		{Collection: "images", Name: "open", Until: until},
		{Collection: "images", Name: "torn", Until: until},
		{Collection: "transcriptions", Name: "made", Made: made, ID: "7"},
	}, states)
	slices.Sort(failed)
	require.Len(t, failed, 2)
	assert.Contains(t, failed[0], files["damaged"]+" is damaged at line 1")
	assert.Contains(t, failed[1], keys["unreadable"]+": the ledger's entry cannot be read")
}

func TestDirListEndsWithItsContextAndItsCaller(t *testing.T) {
	t.Parallel()
	l, _ := newDir(t)
	for _, digit := range []string{"1", "2", "3"} {
		put(t, l, digit+key[1:], State{Made: time.Unix(1, 0)}, "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	states := 0
	var last error
	for _, err := range l.List(ctx) {
		require.NoError(t, last, "an error of the context is the last")
		last = err
		states++
		cancel()
	}
	assert.Equal(t, 2, states)
	require.ErrorIs(t, last, context.Canceled)
	states = 0
	for _, err := range l.List(t.Context()) {
		require.NoError(t, err)
		states++
		break
	}
	assert.Equal(t, 1, states)
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
