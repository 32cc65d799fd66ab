package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTableShowsTheFleet(t *testing.T) {
	now := time.Now()
	tb := &table{
		price: 0.25, left: 3, fresh: 1, rate: 10, workers: map[string]*row{}, problem: "503: x",
		states: map[string]state{"a": done, "b": done, "c": dead, "d": running, "e": waiting},
	}
	tb.hear([]byte(`{"Worker":"gone"}`), now.Add(-6*time.Second))
	tb.hear([]byte(`{"Worker":"one","Requests":10}`), now.Add(-3*time.Second))
	tb.hear([]byte(`{"Worker":"one","Running":1,"Done":2,"Failed":1,"Requests":25,"Problem":"it failed"}`), now)
	tb.hear([]byte(`not from a worker`), now)
	require.Equal(t, `6 jobs: 1 queued, 1 running, 1 waiting, 2 done, 1 dead
workers: 1, 5.0 of 10 requests/s, cost 0.50
503: x
worker               running   done failed  req/s  latest problem
one                        1      2      1    5.0  it failed
`, tb.String())
}

func TestTableFits80ColumnsAndBeginsWithTheCause(t *testing.T) {
	problem := plain(unauthorized(t))
	assert.True(t, strings.HasPrefix(problem, "401: Unauthenticated."), problem)
	busy := report{Running: 99, Done: 99999, Requests: 99999, Problem: problem}
	tb := &table{
		left: 99999, fresh: 99999, rate: 1000, price: 1, problem: strings.Repeat(problem, 9),
		states:  map[string]state{},
		workers: map[string]*row{strings.Repeat("host", 9): {report: busy, perSecond: 999}},
	}
	for line := range strings.Lines(tb.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
	}
	assert.Contains(t, tb.String(), "999.0  401: Unauthenticated.")
}

// A worker's requests of two seconds may be reported in one.
func TestTableNeverShowsMoreRequestsThanTheRateAllows(t *testing.T) {
	now := time.Now()
	tb := &table{rate: 12, workers: map[string]*row{}}
	tb.hear([]byte(`{"Worker":"one","Requests":0}`), now.Add(-time.Second))
	tb.hear([]byte(`{"Worker":"one","Requests":54}`), now)
	assert.Contains(t, tb.pace(), "12.0 of 12 requests/s")
}

// A job that has just ended is still in the queue.
func TestTableCountsAJobOnce(t *testing.T) {
	tb := &table{left: 61, fresh: 60, states: map[string]state{"a": done, "b": queued}}
	assert.Equal(t, "61 jobs: 60 queued, 0 running, 0 waiting, 1 done, 0 dead", tb.jobs())
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
	for _, args := range [][]string{{"results"}, {"watch"}, {"set"}, {"produce", os.DevNull}} {
		var errOut strings.Builder
		assert.Equal(t, exitFailed, run(t.Context(), args, full, &errOut), args)
		assert.Contains(t, errOut.String(), "write /dev/full: no space left on device\n")
	}
}
