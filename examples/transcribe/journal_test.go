package main

import (
	"bytes"
	"context"
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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// age makes a journal older, as if time had passed since the last run.
func age(t *testing.T, journal string, by time.Duration) {
	t.Helper()
	moment := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	for _, name := range names(t, journal) {
		path := filepath.Join(journal, name)
		lines, err := os.ReadFile(path)
		require.NoError(t, err)
		lines = moment.ReplaceAllFunc(lines, func(text []byte) []byte {
			when, err := time.Parse(time.RFC3339Nano, string(text))
			require.NoError(t, err)
			return when.Add(-by).AppendFormat(nil, time.RFC3339Nano)
		})
		require.NoError(t, os.WriteFile(path, lines, 0o600))
	}
}

// Only one who knows which journal is used can tell whether it is the right one.
func TestTheJournalIsNamed(t *testing.T) {
	_, flags := deployment(t)
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	_, _, stderr := transcribe(t, append(flags, file)...)
	assert.Contains(t, stderr, "New journal: "+flags[1]+". It does not know the uploads in another one.\n")
	_, _, stderr = transcribe(t, append(flags, file)...)
	assert.Contains(t, stderr, "Journal: "+flags[1]+"\n")
	assert.NotContains(t, stderr, "New journal")
}

// A home that cannot be written is no reason to go without, and the flag helps.
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

// Without the journal an upload would leave no trace after a crash, so nothing is sent, and the run ends.
func TestWithoutAJournalNothingIsSent(t *testing.T) {
	var once sync.Once
	var journal string
	srv, flags := deployment(t, aicontenttest.OnRequest(func(aicontenttest.Request) {
		// The program looks for the first recording, and would send it next.
		once.Do(func() {
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

// Two runs at the same time, such as those of two terminals, pay once for what both have.
func TestTwoRunsShareAJournal(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	for i := range 6 {
		recordingFile(t, filepath.Join(dir, fmt.Sprintf("%d.wav", i)), byte(i), 1000)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			out := t.TempDir()
			var stdout, stderr bytes.Buffer
			assert.Equal(t, exitDone, run(t.Context(), append(flags, "-o", out, dir), &stdout, &stderr), &stderr)
			texts, err := filepath.Glob(filepath.Join(out, "*", "*.txt"))
			assert.NoError(t, err)
			assert.Len(t, texts, 6)
		})
	}
	wg.Wait()
	require.Len(t, srv.Records(), 6)
	assert.Equal(t, 6, stores(srv))
}

// What a killed run was at has to wait until it is surely dead. The other recordings do not.
func TestAKilledRunHoldsUpNoOtherRecording(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	srv, flags := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if isStore(&r.Request) {
			once.Do(func() {
				close(reached)
				<-release
			})
		}
	}))
	dir := t.TempDir()
	first := recordingFile(t, filepath.Join(dir, "a.wav"), 1, 1000)
	cmd := program(t.Context(), append(flags, first)...)
	require.NoError(t, cmd.Start())
	<-reached
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	close(release)

	recordingFile(t, filepath.Join(dir, "b.wav"), 2, 1000)
	ctx, interrupt := context.WithCancel(t.Context())
	var stderr strings.Builder
	waits := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "was killed at it; waiting until") {
			interrupt()
		}
		return stderr.Write(p)
	})
	assert.Equal(t, exitInterrupted, run(ctx, append(flags, "-j", "1", dir), io.Discard, waits))
	const story = `(?s)a\.wav: may have been sent before; .*b\.wav: made, .*a\.wav: another run is at it`
	assert.Regexp(t, story, stderr.String())

	age(t, flags[1], 10*time.Minute)
	status, _, messages := transcribe(t, append(flags, dir)...)
	assert.Equal(t, exitDone, status, messages)
	assert.Contains(t, messages, "Made: 0. Found: 2.")
	assert.Equal(t, 2, stores(srv))
}
