package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// age makes a journal older, as if time had passed since the last run.
func age(t *testing.T, journal string, by time.Duration) {
	t.Helper()
	moment := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ledger := once.Dir(journal)
	for _, key := range names(t, journal) {
		entry, version, err := ledger.Get(t.Context(), key)
		require.NoError(t, err)
		entry = moment.ReplaceAllFunc(entry, func(text []byte) []byte {
			when, err := time.Parse(time.RFC3339Nano, string(text))
			require.NoError(t, err)
			return when.Add(-by).AppendFormat(nil, time.RFC3339Nano)
		})
		_, err = ledger.Put(t.Context(), key, entry, version)
		require.NoError(t, err)
	}
}

func TestARunSaysWhereItsJournalIsAndWhetherItIsNew(t *testing.T) {
	_, flags := deployment(t)
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	_, _, stderr := transcribe(t, append(flags, file)...)
	assert.Contains(t, stderr, "Journal: "+flags[1]+"\nIt is new: it does not know the uploads in another one.\n")
	_, _, stderr = transcribe(t, append(flags, file)...)
	assert.Contains(t, stderr, "Journal: "+flags[1]+"\n")
	assert.NotContains(t, stderr, "It is new")
}

func TestAJournalThatCannotBeMadeNamesTheFlag(t *testing.T) {
	srv, _ := deployment(t)
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	t.Setenv("HOME", file)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(file, "config"))
	status, _, stderr := transcribe(t, file)
	assert.Equal(t, exitUsage, status)
	assert.Regexp(t, `^transcribe: the journal: .*; give it another directory with -journal\n$`, stderr)
	assert.Empty(t, srv.Requests())
}

func TestWithoutAJournalNothingIsSent(t *testing.T) {
	var gone sync.Once
	var journal string
	srv, flags := deployment(t, aicontenttest.OnRequest(func(aicontenttest.Request) {
		// The program looks for the first recording, and would send it next.
		gone.Do(func() {
			assert.NoError(t, os.RemoveAll(journal))
			assert.NoError(t, os.WriteFile(journal, nil, 0o600))
		})
	}))
	journal = flags[1]
	dir := t.TempDir()
	for i := range 12 {
		recordingFile(t, filepath.Join(dir, fmt.Sprintf("%02d.wav", i)), byte(i), 1000)
	}
	status, _, stderr := transcribe(t, append(flags, "-j", "1", dir)...)
	assert.Equal(t, exitSomeFailed, status)
	assert.Zero(t, stores(srv))
	assert.Contains(t, stderr, "Not tried: 7. Failed: 5.")
	assert.Contains(t, stderr, journal+string(filepath.Separator), "what cannot be written")
	assert.NotContains(t, stderr, "ledger")
}

func TestTwoRunsShareAJournal(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	for i := range 6 {
		recordingFile(t, filepath.Join(dir, fmt.Sprintf("%d.wav", i)), byte(i), 1000)
	}
	var wg sync.WaitGroup
	for range 2 {
		out := t.TempDir()
		wg.Go(func() {
			said, err := program(t.Context(), append(flags, "-o", out, dir)...).CombinedOutput()
			assert.NoError(t, err, "%s", said)
			texts, err := filepath.Glob(filepath.Join(out, "*", "*.txt"))
			assert.NoError(t, err)
			assert.Len(t, texts, 6)
		})
	}
	wg.Wait()
	require.Len(t, srv.Records(), 6)
	assert.Equal(t, 6, stores(srv))
}

func TestAKilledRunHoldsUpNoOtherRecording(t *testing.T) {
	reached := make(chan struct{})
	var sent, record sync.Once
	srv, flags := deployment(t)
	srv.FaultWhen(func(r *aicontenttest.Request) bool {
		if isStore(r) {
			sent.Do(func() { close(reached) })
		}
		return isStore(r)
	}, 1, aicontenttest.Stall(aicontenttest.BeforeRead))
	dir := t.TempDir()
	first := recordingFile(t, filepath.Join(dir, "a.wav"), 1, 1000)
	cmd := program(t.Context(), append(flags, first)...)
	require.NoError(t, cmd.Start())
	<-reached
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()

	recordingFile(t, filepath.Join(dir, "b.wav"), 2, 1000)
	var stderr strings.Builder
	waits := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "b.wav: made") {
			// The service was slow, but made it.
			record.Do(func() { addRecord(t, srv, first) })
		}
		return stderr.Write(p)
	})
	assert.Equal(t, exitDone, run(t.Context(), append(flags, "-j", "1", dir), io.Discard, waits), &stderr)
	const story = `(?s)a\.wav: its text is not there yet; .*b\.wav: made, .*a\.wav: found, `
	assert.Regexp(t, story, stderr.String())
	assert.Contains(t, stderr.String(), "Made: 1. Found: 1.")
	assert.Equal(t, 2, stores(srv))
}

// recordingsIn returns the recordings at a path.
func recordingsIn(t *testing.T, path string) []*recording {
	t.Helper()
	inputs, err := collect(options{paths: []string{path}})
	require.NoError(t, err)
	return identify(t.Context(), inputs, options{})
}

// addRecord adds a file's record, as if an earlier run had sent it.
func addRecord(t *testing.T, srv *aicontenttest.Server, path string) {
	t.Helper()
	srv.AddTranscription(aicontenttest.Transcription{Name: recordingsIn(t, path)[0].name, Result: "late"})
}
