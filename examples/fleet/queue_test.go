package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// testQueue is a queue on one node in this process. Its rate is 1000 unless the limits say otherwise.
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
	l.Room = cmp.Or(l.Room, 64<<20)
	l.AckWait = cmp.Or(l.AckWait, 30*time.Second)
	l.Rate = cmp.Or(l.Rate, perSecond(1000))
	return queueAt(t, node.ClientURL(), &l)
}

func perSecond(rate float64) *float64 { return &rate }

// queueAt opens a queue for the rest of the test.
func queueAt(t testing.TB, url string, l *limits) *queue {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(500*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	q, err := openQueue(t.Context(), nc, l)
	require.NoError(t, err)
	return q
}

// deployment is a service and a queue that the environment names.
func deployment(t *testing.T) (*aicontenttest.Server, *queue) {
	t.Helper()
	srv, q := aicontenttest.NewServer(t), testQueue(t, limits{})
	t.Setenv("NATS_URL", q.js.Conn().ConnectedUrl())
	t.Setenv("AICONTENT_BASE_URL", srv.URL)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	return srv, q
}

// uploads counts the create requests that the service has seen.
func uploads(srv *aicontenttest.Server) (n int) {
	for _, r := range srv.Requests() {
		if r.Operation == aicontenttest.TranscriptionsStore {
			n++
		}
	}
	return n
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
	ctx, stop := context.WithCancel(context.Background())
	w, err := newWorker(ctx, q, time.Second, aicontent.NewClientFromEnv, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
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
func produceAll(t testing.TB, q *queue, paths ...string) {
	t.Helper()
	require.NoError(t, produce(t.Context(), q, "", paths, io.Discard))
}

// outcome waits until no job is left and returns the records by the names of files.
func outcome(t *testing.T, q *queue) map[string]record {
	t.Helper()
	if err := watch(t.Context(), q, io.Discard); err != nil {
		require.ErrorContains(t, err, "dead jobs: ")
	}
	records := map[string]record{}
	require.NoError(t, q.each(t.Context(), func(_ string, r record) error {
		records[filepath.Base(string(r.File))] = r
		return nil
	}))
	return records
}

// begin makes a job without a producer, and begins a run of it.
func begin(t *testing.T, q *queue, id, path, worker string) *claim {
	t.Helper()
	_, err := q.jobs.Create(t.Context(), id, encode(record{File: []byte(path)}.at(queued, "")))
	require.NoError(t, err)
	c, err := q.claim(t.Context(), id, worker)
	require.NoError(t, err)
	return c
}

func TestEqualFilesAreOneJobHoweverOftenTheyAreProduced(t *testing.T) {
	q := testQueue(t, limits{})
	dir := t.TempDir()
	write(t, dir, "a.wav", recording(1))
	write(t, dir, "b.wav", recording(1))
	write(t, dir, "c.wav", recording(2))
	var out strings.Builder
	for range 2 {
		require.NoError(t, produce(t.Context(), q, "", []string{dir}, &out))
	}
	assert.Equal(t, "Files queued: 2, already known: 1\nFiles queued: 0, already known: 3\n", out.String())

	srv := testWorker(t, q)
	assert.Len(t, outcome(t, q), 2)
	produceAll(t, q, dir)
	assert.Len(t, outcome(t, q), 2)
	assert.Len(t, srv.Records(), 2)
	assert.Equal(t, 2, uploads(srv))
}

func TestJobThatCannotSucceedIsDeadAtOnceAndSaysWhy(t *testing.T) {
	q := testQueue(t, limits{})
	dir := t.TempDir()
	refused := write(t, dir, "refused.wav", recording(1))
	report := write(t, t.TempDir(), "report.pdf", "%PDF-1.7 "+strings.Repeat("x", 100))
	srv := testWorker(t, q)
	refuse := aicontenttest.Status(422, `{"message":"The file must be an mp3."}`)
	srv.FaultOn(aicontenttest.TranscriptionsStore, 1, refuse)
	produceAll(t, q, dir, report)

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
	produceAll(t, q, refused)
	assert.Equal(t, done, outcome(t, q)["refused.wav"].State)
	assert.Len(t, srv.Records(), 1)
}

func TestJobThatKillsItsWorkersIsDeadAfterSomeRuns(t *testing.T) {
	q := testQueue(t, limits{})
	path := write(t, t.TempDir(), "bomb.wav", recording(1))
	produceAll(t, q, path)
	c, err := q.claim(t.Context(), fileID(t, path), "killed")
	require.NoError(t, err)
	next := c.record
	next.Lost = patience - 1
	require.NoError(t, c.write(t.Context(), next))
	srv := testWorker(t, q)
	r := outcome(t, q)["bomb.wav"]
	assert.Equal(t, dead, r.State)
	assert.Equal(t, "gave up: 10 runs ended without reporting", r.Reason)
	assert.Empty(t, srv.Records())
}

func TestRecordThatALostRunHasMadeIsTheResult(t *testing.T) {
	q := testQueue(t, limits{})
	path := write(t, t.TempDir(), "a.wav", recording(1))
	produceAll(t, q, path)
	c, err := q.claim(t.Context(), fileID(t, path), "killed")
	require.NoError(t, err)
	srv := testWorker(t, q)
	made := srv.AddTranscription(aicontenttest.Transcription{Name: c.id, Result: "text"})
	r := outcome(t, q)["a.wav"]
	assert.Equal(t, aicontent.ID(made.ID), r.ID)
	assert.Equal(t, 2, r.Runs)
	assert.Equal(t, 1, r.Lost)
	assert.Zero(t, uploads(srv))
}

func TestInterruptedWorkerFinishesItsJob(t *testing.T) {
	q := testQueue(t, limits{})
	srv := aicontenttest.NewServer(t)
	stop := startTestWorker(t, q, srv)
	srv.FaultWhen(func(r *aicontenttest.Request) bool {
		if r.Operation == aicontenttest.TranscriptionsStore {
			stop()
		}
		return false
	}, 1, aicontenttest.Fault{})
	produceAll(t, q, write(t, t.TempDir(), "a.wav", recording(1)))
	r := outcome(t, q)["a.wav"]
	assert.Equal(t, done, r.State)
	assert.Equal(t, 1, r.Runs)
	assert.Len(t, srv.Records(), 1)
}

func TestFileOfManyChunksComesBackWhole(t *testing.T) {
	q := testQueue(t, limits{})
	content := noise(1, 2*part-44) // whole parts
	path := write(t, t.TempDir(), "a.wav", string(content))
	produceAll(t, q, path)
	var fetched bytes.Buffer
	require.NoError(t, q.files.copy(t.Context(), fileID(t, path), &fetched))
	assert.True(t, bytes.Equal(content, fetched.Bytes()))
	require.NoError(t, q.files.remove(t.Context(), fileID(t, path)))
	require.ErrorIs(t, q.files.copy(t.Context(), fileID(t, path), io.Discard), jetstream.ErrKeyNotFound)
	info, err := q.files.stream.Info(t.Context())
	require.NoError(t, err)
	assert.Zero(t, info.State.Bytes)
}

// A worker that falls silent, and comes back, changes nothing that a later run has written.
func TestOnlyTheLatestRunFailsAJob(t *testing.T) {
	q := testQueue(t, limits{})
	first := begin(t, q, "job", "a.wav", "first")
	second, err := q.claim(t.Context(), "job", "second")
	require.NoError(t, err)
	assert.Equal(t, 2, second.record.Runs)
	require.ErrorIs(t, first.write(t.Context(), first.record.at(dead, "x")), jetstream.ErrKeyRevisionMismatch)
	require.NoError(t, second.write(t.Context(), second.record.at(waiting, "y")))
	require.NoError(t, first.succeed(t.Context(), &aicontent.Transcription{ID: "7"}))
	none, err := q.claim(t.Context(), "job", "third")
	require.NoError(t, err)
	assert.Nil(t, none)
}

func fileID(t testing.TB, path string) string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	hash := newHash("")
	_, err = io.Copy(hash, file)
	require.NoError(t, err)
	return idOf(hash)
}
