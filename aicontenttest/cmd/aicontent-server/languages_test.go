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

// What docs/testing.md shows to users of other languages runs as it stands.
func TestOtherLanguagesRunWhatTheDocumentShows(t *testing.T) {
	text, err := os.ReadFile("../../../docs/testing.md")
	require.NoError(t, err)
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(filepath.Separator), ".").CombinedOutput()
	require.NoError(t, err, string(built))
	for _, c := range []struct{ language, program, file, says string }{
		{"python", "python3", "test.py", "no response: .+\ncreated: \\['Whale'\\]\n"},
		{"js", "node", "test.mjs", "no response: UND_ERR_SOCKET\ncreated: \\[ 'Whale' \\]\n"},
	} {
		t.Run(c.language, func(t *testing.T) {
			block := regexp.MustCompile("(?s)```" + c.language + "\n(.*?)```").FindSubmatch(text)
			require.NotNil(t, block)
			if exec.Command(c.program, "--version").Run() != nil {
				t.Skipf("%s is not installed", c.program)
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), block[1], 0o600))
			cmd := exec.CommandContext(t.Context(), c.program, c.file)
			cmd.Dir = dir
			out, err := cmd.Output()
			require.NoError(t, err, string(out))
			assert.Regexp(t, "^"+c.says+"$", strings.ReplaceAll(string(out), "\r\n", "\n"))
		})
	}
}
