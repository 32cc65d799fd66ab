//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

func TestALinkedFolderIsSkippedWithAWord(t *testing.T) {
	srv, flags := deployment(t)
	dir, elsewhere, out := t.TempDir(), t.TempDir(), t.TempDir()
	inside := recordingFile(t, filepath.Join(elsewhere, "a.wav"), 1, 1000)
	link := filepath.Join(dir, "archive")
	require.NoError(t, os.Symlink(elsewhere, link))
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "round.mp3")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "nothing"), filepath.Join(dir, "broken")))
	status, _, stderr := transcribe(t, append(flags, dir)...)
	assert.Equal(t, exitSomeFailed, status)
	for _, skipped := range []string{link, filepath.Join(dir, "round.mp3")} {
		const why = ": skipped: a link to a folder, which is searched only if it is named itself\n"
		assert.Contains(t, stderr, "  "+skipped+why)
	}
	assert.Contains(t, stderr, "Files: 2.")
	assert.Empty(t, srv.Requests())

	require.NoError(t, os.Symlink(inside, filepath.Join(dir, "b.wav")))
	_, _, stderr = transcribe(t, append(flags, dir)...)
	assert.Contains(t, stderr, "Made: 1.")
	status, _, stderr = transcribe(t, append(flags, "-o", out, link)...)
	assert.Equal(t, exitDone, status, stderr)
	assert.FileExists(t, filepath.Join(out, "archive", "a.wav.txt"))
}

func TestAFolderWhoseNameIsNotUTF8IsTranscribed(t *testing.T) {
	_, flags := deployment(t)
	dir, out := t.TempDir(), t.TempDir()
	inside := filepath.Join("M\xe4rz", "a.wav")
	if err := os.Mkdir(filepath.Join(dir, "M\xe4rz"), 0o700); err != nil {
		t.Skip(err) // macOS does not allow it.
	}
	recordingFile(t, filepath.Join(dir, inside), 1, 1000)
	status, _, stderr := transcribe(t, append(flags, "-o", out, dir)...)
	assert.Equal(t, exitDone, status, stderr)
	assert.FileExists(t, filepath.Join(out, filepath.Base(dir), inside+".txt"))
}

func TestControlCharactersInAFileNameAreQuotedAndNotSent(t *testing.T) {
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
	assert.Contains(t, stderr, "  "+strconv.Quote(locked)+": stat ")
	assert.NotContains(t, stdout+stderr, "\x1b")
	assert.NotContains(t, stdout, "\n# forged")
	assert.Equal(t, "a_[31m_# forged_.wav", srv.Requests()[1].File.Name)

	out := filepath.Join(dir, "texts")
	status, _, stderr = transcribe(t, append(flags, "-o", out, evil)...)
	assert.Equal(t, exitDone, status, stderr)
	assert.FileExists(t, filepath.Join(out, filepath.Base(evil)+".txt"))
}
