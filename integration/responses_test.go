package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A form that a document beside the files promises must have a test, and one that is tested must be promised.
func TestDocumentsNameEveryResponse(t *testing.T) {
	t.Parallel()
	var named []string
	for _, room := range []string{".", "internal/lenient", "internal/errtext"} {
		text, err := os.ReadFile(filepath.Join("..", room, "testdata", "README.md"))
		require.NoError(t, err)
		for _, row := range regexp.MustCompile(`(?m)^\|.*\| ([^|]+) \|$`).FindAllStringSubmatch(string(text), -1) {
			for _, file := range regexp.MustCompile("`([^`]+/[^`]+)`").FindAllStringSubmatch(row[1], -1) {
				named = append(named, filepath.FromSlash(file[1]))
			}
		}
	}
	var files []string
	for folder, room := range map[string]string{
		"responses": ".", "records": "internal/lenient", "refused": "internal/lenient", "lists": "internal/lenient",
		"refused-lists": "internal/lenient", "errors": "internal/errtext",
	} {
		found, err := filepath.Glob(filepath.Join("..", room, "testdata", folder, "*"))
		require.NoError(t, err)
		require.NotEmpty(t, found, folder)
		for _, file := range found {
			files = append(files, filepath.Join(folder, filepath.Base(file)))
		}
	}
	assert.ElementsMatch(t, files, named)
}
