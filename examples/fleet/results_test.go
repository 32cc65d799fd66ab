package main

import (
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

// A row is a line of four fields, whatever a file name or an error holds.
func TestNothingForgesRowsOfResults(t *testing.T) {
	q := newQueue(t)
	add(t, q, "1", job{File: "a\t\x1b]0;Grüß \"Gott\".mp3", State: done, Record: "7\n"})
	add(t, q, "2", job{File: "b.mp3", State: dead, Reason: "422: \ndone\t\"c.mp3\"\r\u2028\x1b[2J\u202e\u009b"})
	_, out, _ := command(t, "results")
	assert.Equal(t, `done	"a\t\x1b]0;Grüß \"Gott\".mp3"	"7\n"	""`+"\n"+
		`dead	"b.mp3"	""	"422: \ndone\t\"c.mp3\"\r\u2028\x1b[2J\u202e\u009b"`+"\n", out)
}
