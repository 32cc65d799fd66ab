package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// named is a claim on the job of a file.
func named(t *testing.T, q *queue, id, path string) *claim {
	t.Helper()
	_, err := q.jobs.Create(t.Context(), nameKey(id, path), []byte(path))
	require.NoError(t, err)
	return &claim{q: q, id: id}
}

// finish makes a job done.
func finish(t *testing.T, q *queue, id, path, text string) {
	t.Helper()
	c := named(t, q, id, path)
	require.NoError(t, c.succeed(t.Context(), &aicontent.Transcription{ID: "7", Result: text}))
}

func TestTextsOfAnySizeArrive(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	for i, size := range []int{0, 1, part - 1, part, part + 1, 2 * part} {
		id, text := fmt.Sprint("job-", i), strings.Repeat("\x01", size)
		require.NoError(t, q.reserve(t.Context(), id, 1))
		finish(t, q, id, "a.wav", text)
		got, err := q.text(t.Context(), id)
		require.NoError(t, err)
		assert.True(t, text == got, size)
	}
}

func TestCopiesAndRenamedFilesHaveRows(t *testing.T) {
	srv, _ := deployment(t)
	dir := t.TempDir()
	write(t, dir, "a.wav", recording(1))
	write(t, dir, "b.wav", recording(1))
	status, out, errOut := command(t, "-deployment", "-rate", "100", dir)
	assert.Zero(t, status, errOut)
	assert.Contains(t, out, "/a.wav\tdone\t1\t")
	assert.Contains(t, out, "/b.wav\tdone\t1\t")
	renamed := filepath.Join(dir, "c.wav")
	require.NoError(t, os.Rename(filepath.Join(dir, "a.wav"), renamed))
	status, out, errOut = command(t, "-deployment", renamed)
	assert.Zero(t, status, errOut)
	assert.Equal(t, 1, strings.Count(out, "\n"), out)
	assert.Contains(t, out, "/c.wav\tdone\t1\t")
	_, out, _ = command(t, "results")
	assert.Equal(t, 3, strings.Count(out, "\n"), out)
	assert.Len(t, srv.Records(), 1)
}

func TestOneDeadLetterFailsOnlyItsRun(t *testing.T) {
	deployment(t)
	bad := write(t, t.TempDir(), "report.pdf", "%PDF-1.7 "+strings.Repeat("x", 100))
	status, out, _ := command(t, "-deployment", "-rate", "100", bad)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, out, "report.pdf\tdead\t\t")

	good := write(t, t.TempDir(), "a.wav", recording(1))
	status, out, errOut := command(t, "-deployment", good)
	assert.Zero(t, status, errOut)
	assert.NotContains(t, out, "report.pdf")
	assert.NotContains(t, errOut, "PDF", "an old dead letter is shown as the latest problem")
	status, _, errOut = command(t, "watch")
	assert.Zero(t, status, errOut)

	status, _, _ = command(t, "results")
	assert.Equal(t, exitFailed, status)
	status, out, _ = command(t, "results", "-drop")
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, 2, strings.Count(out, "\n"), out)
	status, out, errOut = command(t, "results")
	assert.Zero(t, status, errOut)
	assert.Empty(t, out)
}

func TestResultsSinceADateOrForSomeHours(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	finish(t, q, "old", "old.wav", "text")
	finish(t, q, "new", "new.wav", "text")
	r, revision, err := q.read(t.Context(), "old")
	require.NoError(t, err)
	r.Ended = r.Ended.AddDate(0, 0, -2)
	_, err = q.jobs.Update(t.Context(), "old", encode(r), revision)
	require.NoError(t, err)
	now := time.Now()
	for since, want := range map[string]string{
		"1h":  "new.wav",
		"72h": "old.wav new.wav",
		now.AddDate(0, 0, -1).Format("2006-01-02"): "new.wav",
		now.AddDate(0, 0, -3).Format("2006-01-02"): "old.wav new.wav",
	} {
		status, out, errOut := command(t, "results", "-since", since)
		assert.Zero(t, status, errOut)
		var names []string
		for line := range strings.Lines(out) {
			name, _, _ := strings.Cut(line, "\t")
			names = append(names, name)
		}
		assert.Equal(t, want, strings.Join(names, " "), since)
	}
	status, _, errOut := command(t, "results", "-since", "1h", "-drop")
	assert.Zero(t, status, errOut)
	_, out, _ := command(t, "results")
	assert.Equal(t, "old.wav\tdone\t7\ttext\n", out, "dropped what it had not printed, or kept what it had")
}

