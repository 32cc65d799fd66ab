package main

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestWorkerWhoseKeyIsRefusedStopsWithTheReason(t *testing.T) {
	for status, text := range map[int]string{401: "Unauthenticated.", 403: "This action is unauthorized."} {
		srv, q := deployment(t)
		srv.FaultOn(aicontenttest.TranscriptionsList, 100, aicontenttest.Status(status, `{"message":"`+text+`"}`))
		path := write(t, t.TempDir(), "a.wav", recording(1))
		produceAll(t, q, path)
		code, _, errOut := command(t, "work")
		assert.Equal(t, exitFailed, code)
		reason := strconv.Itoa(status) + ": " + text
		assert.Contains(t, errOut, "level=WARN msg=\"job failed\"")
		assert.Contains(t, errOut, "\nfleet: the service refuses the API key: "+reason)

		// The job waits for a worker with another key.
		srv.ClearFaults()
		startTestWorker(t, q, srv)
		assert.Equal(t, done, outcome(t, q)["a.wav"].State)
	}
}

// A proxy in front of the service blocks one response. The key is as good as before.
func TestWorkerSurvivesAFirewall(t *testing.T) {
	for _, op := range []aicontenttest.Operation{aicontenttest.TranscriptionsList, aicontenttest.TranscriptionsStore} {
		srv, q := deployment(t)
		srv.FaultOn(op, 1, aicontenttest.ActThenStatus(403))
		startTestWorker(t, q, srv)
		produceAll(t, q, write(t, t.TempDir(), "a.wav", recording(1)))
		assert.Equal(t, done, outcome(t, q)["a.wav"].State, op)
		assert.Len(t, srv.Records(), 1)
	}
}

// A paid record must not become a dead letter because the response, and the search after it, make no sense.
func TestGarbledResponsesKillNoJob(t *testing.T) {
	srv, q := deployment(t)
	var created atomic.Bool
	createThenList := func(r *aicontenttest.Request) bool {
		if r.Operation == aicontenttest.TranscriptionsStore {
			created.Store(true)
		}
		return created.Load()
	}
	srv.FaultWhen(createThenList, 2, aicontenttest.InvalidJSON())
	startTestWorker(t, q, srv)
	produceAll(t, q, write(t, t.TempDir(), "a.wav", recording(1)))
	r := outcome(t, q)["a.wav"]
	assert.Equal(t, done, r.State, r.Reason)
	assert.Len(t, srv.Records(), 1)
}

// storeError is the error of an upload that may be repeated.
func storeError(t *testing.T, file aicontent.File, on aicontenttest.Operation, fault aicontenttest.Fault) error {
	t.Helper()
	srv := aicontenttest.NewServer(t)
	srv.FaultOn(on, 100, fault)
	policy := aicontent.RetryPolicy{MaxAttempts: 1}
	client := srv.Client(aicontent.WithRetryPolicy(policy), aicontent.WithResponseTimeout(time.Second),
		aicontent.WithStoreTimeout(time.Second))
	names, err := once.New(client, once.InMemory(), once.WithSettleTime(0))
	require.NoError(t, err)
	_, _, err = names.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{Name: "fleet-1", File: file})
	require.Error(t, err)
	return err
}

func unauthorized(t *testing.T) error {
	t.Helper()
	file := aicontent.FileFromBytes("a.wav", noise(1, 500))
	fault := aicontenttest.Status(401, `{"message":"Unauthenticated."}`)
	return storeError(t, file, aicontenttest.TranscriptionsList, fault)
}

