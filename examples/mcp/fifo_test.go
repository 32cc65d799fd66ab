//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A named pipe that nobody writes to would hold the call up for ever, and a huge file would fill the memory.
func TestPipesAndHugeFilesAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		root := recordings(t, 1)
		require.NoError(t, syscall.Mkfifo(filepath.Join(root.Name(), "pipe.wav"), 0o600))
		huge, err := root.Create("huge.wav")
		require.NoError(t, err)
		require.NoError(t, huge.Truncate(largest+1)) // of no blocks
		require.NoError(t, huge.Close())
		a := startAgent(t, srv, t.TempDir(), 100, root)
		for _, path := range []string{"pipe.wav", "huge.wav"} {
			said := a.mustFail(t, "transcribe_file", map[string]any{"path": path})
			assert.Contains(t, said, path+": must be a file of at most 536870912 bytes")
		}
		assert.Empty(t, srv.Requests())
	})
}
