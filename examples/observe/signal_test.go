//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// However the program ends, the record that it has paid for does not stay behind.
func TestWhateverEndsTheProgramTheRecordIsDeleted(t *testing.T) {
	for name, end := range map[string]func(p *os.Process, stdout *os.File) error{
		"Ctrl-C":            func(p *os.Process, _ *os.File) error { return p.Signal(os.Interrupt) },
		"kill":              func(p *os.Process, _ *os.File) error { return p.Signal(syscall.SIGTERM) },
		"a closed terminal": func(p *os.Process, _ *os.File) error { return p.Signal(syscall.SIGHUP) },
		"head":              func(_ *os.Process, stdout *os.File) error { return stdout.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			created, ended := make(chan struct{}), make(chan struct{})
			var once sync.Once
			srv := aicontenttest.NewServer(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
				if r.Request.Operation == aicontenttest.TranscriptionsStore {
					once.Do(func() { close(created) })
					<-ended
				}
			}))
			deployment(t, srv)
			if name != "head" { // who waits for the response
				srv.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.Stall(aicontenttest.MidResponse))
			}
			// A process inherits what is ignored, as under nohup. What this one handles has its default there.
			handled := make(chan os.Signal, 1)
			signal.Notify(handled, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer signal.Stop(handled)
			stdout, w, err := os.Pipe()
			require.NoError(t, err)
			defer stdout.Close()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), modeVariable+"=program")
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = w, &stderr
			require.NoError(t, cmd.Start())
			require.NoError(t, w.Close())
			<-created
			require.NoError(t, end(cmd.Process, stdout))
			close(ended)
			_ = cmd.Wait()
			assert.Equal(t, 1, cmd.ProcessState.ExitCode())
			assert.NotEmpty(t, stderr.String())
			assert.Len(t, srv.Records(), 1)
			assert.Empty(t, srv.Transcriptions(), "%s", &stderr)
		})
	}
}
