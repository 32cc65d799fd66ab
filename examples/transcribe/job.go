package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
	"golang.org/x/sync/errgroup"
)

// A job transcribes recordings.
type job struct {
	options
	client         *aicontent.Client
	quick, patient *once.Client // of one journal; the calls of quick wait for nothing
	view           *view

	mu    sync.Mutex
	inRow int // consecutive failures that other recordings are likely to share
}

// maxInRow is how many of these failures end the run.
const maxInRow = 5

// errUnprinted ends the run: every other text has it, too.
var errUnprinted = errors.New("the texts cannot be printed")

// run transcribes the recordings and sets their results. Those that have to wait, mostly for the record of an upload of
// an earlier run, come last. It stops early if the context ends or the service seems to refuse everything.
func (j *job) run(ctx context.Context, recordings []*recording) {
	more, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	for _, names := range []*once.Client{j.quick, j.patient} {
		var inFlight errgroup.Group
		inFlight.SetLimit(j.parallel)
		for _, r := range recordings {
			if r.name == "" || r.later != (names == j.patient) {
				continue
			}
			inFlight.Go(func() error {
				if more.Err() != nil {
					return nil
				}
				r.result = j.one(ctx, names, r)
				j.view.printf("%s: %s\n", r, r.story())
				if why := j.verdict(r); why != nil {
					enough(why)
				}
				return nil
			})
		}
		_ = inFlight.Wait()
	}
	if more.Err() != nil && ctx.Err() == nil {
		j.view.printf("Stopped: %v.\n", context.Cause(more))
	}
}

// verdict returns a reason to try no further recordings, or nil.
func (j *job) verdict(r *recording) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case errors.Is(r.err, errUnprinted):
		return errUnprinted
	case errors.Is(r.err, aicontent.ErrUnauthorized):
		return errors.New("the API key was refused; see AICONTENT_API_KEY")
	case r.later && !r.billed: // The upload of an earlier run says nothing of the service.
	case aicontent.Retryable(r.err), errors.Is(r.err, aicontent.ErrForbidden), errors.Is(r.err, errUnsaved):
		if j.inRow++; j.inRow >= maxInRow {
			return fmt.Errorf("%d in a row failed", j.inRow)
		}
	default:
		j.inRow = 0
	}
	return nil
}

// one transcribes a recording and saves or prints its text.
func (j *job) one(ctx context.Context, names *once.Client, r *recording) result {
	t, err := j.transcribe(ctx, names, r)
	res := result{status: done, err: err, later: waits(err)}
	if err == nil {
		res.id, res.text, res.later = t.ID, t.Result, t.Result == "" // The text may come.
	}
	if res.later = res.later && names == j.quick; res.later {
		res.status = unfinished
		return res
	}
	text := strings.TrimRight(res.text, "\n") + "\n"
	switch {
	case res.err != nil:
	case j.out == "":
		res.err = j.view.print(r, text)
	default:
		for _, in := range r.inputs {
			res.err = errors.Join(res.err, save(filepath.Join(j.out, in.output), text))
		}
	}
	switch {
	case res.err != nil && ctx.Err() != nil:
		res.status = unfinished
	case res.err != nil:
		res.status = failed
	}
	return res
}

// waits reports whether a call ended only because it was not to wait. A run does not wait for a service that asks for
// hours.
func waits(err error) bool {
	e, ok := errors.AsType[*once.Error](err)
	return ok && errors.Is(err, once.ErrMaxWait) && e.ID == "" && asked(err) < time.Minute
}

// asked returns how long the service asks to wait.
func asked(err error) time.Duration {
	wait := time.Until(aicontent.RetryAt(err))
	if api, ok := errors.AsType[*aicontent.APIError](err); ok {
		wait = max(wait, api.RetryAfter)
	}
	return wait
}

// transcribe finds or creates the record. If a text is there, it must be that of a record: another one could not be
// saved, and would be paid for.
func (j *job) transcribe(ctx context.Context, names *once.Client, r *recording) (*aicontent.Transcription, error) {
	flight := j.view.begin(r)
	defer flight.end()
	for _, in := range r.inputs {
		path := filepath.Join(j.out, in.output)
		if _, err := os.Lstat(path); j.out == "" || err != nil {
			continue
		}
		t, err := names.Transcriptions.Find(ctx, r.name)
		if errors.Is(err, aicontent.ErrNotFound) {
			err = fmt.Errorf("%s is there, and the service has no text for it; move it away to have one made", path)
		}
		return j.oneOf(ctx, t, err)
	}
	bill := func(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
		return func(result aicontent.AttemptResult) {
			sent := a.Operation == aicontent.TranscriptionsStore
			r.billed = r.billed || sent && result.Outcome != aicontent.OutcomeNotExecuted
		}, nil
	}
	t, _, err := names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: r.name, File: aicontent.FileFromFS(r, r.sentName()),
		Description: j.description, Language: aicontent.CountryCode(j.language),
	}, aicontent.WithProgress(flight.progress), aicontent.WithAttemptHook(bill))
	return j.oneOf(ctx, t, err)
}

// oneOf returns one of several records with the name. They have the same content, since the name is its hash.
func (j *job) oneOf(ctx context.Context, t *aicontent.Transcription, err error) (*aicontent.Transcription, error) {
	if several, ok := errors.AsType[*aicontent.ConflictError](err); ok && len(several.IDs) > 1 {
		return j.client.Transcriptions.Show(ctx, several.IDs[len(several.IDs)-1])
	}
	return t, err
}
