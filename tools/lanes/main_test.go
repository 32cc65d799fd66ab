//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lanes runs lanes of shell commands.
func lanes(ctx context.Context, list ...string) (output string, passed bool) {
	var out bytes.Buffer
	passed = run(ctx, &out, "testdata/shell", list)
	return out.String(), passed
}

// pipe makes a named pipe, whose path the environment variable has then.
func pipe(t *testing.T, variable string) (path string) {
	path = filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	t.Setenv(variable, path)
	return path
}

func TestEverySectionRunsAndOneFailureFailsTheRun(t *testing.T) {
	output, passed := lanes(t.Context(), "echo first\nexit 3\n\techo third", "echo beside", "then", "echo after")
	assert.False(t, passed)
	for _, lines := range []string{
		`=== echo first\nfirst\n--- echo first: ok \(\d+ s\)\n`,
		`=== exit 3\nexit status 3\n--- exit 3: FAILED \(\d+ s\)\n`,
		`=== echo third\nthird\n`,
		`=== echo beside\nbeside\n`,
		`=== echo after\nafter\n`,
		`\nFAILED +\d+ s  exit 3\n`,
		`\nok +\d+ s  echo after\n1 failed\n$`,
	} {
		assert.Regexp(t, lines, output)
	}
}

func TestARunWithoutFailuresPasses(t *testing.T) {
	output, passed := lanes(t.Context(), "true", "true")
	assert.True(t, passed)
	assert.Contains(t, output, "\n0 failed\n")
}

func TestLanesRunAtOnceAndThenWaitsForThem(t *testing.T) {
	pipe(t, "TO")
	pipe(t, "BACK")
	t.Setenv("DONE", filepath.Join(t.TempDir(), "done"))
	// Each of the first two lanes ends only if the other one runs.
	first, second := "echo >$TO; cat $BACK; touch $DONE", "cat $TO; echo >$BACK"
	output, passed := lanes(t.Context(), first, second, "then", "ls $DONE")
	assert.True(t, passed, output)
}

func TestAProcessThatASectionLeavesBehindIsKilled(t *testing.T) {
	held := pipe(t, "HELD")
	eof := make(chan error)
	go func() {
		f, err := os.Open(held)
		if err == nil {
			_, err = io.ReadAll(f) // returns when no process has the pipe open
		}
		eof <- err
	}()
	output, passed := lanes(t.Context(), "exec 3>$HELD; sleep 1000 >$HELD 2>&1 &")
	assert.True(t, passed, output)
	require.NoError(t, <-eof)
}

func TestTheEndOfTheContextEndsSectionsWithSIGTERM(t *testing.T) {
	started := pipe(t, "STARTED")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(started)
		cancel()
	}()
	output, passed := lanes(ctx, "trap 'echo cleaned up; exit' TERM; sleep 1000 & echo >$STARTED; wait\necho never")
	assert.False(t, passed)
	assert.Contains(t, output, "\ncleaned up\n")
	assert.NotContains(t, output, "\nnever\n")
	assert.Contains(t, output, "\n2 failed\n")
}
