package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// command runs a command in this process.
func command(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var o, e strings.Builder
	status = run(t.Context(), t.Context(), args, &o, &e)
	return status, o.String(), e.String()
}

func TestWrongArgumentsAreExplained(t *testing.T) {
	tests := map[string]struct {
		args []string
		nats string
		want string
	}{
		"unknown flag":     {[]string{"-x"}, "", "flag provided but not defined: -x"},
		"no files":         {[]string{"produce"}, "nats://localhost", "fleet: which files?"},
		"no rate":          {[]string{"rate"}, "nats://localhost", "fleet: which rate?"},
		"bad rate":         {[]string{"rate", "fast"}, "nats://localhost", `invalid value "fast" for flag -rate`},
		"negative rate":    {[]string{"rate", "-1"}, "nats://localhost", "fleet: the rate -1 is not 0 or from 0.001"},
		"NaN":              {[]string{"rate", "NaN"}, "nats://localhost", "fleet: the rate NaN is not 0 or from 0.001"},
		"surplus argument": {[]string{"watch", "x"}, "nats://localhost", `fleet: unexpected argument "x"`},
		"no language":      {[]string{"produce", "-language", "english", "x"}, "nats://localhost", `fleet: language "english" is no country code such as GB`},
		"no queue":         {[]string{"work"}, "", "fleet: NATS_URL is not set"},
		"idle worker":      {[]string{"work", "-concurrency", "0"}, "nats://localhost", "fleet: a fleet needs a worker, and a worker something to do"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NATS_URL", test.nats)
			status, _, errOut := command(t, test.args...)
			assert.Equal(t, exitUsage, status)
			assert.Contains(t, errOut, test.want)
		})
	}
}

func TestEverythingOnThisMachine(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.wav", recording(1))
	write(t, dir, "b.wav", recording(2))
	status, out, errOut := command(t, "-rate", "100", "-workers", "2", "-price", "0.5", dir)
	assert.Equal(t, 0, status, errOut)
	assert.Contains(t, out, "The service runs in memory: nothing is billed")
	assert.Contains(t, out, "The queue runs in this process")
	assert.Contains(t, out, "Files queued: 2, known already: 0\n")
	assert.Contains(t, out, "2 jobs: 0 queued, 0 running, 0 waiting, 2 done, 0 dead")
	assert.Contains(t, out, "cost 1.00")
	assert.Regexp(t, regexp.QuoteMeta(dir)+`/a\.wav\tdone\t\d+\tNo transcript`, out)
}

func TestDeadJobsAreTheStatus(t *testing.T) {
	path := write(t, t.TempDir(), "report.pdf", "%PDF-1.7 "+strings.Repeat("x", 100))
	status, out, errOut := command(t, "-rate", "100", "-workers", "1", path)
	assert.Equal(t, exitFailed, status)
	assert.Regexp(t, `report\.pdf\tdead\t\t.*must be an audio file`, out)
	assert.Equal(t, "fleet: dead jobs: 1\n", errOut)
}

func TestCommandsShareAQueue(t *testing.T) {
	q := testQueue(t, limits{rate: 0})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	status, out, errOut := command(t, "produce", write(t, t.TempDir(), "a.wav", recording(1)))
	assert.Equal(t, 0, status, errOut)
	assert.Equal(t, "Files queued: 1, known already: 0\n", out)

	status, _, errOut = command(t, "rate", "100")
	assert.Equal(t, 0, status, errOut)
	testWorker(t, q)
	status, _, errOut = command(t, "watch")
	assert.Equal(t, 0, status, errOut)
	status, out, errOut = command(t, "results")
	assert.Equal(t, 0, status, errOut)
	assert.Regexp(t, `a\.wav\tdone\t1\tNo transcript`, out)
}

func TestInterruptedCommandSaysSo(t *testing.T) {
	q := testQueue(t, limits{rate: 0})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	command(t, "produce", write(t, t.TempDir(), "a.wav", recording(1)))
	stop, end := context.WithCancel(t.Context())
	end()
	assert.Equal(t, exitInterrupted, run(t.Context(), stop, []string{"watch"}, &strings.Builder{}, &strings.Builder{}))
}

func TestQueueThatIsNotThereIsAnError(t *testing.T) {
	t.Setenv("NATS_URL", "nats://127.0.0.1:1")
	status, _, errOut := command(t, "watch")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "fleet: connect to NATS at nats://127.0.0.1:1: nats: no servers available")
}

func TestErrorOfAnUnreachableQueueKeepsItsPassword(t *testing.T) {
	t.Setenv("NATS_URL", "nats://user:secret@127.0.0.1:1,token@127.0.0.1:2")
	_, _, errOut := command(t, "watch")
	assert.Contains(t, errOut, "fleet: connect to NATS at nats://127.0.0.1:1,127.0.0.1:2: ")
}
