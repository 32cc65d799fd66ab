package main

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
		require.NoError(t, produceAll(t.Context(), q, io.Discard, path))
		code, _, errOut := command(t, "work")
		assert.Equal(t, exitFailed, code)
		reason := strconv.Itoa(status) + ": " + text
		assert.Contains(t, errOut, "level=WARN msg=\"job failed\"")
		assert.True(t, strings.HasSuffix(errOut, "\nfleet: the service refuses the API key: "+reason+"\n"), errOut)

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
		require.NoError(t, produceAll(t.Context(), q, io.Discard, write(t, t.TempDir(), "a.wav", recording(1))))
		assert.Equal(t, done, outcome(t, q)["a.wav"].State, op)
		assert.Len(t, srv.Records(), 1)
	}
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
		"wrong key": {unauthorized(t), `^401: Unauthenticated\.$`},
		"refused": {storeError(t, wav, list, aicontenttest.RefuseConnection()),
			`^the service closed the connection before a response came: connection reset by peer \(host `},
		"no answer": {storeError(t, wav, list, stall),
			`^no complete response within 1s \(host `},
		"down":       {storeError(t, wav, store, down), `^no record came of it: 503: x$`},
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
	require.NoError(t, produceAll(t.Context(), q, io.Discard, good))
	srv.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.Status(404, `{"message":"x"}`))
	ctx, stop := context.WithCancel(t.Context())
	var log safeBuffer
	ended := make(chan int)
	go func() { ended <- run(ctx, []string{"work", "-settle", "1s"}, io.Discard, &log) }()
	outcome(t, q)
	require.NoError(t, produceAll(t.Context(), q, io.Discard, bad))
	outcome(t, q)
	stop()
	assert.Zero(t, <-ended)
	for _, want := range []string{
		`level=WARN msg="job failed" job=` + fileID(t, good) + ` file=` + good + ` run=1 reason="404: x (`,
		`level=INFO msg="job done" job=` + fileID(t, good) + ` file=` + good + ` run=2 record=1 took=`,
		`level=ERROR msg="job dead" job=` + fileID(t, bad) + ` file=` + bad + ` run=1 ` +
			`reason="file \"bad.pdf\": must be an`,
	} {
		assert.Equal(t, 1, strings.Count(log.String(), want), "%s\n%s", want, log.String())
	}
}

// A job may have to wait for a quarter of an hour for what became of a request. Others are transcribed meanwhile.
func TestJobThatWaitsGivesItsTurnToAnotherButNotDuringARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn, end := newTurn(t.Context())
		defer end()
		time.Sleep(longestWait - time.Second)
		done, err := turn.attempt(t.Context(), aicontent.Attempt{})
		require.NoError(t, err)
		time.Sleep(10 * longestWait)
		require.NoError(t, turn.ctx.Err())
		done(aicontent.AttemptResult{})
		time.Sleep(longestWait - time.Second)
		synctest.Wait()
		require.NoError(t, turn.ctx.Err())
		time.Sleep(2 * time.Second)
		require.ErrorIs(t, context.Cause(turn.ctx), errWaits)
	})
}

func TestStoppedWorkerLetsARequestEndAndWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, interrupt := context.WithCancel(t.Context())
		idle, end := newTurn(stop)
		defer end()
		busy, end := newTurn(stop)
		defer end()
		done, err := busy.attempt(t.Context(), aicontent.Attempt{})
		require.NoError(t, err)
		interrupt()
		synctest.Wait()
		require.ErrorIs(t, idle.ctx.Err(), context.Canceled)
		require.NoError(t, busy.ctx.Err())
		done(aicontent.AttemptResult{})
		synctest.Wait()
		require.ErrorIs(t, busy.ctx.Err(), context.Canceled)
	})
}

// The settle time may be a quarter of an hour.
func TestInterruptedRunDoesNotWaitForALostResponse(t *testing.T) {
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
	var errOut strings.Builder
	assert.Equal(t, exitInterrupted, run(ctx, []string{"-deployment", file}, io.Discard, &errOut))
	r, _, err := q.read(t.Context(), fileID(t, file))
	require.NoError(t, err)
	assert.Equal(t, waiting, r.State)
	assert.Equal(t, 1, uploads(srv))
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
