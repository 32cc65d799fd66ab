package lenient

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fixtures returns the files of a folder in testdata, which must be those of the table.
func fixtures[T any](t testing.TB, folder string, table map[string]T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, path := range glob(t, filepath.Join("testdata", folder, "*")) {
		files[filepath.Base(path)] = readFile(t, path)
	}
	for name := range files {
		require.Contains(t, table, name, "a file that no test reads")
	}
	for name := range table {
		require.Contains(t, files, name)
	}
	return files
}

// everyFixture returns all JSON of testdata, and what is none.
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
func TestParseSaysWhatCameInsteadOfJSON(t *testing.T) {
	for body, want := range map[string]error{
		"": ErrEmpty, " \r\n": ErrEmpty, "\xef\xbb\xbf": ErrEmpty, "\xef\xbb\xbf \n": ErrEmpty,
		"<html>": ErrHTML, " <!DOCTYPE html>": ErrHTML, "<br />{}": ErrHTML,
		"{": ErrCutOff, `{"a`: ErrCutOff, `{"a":`: ErrCutOff, "[1,": ErrCutOff, "[tru": ErrCutOff, strings.Repeat("[", 10_000): ErrCutOff,
		"OK": ErrNotJSON, "{} {}": ErrNotJSON, `{"a":1}}`: ErrNotJSON, "{a}": ErrNotJSON, `"\x41"`: ErrNotJSON, "01": ErrNotJSON, strings.Repeat("[", 10_001): ErrNotJSON,
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001): ErrNotJSON,
		`{"a":"<"}`: nil, "7": nil, "null": nil, "\xef\xbb\xbf {}\n": nil, strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000): nil,
	} {
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
	assert.ErrorIs(t, ErrCutOff, ErrNotJSON)
}

func TestParseSaysWhereAndWhyABodyIsNotJSON(t *testing.T) {
	for body, want := range map[string]string{
		"  [1, NaN]":                 "the response is not JSON: invalid character 'N' looking for beginning of value at byte 6",
		"\xef\xbb\xbf{\"id\":7} PHP": "the response is not JSON: invalid character 'P' after top-level value at byte 12",
	} {
		_, err := Parse(body)
		assert.EqualError(t, err, want)
	}
}

// Whoever reads a log must see which of them it was.
func TestErrorsHaveTextsOfTheirOwn(t *testing.T) {
	texts := map[string]error{}
	for _, err := range []error{ErrEmpty, ErrHTML, ErrNotJSON, ErrCutOff, ErrNoRecord, ErrNoList, ErrSaysError, ErrTooMany} {
		assert.NotEmpty(t, err.Error())
		assert.NotContains(t, texts, err.Error())
		texts[err.Error()] = err
	}
}
