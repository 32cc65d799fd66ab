package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestWorkerWhoseKeyOrAddressIsRefusedStopsAndLeavesItsJobs(t *testing.T) {
	for _, refusal := range []struct {
		op     aicontent.Operation
		status int
		text   string
	}{
		{aicontent.TranscriptionsList, 401, "Unauthenticated."},
		{aicontent.TranscriptionsStore, 403, "This action is unauthorized."},
		{aicontent.TranscriptionsStore, 404, "No such route."},
	} {
		q, srv := newDeployment(t)
		srv.FaultOn(refusal.op, 100, aicontenttest.Status(refusal.status, `{"message":"`+refusal.text+`"}`))
		enqueue(t, write(t, t.TempDir(), "a.mp3", recording(1)))
		code, _, errOut := command(t, "work")
		assert.Equal(t, exitFailed, code)
		assert.Contains(t, errOut, "fleet: "+refusal.text+"\n")

		// The job waits for a worker with another key or address.
		srv.ClearFaults()
		startWorker(t, io.Discard)
		assert.Equal(t, done, outcome(t, q, 1)["a.mp3"].State)
	}
}

// A proxy that blocks one response says nothing about the key, nor a search that fails about the recording.
func TestJobSurvivesAnErrorThatIsNotAboutItsRecording(t *testing.T) {
	for op, faults := range map[aicontent.Operation][]aicontenttest.Fault{
		aicontent.TranscriptionsStore: {aicontenttest.ActThenStatus(403)},
		aicontent.TranscriptionsList: {
			aicontenttest.ActThenStatus(403), aicontenttest.RedirectTo(302, "https://elsewhere.example/"),
			aicontenttest.InvalidJSON(), aicontenttest.Status(422, `{"message":"The search field is invalid."}`),
		},
	} {
		for _, fault := range faults {
			q, srv := newDeployment(t)
			srv.FaultOn(op, 1, fault)
			enqueue(t, write(t, t.TempDir(), "a.mp3", recording(1)))
			startWorker(t, io.Discard)
			assert.Equal(t, done, outcome(t, q, 1)["a.mp3"].State, "%s: %s", op, fault.Name)
			assert.Len(t, srv.Records(), 1)
		}
	}
}

func TestJobThatCannotSucceedIsADeadLetterThatSaysWhy(t *testing.T) {
	q, srv := newDeployment(t)
	dir := t.TempDir()
	refused := write(t, dir, "refused.mp3", recording(1))
	write(t, dir, "report.mp3", "%PDF-1.7 "+strings.Repeat("x", 100))
	refuse := aicontenttest.Status(422, `{"message":"The file must be an mp3."}`)
	srv.FaultOn(aicontent.TranscriptionsStore, 1, refuse)
	enqueue(t, filesIn(t, dir)...)
	var log safeBuffer
	stop := startWorker(t, &log)
	outcome(t, q, 2)
	stop()
	status, out, errOut := command(t, "results")
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, "fleet: dead jobs: 2\n", errOut)
	assert.Regexp(t, `(?m)^dead\t".*/refused\.mp3"\t""\t"The file must be an mp3\."$`, out)
	assert.Regexp(t, `(?m)^dead\t".*/report\.mp3"\t""\t"file: must be an audio file.*"$`, out)
	assert.Contains(t, log.String(), `reason="The file must be an mp3."`)
	assert.Empty(t, srv.Records())

	// Produced again, it gets another chance.
	enqueue(t, refused)
	startWorker(t, io.Discard)
	assert.Equal(t, done, outcome(t, q, 2)["refused.mp3"].State)
	assert.Len(t, srv.Records(), 1)
}

func TestJobWithoutItsFileIsADeadLetter(t *testing.T) {
	q, srv := newDeployment(t)
	dir := t.TempDir()
	write(t, dir, "lost.mp3", recording(1))
	write(t, dir, "damaged.mp3", recording(2))
	enqueue(t, filesIn(t, dir)...)
	all := jobs(t, q)
	require.NoError(t, q.remove(t.Context(), all[jobID(recording(1))]))
	_, err := q.js.Publish(t.Context(), fileSubject+"C."+all[jobID(recording(2))].Chunks, []byte("damage"))
	require.NoError(t, err)
	startWorker(t, io.Discard)
	for name, j := range outcome(t, q, 2) {
		assert.Equal(t, dead, j.State, name)
		assert.Equal(t, "the queue has lost the file: produce it again", j.Reason, name)
	}
	assert.Zero(t, uploads(srv))
}

