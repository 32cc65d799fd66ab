package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// add adds a job.
func add(t *testing.T, q *queue, id string, j job) {
	t.Helper()
	require.NoError(t, q.save(t.Context(), id, j, ""))
}

func TestResultsAreOfTheTimeThatIsAskedFor(t *testing.T) {
	q := newQueue(t)
	add(t, q, "1", job{File: "a.mp3", State: done})
	add(t, q, "2", job{File: "b.mp3", State: queued})
	for since, want := range map[string]string{"1h": "done\t\"a.mp3\"\t\"\"\t\"\"\n", "1ns": ""} {
		status, out, errOut := command(t, "results", "-since", since)
		assert.Zero(t, status, errOut)
		assert.Equal(t, want, out, since)
	}
}

func TestResultsLeaveOutJobsThatAnOperatorDeleted(t *testing.T) {
	q := newQueue(t)
	add(t, q, "1", job{File: "a.mp3", State: done})
	add(t, q, "2", job{File: "b.mp3", State: dead})
	require.NoError(t, q.jobs.bucket.Delete(t.Context(), "2"))
	status, out, errOut := command(t, "results")
	assert.Zero(t, status, errOut)
	assert.Equal(t, "done\t\"a.mp3\"\t\"\"\t\"\"\n", out)
}

func TestResultsThatCannotBeWrittenAreAnError(t *testing.T) {
	add(t, newQueue(t), "1", job{File: "a.mp3", State: done})
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	var errOut strings.Builder
	assert.Equal(t, exitFailed, run(t.Context(), []string{"results"}, full, &errOut))
	assert.Contains(t, errOut.String(), "no space left on device\n")
}

// A row is a line of four fields, whatever a file name or an error holds.
func TestNothingForgesRowsOfResults(t *testing.T) {
	q := newQueue(t)
	add(t, q, "1", job{File: "a\t\x1b]0;Grüß \"Gott\".mp3", State: done, Record: "7\n"})
	add(t, q, "2", job{File: "b.mp3", State: dead, Reason: "422: \ndone\t\"c.mp3\"\r\u2028\x1b[2J\u202e\u009b"})
	_, out, _ := command(t, "results")
	assert.Equal(t, `done	"a\t\x1b]0;Grüß \"Gott\".mp3"	"7\n"	""`+"\n"+
		`dead	"b.mp3"	""	"422: \ndone\t\"c.mp3\"\r\u2028\x1b[2J\u202e\u009b"`+"\n", out)
}
