package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesThatAreNoRecordingsAreSkippedAndNamed(t *testing.T) {
	newQueue(t)
	dir := t.TempDir()
	write(t, dir, "a.WAV", recording(1))
	write(t, dir, "empty.mp3", "")
	write(t, dir, ".hidden.mp3", recording(2))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".trash"), 0o700))
	write(t, dir, ".trash/b.mp3", recording(3))
	write(t, dir, "x\nfleet: all is well\x1b[2J.txt", "no recording")
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "gone.mp3")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "endless.mp3")))
	named := write(t, t.TempDir(), "named.bin", recording(4))

	status, _, errOut := command(t, "produce", dir, "missing.mp3", named)
	assert.Equal(t, exitFailed, status)
	quoted := func(name string) string { return fmt.Sprintf("skipped: %q: ", filepath.Join(dir, name)) }
	assert.Equal(t, strings.Join([]string{
		quoted("empty.mp3") + "empty, or not a file",
		quoted("endless.mp3") + "empty, or not a file",
		quoted("gone.mp3") + "no such file or directory",
		quoted("x\nfleet: all is well\x1b[2J.txt") + "not a recording by its extension",
		`skipped: "missing.mp3": no such file or directory`,
		"Files queued: 2, already known: 0",
		"fleet: files skipped: 5\n",
	}, "\n"), errOut)
}

func TestEqualFilesAreOneJobHoweverOftenTheyAreProduced(t *testing.T) {
	q, srv := newDeployment(t)
	dir := t.TempDir()
	write(t, dir, "a.wav", recording(1))
	write(t, dir, "b.wav", recording(1))
	write(t, dir, "c.wav", recording(2))
	for _, want := range []string{"queued: 2, already known: 1", "queued: 0, already known: 3"} {
		_, _, errOut := command(t, "produce", dir)
		assert.Equal(t, "Files "+want+"\n", errOut)
	}
	startWorker(t, io.Discard)
	outcome(t, q, 2)
	_, _, errOut := command(t, "produce", dir)
	assert.Equal(t, "Files queued: 0, already known: 3\n", errOut)
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

func TestJobOfAKilledProduceIsQueuedAgain(t *testing.T) {
	q, srv := newDeployment(t)
	content := recording(1)
	_, err := q.files.PutString(t.Context(), jobID(content), content) // the message was not sent
	require.NoError(t, err)
	_, _, errOut := command(t, "produce", write(t, t.TempDir(), "a.wav", content))
	assert.Equal(t, "Files queued: 1, already known: 0\n", errOut)
	startWorker(t, io.Discard)
	assert.Equal(t, done, outcome(t, q, 1)["a.wav"].State)
	assert.Len(t, srv.Records(), 1)
}

func TestProducersOfTheSameFilesShareTheirJobs(t *testing.T) {
	q, srv := newDeployment(t)
	dir := t.TempDir()
	for i := range uint64(20) {
		write(t, dir, fmt.Sprint(i, ".wav"), recording(i))
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { enqueue(t, dir) })
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
	produced := run(t.Context(), []string{"produce", dir}, io.Discard, writer(func(p []byte) (int, error) {
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
	limitFiles(t, newQueue(t), 300_000)
	dir := t.TempDir()
	write(t, dir, "a.wav", noise(1, 300_000))
	write(t, dir, "b.wav", recording(2))
	status, _, errOut := command(t, "produce", dir)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "larger than the queue\nFiles queued: 1, already known: 0\n")
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
		assert.NoError(t, q.removeFile(t.Context(), jobID(noise(1, 200_000))))
	})
	status := run(t.Context(), []string{"produce", waits}, io.Discard, writer(func(p []byte) (int, error) {
		changed()
		return log.Write(p)
	}))
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, log.String(), "changed while it was queued")
	files, err := q.chunks.Info(t.Context())
	require.NoError(t, err)
	assert.Zero(t, files.State.Msgs)
	_, err = q.messages.GetLastMsgForSubject(t.Context(), jobSubject+jobID(noise(2, 200_000)))
	require.ErrorIs(t, err, jetstream.ErrMsgNotFound)
}

func TestInterruptedProduceEndsWhileItWaits(t *testing.T) {
	q := newQueue(t)
	limitFiles(t, q, 300_000)
	dir := t.TempDir()
	for i := range uint64(2) {
		write(t, dir, fmt.Sprint(i, ".wav"), noise(i, 200_000))
	}
	ctx, interrupt := context.WithCancel(t.Context())
	status := run(ctx, []string{"produce", dir}, io.Discard, writer(func(p []byte) (int, error) {
		interrupt()
		return len(p), nil
	}))
	assert.Equal(t, exitInterrupted, status)
}
