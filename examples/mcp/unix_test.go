//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPipesAndHugeAndEmptyFilesAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		root := recordings(t, 1)
		require.NoError(t, syscall.Mkfifo(filepath.Join(root.Name(), "pipe.wav"), 0o600))
		huge, err := root.Create("huge.wav")
		require.NoError(t, err)
		require.NoError(t, huge.Truncate(largest+1)) // of no blocks
		require.NoError(t, huge.Close())
		a := startAgent(t, srv, t.TempDir(), 100, root)
		require.NoError(t, root.WriteFile("empty.wav", nil, 0o600))
		for _, path := range []string{"pipe.wav", "huge.wav", "empty.wav"} {
			said := a.mustFail(t, "transcribe_file", map[string]any{"path": path})
			assert.Contains(t, said, strconv.Quote(path)+": must be a file of 1 to 536870912 bytes below the folder")
		}
		assert.Empty(t, srv.Requests())
	})
}

func TestASignalEndsItAsItsHostWould(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			arrived := make(chan struct{}, 1)
			srv, env := deployment(t, aicontenttest.LatencyOn(aicontenttest.ImagesStore, time.Second),
				aicontenttest.OnRequest(func(r aicontenttest.Request) {
					if r.Operation == aicontenttest.ImagesStore {
						arrived <- struct{}{}
					}
				}))
			journal := t.TempDir()
			cmd, _ := program(t, "-journal", journal)
			cmd.Env = append(cmd.Env, env...)
			first := dial(t, cmd)
			ended := make(chan error)
			go func() {
				_, _, err := first.call(t.Context(), "create_image", lighthouse(1))
				ended <- err
			}()
			<-arrived
			require.NoError(t, cmd.Process.Signal(signal))
			<-ended
			_ = first.Wait()

			cmd, stderr := program(t, "-journal", journal)
			cmd.Env = append(cmd.Env, env...)
			second := dial(t, cmd)
			assert.False(t, second.mustCreate(t, "create_image", lighthouse(1)).Billed)
			require.NoError(t, second.Close(), stderr)
			assert.Len(t, srv.Records(), 1)
		})
	}
}
