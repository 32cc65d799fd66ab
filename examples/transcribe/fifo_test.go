//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A FIFO, which would be waited for without end, is skipped with a word, in a folder as on the command line.
func TestAFIFOIsSkippedWithAWord(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	recordingFile(t, filepath.Join(dir, "a.wav"), 1, 1000)
	inside := filepath.Join(dir, "pipe.wav")
	require.NoError(t, syscall.Mkfifo(inside, 0o600))
	for _, args := range [][]string{{dir}, {filepath.Join(dir, "a.wav"), inside}, {dir, inside}} {
		status, _, stderr := transcribe(t, append(flags, args...)...)
		assert.Equal(t, exitSomeFailed, status)
		assert.Contains(t, stderr, "  "+inside+": skipped: it is neither a file nor a folder\n")
		assert.Contains(t, stderr, "Reading the files (2).\n")
		assert.Contains(t, stderr, "Files: 2. Different recordings: 1.")
		assert.NotContains(t, stderr, "Run it again")
	}
	assert.Len(t, srv.Records(), 1)
}
