package main

import (
	"context"
	"os"
	"regexp"
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

func TestWrongArgumentsAreExplained(t *testing.T) {
	const queue = "nats://localhost"
	tests := map[string]struct {
		args []string
		nats string
		want string
	}{
		"unknown flag": {[]string{"-x"}, "", "flag provided but not defined: -x"},
		"no files":     {[]string{"produce"}, queue, "fleet: produce needs a file or folder"},
		"bad rate":     {[]string{"set", "-rate", "fast"}, queue, `invalid value "fast" for flag -rate`},
		"negative rate": {[]string{"set", "-rate", "-1"}, queue,
			"fleet: -rate must be 0 or from 0.001 to 1000000, not -1"},
		"NaN": {[]string{"set", "-rate", "NaN"}, queue,
			"fleet: -rate must be 0 or from 0.001 to 1000000, not NaN"},
		"surplus argument": {[]string{"watch", "x"}, queue, `fleet: unexpected argument "x"`},
		"no language": {[]string{"produce", "-language", "english", "x"}, queue,
			`fleet: -language must be a country code such as GB, not "english"`},
		"no queue": {[]string{"work"}, "", "fleet: NATS_URL is not set"},
		"idle worker": {[]string{"work", "-concurrency", "0"}, queue,
			"fleet: -concurrency must be at least 1, not 0"},
		"no room": {[]string{"set", "-room", "9"}, queue,
			"fleet: -replicas, -ack-wait, -room and -texts must be at least 1, 1s, 1048576 and 1048576, " +
				"not 1, 45s, 9 and 268435456"},
		"no place": {[]string{"results"}, "",
			"fleet: NATS_URL, -queue or AICONTENT_BASE_URL must say which queue"},
		"demo account": {[]string{"-account", "x"}, "", "fleet: -creds, -ca, -queue and -account need -deployment"},
		"account and NATS": {[]string{"set", "-account", "x"}, queue,
			"fleet: -account is for queues in your state folder"},
		"account and path": {[]string{"set", "-account", "../x"}, "",
			`fleet: -account must be letters, digits, - and _, not "../x"`},
		"no date": {[]string{"results", "-since", "monday"}, queue, `invalid value "monday" for flag -since`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NATS_URL", test.nats)
			t.Setenv("AICONTENT_BASE_URL", "")
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
	status, out, errOut := command(t, "-rate", "100", dir)
	assert.Equal(t, 0, status, errOut)
	assert.Contains(t, errOut, "The service runs in memory: nothing is billed")
	assert.Contains(t, errOut, "The queue runs in this process")
	assert.Contains(t, errOut, "Files queued: 2, already known: 0\n")
	assert.Contains(t, errOut, "2 jobs: 0 queued, 0 running, 0 waiting, 2 done, 0 dead")
	assert.Contains(t, errOut, "up to 100 requests/s")
	assert.Regexp(t, regexp.QuoteMeta(dir)+`/a\.wav\tdone\t\d+\tNo transcript`, out)
	for row := range strings.Lines(out) {
		assert.Len(t, strings.Split(row, "\t"), 4, "standard output has more than results")
	}
}

func TestDeadJobsAreTheStatus(t *testing.T) {
	path := write(t, t.TempDir(), "report.pdf", "%PDF-1.7 "+strings.Repeat("x", 100))
	status, out, errOut := command(t, "-rate", "100", path)
	assert.Equal(t, exitFailed, status)
	assert.Regexp(t, `report\.pdf\tdead\t\t.*must be an audio file`, out)
	assert.True(t, strings.HasSuffix(errOut, "\nfleet: dead jobs: 1\n"), errOut)
}

func TestCommandsShareAQueue(t *testing.T) {
	q := testQueue(t, limits{rate: 0})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	status, out, errOut := command(t, "produce", write(t, t.TempDir(), "a.wav", recording(1)))
	assert.Equal(t, 0, status)
	assert.Empty(t, out)
	assert.Equal(t, "Files queued: 1, already known: 0\n", errOut)

	status, _, errOut = command(t, "set", "-rate", "100")
	assert.Equal(t, 0, status, errOut)
	testWorker(t, q)
	status, out, errOut = command(t, "watch")
	assert.Equal(t, 0, status, errOut)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "1 jobs: 0 queued, 0 running, 0 waiting, 1 done, 0 dead")
	status, out, errOut = command(t, "results")
	assert.Equal(t, 0, status)
	assert.Empty(t, errOut)
	assert.Regexp(t, `a\.wav\tdone\t1\tNo transcript`, out)
}

func TestInterruptedCommandSaysSo(t *testing.T) {
	q := testQueue(t, limits{rate: 0})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	command(t, "produce", write(t, t.TempDir(), "a.wav", recording(1)))
	stop, end := context.WithCancel(t.Context())
	end()
	assert.Equal(t, exitInterrupted, run(stop, []string{"watch"}, &strings.Builder{}, &strings.Builder{}))
}

func TestQueueThatIsNotThereIsAnError(t *testing.T) {
	t.Setenv("NATS_URL", "nats://127.0.0.1:1")
	status, _, errOut := command(t, "watch")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "fleet: connect to NATS at 127.0.0.1:1: nats: no servers available")
}

func TestErrorOfAnUnreachableQueueKeepsItsPassword(t *testing.T) {
	t.Setenv("NATS_URL", "nats://user:secret@127.0.0.1:1,token@127.0.0.1:2")
	_, _, errOut := command(t, "watch")
	assert.Contains(t, errOut, "fleet: connect to NATS at 127.0.0.1:1, 127.0.0.1:2: ")
}

func TestMalformedURLOfTheQueueIsNotPrinted(t *testing.T) {
	for _, url := range []string{
		"nats://user:hu sh@127.0.0.1:1", "nats://user:hush/hush@127.0.0.1:1", "nats://user:hush",
		"nats://127.0.0.1:1,nats://user:%hush@127.0.0.1:2", "nats://u:hush\n@127.0.0.1:1",
	} {
		t.Setenv("NATS_URL", url)
		status, _, errOut := command(t, "watch")
		assert.Equal(t, exitFailed, status)
		assert.Contains(t, errOut, "fleet: NATS_URL must be one or more URLs")
		assert.NotContains(t, errOut, "sh@")
		assert.NotContains(t, errOut, "hush")
	}
}

func TestProduceKeepsTheSettingsOfAQueue(t *testing.T) {
	q := testQueue(t, limits{rate: 7, ackWait: 20 * time.Second})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	file := write(t, t.TempDir(), "a.wav", recording(1))
	kept := func() limits {
		opened, err := openQueue(t.Context(), q.nc.ConnectedUrl(), nil)
		require.NoError(t, err)
		defer opened.nc.Close()
		l := opened.limits()
		info, err := q.pending.Info(t.Context())
		require.NoError(t, err)
		assert.Equal(t, info.Config.AckWait, l.ackWait)
		return l
	}
	before := kept()
	status, _, errOut := command(t, "produce", file)
	assert.Zero(t, status, errOut)
	assert.Equal(t, before, kept())

	status, out, errOut := command(t, "produce", "-ack-wait", "9s", "-rate", "7", "-room", "2000000", file)
	assert.Equal(t, exitFailed, status)
	assert.Empty(t, out, "files were queued")
	assert.Equal(t, "fleet: open the queue: it has other settings: "+
		"-ack-wait is 20s, not 9s, -room is 67108864, not 2000000; "+
		"fleet set changes them\n", errOut)
	assert.Equal(t, before, kept())
}

// The default room is larger than this server's disk, but nothing is to be made.
func TestProduceReservesNoRoomForAQueueThatExists(t *testing.T) {
	q := queueOn(t, &server.Options{JetStreamMaxStore: 800 << 20}, limits{rate: 7})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
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
	status, _, errOut := command(t, "work")
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, "fleet: open the queue: there is none yet; fleet produce creates it\n", errOut)
	status, _, errOut = command(t, "produce", file)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "has no room for 577 MiB, -room 1073741824 and -texts 268435456 bytes")
	status, _, errOut = command(t, "produce", "-room", "2000000", file)
	assert.Zero(t, status)
	assert.Equal(t, "Files queued: 1, already known: 0\n", errOut)
}

