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
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

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
}

// work runs jobs until ctx ends, and then finishes the running ones. If no job can run, it ends with an error.
func work(ctx context.Context, args []string, out io.Writer) error {
	flags, natsContext := newFlags("work")
	concurrency := flags.Int("concurrency", 4, "`number` of recordings at a time")
	perSecond := flags.Float64("rate", 10, "`number` of requests per second of this worker")
	settle := flags.Duration("settle", 15*time.Minute, "at least the `time` of the longest transcription")
	flags.Parse(args)
	switch {
	case flags.NArg() > 0:
		return usagef("work takes no arguments, but got %q", flags.Arg(0))
	case *concurrency < 1 || !(*perSecond >= 0.1 && *perSecond <= 1e6) || *settle < time.Second:
		return usagef("-concurrency must be at least 1, -rate 0.1 to 1000000 and -settle at least 1s, "+
			"not %d, %v and %v", *concurrency, *perSecond, *settle)
	}
	client, err := aicontent.NewClientFromEnv(aicontent.WithUserAgent("aicontent-fleet"),
		aicontent.WithRateLimiter(rate.NewLimiter(rate.Limit(*perSecond), 1)))
	if err != nil {
		return usageError{err}
	}
	q, err := openQueue(ctx, *natsContext, 0)
	if err != nil {
		return err
	}
	defer q.close()
	log := slog.New(slog.NewTextHandler(out, nil))
	// A job whose earlier request may still become its record waits in the queue, and others have its slot.
	names, err := once.New(client, q.ledger, once.WithSettleTime(*settle), once.WithMaxWait(0), once.WithLogger(log))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { log.Info("finishing the running jobs; a second signal ends the worker") })()
	w := &worker{q, names, log}
	taking, end := context.WithCancelCause(ctx)
	defer end(nil)
	var slots sync.WaitGroup
	for range *concurrency {
		slots.Go(func() { end(w.take(taking)) })
	}
	slots.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(taking)
}

// take runs jobs, one after another, until taking ends or no job can run. It interrupts no running job.
func (w *worker) take(taking context.Context) error {
	for taking.Err() == nil {
		fetch, cancel := context.WithTimeout(taking, 5*time.Second)
		msg, err := w.q.workers.Next(jetstream.FetchContext(fetch))
		cancel()
		if err != nil { // there is no job, or NATS cannot be reached
			_ = pause(taking, time.Second)
		} else if err := w.handle(context.WithoutCancel(taking), msg); refused(err) {
			return err
		}
	}
	return nil
}

// handle advances the job of a message. If that fails, or the worker is killed, the message comes again.
func (w *worker) handle(ctx context.Context, msg jetstream.Msg) error {
	ctx, release := context.WithCancel(ctx)
	defer release()
	go func() {
		for pause(ctx, w.q.workers.CachedInfo().Config.AckWait/6) == nil {
			_ = msg.InProgress() // which keeps it from other workers
		}
	}()
	id := strings.TrimPrefix(msg.Subject(), jobSubject)
	err := w.advance(ctx, id, msg)
	if err == nil {
		return msg.Ack()
	}
	again := pauseAfter(err, msg)
	w.log.Warn("job waits", "job", id, "reason", aicontent.Reason(err), "again_in", again.Round(time.Second))
	_ = msg.NakWithDelay(again)
	return err
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

// refused reports whether the service would refuse every job, because the key or the address is wrong.
func refused(err error) bool {
	denied := errors.Is(err, aicontent.ErrForbidden) || errors.Is(err, aicontent.ErrNotFound)
	return errors.Is(err, aicontent.ErrUnauthorized) || denied && !aicontent.Retryable(err)
}

// unsearched reports whether a search for the record failed. That is no reply about the recording: another run costs
// nothing, and may meet a service that is mended.
func unsearched(err error) bool {
	_, unreadable := errors.AsType[*aicontent.DecodeError](err)
	response, ok := errors.AsType[*aicontent.APIError](err)
	return unreadable || ok && response.Method == http.MethodGet
}

// advance runs the queued job of a message and saves how it ended. It removes the file of a job that has ended. The
// message is the job's entry. A replica may send it before the leader, which answers load, has it.
func (w *worker) advance(ctx context.Context, id string, msg jetstream.Msg) error {
	if len(msg.Data()) == 0 { // an operator has deleted the job
		return nil
	}
	var j job
	metadata, err := msg.Metadata()
	if err = cmp.Or(err, json.Unmarshal(msg.Data(), &j)); err != nil {
		return err
	}
	if j.State == queued {
		version := strconv.FormatUint(metadata.Sequence.Stream, 10)
		if j, err = w.run(ctx, id, j); err != nil {
			return err
		}
		if err := w.q.save(ctx, id, j, version); err != nil {
			return fmt.Errorf("save the result: %w", err)
		}
		w.log.Info("job "+j.State, "job", id, "file", j.File, "record", j.Record, "reason", j.Reason)
	}
	if err := w.q.remove(ctx, j); err != nil {
		return fmt.Errorf("remove the file: %w", err)
	}
	return nil
}

// extension matches the part of a file's name that the service gets. The rest may have any characters.
var extension = regexp.MustCompile(`\.\w+$`)

// run transcribes the file of a job, and returns the job as it ended. An error means that it must run again.
func (w *worker) run(ctx context.Context, id string, j job) (job, error) {
	file, err := os.CreateTemp("", "fleet-")
	if err != nil {
		return j, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	_ = os.Remove(file.Name()) // now, where the system allows it, so that a killed worker leaves nothing
	err = w.q.fetch(ctx, j, file)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound), errors.Is(err, jetstream.ErrDigestMismatch):
		j.State, j.Reason = dead, "the queue has lost the file: produce it again"
		return j, nil
	case err != nil:
		return j, fmt.Errorf("fetch the file: %w", err)
	}
	t, _, err := w.names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: id, Language: j.Language,
		File: aicontent.FileFromReader(id+extension.FindString(j.File), io.NewSectionReader(file, 0, j.Size)),
	})
	switch {
	case err == nil:
		j.State, j.Record = done, t.ID
	case aicontent.Retryable(err), refused(err), unsearched(err):
		return j, err
	default:
		j.State, j.Reason = dead, aicontent.Reason(err)
	}
	return j, nil
}
