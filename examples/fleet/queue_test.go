package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
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
	return errors.Join(skipped, produce(ctx, q, "", files, out))
}

// outcome waits until no job is left and returns the records by file.
func outcome(t *testing.T, q *queue) map[string]record {
	t.Helper()
	if err := watch(t.Context(), q, io.Discard); err != nil {
		require.Contains(t, err.Error(), "dead jobs: ")
	}
	watcher, err := q.jobs.WatchAll(t.Context())
	require.NoError(t, err)
	records := map[string]record{}
	for change := range watcher.Updates() {
		if change == nil {
			break
		}
		r, _, err := q.read(t.Context(), change.Key())
		require.NoError(t, err)
		records[filepath.Base(r.File)] = r
	}
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
	assert.Len(t, records, 2)
	require.NoError(t, produceAll(t.Context(), q, &out, dir))
	assert.Zero(t, len(outcome(t, q))-2)
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
	files, err := q.js.Stream(t.Context(), "OBJ_"+filesBucket)
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
	require.NoError(t, c.write(t.Context(), func(r *record) { r.State, r.File, r.Lost = running, path, patience-1 }))
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
	c, _, err := q.claim(t.Context(), job{ID: fileID(t, path), File: path}, "killed")
	require.NoError(t, err)
	require.NoError(t, c.write(t.Context(), func(r *record) { r.Until = time.Now().Add(-time.Second) }))
	srv := testWorker(t, q)
	srv.AddTranscription(aicontenttest.Transcription{Name: c.id, Result: "text"})
	r := outcome(t, q)["a.wav"]
	assert.Equal(t, "text", r.Text)
	assert.Equal(t, 2, r.Runs)
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
	content := noise(1, 1<<20)
	path := write(t, t.TempDir(), "a.wav", string(content))
	require.NoError(t, produceAll(t.Context(), q, io.Discard, path))
	var fetched bytes.Buffer
	require.NoError(t, q.files.fetch(t.Context(), fileID(t, path), &fetched))
	assert.True(t, bytes.Equal(content, fetched.Bytes()))
	require.NoError(t, q.files.remove(t.Context(), fileID(t, path)))
	require.ErrorIs(t, q.files.fetch(t.Context(), fileID(t, path), io.Discard), jetstream.ErrObjectNotFound)
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

// Escaped as JSON, a text may be six times as long.
func TestTextThatGrowsAsJSONArrives(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	c, _, err := q.claim(t.Context(), job{ID: "job", File: "a.wav"}, "worker")
	require.NoError(t, err)
	for _, size := range []int{inline, inline + 1, 5 * inline} {
		text := strings.Repeat("\x01", size)
		require.NoError(t, c.succeed(t.Context(), &aicontent.Transcription{ID: "7", Result: text}))
		var out strings.Builder
		_, err = printResults(t.Context(), q, &out)
		require.NoError(t, err)
		assert.Equal(t, "a.wav\tdone\t7\t\""+strings.Repeat(`\x01`, size)+"\"\n", out.String())
	}
}

func TestTextThatCannotBeStoredIsAReasonThatWatchShows(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	path := write(t, t.TempDir(), "a.wav", recording(1))
	config := q.texts.stream.CachedInfo().Config
	room := config.MaxBytes
	config.MaxBytes = 1 << 10
	_, err := q.js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	srv := testWorker(t, q)
	text := strings.Repeat("long talk ", 300_000)
	srv.AddTranscription(aicontenttest.Transcription{Name: fileID(t, path), Result: text})
	require.NoError(t, produceAll(t.Context(), q, io.Discard, path))
	changes, err := q.jobs.WatchAll(t.Context())
	require.NoError(t, err)
	for change := range changes.Updates() {
		var r record
		if change != nil && json.Unmarshal(change.Value(), &r) == nil && r.State == waiting {
			assert.Contains(t, r.Reason, "store the text: ")
			break
		}
	}
	config.MaxBytes = room
	_, err = q.js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	assert.Equal(t, done, outcome(t, q)["a.wav"].State)
	assert.Zero(t, uploads(srv))
}

func TestClaimIsOneWorkersUntilItLapses(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	j := job{ID: "job", File: "a.wav"}
	first, _, err := q.claim(t.Context(), j, "first")
	require.NoError(t, err)
	assert.Zero(t, first.before)
	assert.Less(t, first.lasts, 30*time.Second, "the queue delivers the job again while the claim holds")

	none, wait, err := q.claim(t.Context(), j, "second")
	require.NoError(t, err)
	assert.Nil(t, none)
	assert.InDelta(t, time.Until(first.record.Until), wait, float64(time.Second))

	// The first worker falls silent, and its claim ends.
	lapsed := time.Now().Add(-time.Minute)
	require.NoError(t, first.write(t.Context(), func(r *record) { r.Until = lapsed }))
	second, _, err := q.claim(t.Context(), j, "second")
	require.NoError(t, err)
	assert.WithinDuration(t, lapsed, second.before, 0, "the second run does not know when the first may have sent")
	assert.Equal(t, 2, second.record.Runs)
	assert.Equal(t, 1, second.record.Lost)

	// The first worker comes back and finds out.
	require.ErrorIs(t, first.write(t.Context(), func(r *record) { r.State = dead }), jetstream.ErrKeyRevisionMismatch)
	require.NoError(t, second.succeed(t.Context(), &aicontent.Transcription{ID: "7", Result: "text"}))
	none, wait, err = q.claim(t.Context(), j, "third")
	require.NoError(t, err)
	assert.Nil(t, none)
	assert.Zero(t, wait)
}

func TestRenewalThatTimedOutAfterItWasMadeIsNoLoss(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	c, _, err := q.claim(t.Context(), job{ID: "job"}, "worker")
	require.NoError(t, err)
	unaware := *c
	require.NoError(t, c.write(t.Context(), func(r *record) { r.Until = r.Until.Add(time.Second) }))
	assert.True(t, unaware.renew(t.Context()))
	assert.Greater(t, unaware.revision, c.revision)
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
