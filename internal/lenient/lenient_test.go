package lenient

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fixtures returns the files of a folder in testdata. Without a table, each may have any name; otherwise they must be
// those of the table.
func fixtures[T any](t testing.TB, folder string, table map[string]T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, path := range glob(t, filepath.Join("testdata", folder, "*")) {
		files[filepath.Base(path)] = readFile(t, path)
	}
	if table != nil {
		require.ElementsMatch(t, slices.Collect(maps.Keys(table)), slices.Collect(maps.Keys(files)))
	}
	return files
}

// everyFixture returns all files of testdata, with and without JSON.
func everyFixture(t testing.TB) [][]byte {
	t.Helper()
	var bodies [][]byte
	for _, path := range glob(t, "testdata/*/*.*") {
		bodies = append(bodies, readFile(t, path))
	}
	return bodies
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	return body
}

// A caller decides by these errors whether the service, a proxy or the network is at fault.
func TestParseTellsEmptyHTMLAndCutOffBodiesApart(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) }
	closed := func(depth int) string { return nested(depth) + strings.Repeat("]", depth) }
	for want, bodies := range map[error][]string{
		ErrEmpty:  {"", " \r\n", "\xef\xbb\xbf", "\xef\xbb\xbf \n"},
		ErrHTML:   {"<html>", " <!DOCTYPE html>", "<br />{}"},
		ErrCutOff: {"{", `{"a`, `{"a":`, "[1,", "[tru", nested(10_000)},
		ErrNotJSON: {
			"OK", "{} {}", `{"a":1}}`, "{a}", `"\x41"`, "01", nested(10_001), closed(10_001),
		},
		nil: {
			`{"a":"<"}`, "7", "null", "\xef\xbb\xbf {}\n", "\n\xef\xbb\xbf{}", "\xef\xbb\xbf\r\n\xef\xbb\xbf{}",
			closed(10_000),
		},
	} {
		for _, body := range bodies {
			v, err := Parse([]byte(body))
			if want == nil {
				assert.NoError(t, err, "%.40q", body)
				assert.Equal(t, Trim(body), string(v))
				continue
			}
			assert.ErrorIs(t, err, want, "%.40q", body)
			assert.Equal(t, want == ErrCutOff, err == ErrCutOff, "%.40q", body)
			assert.Empty(t, v)
		}
	}
	assert.ErrorIs(t, ErrCutOff, ErrNotJSON)
}

func TestParseSaysWhereAndWhyABodyIsNotJSON(t *testing.T) {
	for body, want := range map[string]string{
		"  [1, NaN]":                 "invalid character 'N' looking for beginning of value at byte 6",
		"\xef\xbb\xbf{\"id\":7} PHP": "invalid character 'P' after top-level value at byte 12",
	} {
		_, err := Parse(body)
		assert.EqualError(t, err, "the response is not JSON: "+want)
	}
}

// Whoever reads a log must see which of them it was.
func TestErrorsHaveTextsOfTheirOwn(t *testing.T) {
	texts := map[string]bool{"": true}
	for _, err := range []error{
		ErrEmpty, ErrHTML, ErrNotJSON, ErrCutOff, ErrNoRecord, ErrNoList, ErrSaysError, ErrTooMany,
	} {
		assert.NotContains(t, texts, err.Error())
		texts[err.Error()] = true
	}
}
