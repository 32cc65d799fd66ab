package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
)

func TestTableShowsTheFleet(t *testing.T) {
	tb := &table{rate: 10, records: map[string]record{}}
	tb.left = 3
	for i, s := range []state{done, done, dead, running, waiting, queued} {
		require.NoError(t, tb.learn(fmt.Sprint(i), record{State: s, Worker: "one"}))
	}
	require.NoError(t, tb.learn("2", record{State: dead, Worker: "one", Reason: "503: x"}))
	require.NoError(t, tb.learn("6", record{State: done, Worker: "without a job"}))
	require.Equal(t, `7 jobs: 1 queued, 1 running, 1 waiting, 3 done, 1 dead
workers: 1, up to 10 requests/s
503: x
`, tb.String())
}

func TestWatchSaysTheReasonInALogToo(t *testing.T) {
	tb := &table{rate: 0.5, records: map[string]record{}}
	require.NoError(t, tb.learn("1", record{State: dead, Worker: "one", Reason: "503: x\x1b[2J\nall is well"}))
	tb.left = 0
	var out strings.Builder
	display(&out)(tb)
	assert.Equal(t, "1 jobs: 0 queued, 0 running, 0 waiting, 0 done, 1 dead | "+
		`workers: 0, up to 0.5 requests/s | "503: x\x1b[2J\nall is well"`+"\n", out.String())
}

func TestResultsThatCannotBeWrittenAreAnError(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	testWorker(t, q)
	require.NoError(t, produceAll(t.Context(), q, io.Discard, write(t, t.TempDir(), "a.wav", recording(1))))
	outcome(t, q)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for _, args := range [][]string{{"results"}, {"set"}} {
		var errOut strings.Builder
		assert.Equal(t, exitFailed, run(t.Context(), args, full, &errOut), args)
		assert.Contains(t, errOut.String(), "write /dev/full: no space left on device\n")
	}
}

// A row is a line of four fields, whatever a file name or a text holds.
func TestNothingForgesRowsOfResults(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	text := "one\n/b.wav\tdone\t9\tforged\r\u2028\x1b[2J\u202e"
	c := named(t, q, "1", "a\t\x1b]0;\xff.wav")
	require.NoError(t, c.succeed(t.Context(), &aicontent.Transcription{ID: "7\n", Result: text}))
	plain := named(t, q, "2", "b.wav")
	said := &aicontent.Transcription{ID: "8", Result: "Sie sagte\u00a0: \"Grüß Gott\""}
	require.NoError(t, plain.succeed(t.Context(), said))
	status, out, errOut := command(t, "results")
	assert.Zero(t, status, errOut)
	assert.ElementsMatch(t, []string{
		`"a\t\x1b]0;\xff.wav"` + "\tdone\t" + `"7\n"` + "\t" + strconv.Quote(text) + "\n",
		"b.wav\tdone\t8\t" + "Sie sagte\u00a0: \"Grüß Gott\"" + "\n",
	}, slices.Collect(strings.Lines(out)))
}

func TestResultsWithDeadLettersAreNoSuccess(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	c := named(t, q, "1", "a.wav")
	require.NoError(t, c.fail(t.Context(), dead, "422: no"))
	status, out, errOut := command(t, "results")
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, "a.wav\tdead\t\t422: no\n", out)
	assert.Equal(t, "fleet: dead jobs: 1\n", errOut)
}
