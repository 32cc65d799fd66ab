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
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesThatCannotBeQueuedAreSkippedAndNamed(t *testing.T) {
	newQueue(t)
	dir := t.TempDir()
	good := write(t, dir, "a.mp3", recording(1))
	odd := write(t, dir, "x\nfleet: all is well\x1b[2J.mp3", "")
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
	write(t, dir, "a.mp3", recording(1))
	write(t, dir, "b.mp3", recording(1))
	write(t, dir, "c.mp3", recording(2))
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

// limitFiles sets the room for files, which an operator does with nats stream edit.
func limitFiles(t *testing.T, q *queue, bytes int64) {
	t.Helper()
	config := q.chunks.CachedInfo().Config
	config.MaxBytes = bytes
	_, err := q.js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
}

// produceThen produces files, and calls then when produce says something.
func produceThen(ctx context.Context, then func(), paths ...string) (status int, log string) {
	var text strings.Builder
	once := sync.OnceFunc(then)
	status = run(ctx, append([]string{"produce"}, paths...), io.Discard, writer(func(p []byte) (int, error) {
		once()
		return text.Write(p)
	}))
	return status, text.String()
}

func TestProduceSaysThatTheQueueIsFullAndWaits(t *testing.T) {
	q, srv := newDeployment(t)
	limitFiles(t, q, 300_000)
	paths := recordings(t, 3, 200_000)
	status, log := produceThen(t.Context(), func() { startWorker(t, io.Discard) }, paths...)
	assert.Zero(t, status)
	assert.Contains(t, log, fmt.Sprintf("waiting for the queue to take %q: ", paths[1]))
	assert.Contains(t, log, "maximum bytes exceeded")
	outcome(t, q, 3)
	assert.Len(t, srv.Records(), 3)
}

func TestFileThatNeverFitsIsSkipped(t *testing.T) {
	q := newQueue(t)
	limitFiles(t, q, 300_000)
	dir := t.TempDir()
	write(t, dir, "a.mp3", sized(1, 300_000))
	write(t, dir, "b.mp3", recording(2))
	status, _, errOut := command(t, append([]string{"produce"}, filesIn(t, dir)...)...)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "larger than the queue\n")
	assert.Len(t, jobs(t, q), 1)
}

func TestFileThatChangesWhileItWaitsIsNotQueued(t *testing.T) {
	q := newQueue(t)
	limitFiles(t, q, 300_000)
	paths := recordings(t, 2, 200_000)
	enqueue(t, paths[0])
	status, log := produceThen(t.Context(), func() {
		assert.NoError(t, os.WriteFile(paths[1], []byte(recording(3)), 0o600))
		assert.NoError(t, q.remove(t.Context(), jobs(t, q)[jobID(sized(0, 200_000))]))
	}, paths[1])
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, log, "changed while it was queued")
	assert.Zero(t, stored(t, q))
	assert.Len(t, jobs(t, q), 1)
}

// A reader calls a function before each read.
type reader struct {
	io.Reader
	before func()
}

func (r reader) Read(p []byte) (int, error) {
	r.before()
	return r.Reader.Read(p)
}

// While the servers choose a leader, no one takes the chunks of a file.
func TestQueuedFileIsIntactAfterAMomentWithoutALeader(t *testing.T) {
	q := newQueue(t)
	config := q.chunks.CachedInfo().Config
	take := func(subjects string) {
		config.Subjects = []string{subjects}
		_, err := q.js.UpdateStream(t.Context(), config)
		assert.NoError(t, err)
	}
	content := sized(1, 300_000)
	j := job{State: queued, Size: 300_000, Object: "object", Chunks: "chunks"}
	leave := sync.OnceFunc(func() {
		take("elsewhere")
		time.AfterFunc(100*time.Millisecond, func() { take(fileSubject + ">") })
	})
	require.NoError(t, q.add(t.Context(), jobID(content), j, reader{strings.NewReader(content), leave}))
	var file strings.Builder
	require.NoError(t, q.fetch(t.Context(), jobs(t, q)[jobID(content)], &file))
	assert.Equal(t, content, file.String())
}

// A save without a response may come after the producer has sent the file again.
func TestLateSaveOfAnEarlierTryKeepsItsFile(t *testing.T) {
	q := newQueue(t)
	path := write(t, t.TempDir(), "a.mp3", recording(1))
	id := jobID(recording(1))
	late := &lateBucket{KeyValue: q.jobs.bucket}
	behind := *q
	behind.jobs.bucket = late
	require.NoError(t, behind.addFile(t.Context(), path, "", io.Discard))
	var file strings.Builder
	require.NoError(t, q.fetch(t.Context(), jobs(t, q)[id], &file))
	assert.Equal(t, recording(1), file.String())
}

// A lateBucket keeps the first new entry until the second one comes.
type lateBucket struct {
	jetstream.KeyValue
	kept []byte
}

func (b *lateBucket) Create(
	ctx context.Context, key string, entry []byte, opts ...jetstream.KVCreateOpt,
) (uint64, error) {
	if b.kept == nil {
		b.kept = entry
		return 0, context.DeadlineExceeded
	}
	if _, err := b.KeyValue.Create(ctx, key, b.kept, opts...); err != nil {
		return 0, err
	}
	return b.KeyValue.Create(ctx, key, entry, opts...)
}
