package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// patience is how many runs of a job may end without reporting, as if it killed its workers, or without its file, as a
// replica of the queue may lag.
const patience = 10

// A worker runs jobs, several at a time.
type worker struct {
	name   string
	q      *queue
	client *aicontent.Client
	names  *once.Client // of the client
	log    *slog.Logger
	end    context.CancelCauseFunc // takes no further jobs
}

// A connector makes the client of a worker.
type connector func(...aicontent.Option) (*aicontent.Client, error)

// newWorker returns a worker. settle is how long after a lost response the transcription may still appear.
func newWorker(q *queue, settle time.Duration, connect connector, log *slog.Logger) (*worker, error) {
	host, _ := os.Hostname()
	client, err := connect(
		aicontent.WithUserAgent("aicontent-fleet"),
		aicontent.WithRateLimiter(&limiter{bucket: q.rate}),
	)
	if err != nil {
		return nil, err
	}
	names, err := once.New(client, ledger{q.ledger}, once.WithSettleTime(settle), once.WithLogger(log))
	name := fmt.Sprintf("%s-%d", host, os.Getpid())
	return &worker{name: name, q: q, client: client, names: names, log: log}, err
}

// work runs jobs until ctx ends, or the service refuses the key, which is its error. It then finishes the running jobs.
func (w *worker) work(ctx context.Context, concurrency int) error {
	taking, end := context.WithCancelCause(ctx)
	defer end(nil)
	w.end = end
	var slots sync.WaitGroup
	for range concurrency {
		slots.Go(func() {
			for taking.Err() == nil {
				msg, err := w.next(taking)
				idle := errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
				if err == nil {
					w.handle(ctx, msg)
				} else if taking.Err() == nil && !idle {
					w.log.Warn("could not get a job", "reason", plain(err))
					_ = pause(taking, time.Second)
				}
			}
		})
	}
	slots.Wait()
	if err := w.q.nc.Flush(); err != nil || ctx.Err() != nil {
		return err
	}
	return context.Cause(taking)
}

func (w *worker) next(ctx context.Context) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return w.q.pending.Next(jetstream.FetchContext(ctx))
}

// handle runs a job and acknowledges its message. A message that it cannot acknowledge is delivered again. If stop
// ends, the job's request is finished, but nothing is waited for.
func (w *worker) handle(stop context.Context, msg jetstream.Msg) {
	ctx := context.WithoutCancel(stop)
	var j job
	if err := json.Unmarshal(msg.Data(), &j); err != nil {
		w.log.Error("dropped a message that is not a job", "reason", err)
		_ = msg.TermWithReason(err.Error())
		return
	}
	var delay time.Duration
	c, err := w.q.claim(ctx, j.ID, w.name)
	if c != nil && err == nil {
		release := w.hold(ctx, msg)
		delay, err = w.run(ctx, stop, c, j)
		release()
	}
	if err == nil && delay == 0 {
		err = w.tidy(ctx, j, msg)
	}
	if err != nil {
		delay = 5 * time.Second
		w.log.Error("queue failed", "job", j.ID, "file", string(j.File), "reason", plain(err), "again_in", delay)
	}
	if delay > 0 {
		_ = msg.NakWithDelay(delay + rand.N(time.Second))
	}
}

// tidy removes an ended job's file and message. The message is last, so that an interrupted tidy is repeated.
func (w *worker) tidy(ctx context.Context, j job, msg jetstream.Msg) error {
	return patiently(ctx, func(ctx context.Context) error {
		if err := w.q.files.remove(ctx, j.ID); err != nil {
			return err
		}
		return msg.DoubleAck(ctx)
	})
}

// hold tells the queue that a job is in progress, so that it is not delivered again, until release is called.
func (w *worker) hold(ctx context.Context, msg jetstream.Msg) (release func()) {
	ctx, cancel := context.WithCancel(ctx)
	var holding sync.WaitGroup
	holding.Go(func() {
		for pause(ctx, w.q.pending.CachedInfo().Config.AckWait/6) == nil {
			_ = msg.InProgress()
		}
	})
	return func() {
		cancel()
		holding.Wait()
	}
}

