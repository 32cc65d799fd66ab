package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// testQueue is a queue on one node in this process. Limits that are zero get a value for tests.
func testQueue(t *testing.T, l limits) *queue {
	t.Helper()
	return queueOn(t, &server.Options{}, l)
}

func queueOn(t *testing.T, o *server.Options, l limits) *queue {
	t.Helper()
	o.Host, o.Port, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, t.TempDir()
	node, err := startNode(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		node.Shutdown()
		node.WaitForShutdown()
	})
	l.replicas = 1
	if l.room == 0 {
		l.room = 64 << 20
	}
	if l.texts == 0 {
		l.texts = 64 << 20
	}
	if l.ackWait == 0 {
		l.ackWait = 30 * time.Second
	}
	q, err := openQueue(t.Context(), node.ClientURL(), &l)
	require.NoError(t, err)
	t.Cleanup(q.nc.Close)
	return q
}

// testWorker runs jobs of the queue until the test ends, on a service in memory.
func testWorker(t *testing.T, q *queue) *aicontenttest.Server {
	t.Helper()
	srv := aicontenttest.NewServer(t)
	startTestWorker(t, q, srv)
	return srv
}

func startTestWorker(t *testing.T, q *queue, srv *aicontenttest.Server) (stop func()) {
	t.Helper()
	t.Setenv("AICONTENT_BASE_URL", srv.URL)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	w, err := newWorker(q, time.Second, aicontent.NewClientFromEnv, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		assert.NoError(t, w.work(ctx, 4))
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return stop
}

// write puts a file into the folder.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// noise is a WAV file: one channel of 8 bits at 8 kHz.
func noise(seed uint64, samples uint32) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("RIFF"), 36+samples)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data"...)
	b = le.AppendUint32(b, samples)
	random := rand.New(rand.NewPCG(seed, seed))
	for range samples {
		b = append(b, byte(random.Uint32()))
	}
	return b
}

// recording is a small one that differs from those of other seeds.
func recording(seed uint64) string { return string(noise(seed, 500)) }

// produceAll queues files and what is in folders.
func produceAll(ctx context.Context, q *queue, out io.Writer, paths ...string) error {
	files, skipped := collect(paths)
	_, err := produce(ctx, q, "", files, out)
	return errors.Join(skipped, err)
}

// outcome waits until no job is left and returns the records by the names of files.
func outcome(t *testing.T, q *queue) map[string]record {
	t.Helper()
	_, err := watch(t.Context(), q, io.Discard)
	require.NoError(t, err)
	records := map[string]record{}
	require.NoError(t, q.watched(t.Context(), "*.*", func(name string, path []byte) error {
		id, _, _ := strings.Cut(name, ".")
		r, _, err := q.read(t.Context(), id)
		records[filepath.Base(string(path))] = r
		return err
	}))
	return records
}

func TestEqualFilesAreOneJobHoweverOftenTheyAreProduced(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	dir := t.TempDir()
	write(t, dir, "a.wav", recording(1))
	write(t, dir, "b.wav", recording(1))
	write(t, dir, "c.wav", recording(2))
	var out strings.Builder
	require.NoError(t, produceAll(t.Context(), q, &out, dir))
	require.NoError(t, produceAll(t.Context(), q, &out, dir))
	assert.Equal(t, "Files queued: 2, already known: 1\nFiles queued: 0, already known: 3\n", out.String())

	srv := testWorker(t, q)
	records := outcome(t, q)
	assert.Len(t, records, 3)
	require.NoError(t, produceAll(t.Context(), q, &out, dir))
	assert.Len(t, outcome(t, q), 3)
	assert.Len(t, srv.Records(), 2)
}

func TestJobThatCannotSucceedIsDeadAtOnceAndSaysWhy(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	dir := t.TempDir()
	refused := write(t, dir, "refused.wav", recording(1))
	report := write(t, t.TempDir(), "report.pdf", "%PDF-1.7 "+strings.Repeat("x", 100))
	srv := testWorker(t, q)
	refuse := aicontenttest.Status(422, `{"message":"The file must be an mp3."}`)
	srv.FaultOn(aicontenttest.TranscriptionsStore, 1, refuse)
	require.NoError(t, produceAll(t.Context(), q, io.Discard, dir, report))

	records := outcome(t, q)
	reasons := map[string]string{"report.pdf": "must be an audio file", "refused.wav": "The file must be an mp3."}
	for name, reason := range reasons {
		r := records[name]
		assert.Equal(t, dead, r.State, name)
		assert.Contains(t, r.Reason, reason)
		assert.Equal(t, 1, r.Runs, "%s was run again", name)
	}
	files, err := q.js.Stream(t.Context(), "KV_"+filesBucket)
	require.NoError(t, err)
	assert.Zero(t, files.CachedInfo().State.Msgs, "files of jobs that have ended are still there")
	assert.Empty(t, srv.Records())

	// Produced again, it gets another chance.
	require.NoError(t, produceAll(t.Context(), q, io.Discard, refused))
	assert.Equal(t, done, outcome(t, q)["refused.wav"].State)
	assert.Len(t, srv.Records(), 1)
}

