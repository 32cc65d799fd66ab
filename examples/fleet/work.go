package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
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
// node of the queue may lag.
const patience = 10

// A worker runs jobs, several at a time.
type worker struct {
	name  string
	q     *queue
	names *once.Client
	log   *slog.Logger
	end   context.CancelCauseFunc // takes no further jobs
}

// newWorker returns a worker whose requests wait for nothing once stop has ended. settle is how long after a lost
// response the transcription may still appear. connect makes its client.
func newWorker(
	stop context.Context, q *queue, settle time.Duration,
	connect func(...aicontent.Option) (*aicontent.Client, error), log *slog.Logger,
) (*worker, error) {
	client, err := connect(
		aicontent.WithUserAgent("aicontent-fleet"),
		aicontent.WithRateLimiter(&limiter{bucket: q.rate, stop: stop}),
	)
	if err != nil {
		return nil, err
	}
	// A job whose earlier request may still become its record waits in the queue, and others have its slot.
	names, err := once.New(client, ledger{q.ledger},
		once.WithSettleTime(settle), once.WithMaxWait(0), once.WithLogger(log))
	host, _ := os.Hostname()
	return &worker{name: fmt.Sprintf("%s-%d", host, os.Getpid()), q: q, names: names, log: log}, err
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
				fetch, cancel := context.WithTimeout(taking, 5*time.Second)
				msg, err := w.q.pending.Next(jetstream.FetchContext(fetch))
				cancel()
				idle := errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
				if err == nil {
					w.handle(context.WithoutCancel(ctx), msg)
				} else if taking.Err() == nil && !idle {
					w.log.Warn("could not get a job", "reason", plain(err))
					_ = pause(taking, time.Second)
				}
			}
		})
	}
	slots.Wait()
	if err := w.q.js.Conn().Flush(); err != nil || ctx.Err() != nil {
		return err
	}
	return context.Cause(taking)
}

// handle runs a job and acknowledges its message. A message that it cannot acknowledge is delivered again.
func (w *worker) handle(ctx context.Context, msg jetstream.Msg) {
	id := strings.TrimPrefix(msg.Subject(), jobSubject)
	var delay time.Duration
	c, err := w.q.claim(ctx, id, w.name)
	if c != nil && err == nil {
		release := w.hold(ctx, msg)
		delay, err = w.run(ctx, c)
		release()
	}
	if err == nil && delay == 0 {
		err = w.tidy(ctx, id, msg)
	}
	if err != nil {
		delay = 5 * time.Second
		w.log.Error("queue failed", "job", id, "reason", plain(err), "again_in", delay)
	}
	if delay > 0 {
		_ = msg.NakWithDelay(delay + rand.N(time.Second))
	}
}

