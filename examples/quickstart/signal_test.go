package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program returns a command that runs the program in its own process.
func program(t *testing.T, stdout io.Writer) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	// A process inherits what is ignored, as under nohup. What this one handles has its default there.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(handled) })
	cmd, stderr = exec.CommandContext(t.Context(), os.Args[0], "-out", t.TempDir()), &bytes.Buffer{}
	cmd.Env = append(os.Environ(), modeVariable+"=program")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stderr
}

// However somebody ends the program, the records that it has paid for do not stay behind.
func TestEndedByASignalItCleansUp(t *testing.T) {
	for name, signal := range map[string]os.Signal{
		"Ctrl-C": os.Interrupt, "kill": syscall.SIGTERM, "a closed terminal": syscall.SIGHUP,
	} {
		t.Run(name, func(t *testing.T) {
			reached, release := make(chan struct{}), make(chan struct{})
			srv := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
				if r.Request.Operation == aicontenttest.ImagesShow {
					close(reached)
					<-release
				}
			}))
			t.Cleanup(func() { close(release) })
			untouched(t, srv)
			var stdout bytes.Buffer
			cmd, stderr := program(t, &stdout)
			require.NoError(t, cmd.Start())
			<-reached
			require.NoError(t, cmd.Process.Signal(signal))
			_ = cmd.Wait()
			assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
			assert.Contains(t, stderr.String(), "quickstart failed to ")
			assert.Contains(t, stdout.String(), "deleted    transcription 2\n")
		})
	}
}

// Where nobody reads what it prints, as after head, it stops and cleans up.
func TestABrokenPipeLeavesNothingBehind(t *testing.T) {
	for name, operation := range map[string]aicontenttest.Operation{
		"after the first record": aicontenttest.TranscriptionsUpdate, "after the last one": aicontenttest.ImagesShow,
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			var once sync.Once
			srv := deployment(t, aicontenttest.OnRequest(func(request aicontenttest.Request) {
				if request.Operation == operation {
					once.Do(func() { assert.NoError(t, r.Close()) })
				}
			}))
			untouched(t, srv)
			cmd, stderr := program(t, w)
			require.NoError(t, cmd.Start())
			require.NoError(t, w.Close())
			_ = cmd.Wait()
			assert.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
			assert.Contains(t, stderr.String(), "print: write /dev/stdout: broken pipe")
		})
	}
	t.Run("before anything", func(t *testing.T) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		defer w.Close()
		srv := deployment(t)
		cmd, _ := program(t, w)
		_ = cmd.Run()
		assert.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
		assert.Empty(t, srv.Requests())
	})
}

// A full disk ends the tour as well, and the clean-up does not need it.
func TestOutputThatCannotBeWrittenEndsTheTour(t *testing.T) {
	srv := deployment(t)
	untouched(t, srv)
	var said bytes.Buffer
	full := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(said.String(), "corrected ") {
			return 0, syscall.ENOSPC
		}
		return said.Write(p)
	})
	err := run(t.Context(), []string{"-out", t.TempDir()}, full)
	assert.ErrorContains(t, err, "store the images: ")
	assert.ErrorContains(t, err, "print: no space left on device")
	for _, request := range srv.Requests() {
		assert.NotEqual(t, aicontenttest.ImagesStore, request.Operation, "nothing is billed that nobody sees")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
