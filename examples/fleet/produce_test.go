package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesOfAFolderThatAreNoRecordingsAreSkippedAndSaidSo(t *testing.T) {
	q := testQueue(t, limits{rate: 0})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	dir := t.TempDir()
	write(t, dir, "a.WAV", recording(1))
	write(t, dir, "empty.mp3", "")
	write(t, dir, ".hidden.mp3", recording(2))
	write(t, dir, "list.mp3", "shopping list: eggs, milk")
	write(t, dir, "notes.txt", "no recording")
	write(t, dir, "x\nfleet: all is well\x1b[2J.txt", "no recording")
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "gone.mp3")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "endless.mp3")))
	linked := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, linked))
	named := write(t, t.TempDir(), "named.bin", recording(3))

	status, _, errOut := command(t, "produce", linked, "missing.mp3", named)
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, "Files queued: 2, already known: 0\nfleet: skipped: "+strings.Join([]string{
		filepath.Join(linked, "empty.mp3") + ": empty, or not a file",
		filepath.Join(linked, "endless.mp3") + ": empty, or not a file",
		filepath.Join(linked, "gone.mp3") + ": no such file or directory",
		filepath.Join(linked, "list.mp3") + ": text, not a recording",
		filepath.Join(linked, "notes.txt") + ": not a recording by its extension",
		strconv.Quote(filepath.Join(linked, "x\nfleet: all is well\x1b[2J.txt")) + ": not a recording by its extension",
		"missing.mp3: no such file or directory",
	}, "\nskipped: ")+"\n", errOut)
}

// A file may go between the look at its folder and its turn.
func TestFileThatCannotBeReadIsSkipped(t *testing.T) {
	q := testQueue(t, limits{rate: 0})
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "gone.wav"), write(t, dir, "a.wav", recording(1))}
	var out strings.Builder
	_, err := produce(t.Context(), q, "", files, &out)
	require.EqualError(t, err, "skipped: "+files[0]+": no such file or directory")
	assert.Equal(t, "Files queued: 1, already known: 0\n", out.String())
}

// A producer that dies between the two steps of queuing a dead job again must not leave it to nobody.
func TestDeadJobIsQueuedAgainAfterAnInterruptedProduce(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	path := write(t, t.TempDir(), "a.wav", recording(1))
	c := &claim{q: q, id: fileID(t, path)}
	require.NoError(t, q.files.write(t.Context(), c.id, strings.NewReader(recording(1))))
	require.NoError(t, c.write(t.Context(), func(r *record) { r.State = queued }))
	var out strings.Builder
	require.NoError(t, produceAll(t.Context(), q, &out, path))
	require.NoError(t, produceAll(t.Context(), q, &out, path))
	assert.Equal(t, "Files queued: 1, already known: 0\nFiles queued: 0, already known: 1\n", out.String())
	testWorker(t, q)
	assert.Equal(t, done, outcome(t, q)["a.wav"].State)
}

func TestProducerWaitsWhileTheQueueIsFull(t *testing.T) {
	q := testQueue(t, limits{rate: 1000, room: 600 << 10})
	dir := t.TempDir()
	for i := range uint64(8) {
		write(t, dir, fmt.Sprint(i, ".wav"), string(noise(i, 200_000)))
	}
	out, told := io.Pipe()
	produced := make(chan error, 1)
	go func() {
		err := produceAll(t.Context(), q, told, dir)
		produced <- errors.Join(err, told.Close())
	}()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	assert.Equal(t, "The queue is full. Waiting for workers, or results -drop, to make room.", lines.Text())
	srv := testWorker(t, q)
	for lines.Scan() {
	}
	require.NoError(t, <-produced)
	for name, r := range outcome(t, q) {
		assert.Equal(t, done, r.State, name)
	}
	assert.Len(t, srv.Records(), 8)
}
