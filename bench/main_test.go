package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// modeVariable turns the test binary into the program.
const modeVariable = "BENCH_TEST_MODE"

// TestMain makes the test binary the program, in the processes that a run starts too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "-serve" || os.Args[1] == "-job") || os.Getenv(modeVariable) == "program" {
		main()
		return
	}
	// Under nohup, the programs that a test starts would ignore a hangup, as this one does.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}

// Sixty megabytes in the temporary directory after each run that was stopped fill it in the end.
func TestAStoppedRunLeavesNothingBehind(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), self, "-quick")
			cmd.Env = append(os.Environ(), modeVariable+"=program", "TMPDIR="+dir)
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewReader(stderr)
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			assert.Contains(t, line, dir)
			there, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Len(t, there, 1)
			require.NoError(t, cmd.Process.Signal(sig))
			rest, err := io.ReadAll(lines)
			require.NoError(t, err)
			_ = cmd.Wait()
			assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
			assert.Equal(t, "interrupted: no results were written\n", string(rest))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

func TestWrongUseExitsWith2(t *testing.T) {
	published := t.TempDir()
	require.NoError(t, writeMarkdown(filepath.Join(published, "results.md"), &Results{Date: "2026-01-02"}))
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an argument":              {[]string{"extra"}, `unexpected argument "extra"`},
		"an unknown flag":          {[]string{"-x"}, "flag provided but not defined: -x"},
		"an unknown kind":          {[]string{"-only", "x"}, `-only: no work is named "x": must be one of calls, `},
		"drawing of a measurement": {[]string{"-draw", "-quick"}, "-draw measures nothing"},
		"published results":        {[]string{"-quick", "-out", published}, "must be new or empty with -quick"},
		"nothing to draw":          {[]string{"-draw", "-out", t.TempDir()}, "-out: no results to draw: "},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), self, c.args...)
			cmd.Env = append(os.Environ(), modeVariable+"=program")
			said, err := cmd.CombinedOutput()
			require.Error(t, err)
			assert.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
			assert.Contains(t, string(said), c.says)
		})
	}
}

// A check must not take the place of results that took a quiet machine several minutes, and no run that of files of
// somebody else. It says so before it measures.
func TestOnlyResultsOfAnEarlierRunAreReplacedAndOnlyByAFullRun(t *testing.T) {
	for name, c := range map[string]struct {
		file, text    string
		partial, full bool // whether such a run may write
	}{
		"nothing":               {partial: true, full: true},
		"an earlier run":        {"results.md", markdown(&Results{Date: "2026-01-02"}), false, true},
		"somebody's results":    {"results.md", "# The best SDK", false, false},
		"somebody's memory.svg": {"memory.svg", "a picture", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600))
			}
			assert.Equal(t, c.partial, usable(dir, true) == nil)
			assert.Equal(t, c.full, usable(dir, false) == nil)
			assert.NoError(t, usable(filepath.Join(dir, "new"), true))
		})
	}
}

func TestTheResultsOfOneKindOfWorkSaySo(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, run(t.Context(), true, "goroutines", dir))
	require.NoError(t, redraw(dir))
	var files []string
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, file := range left {
		files = append(files, file.Name())
	}
	assert.Equal(t, []string{"results.json", "results.md"}, files)
	text, err := os.ReadFile(filepath.Join(dir, "results.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), ", goroutines alone. Medians")
}