func TestExportedTextsAreFilesInTheFolderAndNothingElseIs(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	texts := map[string]string{
		"/one/talk.mp3": "one", "/two/talk.mp3": "two", "../../escape.wav": "three", "a\n\x1b\xff:b.wav": "four",
		"..":                                    "five",
		"/" + strings.Repeat("é", 120) + ".mp3": "six",
	}
	i := 0
	for path, text := range texts {
		i++
		finish(t, q, fmt.Sprintf("%s%08d", jobPrefix, i), path, text)
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "new", "texts")
	for range 2 {
		status, out, errOut := command(t, "results", "-export", dir)
		assert.Zero(t, status, errOut)
		assert.Equal(t, len(texts), strings.Count(out, "\tdone\t7\t"+dir+"/"), out)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, len(texts))
	var contents []string
	for _, file := range files {
		assert.Regexp(t, `^[^\x00-\x1f:]+\.0000000[1-6]\.txt$`, file.Name())
		data, err := os.ReadFile(filepath.Join(dir, file.Name()))
		require.NoError(t, err)
		contents = append(contents, string(data))
	}
	assert.ElementsMatch(t, []string{"one", "two", "three", "four", "five", "six"}, contents)
	outside, err := os.ReadDir(parent)
	require.NoError(t, err)
	assert.Len(t, outside, 1)
}

// A text that somebody has corrected in the folder is not overwritten, and what was not exported is not dropped.
func TestExportOverwritesNothingAndDropsOnlyWhatItHasExported(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	finish(t, q, jobPrefix+"12345678", "a.wav", "text")
	dir := t.TempDir()
	corrected := write(t, dir, "a.wav.12345678.txt", "corrected")
	status, _, errOut := command(t, "results", "-export", dir, "-drop")
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, "fleet: "+corrected+" has another text; move it away\n", errOut)
	data, err := os.ReadFile(corrected)
	require.NoError(t, err)
	assert.Equal(t, "corrected", string(data))
	require.NoError(t, os.Remove(corrected))
	status, out, errOut := command(t, "results", "-export", dir, "-drop")
	assert.Zero(t, status, errOut)
	assert.Equal(t, "a.wav\tdone\t7\t"+corrected+"\n", out)
}

// A dropped job is forgotten by the queue alone: its recording is not billed again.
func TestDroppedResultsMakeRoomAndCostNothing(t *testing.T) {
	srv, q := deployment(t)
	dir := t.TempDir()
	file := write(t, dir, "a.wav", recording(1))
	status, _, errOut := command(t, "-deployment", dir)
	assert.Zero(t, status, errOut)
	status, _, errOut = command(t, "results", "-drop")
	assert.Zero(t, status, errOut)
	for _, b := range []bucket{q.jobs, q.texts, q.files} {
		info, err := b.stream.Info(t.Context())
		require.NoError(t, err)
		assert.Zero(t, info.State.Msgs, b.Bucket())
	}
	status, out, errOut := command(t, "-deployment", file)
	assert.Zero(t, status, errOut)
	assert.Contains(t, errOut, "may bill 0 transcriptions")
	assert.Contains(t, errOut, "Files queued: 1, already known: 0\n")
	assert.Contains(t, out, "a.wav\tdone\t1\t")
	assert.Equal(t, 1, uploads(srv))
}

// A worker may have ended a job, and not yet removed its message.
func TestJobWithAMessageIsNotDropped(t *testing.T) {
	q := testQueue(t, limits{rate: 0})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	file := write(t, t.TempDir(), "a.wav", recording(1))
	require.NoError(t, produceAll(t.Context(), q, io.Discard, file))
	c := &claim{q: q, id: fileID(t, file)}
	require.NoError(t, c.succeed(t.Context(), &aicontent.Transcription{ID: "7", Result: "text"}))
	for range 2 {
		status, out, errOut := command(t, "results", "-drop")
		assert.Zero(t, status, errOut)
		assert.Contains(t, out, "a.wav\tdone\t7\ttext\n")
	}
}

