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

	"github.com/aicontent/aicontent-go/internal/wire"
)

// Opening a named pipe waits for its writer: the call would hang where it promises an error.
func TestNamedPipesAreRefusedUnopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.wav")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, problem, err := File{Name: "pipe.wav", Source: Path(path)}.Inspect(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, problem.Reason)
	assert.Contains(t, problem.Reason, "use FileFromReader")
}

// A path names a recording: a device, which never ends or has nothing, is a slip.
func TestDevicesAreRefusedByPath(t *testing.T) {
	_, problem, err := File{Name: "a.wav", Source: Path("/dev/zero")}.Inspect(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, problem.Reason)
	assert.Contains(t, problem.Reason, "is not a regular file; open it and use FileFromReader")
}

// A file system may hold a pipe, whose Read waits for the writer: the call must end all the same.
func TestPipesOfFileSystemsMayStall(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe.wav")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	writer, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer writer.Close()
	_, _, err = inspect(t.Context(), File{Name: "pipe.wav", Source: FS(os.DirFS(dir), "pipe.wav")}, 10*time.Millisecond)
	assert.Equal(t, &wire.TimeoutError{Phase: wire.Reading, Limit: 10 * time.Millisecond, Source: ErrSource}, err)
}

// A device may be able to seek and still not tell its size: it must not be refused as empty.
func TestDevicesTellNoSize(t *testing.T) {
	f, err := os.Open("/dev/zero")
	require.NoError(t, err)
	defer f.Close()
	size, problem, err := File{Name: "a.wav", Source: Reader(f)}.Inspect(t.Context())
	require.NoError(t, err)
	assert.Empty(t, problem)
	assert.EqualValues(t, -1, size)
}
