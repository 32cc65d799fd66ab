package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// A worker runs jobs, several at a time.
type worker struct {
	q     *queue
	names *once.Client
	log   *slog.Logger
	end   context.CancelCauseFunc // takes no further jobs
}

func workCommand(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("fleet work", flag.ContinueOnError)
	concurrency := flags.Int("concurrency", 4, "`number` of recordings at a time")
	perSecond := flags.Float64("rate", 10, "`number` of requests per second of this worker")
	settle := flags.Duration("settle", 15*time.Minute, "at least the `time` of the longest transcription")
	natsContext, err := parse(flags, args, out)
	switch {
	case err != nil:
		return err
	case flags.NArg() > 0:
		return usagef("work takes no arguments, but got %q", flags.Arg(0))
	case *concurrency < 1 || !(*perSecond >= 0.1 && *perSecond <= 1e6) || *settle < time.Second:
		return usagef("-concurrency must be at least 1, -rate 0.1 to 1000000 and -settle at least 1s, not %d, %v and %v",
			*concurrency, *perSecond, *settle)
	}
	client, err := aicontent.NewClientFromEnv(aicontent.WithUserAgent("aicontent-fleet"),
		aicontent.WithRateLimiter(rate.NewLimiter(rate.Limit(*perSecond), 1)))
	if err != nil {
		return usageError{err}
	}
	q, err := openQueue(ctx, natsContext, 0)
	if err != nil {
		return err
	}
	defer q.close()
	log := slog.New(slog.NewTextHandler(errOut, nil))
	// A job whose earlier request may still become its record waits in the queue, and others have its slot.
	names, err := once.New(client, ledger{q.ledger},
		once.WithSettleTime(*settle), once.WithMaxWait(0), once.WithLogger(log))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		fmt.Fprintln(errOut, "Finishing the running jobs. Interrupt again to leave them to other workers.")
	})()
	w := &worker{q: q, names: names, log: log}
	return w.work(ctx, *concurrency)
}

// work runs jobs until ctx ends, or the service refuses the worker, which is its error. It then finishes the running
// jobs.
func (w *worker) work(ctx context.Context, concurrency int) error {
	taking, end := context.WithCancelCause(ctx)
	defer end(nil)
	w.end = end
	var slots sync.WaitGroup
	for range concurrency {
		slots.Go(func() {
			for taking.Err() == nil {
				w.next(taking)
			}
		})
	}
	slots.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(taking)
}

// refused reports whether the service would refuse every job, because the key or the address is wrong.
func refused(err error) bool {
	denied := errors.Is(err, aicontent.ErrForbidden) || errors.Is(err, aicontent.ErrNotFound)
	return errors.Is(err, aicontent.ErrUnauthorized) || denied && !aicontent.Retryable(err)
}

// next waits some seconds for a job and runs it. An interrupt does not end a job that has begun.
func (w *worker) next(taking context.Context) {
	fetch, cancel := context.WithTimeout(taking, 5*time.Second)
	defer cancel()
	msg, err := w.q.workers.Next(jetstream.FetchContext(fetch))
	idle := errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
	switch {
	case err == nil:
		w.handle(context.WithoutCancel(taking), msg)
	case taking.Err() == nil && !idle:
		w.log.Warn("could not get a job", "reason", err)
		_ = pause(taking, time.Second)
	}
}

// handle runs the job of a message, writes down how it ended, and removes its file and the message. If that fails, or
// the worker is killed, the message comes again, and its result is found if there is one.
func (w *worker) handle(ctx context.Context, msg jetstream.Msg) {
	ctx, release := context.WithCancel(ctx)
	defer release()
	go w.hold(ctx, msg)
	id := strings.TrimPrefix(msg.Subject(), jobSubject)
	j, err := w.q.result(ctx, id)
	if err == nil && j.State == "" {
		if err = json.Unmarshal(msg.Data(), &j); err == nil {
			err = w.run(ctx, id, &j)
		}
		if err == nil {
			err = w.q.end(ctx, id, &j)
		}
	}
	if err == nil {
		err = w.q.removeFile(ctx, id)
	}
	if err == nil {
		err = msg.Ack()
	}
	log := w.log.With("job", id, "file", j.File)
	switch {
	case err != nil:
		again := pauseAfter(err, msg)
		log.Warn("job waits", "reason", aicontent.Reason(err), "again_in", again.Round(time.Second))
		_ = msg.NakWithDelay(again)
	case j.State == dead:
		log.Error("job dead", "reason", j.Reason)
	default:
		log.Info("job done", "record", j.Record)
	}
}

// hold tells the queue that a job is in progress, so that it is not delivered again, until ctx ends.
func (w *worker) hold(ctx context.Context, msg jetstream.Msg) {
	for pause(ctx, w.q.workers.CachedInfo().Config.AckWait/6) == nil {
		_ = msg.InProgress()
	}
}

// pauseAfter returns the time until the job of a message runs again, after a run that ended with err.
func pauseAfter(err error, msg jetstream.Msg) time.Duration {
	if at := aicontent.RetryAt(err); !at.IsZero() {
		return max(time.Until(at), 0) + rand.N(time.Second)
	}
	longest := time.Minute
	if metadata, err := msg.Metadata(); err == nil && metadata.NumDelivered < 6 {
		longest = time.Second << metadata.NumDelivered
	}
	return longest/2 + rand.N(longest/2)
}

// extension matches the part of a file's name that the service gets. The rest may have any characters.
var extension = regexp.MustCompile(`\.\w+$`)

// run transcribes the file of a job, and sets how the job ended. An error means that it must run again.
func (w *worker) run(ctx context.Context, id string, j *job) error {
	file, err := os.CreateTemp("", "fleet-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	_ = os.Remove(file.Name()) // now, where the system allows it, so that a killed worker leaves nothing
	err = w.q.fetch(ctx, id, j.Language, file)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound), errors.Is(err, jetstream.ErrDigestMismatch):
		j.State, j.Reason = dead, "the queue has lost the file: produce it again"
		return nil
	case err != nil:
		return fmt.Errorf("fetch the file: %w", err)
	}
	t, _, err := w.names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: id, File: aicontent.FileFromReader(id+extension.FindString(j.File), file), Language: j.Language,
	})
	switch {
	case err == nil:
		j.State, j.Record = done, t.ID
	case refused(err):
		w.end(err)
		return err // for a worker with another key
	case aicontent.Retryable(err):
		return err
	default:
		j.State, j.Reason = dead, aicontent.Reason(err)
	}
	return nil
}