// run runs a claimed job and records how it ended. A delay above zero asks for another run after it.
func (w *worker) run(ctx, stop context.Context, c *claim, j job) (delay time.Duration, err error) {
	var transcription *aicontent.Transcription
	begin := time.Now()
	log := w.log.With("job", j.ID, "file", string(j.File), "run", c.record.Runs)
	if c.record.Lost >= patience {
		err = fmt.Errorf("gave up: %d runs ended without reporting", c.record.Lost)
	} else {
		transcription, err = w.transcribe(ctx, stop, j)
	}
	if err == nil {
		err = patiently(ctx, func(ctx context.Context) error { return c.succeed(ctx, transcription) })
		if err == nil {
			log.Info("job done", "record", transcription.ID, "took", time.Since(begin).Round(time.Millisecond))
			return 0, nil
		}
		err = fmt.Errorf("store the text: %w", err)
	}
	longest := w.q.pending.CachedInfo().Config.AckWait * 2 / 3
	next, delay := waiting, min(time.Second<<min(c.record.Runs, 10), longest)
	if errors.Is(err, errWaits) {
		delay = longest
	}
	if refused, ok := errors.AsType[*aicontent.APIError](err); ok {
		delay = max(delay, refused.RetryAfter)
		// A firewall may send a 403 of its own, which is not JSON and says nothing of the key.
		if refused.StatusCode == 401 || refused.StatusCode == 403 && json.Valid(refused.Body) {
			w.end(fmt.Errorf("the service refuses the API key: %w", refused))
		}
	}
	missing := (errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, errChanged)) && c.record.Runs > patience
	if hopeless(err) || missing || c.record.Lost >= patience {
		next, delay = dead, 0
		log.Error("job dead", "reason", plain(err))
	} else {
		log.Warn("job failed", "reason", plain(err), "again_in", delay)
	}
	return delay, patiently(ctx, func(ctx context.Context) error { return c.fail(ctx, next, plain(err)) })
}

// transcribe fetches the file and transcribes it, unless an earlier run did.
func (w *worker) transcribe(ctx, stop context.Context, j job) (*aicontent.Transcription, error) {
	file, err := os.CreateTemp("", "fleet-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	_ = os.Remove(file.Name()) // now, where the system allows it, so that a killed worker leaves nothing
	if err := w.q.reserve(ctx, j.ID, j.Size); err != nil {
		return nil, err
	}
	hash := newHash(j.Language)
	err = w.q.files.copy(ctx, j.ID, io.MultiWriter(file, hash))
	if err == nil && idOf(hash) != j.ID {
		err = errChanged
	}
	if err != nil {
		return nil, fmt.Errorf("fetch the file: %w", err)
	}
	_, _ = file.Seek(0, io.SeekStart)
	turn, end := newTurn(stop)
	defer end()
	ctx = context.WithValue(turn.ctx, turnKey{}, turn) // for the limiter
	upload := aicontent.FileFromReader(printable(filepath.Base(string(j.File))), file)
	t, _, err := w.names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: j.ID, File: upload, Language: j.Language,
	}, aicontent.WithAttemptHook(turn.attempt))
	if err == nil && t.Result == "" && ctx.Err() != nil {
		err = fmt.Errorf("the record has no text yet: %w", ctx.Err())
	}
	return t, err
}

// A turn is a job's time in one of a worker's slots. It ends when the worker is stopped, or when the job has waited for
// what became of an earlier request, so that others have a turn: but never while a request is under way.
type turn struct {
	ctx     context.Context
	waits   *time.Timer
	request chan struct{} // full while one is under way
}

type turnKey struct{}

const longestWait = 5 * time.Second

var errWaits = errors.New("waiting for what became of an earlier request")

func newTurn(stop context.Context) (t *turn, end func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(stop))
	t = &turn{ctx: ctx, request: make(chan struct{}, 1)}
	over := func(cause error) {
		t.request <- struct{}{}
		cancel(cause)
		<-t.request
	}
	t.waits = time.AfterFunc(longestWait, func() { over(errWaits) })
	forget := context.AfterFunc(stop, func() { over(context.Canceled) })
	return t, func() {
		forget()
		t.waits.Stop()
		cancel(nil)
	}
}

// attempt is an attempt hook.
func (t *turn) attempt(context.Context, aicontent.Attempt) (done func(aicontent.AttemptResult), err error) {
	t.request <- struct{}{}
	t.waits.Stop()
	return func(aicontent.AttemptResult) {
		<-t.request
		t.waits.Reset(longestWait)
	}, nil
}

// hopeless reports whether the job itself is the cause of err, so that no further run can succeed.
func hopeless(err error) bool {
	if refused, ok := errors.AsType[*aicontent.APIError](err); ok {
		return slices.Contains([]int{400, 409, 413, 415, 422}, refused.StatusCode)
	}
	return errors.Is(err, aicontent.ErrInvalid) || errors.Is(err, aicontent.ErrConflict) ||
		aicontent.OutcomeOf(err) == aicontent.OutcomeDone && !aicontent.Temporary(err)
}

// jargon is what errors say to programmers alone.
var jargon = regexp.MustCompile(`\baicontent\.\w+: |\btranscriptions\.[a-z]+: |\bonce: transcriptions "[^"]*": |` +
	` \(outcome [^()]*\)| \([^()]*\bWith\w*[A-Z][^()]*\)|` +
	`\b(dial|read|write) tcp ?\S*: ((connect|read|write): )?|\bl?stat `)

var words = strings.NewReplacer("context canceled: ", "", "context canceled", "interrupted",
	"context deadline exceeded", "no response in time")

// plain is the text of an error for people who do not program, with the cause first.
func plain(err error) string { return words.Replace(jargon.ReplaceAllString(err.Error(), "")) }
