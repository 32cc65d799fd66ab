package main

import (
	"fmt"
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
	tb := newTable(0.25)
	tb.left, tb.fresh = 3, 1
	for i, s := range []state{done, done, dead, running, waiting} {
		require.NoError(t, tb.learn(fmt.Sprint(i), record{State: s, Worker: "one"}))
	}
	require.NoError(t, tb.learn("2", record{State: dead, Worker: "one", Reason: "503: x"}))
	require.NoError(t, tb.learn("5", record{State: done, Worker: "without a job"}))
	now := time.Now()
	tb.follow(schedule{PerSecond: 10, Requests: 10}, now.Add(-3*time.Second))
	tb.follow(schedule{PerSecond: 10, Requests: 25}, now)
	require.Equal(t, `7 jobs: 1 queued, 1 running, 1 waiting, 3 done, 1 dead
workers: 1, 5.0 of 10 requests/s, cost 0.75
503: x
worker               running waiting   done   dead  latest problem
one                        1       1      2      1  503: x
`, tb.String())
}

func TestTableFits80ColumnsAndBeginsWithTheCause(t *testing.T) {
	problem := plain(unauthorized(t))
	assert.True(t, strings.HasPrefix(problem, "401: Unauthenticated."), problem)
	tb := newTable(1)
	tb.left, tb.fresh, tb.perSecond, tb.schedule.PerSecond = 99999, 99999, 999, 1000
	busy := record{State: running, Worker: strings.Repeat("host", 9), Reason: problem}
	require.NoError(t, tb.learn("1", busy))
	busy.State, busy.Worker = dead, "another"
	busy.Reason = strings.Repeat(problem, 9)
	require.NoError(t, tb.learn("2", busy))
	for line := range strings.Lines(tb.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
	}
	assert.Contains(t, tb.String(), "0  401: Unauthenticated.")
}

// Requests of two seconds may be reserved in one.
func TestTableNeverShowsMoreRequestsThanTheRateAllows(t *testing.T) {
	now, tb := time.Now(), &table{}
	tb.follow(schedule{PerSecond: 12}, now.Add(-time.Second))
	tb.follow(schedule{PerSecond: 12, Requests: 18}, now)
	assert.Contains(t, tb.pace(), "12.0 of 12 requests/s")
}

// A job that has just ended is still in the queue.
func TestTableCountsAJobOnce(t *testing.T) {
	tb := newTable(0)
	tb.left, tb.fresh = 61, 60
	require.NoError(t, tb.learn("a", record{State: done}))
	require.NoError(t, tb.learn("b", record{State: queued}))
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
