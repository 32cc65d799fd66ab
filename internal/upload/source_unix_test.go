//go:build linux || darwin || freebsd || netbsd || openbsd

package upload

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Opening a named pipe waits for its writer: the call would hang where it promises an error.
func TestNamedPipesAreRefusedUnopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.wav")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, problems, err := File{Name: "pipe.wav", Source: Path(path)}.Inspect(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0].Reason, "use FileFromReader")
}

// A device may be able to seek and still not tell its size: it must not be refused as empty.
func TestDevicesTellNoSize(t *testing.T) {
	f, err := os.Open("/dev/zero")
	require.NoError(t, err)
	defer f.Close()
	size, problems, err := File{Name: "a.wav", Source: Reader(f)}.Inspect(t.Context(), 0)
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.EqualValues(t, -1, size)
}
