package main

import (
	"bufio"
	"encoding/json"
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
	require.NoError(t, writeJSON(filepath.Join(published, "results.json"), &Results{Date: "2026-01-02"}))
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an argument":              {[]string{"extra"}, `unexpected argument "extra"`},
		"an unknown flag":          {[]string{"-x"}, "flag provided but not defined: -x"},
		"an unknown kind":          {[]string{"-only", "x"}, `-only: no work is named "x": must be one of calls, `},
		"drawing of a measurement": {[]string{"-draw", "-quick"}, "-draw measures nothing"},
		"published results":        {[]string{"-quick", "-out", published}, "holds the results of a full run"},
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

// A check of one kind of work must not take the place of results that took a quiet machine ten minutes, and no run that
// of files of somebody else. It says so before it measures.
func TestOnlyResultsThatMayGoAreReplaced(t *testing.T) {
	const full, foreign = "holds the results of a full run", "must be new, empty, or hold the results of an earlier run"
	for name, c := range map[string]struct {
		file          string
		there         any
		partial, full string // why it is refused; empty if it is not
	}{
		"a full run":            {"results.json", &Results{Date: "2026-01-02"}, full, ""},
		"a quick run":           {"results.json", &Results{Date: "2026-01-02", Quick: true}, "", ""},
		"another kind":          {"results.json", &Results{Date: "2026-01-02", Only: "walk"}, "", ""},
		"somebody's results":    {"results.json", map[string]any{"score": 7}, foreign, foreign},
		"no results":            {"results.json", "not those of a run", foreign, foreign},
		"somebody's memory.svg": {"memory.svg", "a picture", foreign, foreign},
		"nothing there":         {"", nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, c.file)
			var before []byte
			if c.there != nil {
				var err error
				before, err = json.Marshal(c.there)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, before, 0o600))
			}
			for _, partial := range []bool{false, true} {
				refused := map[bool]string{false: c.full, true: c.partial}[partial]
				if refused == "" {
					assert.NoError(t, usable(dir, partial))
					continue
				}
				err := run(t.Context(), partial, "", dir)
				require.ErrorContains(t, err, "-out: "+dir+" "+refused)
				after, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Equal(t, before, after)
			}
		})
	}
	assert.NoError(t, usable(filepath.Join(t.TempDir(), "new"), false))
}

// What a link in the directory points to is not the run's.
func TestResultsAreNotWrittenThroughALink(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, []byte("of somebody else"), 0o600))
	path := filepath.Join(dir, "results.md")
	if err := os.Symlink(other, path); err != nil {
		t.Skip(err) // Windows may not allow it.
	}
	require.NoError(t, writeMarkdown(path, sampleResults()))
	kept, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Equal(t, "of somebody else", string(kept))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1)
}

// The results of one kind of work say so, and no chart of another run stands beside them.
func TestTheResultsOfOneKindOfWorkSaySo(t *testing.T) {
	dir := t.TempDir()
	earlier := sampleResults()
	earlier.Quick = true
	require.NoError(t, writeJSON(filepath.Join(dir, "results.json"), earlier))
	require.NoError(t, drawAll(dir, earlier))
	require.NoError(t, run(t.Context(), true, "goroutines", dir))
	var files []string
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, path := range left {
		files = append(files, filepath.Base(path))
	}
	assert.Equal(t, []string{"results.json", "results.md"}, files)
	r, err := readJSON(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	assert.Equal(t, "goroutines", r.Only)
	text, err := os.ReadFile(filepath.Join(dir, "results.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), ", goroutines alone. Medians")
}
