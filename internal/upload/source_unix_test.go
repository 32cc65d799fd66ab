//go:build linux || darwin || freebsd || netbsd || openbsd

package upload

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Opening a named pipe would wait for its writer: the call would hang where it promises an error. A path names a
// recording: a device, which never ends or has nothing, is a slip.
func TestPipesAndDevicesAreRefusedByPath(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.wav")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, "/dev/zero"} {
		reason := problemOf(t, wav(Path(path))).Reason
		assert.Contains(t, reason, "is not a regular file; open it and use FileFromReader", path)
	}
}

// A file system may hold a pipe, whose Read waits for the writer: the call must end all the same.
func TestPipesOfFileSystemsMayStall(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe.wav")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	writer, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer writer.Close()
	_, _, err = inspect(t.Context(), wav(FS(os.DirFS(dir), "pipe.wav")), 10*time.Millisecond)
	assert.Equal(t, stalled(10*time.Millisecond), err)
}

// A device may be able to seek and still not tell its size: it must not be refused as empty.
func TestDevicesTellNoSize(t *testing.T) {
	f, err := os.Open("/dev/zero")
	require.NoError(t, err)
	defer f.Close()
	assert.EqualValues(t, -1, bodyOf(t, wav(Reader(f))).FileSize)
}