// tidy removes an ended job's file and message. The message is last, so that an interrupted tidy is repeated.
func (w *worker) tidy(ctx context.Context, id string, msg jetstream.Msg) error {
	return patiently(ctx, func(ctx context.Context) error {
		if err := w.q.files.remove(ctx, id); err != nil {
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
func (w *worker) run(ctx context.Context, c *claim) (delay time.Duration, err error) {
	begin := time.Now()
	log := w.log.With("job", c.id, "file", string(c.record.File), "run", c.record.Runs)
	t, err := w.transcribe(ctx, c)
	if err == nil {
		log.Info("job done", "record", t.ID, "took", time.Since(begin).Round(time.Millisecond))
		return 0, patiently(ctx, func(ctx context.Context) error { return c.succeed(ctx, t) })
	}
	if refused, ok := errors.AsType[*aicontent.APIError](err); ok {
		// A firewall may send a 403 of its own, which is not JSON and says nothing of the key.
		if refused.StatusCode == 401 || refused.StatusCode == 403 && json.Valid(refused.Body) {
			w.end(fmt.Errorf("the service refuses the API key: %w", refused))
		}
	}
	next, delay := c.record.after(err, w.q.pending.CachedInfo().Config.AckWait*2/3)
	if next.State == dead {
		log.Error("job dead", "reason", next.Reason)
	} else {
		log.Warn("job failed", "reason", next.Reason, "again_in", delay)
	}
	return delay, patiently(ctx, func(ctx context.Context) error { return c.write(ctx, next) })
}

// after returns the record of a job whose run has failed: it is dead, or runs again after a delay, which is not above
// longest unless the service asks for more. However often a run finds that an earlier request may still become the
// transcription, the job goes on.
func (r record) after(err error, longest time.Duration) (next record, delay time.Duration) {
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, errChanged) {
		r.Lost++
	}
	reason := plain(err)
	if hopeless(err) || r.Lost >= patience {
		return r.at(dead, reason), 0
	}
	delay = min(time.Second<<min(r.Runs, 10), longest)
	if open, ok := errors.AsType[*once.Error](err); ok && open.Until.After(time.Now()) {
		delay = min(delay, time.Until(open.Until))
		reason = strings.TrimSuffix(fmt.Sprintf("an earlier request may become its record until %s: %s",
			open.Until.Local().Format(time.TimeOnly), reason), ": ")
	}
	if refused, ok := errors.AsType[*aicontent.APIError](err); ok {
		delay = max(delay, refused.RetryAfter)
	}
	return r.at(waiting, cmp.Or(reason, "another run of it has not ended")), delay
}

// transcribe fetches the file and transcribes it, unless an earlier run did.
func (w *worker) transcribe(ctx context.Context, c *claim) (*aicontent.Transcription, error) {
	if c.record.Lost >= patience {
		return nil, fmt.Errorf("gave up: %d runs ended without reporting", c.record.Lost)
	}
	file, err := os.CreateTemp("", "fleet-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	_ = os.Remove(file.Name()) // now, where the system allows it, so that a killed worker leaves nothing
	hash := newHash(c.record.Language)
	err = w.q.files.copy(ctx, c.id, io.MultiWriter(file, hash))
	if err == nil && idOf(hash) != c.id {
		err = errChanged
	}
	if err != nil {
		return nil, fmt.Errorf("fetch the file: %w", err)
	}
	_, _ = file.Seek(0, io.SeekStart)
	upload := aicontent.FileFromReader(c.id+extension.FindString(string(c.record.File)), file)
	t, _, err := w.names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: c.id, File: upload, Language: c.record.Language,
	})
	return t, err
}

// extension is what the service may learn of a file's name, which may have any characters.
var extension = regexp.MustCompile(`\.\w+$`)

// hopeless reports whether the job itself is the cause of err, so that no further run can succeed.
func hopeless(err error) bool {
	if aicontent.Retryable(err) {
		return false
	}
	if refused, ok := errors.AsType[*aicontent.APIError](err); ok {
		return slices.Contains([]int{400, 409, 413, 415, 422}, refused.StatusCode)
	}
	if _, garbled := errors.AsType[*aicontent.DecodeError](err); garbled {
		return false // What is there is not given up because the service, or a proxy, does not make sense today.
	}
	return errors.Is(err, aicontent.ErrInvalid) || errors.Is(err, aicontent.ErrConflict) ||
		aicontent.OutcomeOf(err) == aicontent.OutcomeExecuted
}

// jargon is what errors say to programmers alone.
var jargon = regexp.MustCompile(`\baicontent\.\w+: |\btranscriptions\.[a-z]+: |\bonce: transcriptions "[^"]*": |` +
	` \(outcome [^()]*\)| \([^()]*\bWith\w*[A-Z][^()]*\)|` +
	`it would wait for too long \(WithMaxWait\)(; before: )?|` +
	`\b(dial|read|write) tcp ?\S*: ((connect|read|write): )?|\bl?stat `)

var words = strings.NewReplacer("context canceled: ", "", "context canceled", "interrupted",
	"context deadline exceeded", "no response in time")

// plain is the text of an error for people who do not program, with the cause first.
func plain(err error) string { return words.Replace(jargon.ReplaceAllString(err.Error(), "")) }