func TestSetChangesWhatIsGivenAndNothingElse(t *testing.T) {
	q := testQueue(t, limits{rate: 7, ackWait: 20 * time.Second})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	for args, want := range map[[2]string]string{
		{"-ack-wait", "9s"}:   "-replicas 1 -ack-wait 9s -room 67108864 -texts 67108864 -rate 7\n",
		{"-room", "2000000"}:  "-replicas 1 -ack-wait 20s -room 2000000 -texts 67108864 -rate 7\n",
		{"-texts", "3000000"}: "-replicas 1 -ack-wait 20s -room 67108864 -texts 3000000 -rate 7\n",
		{"-rate", "0.5"}:      "-replicas 1 -ack-wait 20s -room 67108864 -texts 67108864 -rate 0.5\n",
	} {
		status, out, errOut := command(t, "set", args[0], args[1])
		assert.Zero(t, status, errOut)
		assert.Equal(t, want, out)
		_, out, _ = command(t, "set")
		assert.Equal(t, want, out, "set without flags shows something else")
		command(t, "set", "-ack-wait", "20s", "-room", "67108864", "-texts", "67108864", "-rate", "7")
	}
	status, _, errOut := command(t, "set", "-replicas", "3")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "fleet: change the queue: ")
}

func TestMistypedCommandStartsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	for _, args := range [][]string{{"wrok"}, {"wrok", "-concurrency", "3"}, {"-rate", "2", "wrok"}} {
		status, out, errOut := command(t, args...)
		assert.Equal(t, exitUsage, status)
		assert.Empty(t, out)
		assert.Contains(t, errOut, `fleet: "wrok" is neither a command nor a file`)
	}
	for _, dir := range []string{".", os.TempDir()} {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}
