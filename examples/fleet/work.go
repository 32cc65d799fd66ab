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
)

// patience is how many runs of a job may end without reporting, as if it killed its workers, or without its file, as a
// replica of the queue may lag.
const patience = 10

// A worker runs jobs, several at a time.
type worker struct {
	name   string
	q      *queue
	client *aicontent.Client
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
		aicontent.WithSettleTime(settle),
	)
	return &worker{name: fmt.Sprintf("%s-%d", host, os.Getpid()), q: q, client: client, log: log}, err
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
					w.handle(context.WithoutCancel(ctx), msg)
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

// handle runs a job and acknowledges its message. A message that it cannot acknowledge is delivered again.
func (w *worker) handle(ctx context.Context, msg jetstream.Msg) {
	var j job
	if err := json.Unmarshal(msg.Data(), &j); err != nil {
		w.log.Error("dropped a message that is not a job", "reason", err)
		_ = msg.TermWithReason(err.Error())
		return
	}
	c, delay, err := w.q.claim(ctx, j, w.name)
	if c != nil {
		delay, err = w.run(ctx, c, j, msg)
	}
	if err == nil && delay == 0 {
		err = w.tidy(ctx, j, msg)
	}
	if err != nil {
		delay = 5 * time.Second
		w.log.Error("queue failed", "job", j.ID, "file", j.File, "reason", plain(err), "again_in", delay)
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

// run runs a claimed job and records how it ended. A delay above zero asks for another run after it.
func (w *worker) run(ctx context.Context, c *claim, j job, msg jetstream.Msg) (delay time.Duration, err error) {
	var transcription *aicontent.Transcription
	until, begin := c.before, time.Now()
	log := w.log.With("job", j.ID, "file", j.File, "run", c.record.Runs)
	if c.record.Lost >= patience {
		err = fmt.Errorf("gave up: %d runs ended without reporting", c.record.Lost)
	} else {
		working, stop := c.keep(ctx, msg)
		transcription, until, err = w.transcribe(working, c, j)
		stop()
	}
	if err == nil {
		err = patiently(ctx, func(ctx context.Context) error { return c.succeed(ctx, transcription) })
		if err == nil {
			log.Info("job done", "record", transcription.ID, "took", time.Since(begin).Round(time.Millisecond))
			return 0, nil
		}
		err = fmt.Errorf("store the text: %w", err)
	}
	state, delay := waiting, min(time.Second<<min(c.record.Runs, 10), c.lasts)
	if refused, ok := errors.AsType[*aicontent.APIError](err); ok {
		delay = max(delay, refused.RetryAfter)
		// A firewall may send a 403 of its own, which is not JSON and says nothing of the key.
		if refused.StatusCode == 401 || refused.StatusCode == 403 && json.Valid(refused.Body) {
			w.end(fmt.Errorf("the service refuses the API key: %w", refused))
		}
	}
	missing := errors.Is(err, jetstream.ErrObjectNotFound) && c.record.Runs > patience
	if hopeless(err) || missing || c.record.Lost >= patience {
		state, delay = dead, 0
		log.Error("job dead", "reason", plain(err))
	} else {
		log.Warn("job failed", "reason", plain(err), "again_in", delay)
	}
	return delay, patiently(ctx, func(ctx context.Context) error {
		return c.write(ctx, func(r *record) { r.State, r.Until, r.Reason = state, until, plain(err) })
	})
}

// transcribe fetches the file and transcribes it, unless an earlier run did. No request was sent after until.
func (w *worker) transcribe(ctx context.Context, c *claim, j job) (*aicontent.Transcription, time.Time, error) {
	file, err := os.CreateTemp("", "fleet-")
	if err != nil {
		return nil, c.before, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	_ = os.Remove(file.Name()) // now, where the system allows it, so that a killed worker leaves nothing
	if err := w.q.files.fetch(ctx, j.ID, io.NewOffsetWriter(file, 0)); err != nil {
		return nil, c.before, fmt.Errorf("fetch the file: %w", err)
	}
	t, err := w.client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: j.ID, File: aicontent.FileFromReader(filepath.Base(j.File), file), Language: j.Language,
	}, aicontent.WithOnceSince(c.before))
	outcome := aicontent.OutcomeOf(err)
	if outcome == aicontent.OutcomeNotSent || outcome == aicontent.OutcomeRejected {
		return nil, c.before, err
	}
	return t, time.Now(), err
}

// hopeless reports whether the job itself is the cause of err, so that no further run can succeed.
func hopeless(err error) bool {
	if refused, ok := errors.AsType[*aicontent.APIError](err); ok {
		return slices.Contains([]int{400, 409, 413, 415, 422}, refused.StatusCode)
	}
	return errors.Is(err, aicontent.ErrInvalid) || errors.Is(err, aicontent.ErrConflict)
}

// jargon is what errors say to programmers alone.
var jargon = regexp.MustCompile(`\btranscriptions\.[a-z]+: | \([^()]*\bWith\w*[A-Z][^()]*\)|` +
	`\b(dial|read|write) tcp ?\S*: ((connect|read|write): )?|\bl?stat `)

var words = strings.NewReplacer("context canceled", "interrupted", "context deadline exceeded", "no response in time")

// plain is the text of an error for people who do not program, with the cause first.
func plain(err error) string { return words.Replace(jargon.ReplaceAllString(err.Error(), "")) }
