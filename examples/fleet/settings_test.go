package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProduceKeepsTheSettingsOfAQueue(t *testing.T) {
	q := testQueue(t, limits{rate: 7, ackWait: 20 * time.Second})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	file := write(t, t.TempDir(), "a.wav", recording(1))
	kept := func() limits {
		l, err := q.limits(t.Context())
		require.NoError(t, err)
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
	assert.Equal(t, "fleet: the queue has other settings: -ack-wait is 20s, not 9s, -room is 67108864, not 2000000; "+
		"fleet set changes them\n", errOut)
	assert.Equal(t, before, kept())
}

func TestSetChangesWhatIsGivenAndNothingElse(t *testing.T) {
	q := testQueue(t, limits{rate: 7, ackWait: 20 * time.Second})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	for args, want := range map[[2]string]string{
		{"-ack-wait", "9s"}:  "-replicas 1 -ack-wait 9s -room 67108864 -rate 7\n",
		{"-room", "2000000"}: "-replicas 1 -ack-wait 20s -room 2000000 -rate 7\n",
		{"-rate", "0.5"}:     "-replicas 1 -ack-wait 20s -room 67108864 -rate 0.5\n",
	} {
		status, out, errOut := command(t, "set", args[0], args[1])
		assert.Zero(t, status, errOut)
		assert.Equal(t, want, out)
		_, out, _ = command(t, "set")
		assert.Equal(t, want, out, "set without flags shows something else")
		command(t, "set", "-ack-wait", "20s", "-room", "67108864", "-rate", "7")
	}
	status, _, errOut := command(t, "set", "-replicas", "3")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "fleet: change the queue: ")
}

func TestMistypedCommandStartsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	for _, args := range [][]string{{"wrok"}, {"wrok", "-concurrency", "3"}, {"-workers", "2", "wrok"}} {
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
