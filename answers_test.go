package aicontent

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A shape that the document promises must have a test, and one that is tested must be promised.
func TestDocumentNamesEveryAnswer(t *testing.T) {
	text, err := os.ReadFile("docs/answers.md")
	require.NoError(t, err)
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\|.*\\| `([^`]+/[^`]+)` \\|$").FindAllSubmatch(text, -1) {
		named = append(named, filepath.FromSlash(string(row[1])))
	}
	var files []string
	for _, folder := range []string{"responses", "records", "refused", "lists", "refused-lists", "errors"} {
		found, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
		require.NoError(t, err)
		require.NotEmpty(t, found, folder)
		for _, file := range found {
			files = append(files, filepath.Join(folder, filepath.Base(file)))
		}
	}
	assert.ElementsMatch(t, files, named)
}
