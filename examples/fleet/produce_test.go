package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesThatCannotBeQueuedAreSkippedAndNamed(t *testing.T) {
	newQueue(t)
	dir := t.TempDir()
	good := write(t, dir, "a.wav", recording(1))
	odd := write(t, dir, "x\nfleet: all is well\x1b[2J.wav", "")
	gone := filepath.Join(dir, "gone.mp3")
	status, _, errOut := command(t, "produce", odd, dir, gone, "/dev/zero", good)
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, strings.Join([]string{
		fmt.Sprintf("skipped: %q: empty, or not a file", odd),
		fmt.Sprintf("skipped: %q: empty, or not a file", dir),
		fmt.Sprintf("skipped: %q: no such file or directory", gone),
		`skipped: "/dev/zero": empty, or not a file`,
		"fleet: files skipped: 4\n",
	}, "\n"), errOut)
}

func TestEqualFilesAreOneJobHoweverOftenTheyAreProduced(t *testing.T) {
	q, srv := newDeployment(t)
	dir := t.TempDir()
	write(t, dir, "a.wav", recording(1))
	write(t, dir, "b.wav", recording(1))
	write(t, dir, "c.wav", recording(2))
	for range 2 {
		enqueue(t, filesIn(t, dir)...)
		assert.EqualValues(t, 2*2, stored(t, q), "a description and a chunk of each file")
	}
	startWorker(t, io.Discard)
	outcome(t, q, 2)
	enqueue(t, filesIn(t, dir)...)
	outcome(t, q, 2)
	assert.Zero(t, stored(t, q))
	assert.Len(t, srv.Records(), 2)
	assert.Equal(t, 2, uploads(srv))
}

func TestOneContentInTwoLanguagesIsTwoJobs(t *testing.T) {
	q, srv := newDeployment(t)
	path := write(t, t.TempDir(), "a.wav", recording(1))
	for _, language := range []string{"GB", "DE"} {
		enqueue(t, "-language", language, path)
	}
	startWorker(t, io.Discard)
	outcome(t, q, 2)
	assert.Len(t, srv.Records(), 2)
}

func TestProducersOfTheSameFilesShareTheirJobs(t *testing.T) {
	q, srv := newDeployment(t)
	dir := t.TempDir()
	for i := range uint64(20) {
		write(t, dir, fmt.Sprint(i, ".wav"), recording(i))
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { enqueue(t, filesIn(t, dir)...) })
	}
	startWorker(t, io.Discard)
	group.Wait()
	for name, j := range outcome(t, q, 20) {
		assert.Equal(t, done, j.State, "%s: %s", name, j.Reason)
	}
	assert.Len(t, srv.Records(), 20)
	assert.Equal(t, 20, uploads(srv))
}

// limitFiles sets the room for files, which an operator does with nats stream edit.
func limitFiles(t *testing.T, q *queue, bytes int64) {
	t.Helper()
	config := q.chunks.CachedInfo().Config
	config.MaxBytes = bytes
	_, err := q.js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
}

func TestProduceSaysThatTheQueueIsFullAndWaits(t *testing.T) {
	q, srv := newDeployment(t)
	limitFiles(t, q, 300_000)
	dir := t.TempDir()
	for i := range uint64(3) {
		write(t, dir, fmt.Sprint(i, ".wav"), noise(i, 200_000))
	}
	var log safeBuffer
	started := sync.OnceFunc(func() { startWorker(t, io.Discard) })
	args := append([]string{"produce"}, filesIn(t, dir)...)
	produced := run(t.Context(), args, io.Discard, writer(func(p []byte) (int, error) {
		started()
		return log.Write(p)
	}))
	assert.Zero(t, produced)
	assert.Contains(t, log.String(), fmt.Sprintf("waiting for the queue to take %q: ", filepath.Join(dir, "1.wav")))
	assert.Contains(t, log.String(), "maximum bytes exceeded")
	outcome(t, q, 3)
	assert.Len(t, srv.Records(), 3)
}

func TestFileThatNeverFitsIsSkipped(t *testing.T) {
	q := newQueue(t)
	limitFiles(t, q, 300_000)
	dir := t.TempDir()
	write(t, dir, "a.wav", noise(1, 300_000))
	write(t, dir, "b.wav", recording(2))
	status, _, errOut := command(t, append([]string{"produce"}, filesIn(t, dir)...)...)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "larger than the queue\n")
	assert.Len(t, jobs(t, q), 1)
}

func TestFileThatChangesWhileItWaitsIsNotQueued(t *testing.T) {
	q := newQueue(t)
	limitFiles(t, q, 300_000)
	dir := t.TempDir()
	first, waits := write(t, dir, "a.wav", noise(1, 200_000)), write(t, dir, "b.wav", noise(2, 200_000))
	enqueue(t, first)
	var log safeBuffer
	changed := sync.OnceFunc(func() {
		write(t, dir, "b.wav", recording(3))
		assert.NoError(t, q.remove(t.Context(), jobs(t, q)[jobID(noise(1, 200_000))]))
	})
	status := run(t.Context(), []string{"produce", waits}, io.Discard, writer(func(p []byte) (int, error) {
		changed()
		return log.Write(p)
	}))
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, log.String(), "changed while it was queued")
	assert.Zero(t, stored(t, q))
	assert.Len(t, jobs(t, q), 1)
}

func TestInterruptedProduceEndsWhileItWaits(t *testing.T) {
	q := newQueue(t)
	limitFiles(t, q, 300_000)
	dir := t.TempDir()
	for i := range uint64(2) {
		write(t, dir, fmt.Sprint(i, ".wav"), noise(i, 200_000))
	}
	ctx, interrupt := context.WithCancel(t.Context())
	status := run(ctx, append([]string{"produce"}, filesIn(t, dir)...), io.Discard, writer(func(p []byte) (int, error) {
		interrupt()
		return len(p), nil
	}))
	assert.Equal(t, exitInterrupted, status)
}
