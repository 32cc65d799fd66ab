package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What docs/testing.md shows to users of Python runs as it stands.
func TestPythonRunsWhatTheDocumentShows(t *testing.T) {
	text, err := os.ReadFile("../../../docs/testing.md")
	require.NoError(t, err)
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(filepath.Separator), ".")
	built, err := build.CombinedOutput()
	require.NoError(t, err, string(built))
	block := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, block)
	if exec.Command("python3", "--version").Run() != nil {
		t.Skip("python3 is not installed")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "test.py"), block[1], 0o600))
	cmd := exec.CommandContext(t.Context(), "python3", "test.py")
	cmd.Dir = dir
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	assert.Regexp(t, "^no response: .+\ncreated: \\['Whale'\\]\n$", strings.ReplaceAll(string(out), "\r\n", "\n"))
}
