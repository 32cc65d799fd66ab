package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// command runs a command in this process.
func command(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var o, e strings.Builder
	status = run(t.Context(), args, &o, &e)
	return status, o.String(), e.String()
}

func TestWrongArgumentsAreExplainedInALine(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"unknown flag":     {[]string{"watch", "-x"}, "fleet: unknown flag -x"},
		"unknown command":  {[]string{"wrok"}, "fleet: unexpected argument wrok"},
		"file of the demo": {[]string{"a.wav"}, "fleet: unexpected argument a.wav"},
		"no files":         {[]string{"produce"}, `expected "<file|folder> ..."`},
		"bad rate":         {[]string{"set", "-rate", "fast"}, `fleet: --rate: expected a float but got "fast"`},
		"no rate":          {[]string{"set"}, "fleet: missing flags: --rate=N"},
		"negative rate":    {[]string{"set", "-rate=-1"}, "-rate must be 0 or from 0.001 to 1000000, not -1"},
		"NaN":              {[]string{"produce", "-rate", "NaN", "x"}, "-rate must be 0 or from 0.001 to 1000000"},
		"surplus argument": {[]string{"watch", "x"}, "fleet: unexpected argument x"},
		"no language": {[]string{"produce", "-language", "english", "x"},
			`-language must be a country code such as GB, not "english"`},
		"idle worker": {[]string{"work", "-concurrency", "0"},
			"-concurrency and -settle must be at least 1 and 1s, not 0 and 15m0s"},
		"hasty worker": {[]string{"produce", "-ack-wait", "1ms", "x"}, "-ack-wait must be at least 1s, not 1ms"},
		"no room":      {[]string{"produce", "-room", "9", "x"}, "must be at least 1MiB"},
		"no size":      {[]string{"produce", "-room", "big", "x"}, "-room"},
		"no time":      {[]string{"results", "-since", "monday"}, "-since"},
	}
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("NATS_URL", "nats://127.0.0.1:1")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, out, errOut := command(t, test.args...)
			assert.Equal(t, exitUsage, status)
			assert.Contains(t, errOut, test.want)
			assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
			assert.Empty(t, out)
		})
	}
	for _, dir := range []string{".", os.TempDir()} {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left, "a mistyped command has started something")
	}
}

func TestHelpIsNoError(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"produce", "-help"}} {
		status, out, errOut := command(t, args...)
		assert.Zero(t, status)
		assert.Contains(t, out, "Usage: fleet ")
		assert.Empty(t, errOut)
	}
}

func TestDemoBillsNothingAndTouchesNoQueue(t *testing.T) {
	srv, q := deployment(t)
	data := t.TempDir()
	t.Setenv("TMPDIR", data)
	status, out, errOut := command(t)
	assert.Zero(t, status, errOut)
	assert.Empty(t, srv.Requests())
	assert.Empty(t, outcome(t, q))
	assert.Contains(t, errOut, "nothing is billed")
	assert.Contains(t, errOut, "Files queued: 40, already known: 0\n")
	assert.Contains(t, errOut, "40 jobs: 0 queued, 0 running, 0 waiting, 40 done, 0 dead; workers: 0, up to 10/s\n")
	assert.Equal(t, 40, strings.Count(out, "\n"))
	for row := range strings.Lines(out) {
		assert.Regexp(t, `^\S+/\d\d\.wav\tdone\t\d+\t\n$`, row)
	}
	left, err := filepath.Glob(filepath.Join(data, "*"))
	assert.NoError(t, err)
	assert.Empty(t, left)
}

func TestCommandsShareAQueue(t *testing.T) {
	q := testQueue(t, limits{Rate: perSecond(0)})
	t.Setenv("NATS_URL", q.js.Conn().ConnectedUrl())
	path := write(t, t.TempDir(), "a.wav", recording(1))
	status, out, errOut := command(t, "produce", path)
	assert.Equal(t, 0, status)
	assert.Empty(t, out)
	assert.Equal(t, "Files queued: 1, already known: 0\n", errOut)

	status, _, errOut = command(t, "set", "-rate", "100")
	assert.Equal(t, 0, status, errOut)
	testWorker(t, q)
	status, out, errOut = command(t, "watch")
	assert.Equal(t, 0, status, errOut)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "1 jobs: 0 queued, 0 running, 0 waiting, 1 done, 0 dead; workers: 0, up to 100/s\n")
	status, out, errOut = command(t, "results")
	assert.Equal(t, 0, status)
	assert.Empty(t, errOut)
	assert.Equal(t, path+"\tdone\t1\t\n", out)
}

