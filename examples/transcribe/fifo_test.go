//go:build unix

package main

import (
	"path/filepath"
	"strconv"
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
		assert.Contains(t, stderr, "  "+inside+": skipped: neither a file nor a folder\n")
		assert.Contains(t, stderr, "Reading the files (2).\n")
		assert.Contains(t, stderr, "Files: 2. Different recordings: 1.")
		assert.NotContains(t, stderr, "Run it again")
	}
	assert.Len(t, srv.Records(), 1)
}

// A file name can hold a line break or move the cursor. It must not look like another line, and the service gets a name
// that it accepts.
func TestControlCharactersInAFileName(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	evil := filepath.Join(dir, "a\x1b[31m\n# forged\xff.wav")
	recordingFile(t, evil, 1, 1000)
	locked := filepath.Join(dir, "missing\x1b[2K.wav")
	plain := recordingFile(t, filepath.Join(dir, "b.wav"), 2, 1000)
	status, stdout, stderr := transcribe(t, append(flags, "-j", "1", evil, plain, locked)...)
	assert.Equal(t, exitSomeFailed, status)
	quoted := strconv.Quote(evil)
	assert.Contains(t, stdout, "# "+quoted+"\nNo transcript")
	assert.Contains(t, stderr, quoted+": made, id 1\n")
	assert.Contains(t, stderr, "  "+strconv.Quote(locked)+": \"stat ")
	assert.NotContains(t, stdout+stderr, "\x1b")
	assert.NotContains(t, stdout, "\n# forged")
	assert.Equal(t, "a_[31m_# forged_.wav", srv.Requests()[1].File.Name)

	out := filepath.Join(dir, "texts")
	status, _, stderr = transcribe(t, append(flags, "-o", out, evil)...)
	assert.Equal(t, exitDone, status, stderr)
	assert.FileExists(t, filepath.Join(out, filepath.Base(evil)+".txt"))
}
