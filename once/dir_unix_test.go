//go:build unix

package once

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewNamesTheFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	require.NoError(t, os.Mkdir(path, 0o500))
	if os.Geteuid() == 0 {
		path = "/proc/self" // where even root creates no file
	}
	requireUnusable(t, path, "must be a usable folder: open "+path)
}
