package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain makes the test binary the program, in the processes that a run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "-serve" || os.Args[1] == "-job") {
		main()
		return
	}
	os.Exit(m.Run())
}

// A check of one kind of work must not take the place of results that took a quiet machine ten minutes. It says so
// before it measures.
func TestAPartialRunDoesNotReplaceAFullOne(t *testing.T) {
	for name, c := range map[string]struct {
		there   any
		refused bool
	}{
		"a full run":    {&Results{Date: "2026-01-02"}, true},
		"no results":    {"not those of a run", true},
		"a quick run":   {&Results{Quick: true}, false},
		"another kind":  {&Results{Only: "walk"}, false},
		"nothing there": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "results.json")
			var before []byte
			if c.there != nil {
				var err error
				before, err = json.Marshal(c.there)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, before, 0o600))
			}
			assert.Equal(t, c.refused, holdsFullRun(dir))
			if !c.refused {
				return
			}
			for _, quick := range []bool{false, true} {
				err := run(t.Context(), quick, map[bool]string{false: "calls"}[quick], dir)
				require.ErrorContains(t, err, dir+" holds the results of a full run")
				after, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Equal(t, before, after)
			}
		})
	}
}

// The results of one kind of work say so, and no chart of another run stands beside them.
func TestTheResultsOfOneKindOfWorkSaySo(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, drawAll(dir, sampleResults()))
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
