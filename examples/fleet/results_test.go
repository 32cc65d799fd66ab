package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
)

func TestResultsSinceSomeHours(t *testing.T) {
	q := testQueue(t, limits{})
	t.Setenv("NATS_URL", q.js.Conn().ConnectedUrl())
	for name, ago := range map[string]time.Duration{"old": 48 * time.Hour, "new": 0} {
		c := begin(t, q, name, name+".wav", "one")
		r := c.record.at(done, "")
		r.Since = r.Since.Add(-ago)
		require.NoError(t, c.write(t.Context(), r))
	}
	for since, want := range map[string][]string{"1h": {"new.wav"}, "72h": {"new.wav", "old.wav"}} {
		status, out, errOut := command(t, "results", "-since", since)
		assert.Zero(t, status, errOut)
		var names []string
		for line := range strings.Lines(out) {
			name, _, _ := strings.Cut(line, "\t")
			names = append(names, name)
		}
		assert.ElementsMatch(t, want, names, since)
	}
}

func TestResultsThatCannotBeWrittenAreAnError(t *testing.T) {
	q := testQueue(t, limits{})
	t.Setenv("NATS_URL", q.js.Conn().ConnectedUrl())
	require.NoError(t, begin(t, q, "1", "a.wav", "one").succeed(t.Context(), &aicontent.Transcription{ID: "7"}))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	var errOut strings.Builder
	assert.Equal(t, exitFailed, run(t.Context(), []string{"results"}, full, &errOut))
	assert.Contains(t, errOut.String(), "write /dev/full: no space left on device\n")
}

// A row is a line of four fields, whatever a file name or an error holds.
func TestNothingForgesRowsOfResults(t *testing.T) {
	q := testQueue(t, limits{})
	t.Setenv("NATS_URL", q.js.Conn().ConnectedUrl())
	odd := begin(t, q, "1", "a\t\x1b]0;\xff.wav", "one")
	require.NoError(t, odd.succeed(t.Context(), &aicontent.Transcription{ID: "7\n"}))
	refused := begin(t, q, "2", "b.wav", "one")
	reason := "422: \n/c.wav\tdone\t9\tforged\r\u2028\x1b[2J\u202e"
	require.NoError(t, refused.write(t.Context(), refused.record.at(dead, reason)))
	plain := begin(t, q, "3", "Grüß \"Gott\".wav", "one")
	require.NoError(t, plain.succeed(t.Context(), &aicontent.Transcription{ID: "8"}))
	_, out, _ := command(t, "results")
	assert.ElementsMatch(t, []string{
		`"a\t\x1b]0;\xff.wav"` + "\tdone\t" + `"7\n"` + "\t\n",
		"b.wav\tdead\t\t" + `"422: \n/c.wav\tdone\t9\tforged\r\u2028\x1b[2J\u202e"` + "\n",
		"Grüß \"Gott\".wav\tdone\t8\t\n",
	}, slices.Collect(strings.Lines(out)))
}

func TestResultsWithDeadLettersAreNoSuccess(t *testing.T) {
	q := testQueue(t, limits{})
	t.Setenv("NATS_URL", q.js.Conn().ConnectedUrl())
	c := begin(t, q, "1", "a.wav", "one")
	require.NoError(t, c.write(t.Context(), c.record.at(dead, "422: no")))
	status, out, errOut := command(t, "results")
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, "a.wav\tdead\t\t422: no\n", out)
	assert.Equal(t, "fleet: dead jobs: 1\n", errOut)
}

func TestWatchShowsTheFleetAndOnlyProblemsOfNow(t *testing.T) {
	begin := time.Now()
	tb := &table{rate: 10, records: map[string]record{}, since: begin}
	for i, s := range []state{done, done, running, waiting, waiting, queued} {
		tb.records[fmt.Sprint(i)] = record{State: s, Worker: "one", Since: begin.Add(time.Duration(i))}
	}
	const jobs = "7 jobs: 1 queued, 1 running, 2 waiting, 2 done, 1 dead; workers: 1, up to 10/s"
	tb.records["6"] = record{State: dead, Worker: "two", Reason: "422: from before", Since: begin.Add(-time.Hour)}
	assert.Equal(t, jobs, tb.String())
	tb.records["3"] = record{State: waiting, Reason: "503: x\x1b[2J\nall is well", Since: begin.Add(2 * time.Second)}
	tb.records["4"] = record{State: waiting, Reason: "an older one", Since: begin.Add(time.Second)}
	assert.Equal(t, jobs+`; "503: x\x1b[2J\nall is well"`, tb.String())
	for _, id := range []string{"3", "4"} {
		tb.records[id] = tb.records[id].at(done, "")
	}
	assert.Equal(t, "7 jobs: 1 queued, 1 running, 0 waiting, 4 done, 1 dead; workers: 1, up to 10/s", tb.String())
}

func TestWatchThatSeesAJobDieFails(t *testing.T) {
	srv, q := deployment(t)
	produceAll(t, q, write(t, t.TempDir(), "report.pdf", "%PDF-1.7 "+strings.Repeat("x", 100)))
	var log strings.Builder
	status := run(t.Context(), []string{"watch"}, io.Discard, writer(func(p []byte) (int, error) {
		if log.Len() == 0 {
			startTestWorker(t, q, srv)
		}
		return log.Write(p)
	}))
	assert.Equal(t, exitFailed, status)
	problem := `1 dead; workers: 0, up to 1000/s; file .* must be an audio file, .*\nfleet: dead jobs: 1\n$`
	assert.Regexp(t, problem, log.String())
	status, _, errOut := command(t, "watch")
	assert.Zero(t, status, errOut)
}