func TestJobThatKillsItsWorkersIsDeadAfterSomeRuns(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	path := write(t, t.TempDir(), "bomb.wav", recording(1))
	require.NoError(t, produceAll(t.Context(), q, io.Discard, path))
	id := fileID(t, path)
	c := &claim{q: q, id: id}
	_, revision, err := q.read(t.Context(), id)
	require.NoError(t, err)
	c.revision = revision
	require.NoError(t, c.write(t.Context(), func(r *record) { r.State, r.Lost = running, patience-1 }))
	srv := testWorker(t, q)
	r := outcome(t, q)["bomb.wav"]
	assert.Equal(t, dead, r.State)
	assert.Equal(t, "gave up: 10 runs ended without reporting", r.Reason)
	assert.Empty(t, srv.Records())
}

func TestRecordThatALostRunHasMadeIsTheResult(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	path := write(t, t.TempDir(), "a.wav", recording(1))
	require.NoError(t, produceAll(t.Context(), q, io.Discard, path))
	c, err := q.claim(t.Context(), fileID(t, path), "killed")
	require.NoError(t, err)
	srv := testWorker(t, q)
	srv.AddTranscription(aicontenttest.Transcription{Name: c.id, Result: "text"})
	r := outcome(t, q)["a.wav"]
	text, err := q.text(t.Context(), c.id)
	require.NoError(t, err)
	assert.Equal(t, "text", text)
	assert.Equal(t, 2, r.Runs)
	assert.Equal(t, 1, r.Lost)
	assert.Len(t, srv.Records(), 1)
}

func TestInterruptedWorkerFinishesItsJob(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	srv := aicontenttest.NewServer(t)
	stop := startTestWorker(t, q, srv)
	srv.FaultWhen(func(r *aicontenttest.Request) bool {
		if r.Operation == aicontenttest.TranscriptionsStore {
			stop()
		}
		return false
	}, 1, aicontenttest.Fault{})
	require.NoError(t, produceAll(t.Context(), q, io.Discard, write(t, t.TempDir(), "a.wav", recording(1))))
	r := outcome(t, q)["a.wav"]
	assert.Equal(t, done, r.State)
	assert.Equal(t, 1, r.Runs)
	assert.Len(t, srv.Records(), 1)
}

func TestFileOfManyChunksComesBackWhole(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	content := noise(1, 2*part-44) // whole parts
	path := write(t, t.TempDir(), "a.wav", string(content))
	require.NoError(t, produceAll(t.Context(), q, io.Discard, path))
	var fetched bytes.Buffer
	require.NoError(t, q.files.copy(t.Context(), fileID(t, path), &fetched))
	assert.True(t, bytes.Equal(content, fetched.Bytes()))
	require.NoError(t, q.files.remove(t.Context(), fileID(t, path)))
	require.ErrorIs(t, q.files.copy(t.Context(), fileID(t, path), io.Discard), jetstream.ErrKeyNotFound)
	info, err := q.files.stream.Info(t.Context())
	require.NoError(t, err)
	assert.Zero(t, info.State.Bytes)
}

// NATS refuses messages over 1 MiB.
func TestLongTextArrives(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	path := write(t, t.TempDir(), "a.wav", recording(1))
	srv := testWorker(t, q)
	text := strings.Repeat("long talk ", 300_000)
	srv.AddTranscription(aicontenttest.Transcription{Name: fileID(t, path), Result: text})
	require.NoError(t, produceAll(t.Context(), q, io.Discard, path))
	assert.Equal(t, done, outcome(t, q)["a.wav"].State)
	status, out, errOut := command(t, "results")
	assert.Zero(t, status, errOut)
	assert.True(t, out == path+"\tdone\t1\t"+text+"\n", "%d bytes", len(out))
	assert.Zero(t, uploads(srv))
}

// A worker that falls silent, and comes back, changes nothing that a later run has written.
func TestOnlyTheLatestRunFailsAJob(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	first, err := q.claim(t.Context(), "job", "first")
	require.NoError(t, err)
	second, err := q.claim(t.Context(), "job", "second")
	require.NoError(t, err)
	assert.Equal(t, 2, second.record.Runs)
	require.ErrorIs(t, first.fail(t.Context(), dead, "x"), jetstream.ErrKeyRevisionMismatch)
	require.NoError(t, second.fail(t.Context(), waiting, "y"))
	require.NoError(t, first.succeed(t.Context(), &aicontent.Transcription{ID: "7", Result: "text"}))
	none, err := q.claim(t.Context(), "job", "third")
	require.NoError(t, err)
	assert.Nil(t, none)
}

func fileID(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	id, err := jobID(file, "")
	require.NoError(t, err)
	return id
}
