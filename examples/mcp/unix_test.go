//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPipesAndHugeAndEmptyFilesAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		root := recordings(t, 1)
		require.NoError(t, syscall.Mkfifo(filepath.Join(root.Name(), "pipe.wav"), 0o600))
		require.NoError(t, root.WriteFile("empty.wav", nil, 0o600))
		require.NoError(t, root.WriteFile("huge.wav", nil, 0o600))
		require.NoError(t, os.Truncate(filepath.Join(root.Name(), "huge.wav"), largest+1)) // of no blocks
		a := startAgent(t, srv, t.TempDir(), 100, root)
		for _, path := range []string{"pipe.wav", "huge.wav", "empty.wav"} {
			said := a.mustFail(t, "transcribe_file", map[string]any{"path": path})
			assert.Contains(t, said, strconv.Quote(path)+": must be a file of 1 to 536870912 bytes below the folder")
		}
		assert.Empty(t, srv.Requests())
	})
}

func TestHoweverItIsEndedTheNextServerSaysThatItHasToWait(t *testing.T) {
	for _, signal := range []os.Signal{os.Kill, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			srv, env := deployment(t)
			srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.Stall(aicontenttest.BeforeRead))
			journal := t.TempDir()
			cmd, _ := program(t, env, "-journal", journal)
			first := dial(t, cmd)
			ended := first.begin(t.Context())
			arrives(t, srv)
			require.NoError(t, cmd.Process.Signal(signal))
			require.Error(t, <-ended)
			_ = first.Wait()

			cmd, stderr := program(t, env, "-journal", journal, "-wait", "1s")
			second := dial(t, cmd)
			text := second.mustFail(t, "create_image", lighthouse(1))
			assert.Contains(t, text, "It may have been created. Call again with the same arguments")
			assert.Contains(t, text, "Reason: an earlier request may still create the record")
			second.mustCreate(t, "create_image", lighthouse(2))
			require.NoError(t, second.Close(), stderr)
			assert.Equal(t, 2, requests(srv, aicontent.ImagesStore))
		})
	}
}