// A worker may be killed after it has saved a result.
func TestResultOfAKilledRunIsKept(t *testing.T) {
	q, srv := newDeployment(t)
	enqueue(t, write(t, t.TempDir(), "a.mp3", recording(1)))
	id := jobID(recording(1))
	j, version, err := q.load(t.Context(), id)
	require.NoError(t, err)
	j.State, j.Record = done, "7"
	require.NoError(t, q.save(t.Context(), id, j, version))
	startWorker(t, io.Discard)
	assert.Equal(t, j, outcome(t, q, 1)["a.mp3"])
	assert.Zero(t, stored(t, q))
	assert.Zero(t, uploads(srv))
}

func TestInterruptedWorkerFinishesItsJob(t *testing.T) {
	q, srv := newDeployment(t)
	stop, stopped := make(chan func(), 1), make(chan struct{})
	srv.FaultWhen(func(r *aicontenttest.Request) bool {
		if r.Operation != aicontent.TranscriptionsStore {
			return false
		}
		go func() {
			(<-stop)()
			close(stopped)
		}()
		return true
	}, 1, aicontenttest.Fault{Place: aicontenttest.BeforeResponse, Acts: true})
	enqueue(t, write(t, t.TempDir(), "a.mp3", recording(1)))
	stop <- startWorker(t, io.Discard)
	<-stopped
	assert.Equal(t, done, jobs(t, q)[jobID(recording(1))].State)
	assert.Zero(t, stored(t, q))
	assert.Len(t, srv.Records(), 1)
}

// A lagging bucket does not have an entry yet.
type lagging struct{ jetstream.KeyValue }

func (lagging) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	return nil, jetstream.ErrKeyNotFound
}

// Of three NATS servers, one that is not the leader of the bucket may send the message of a new job first.
func TestJobWhoseMessageComesBeforeTheLeaderHasItsEntryRuns(t *testing.T) {
	q, srv := newDeployment(t)
	enqueue(t, write(t, t.TempDir(), "a.mp3", recording(1)))
	client, err := aicontent.NewClientFromEnv()
	require.NoError(t, err)
	names, err := once.New(client, q.ledger)
	require.NoError(t, err)
	msg, err := q.workers.Next()
	require.NoError(t, err)
	behind := *q
	behind.jobs.bucket = lagging{q.jobs.bucket}
	w := &worker{&behind, names, slog.New(slog.DiscardHandler)}
	require.NoError(t, w.handle(t.Context(), msg))
	assert.Equal(t, done, jobs(t, q)[jobID(recording(1))].State)
	assert.Equal(t, 1, uploads(srv))
}

// A delivery is a message that was delivered so many times.
type delivery struct {
	jetstream.Msg
	times uint64
}

func (d delivery) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{NumDelivered: d.times}, nil
}

// A scheduled error says when a call may be made again.
type scheduled time.Time

func (e scheduled) Error() string              { return "scheduled" }
func (e scheduled) Outcome() aicontent.Outcome { return aicontent.OutcomeNotExecuted }
func (e scheduled) Retryable() bool            { return true }
func (e scheduled) RetryAt() time.Time         { return time.Time(e) }

func TestJobRunsAgainWhenItsErrorSaysOrAfterLongerPausesUpToAMinute(t *testing.T) {
	at := func(d time.Duration) error { return scheduled(time.Now().Add(d)) }
	for name, test := range map[string]struct {
		err               error
		runs              uint64
		shortest, longest time.Duration
	}{
		"the error says when":           {at(time.Hour), 1, 59 * time.Minute, 61 * time.Minute},
		"its time is over":              {at(-time.Hour), 1, 0, time.Second},
		"the first run failed":          {io.ErrUnexpectedEOF, 1, time.Second, 2 * time.Second},
		"the third run failed":          {io.ErrUnexpectedEOF, 3, 4 * time.Second, 8 * time.Second},
		"the sixth run failed":          {io.ErrUnexpectedEOF, 6, 30 * time.Second, time.Minute},
		"more runs failed than 64 bits": {io.ErrUnexpectedEOF, 1 << 40, 30 * time.Second, time.Minute},
	} {
		again := pauseAfter(test.err, delivery{times: test.runs})
		assert.GreaterOrEqual(t, again, test.shortest, name)
		assert.LessOrEqual(t, again, test.longest, name)
	}
}
