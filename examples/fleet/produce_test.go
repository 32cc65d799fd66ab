package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesOfAFolderThatAreNoRecordingsAreSkippedAndSaidSo(t *testing.T) {
	q := testQueue(t, limits{Rate: perSecond(0)})
	t.Setenv("NATS_URL", q.js.Conn().ConnectedUrl())
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

// A producer that dies between the steps of queuing a job must not leave it to nobody.
func TestJobOfAnInterruptedProduceIsQueuedAgain(t *testing.T) {
	for _, interrupted := range []state{queued, dead} {
		q := testQueue(t, limits{})
		path := write(t, t.TempDir(), "a.wav", recording(1))
		_, err := q.jobs.Create(t.Context(), fileID(t, path), encode(record{File: []byte(path)}.at(interrupted, "x")))
		require.NoError(t, err)
		var out strings.Builder
		for range 2 {
			require.NoError(t, produce(t.Context(), q, "", []string{path}, &out))
		}
		assert.Equal(t, "Files queued: 1, already known: 0\nFiles queued: 0, already known: 1\n", out.String())
		testWorker(t, q)
		assert.Equal(t, done, outcome(t, q)["a.wav"].State)
	}
}

func TestProducersOfTheSameFilesShareTheirJobs(t *testing.T) {
	q := testQueue(t, limits{})
	dir := t.TempDir()
	for i := range uint64(20) {
		write(t, dir, fmt.Sprint(i, ".wav"), recording(i))
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { assert.NoError(t, produce(t.Context(), q, "", []string{dir}, io.Discard)) })
	}
	srv := testWorker(t, q)
	group.Wait()
	for name, r := range outcome(t, q) {
		assert.Equal(t, done, r.State, name)
	}
	assert.Len(t, srv.Records(), 20)
	assert.Equal(t, 20, uploads(srv))
}

func TestProducerWaitsWhileTheQueueIsFull(t *testing.T) {
	q := testQueue(t, limits{Room: 600 << 10})
	dir := t.TempDir()
	for i := range uint64(8) {
		write(t, dir, fmt.Sprint(i, ".wav"), string(noise(i, 200_000)))
	}
	out, told := io.Pipe()
	produced := make(chan error, 1)
	go func() {
		err := produce(t.Context(), q, "", []string{dir}, told)
		produced <- errors.Join(err, told.Close())
	}()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	assert.Equal(t, "The queue is full. Waiting for workers to make room.", lines.Text())
	srv := testWorker(t, q)
	for lines.Scan() {
	}
	require.NoError(t, <-produced)
	for name, r := range outcome(t, q) {
		assert.Equal(t, done, r.State, name)
	}
	assert.Len(t, srv.Records(), 8)
}

func TestFileThatNeverFitsIsRefusedWithBothSizes(t *testing.T) {
	q := testQueue(t, limits{Room: 1 << 20})
	dir := t.TempDir()
	large := write(t, dir, "a.wav", string(noise(1, 1<<20-44)))
	write(t, dir, "b.wav", recording(1))
	var out strings.Builder
	err := produce(t.Context(), q, "", []string{dir}, &out)
	require.EqualError(t, err, "skipped: "+large+": it has 1.0 MB, and the queue room for 1.0 MB; "+
		"produce -room makes more")
	assert.Equal(t, "Files queued: 1, already known: 0\n", out.String())
	large = write(t, dir, "a.wav", string(noise(1, 1<<20-44-1000)))
	produceAll(t, testQueue(t, limits{Room: 1 << 20}), large)
}

// room is how much the files take in the queue.
func room(t *testing.T, q *queue) uint64 {
	t.Helper()
	info, err := q.files.stream.Info(t.Context())
	require.NoError(t, err)
	return info.State.Bytes
}

// An interrupt may come while any part of a file is on its way.
func TestInterruptedProduceLeavesNoPartsOfAFile(t *testing.T) {
	q := testQueue(t, limits{Rate: perSecond(0)})
	path := write(t, t.TempDir(), "a.wav", string(noise(1, 20*part)))
	ctx, interrupt := context.WithCancel(t.Context())
	parts, err := q.files.WatchAll(ctx)
	require.NoError(t, err)
	go func() {
		<-parts.Updates() // there is nothing yet
		<-parts.Updates()
		interrupt()
	}()
	require.ErrorIs(t, produce(ctx, q, "", []string{path}, io.Discard), context.Canceled)
	assert.Zero(t, room(t, q))
	produceAll(t, q, path)
	assert.Positive(t, room(t, q))
}

// What a killed producer has left makes room after a while. Nothing else does.
func TestPartsThatAKilledProducerHasLeftAreRemoved(t *testing.T) {
	q := testQueue(t, limits{Rate: perSecond(0)})
	path := write(t, t.TempDir(), "a.wav", recording(1))
	produceAll(t, q, path)
	parts := strings.NewReader(strings.Repeat("x", 2*part))
	require.NoError(t, q.files.write(t.Context(), jobPrefix+"abandoned", parts))
	was := room(t, q)
	require.NoError(t, q.sweep(t.Context(), time.Now().Add(-abandoned)))
	assert.Equal(t, was, room(t, q), "a producer may still be at work")
	require.NoError(t, q.sweep(t.Context(), time.Now().Add(time.Second)))
	assert.Less(t, room(t, q), was-2*part)
	require.NoError(t, q.files.copy(t.Context(), fileID(t, path), io.Discard))
	require.ErrorIs(t, q.files.copy(t.Context(), jobPrefix+"abandoned", io.Discard), jetstream.ErrKeyNotFound)
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestFileThatChangesWhileItWaitsIsNotQueued(t *testing.T) {
	q := testQueue(t, limits{Rate: perSecond(0), Room: 1 << 20})
	dir := t.TempDir()
	first := write(t, dir, "a.wav", string(noise(1, 900_000)))
	waits := write(t, dir, "b.wav", string(noise(2, 300_000)))
	was := fileID(t, waits)
	produceAll(t, q, first)
	out := writer(func(p []byte) (int, error) {
		if strings.Contains(string(p), "The queue is full") {
			require.NoError(t, os.WriteFile(waits, noise(3, 300_000), 0o600))
			require.NoError(t, q.files.remove(t.Context(), fileID(t, first)))
		}
		return len(p), nil
	})
	err := produce(t.Context(), q, "", []string{waits}, out)
	require.EqualError(t, err, "skipped: "+waits+": changed while it was queued")
	assert.Zero(t, room(t, q))
	_, _, err = read[record](t.Context(), q.jobs, was)
	require.ErrorIs(t, err, jetstream.ErrKeyNotFound, "a job without its file is left")
	produceAll(t, q, waits)
	require.NoError(t, q.files.copy(t.Context(), fileID(t, waits), io.Discard), "the new content is a job of its own")
}