func TestErrorsReadAsPlainWordsWithTheCauseFirst(t *testing.T) {
	wav := aicontent.FileFromBytes("a.wav", noise(1, 500))
	list, store := aicontenttest.TranscriptionsList, aicontenttest.TranscriptionsStore
	down, stall := aicontenttest.Status(503, "x"), aicontenttest.Stall(aicontenttest.BeforeResponse)
	tests := map[string]struct {
		err  error
		want string
	}{
		"no audio": {storeError(t, aicontent.FileFromBytes("a.pdf", []byte("%PDF-1.7 xxxxxxxxxx")), store, down),
			`^file "a\.pdf": must be an audio file, but it is a PDF document$`},
		"wrong key": {unauthorized(t), `^401: Unauthenticated\. \(127\.0\.0\.1:\d+ did not accept the key given to NewClient\)$`},
		"refused": {storeError(t, wav, list, aicontenttest.RefuseConnection()),
			`^the service closed the connection before a response came: connection reset by peer \(host `},
		"no answer": {storeError(t, wav, list, stall),
			`^no complete response within 1s \(host `},
		"down":       {storeError(t, wav, store, down), `^no record came of the create request; before: 503: x$`},
		"end of job": {io.ErrUnexpectedEOF, "^unexpected EOF$"},
	}
	goName := regexp.MustCompile(`With\w*[A-Z]|context |\w+\.(store|list)\b|tcp`)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Regexp(t, test.want, plain(test.err))
			assert.NotRegexp(t, goName, plain(test.err))
		})
	}
}

func TestWorkerLogsHowEachJobEnds(t *testing.T) {
	srv, q := deployment(t)
	dir := t.TempDir()
	good, bad := write(t, dir, "good.wav", recording(1)), write(t, dir, "bad.pdf", "%PDF-1.7 xxxxxxxxxx")
	produceAll(t, q, good)
	srv.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.Status(404, `{"message":"x"}`))
	ctx, stop := context.WithCancel(t.Context())
	var log safeBuffer
	ended := make(chan int)
	go func() { ended <- run(ctx, []string{"work", "-settle", "1s"}, io.Discard, &log) }()
	outcome(t, q)
	produceAll(t, q, bad)
	outcome(t, q)
	stop()
	assert.Zero(t, <-ended)
	for _, want := range []string{
		`level=WARN msg="job failed" job=` + fileID(t, good) + ` file=` + good + ` run=1 reason="404: x (`,
		`level=INFO msg="job done" job=` + fileID(t, good) + ` file=` + good + ` run=2 record=1 took=`,
		`level=ERROR msg="job dead" job=` + fileID(t, bad) + ` file=` + bad + ` run=1 ` +
			`reason="file \"fleet-`,
	} {
		assert.Equal(t, 1, strings.Count(log.String(), want), "%s\n%s", want, log.String())
	}
}

// A name that a killed worker was sending is open for the settle time and two minutes. No number of runs, no deadline
// of the queue and no count of deliveries may end the job before.
func TestJobOutlivesTheWaitForAnEarlierRequest(t *testing.T) {
	_, q := deployment(t)
	assert.Equal(t, -1, q.pending.CachedInfo().Config.MaxDeliver)
	for _, s := range []jetstream.Stream{q.stream, q.files.stream, q.jobs.stream, q.ledger.stream} {
		assert.Zero(t, s.CachedInfo().Config.MaxAge, s.CachedInfo().Config.Name)
	}
	srv := aicontenttest.NewServer(t)
	names, err := once.New(srv.Client(), once.InMemory(), once.WithMaxWait(0))
	require.NoError(t, err)
	srv.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.HTMLPage(504))
	_, _, err = names.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
		Name: "fleet-1", File: aicontent.FileFromBytes("a.wav", noise(1, 500)),
	})
	open, ok := errors.AsType[*once.Error](err)
	require.True(t, ok)
	require.Greater(t, time.Until(open.Until), 14*time.Minute)

	const longest = 30 * time.Second
	r := record{State: running, Runs: 1}
	for waited, delay := time.Duration(0), time.Duration(0); waited < 24*time.Hour; waited += delay {
		r, delay = r.after(err, longest)
		require.Equal(t, waiting, r.State, "after %v and %d runs", waited, r.Runs)
		require.Positive(t, delay)
		require.LessOrEqual(t, delay, longest)
		r.State = running
		r.Runs++
	}
	assert.Regexp(t, `^an earlier request may become its record until [0-9:]{8}: 504: `, r.Reason)
	_, _, err = names.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
		Name: "fleet-1", File: aicontent.FileFromBytes("a.wav", noise(1, 500)),
	})
	r, _ = r.after(err, longest)
	assert.Regexp(t, `^an earlier request may become its record until [0-9:]{8}$`, r.Reason)
}