// Nothing is sent whose text would find no room. Dropped results make some.
func TestNothingIsSentWithoutRoomForItsText(t *testing.T) {
	srv, q := deployment(t)
	require.NoError(t, set(t.Context(), q, map[string]string{"texts": "1048576", "rate": "1000"}, io.Discard))
	dir := t.TempDir()
	const jobs = 40
	for i := range uint64(jobs) {
		path := write(t, dir, fmt.Sprint(i, ".wav"), recording(i))
		srv.AddTranscription(aicontenttest.Transcription{Name: fileID(t, path), Result: strings.Repeat("x", 60<<10)})
	}
	require.NoError(t, produceAll(t.Context(), q, io.Discard, dir))
	startTestWorker(t, q, srv)
	records := func() (n map[state]int) {
		n = map[state]int{}
		require.NoError(t, q.each(t.Context(), func(id string, r record) error {
			n[r.State]++
			if r.State == waiting {
				assert.Equal(t, errNoRoom.Error(), r.Reason)
			}
			return nil
		}))
		return n
	}
	changes, err := q.jobs.Watch(t.Context(), "*")
	require.NoError(t, err)
	defer func() { _ = changes.Stop() }()
	for n := records(); n[queued]+n[running] > 0; n = records() {
		<-changes.Updates()
	}
	n := records()
	assert.Positive(t, n[waiting])
	assert.Less(t, n[done], 18, "more than -texts holds")
	searches := 0
	for _, r := range srv.Requests() {
		if r.Operation == aicontenttest.TranscriptionsList {
			searches++
		}
	}
	assert.Equal(t, n[done], searches, "a job without room was begun")

	out := 0
	for out < jobs {
		status, rows, errOut := command(t, "results", "-drop")
		assert.Zero(t, status, errOut)
		out += strings.Count(rows, "\n")
		if out < jobs {
			<-changes.Updates()
		}
	}
}

// Room that was reserved is there, with three replicas as with one, even where every byte of -texts is taken.
func TestReservedRoomHoldsItsText(t *testing.T) {
	testReservedRoom(t, testQueue(t, limits{rate: 0, texts: 1 << 20}))
	l := limits{replicas: 3, room: 1 << 20, texts: 1 << 20, ackWait: 30 * time.Second, rate: 1}
	q, err := openQueue(t.Context(), startCluster(t).url, &l)
	require.NoError(t, err)
	defer q.nc.Close()
	testReservedRoom(t, q)
}

func testReservedRoom(t *testing.T, q *queue) {
	t.Helper()
	var ids []string
	for i := 0; ; i++ {
		id := fmt.Sprint("job-", i)
		if err := q.reserve(t.Context(), id, 1); err != nil {
			require.ErrorIs(t, err, errNoRoom)
			break
		}
		ids = append(ids, id)
	}
	assert.InDelta(t, 15, len(ids), 1)
	for i, id := range ids {
		finish(t, q, id, fmt.Sprint(i), strings.Repeat("x", 64<<10))
	}
	require.NoError(t, q.reserve(t.Context(), ids[0], 1), "a job that has room needs no other")
	require.NoError(t, q.texts.remove(t.Context(), ids[1]))
	require.NoError(t, q.reserve(t.Context(), "another", 1))
}

func TestInterruptedRunPrintsWhatIsDone(t *testing.T) {
	srv, _ := deployment(t)
	dir := t.TempDir()
	done, refused := write(t, dir, "a.wav", recording(1)), write(t, dir, "b.wav", recording(2))
	status, _, errOut := command(t, "-deployment", done)
	assert.Zero(t, status, errOut)
	ctx, stop := context.WithCancel(t.Context())
	srv.FaultWhen(func(r *aicontenttest.Request) bool {
		if r.Operation == aicontenttest.TranscriptionsStore {
			stop()
			return true
		}
		return false
	}, 1, aicontenttest.Status(422, `{"message":"x"}`))
	var out, log strings.Builder
	assert.Equal(t, exitInterrupted, run(ctx, []string{"-deployment", done, refused}, &out, &log))
	assert.Regexp(t, `^\S+/a\.wav\tdone\t1\t.*\n\S+/b.wav\tdead\t\t422: x\n$`, out.String())
}