func TestInterruptedCommandSaysSo(t *testing.T) {
	q := testQueue(t, limits{Rate: perSecond(0)})
	t.Setenv("NATS_URL", q.js.Conn().ConnectedUrl())
	command(t, "produce", write(t, t.TempDir(), "a.wav", recording(1)))
	stop, end := context.WithCancel(t.Context())
	end()
	assert.Equal(t, exitInterrupted, run(stop, []string{"watch"}, &strings.Builder{}, &strings.Builder{}))
}

func TestQueueThatIsNotThereIsAnError(t *testing.T) {
	t.Setenv("NATS_URL", "")
	status, _, errOut := command(t, "work")
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, "fleet: connect to NATS: NATS_URL is not set, and no -context is given\n", errOut)
	t.Setenv("NATS_URL", "nats://user:secret@127.0.0.1:1,token@127.0.0.1:2")
	status, _, errOut = command(t, "watch")
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, "fleet: connect to NATS: nats: no servers available for connection\n", errOut)
}

func TestMalformedURLOfTheQueueIsNotPrinted(t *testing.T) {
	for _, url := range []string{
		"nats://user:hu sh@127.0.0.1:1", "nats://user:hush/hush@127.0.0.1:1", "nats://user:hush",
		"nats://127.0.0.1:1,nats://user:%hush@127.0.0.1:2", "nats://u:hush\n@127.0.0.1:1",
	} {
		t.Setenv("NATS_URL", url)
		status, _, errOut := command(t, "watch")
		assert.Equal(t, exitFailed, status)
		assert.Contains(t, errOut, "fleet: connect to NATS: the address must be one or more URLs")
		assert.NotContains(t, errOut, "sh@")
		assert.NotContains(t, errOut, "hush")
	}
}

// A queue keeps what it was given, by produce or by an operator, unless a flag says otherwise.
func TestProduceKeepsTheSettingsOfAQueue(t *testing.T) {
	q := testQueue(t, limits{Rate: perSecond(7), AckWait: 20 * time.Second})
	t.Setenv("NATS_URL", q.js.Conn().ConnectedUrl())
	config := q.ledger.stream.CachedInfo().Config
	config.MaxBytes = 300 << 20
	_, err := q.js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	type settings struct {
		room, ledger int64
		ackWait      time.Duration
		rate         float64
	}
	kept := func() settings {
		q := queueAt(t, q.js.Conn().ConnectedUrl(), nil)
		s, _, err := read[schedule](t.Context(), q.rate, scheduleKey)
		require.NoError(t, err)
		return settings{q.files.stream.CachedInfo().Config.MaxBytes, q.ledger.stream.CachedInfo().Config.MaxBytes,
			q.pending.CachedInfo().Config.AckWait, s.PerSecond}
	}
	file := write(t, t.TempDir(), "a.wav", recording(1))
	status, _, errOut := command(t, "produce", file)
	assert.Zero(t, status, errOut)
	assert.Equal(t, settings{64 << 20, 300 << 20, 20 * time.Second, 7}, kept())

	status, _, errOut = command(t, "produce", "-ack-wait", "9s", "-rate", "0", "-room", "5MB", file)
	assert.Zero(t, status, errOut)
	assert.Equal(t, settings{5e6, 300 << 20, 9 * time.Second, 0}, kept())
	status, _, errOut = command(t, "produce", "-replicas", "3", file)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "fleet: open the queue: ")
}

// The default room is larger than this server's disk, but nothing is to be made.
func TestProduceReservesNoRoomForAQueueThatExists(t *testing.T) {
	q := queueOn(t, &server.Options{JetStreamMaxStore: 700 << 20}, limits{})
	t.Setenv("NATS_URL", q.js.Conn().ConnectedUrl())
	status, _, errOut := command(t, "produce", write(t, t.TempDir(), "a.wav", recording(1)))
	assert.Zero(t, status, errOut)
}

func TestQueueThatFoundNoRoomIsMadeWithLess(t *testing.T) {
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: t.TempDir()}
	o.JetStreamMaxStore = 1000 << 20
	node, err := startNode(o)
	require.NoError(t, err)
	defer node.Shutdown()
	t.Setenv("NATS_URL", node.ClientURL())
	file := write(t, t.TempDir(), "a.wav", recording(1))
	for _, args := range [][]string{{"work"}, {"watch"}, {"set", "-rate", "1"}, {"results"}} {
		status, _, errOut := command(t, args...)
		assert.Equal(t, exitFailed, status)
		assert.Equal(t, "fleet: open the queue: there is none yet; fleet produce creates it\n", errOut)
	}
	status, _, errOut := command(t, "produce", file)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "fleet: open the queue: the NATS server has no room for it: ")
	assert.Contains(t, errOut, "see -room\n")
	status, _, errOut = command(t, "produce", "-room", "2MB", file)
	assert.Zero(t, status)
	assert.Equal(t, "Files queued: 1, already known: 0\n", errOut)
}