// A queue that elects another leader may deliver a job again to the worker that runs it.
func TestRunBesideAnotherSaysSo(t *testing.T) {
	var store func() error
	beside := make(chan error, 2)
	srv := aicontenttest.NewServer(t, aicontenttest.OnRequest(func(r aicontenttest.Request) {
		if r.Operation == aicontenttest.TranscriptionsList {
			beside <- store()
		}
	}))
	names, err := once.New(srv.Client(), once.InMemory(), once.WithMaxWait(0))
	require.NoError(t, err)
	store = func() error {
		_, _, err := names.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
			Name: "fleet-1", File: aicontent.FileFromBytes("a.wav", noise(1, 500)),
		})
		return err
	}
	require.NoError(t, store())
	r, _ := record{State: running, Runs: 1}.after(<-beside, time.Minute)
	assert.Equal(t, waiting, r.State)
	assert.Equal(t, "another run of it has not ended", r.Reason)
}

// The settle time may be a quarter of an hour.
func TestInterruptedWorkerDoesNotWaitForALostResponse(t *testing.T) {
	srv, q := deployment(t)
	ctx, stop := context.WithCancel(t.Context())
	lose := func(r *aicontenttest.Request) bool {
		if r.Operation == aicontenttest.TranscriptionsStore {
			stop()
			return true
		}
		return false
	}
	srv.FaultWhen(lose, 1, aicontenttest.HTMLPage(504))
	file := write(t, t.TempDir(), "a.wav", recording(1))
	produceAll(t, q, file)
	var errOut strings.Builder
	assert.Zero(t, run(ctx, []string{"work"}, io.Discard, &errOut), errOut.String())
	assert.Contains(t, errOut.String(), "Finishing the running jobs.")
	r, _, err := read[record](t.Context(), q.jobs, fileID(t, file))
	require.NoError(t, err)
	assert.Equal(t, waiting, r.State)
	assert.Equal(t, 1, uploads(srv))
}

func TestInterruptedWorkerDoesNotWaitForTheRate(t *testing.T) {
	srv, q := deployment(t)
	require.NoError(t, setRate(t.Context(), q.rate, 0))
	file := write(t, t.TempDir(), "a.wav", recording(1))
	produceAll(t, q, file)
	changes, err := q.jobs.Watch(t.Context(), fileID(t, file))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { ended <- run(ctx, []string{"work"}, io.Discard, io.Discard) }()
	for change := range changes.Updates() {
		if change != nil && strings.Contains(string(change.Value()), `"running"`) {
			break
		}
	}
	stop()
	assert.Zero(t, <-ended)
	assert.Empty(t, srv.Requests())
}

// What a worker sends is what the job's name is a hash of.
func TestDamagedFileIsNotSent(t *testing.T) {
	q := testQueue(t, limits{})
	path := write(t, t.TempDir(), "a.wav", recording(1))
	produceAll(t, q, path)
	id := fileID(t, path)
	require.NoError(t, q.files.write(t.Context(), id, strings.NewReader(recording(2))))
	c, err := q.claim(t.Context(), id, "one")
	require.NoError(t, err)
	next := c.record.at(waiting, "")
	next.Lost = patience - 1
	require.NoError(t, c.write(t.Context(), next))
	srv := testWorker(t, q)
	r := outcome(t, q)["a.wav"]
	assert.Equal(t, dead, r.State)
	assert.Contains(t, r.Reason, "fetch the file: changed while it was queued")
	assert.Empty(t, srv.Requests())
}

func TestNamesThatTheServiceRefusesAreNoReasonToRefuseTheFile(t *testing.T) {
	srv, q := deployment(t)
	dir := t.TempDir()
	for i, name := range []string{"a\nb.wav", "c\xff.wav", "d\x1b\".wav"} {
		write(t, dir, name, recording(uint64(i)))
	}
	produceAll(t, q, dir)
	startTestWorker(t, q, srv)
	outcome(t, q)
	status, out, errOut := command(t, "results")
	assert.Zero(t, status, errOut)
	for _, name := range []string{`/a\nb.wav"`, `/c\xff.wav"`, `/d\x1b\".wav"`} {
		assert.Contains(t, out, name+"\tdone\t")
	}
}

// A safeBuffer takes what goroutines write.
type safeBuffer struct {
	mu     sync.Mutex
	buffer strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