func TestFileThatChangesWhileItWaitsIsNotQueued(t *testing.T) {
	q := testQueue(t, limits{rate: 0, room: 1 << 20})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	dir := t.TempDir()
	first := write(t, dir, "a.wav", string(noise(1, 900_000)))
	waits := write(t, dir, "b.wav", string(noise(2, 300_000)))
	was := fileID(t, waits)
	require.NoError(t, produceAll(t.Context(), q, io.Discard, first))
	out := writer(func(p []byte) (int, error) {
		if strings.Contains(string(p), "The queue is full") {
			require.NoError(t, os.WriteFile(waits, noise(3, 300_000), 0o600))
			require.NoError(t, q.files.remove(t.Context(), fileID(t, first)))
		}
		return len(p), nil
	})
	err := produceAll(t.Context(), q, out, waits)
	require.EqualError(t, err, "skipped: "+waits+": changed while it was queued")
	require.ErrorIs(t, q.files.copy(t.Context(), was, io.Discard), jetstream.ErrKeyNotFound)
	r, _, err := q.read(t.Context(), was)
	require.NoError(t, err)
	assert.Zero(t, r, "a job without its file is left")
	jobs, err := q.unfinished(t.Context())
	require.NoError(t, err)
	assert.Len(t, jobs, 1)

	// The new content is a job of its own.
	require.NoError(t, produceAll(t.Context(), q, io.Discard, waits))
	srv := aicontenttest.NewServer(t, aicontenttest.KeepUploads())
	require.NoError(t, set(t.Context(), q, map[string]string{"room": "4194304"}, io.Discard))
	require.NoError(t, q.files.write(t.Context(), fileID(t, first), strings.NewReader(string(noise(1, 900_000)))))
	require.NoError(t, setRate(t.Context(), q.rate, 1000))
	startTestWorker(t, q, srv)
	assert.Equal(t, done, outcome(t, q)["b.wav"].State)
	assert.Len(t, srv.Records(), 2)
}

// What a worker sends is what the job's name is a hash of.
func TestDamagedFileIsNotSent(t *testing.T) {
	q := testQueue(t, limits{rate: 1000})
	path := write(t, t.TempDir(), "a.wav", recording(1))
	require.NoError(t, produceAll(t.Context(), q, io.Discard, path))
	id := fileID(t, path)
	require.NoError(t, q.files.write(t.Context(), id, strings.NewReader(recording(2))))
	c := &claim{q: q, id: id}
	r, revision, err := q.read(t.Context(), id)
	require.NoError(t, err)
	c.record, c.revision = r, revision
	require.NoError(t, c.write(t.Context(), func(r *record) { r.Runs = patience }))
	srv := testWorker(t, q)
	assert.Equal(t, dead, outcome(t, q)["a.wav"].State)
	assert.Empty(t, srv.Requests())
}

func TestNamesThatTheServiceRefusesAreNoReasonToRefuseTheFile(t *testing.T) {
	deployment(t)
	dir := t.TempDir()
	for i, name := range []string{"a\nb.wav", "c\xff.wav", "d\x1b\".wav"} {
		write(t, dir, name, recording(uint64(i)))
	}
	status, out, errOut := command(t, "-deployment", "-rate", "100", dir)
	assert.Zero(t, status, errOut)
	for _, name := range []string{`/a\nb.wav"`, `/c\xff.wav"`, `/d\x1b\".wav"`} {
		assert.Contains(t, out, name+"\tdone\t")
	}
}

func TestStoppedRateSaysSoFirst(t *testing.T) {
	srv, _ := deployment(t)
	ctx, stop := context.WithCancel(t.Context())
	var log strings.Builder
	errOut := writer(func(p []byte) (int, error) {
		if strings.Contains(string(p), "may bill 1") {
			stop()
		}
		return log.Write(p)
	})
	file := write(t, t.TempDir(), "a.wav", recording(1))
	status, _, _ := command(t, "set", "-rate", "0")
	assert.Zero(t, status)
	assert.Equal(t, exitInterrupted, run(ctx, []string{"-deployment", "-rate", "0", file}, io.Discard, errOut))
	assert.Contains(t, log.String(), "The rate is 0: nothing is sent until set -rate raises it.\n")
	assert.Empty(t, srv.Requests())
}
