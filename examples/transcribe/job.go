package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
	"golang.org/x/sync/errgroup"
)

// A job transcribes recordings.
type job struct {
	paths                               []string
	out, journal, language, description string
	parallel                            int
	settle                              time.Duration

	recordings     []*recording
	client         *aicontent.Client
	quick, patient *once.Client // of one journal; the calls of quick wait for nothing
	view           *view
	inRow          atomic.Int64 // consecutive failures that other recordings are likely to share
}

// maxInRow is how many of these failures end the run.
const maxInRow = 5

// run transcribes the recordings and sets their errors. A recording that has to wait comes last, such as one of an
// earlier run. The error is the reason why the others would fail, too, and ends the run early.
func (j *job) run(ctx context.Context) error {
	takes := errNotTried
	for _, names := range []*once.Client{j.quick, j.patient} {
		inFlight, more := errgroup.WithContext(ctx)
		inFlight.SetLimit(j.parallel)
		for _, r := range j.recordings {
			if r.err != takes {
				continue
			}
			inFlight.Go(func() error {
				if more.Err() != nil {
					return nil
				}
				if r.err = j.one(ctx, names, r); r.err != errInterrupted { // The summary counts those.
					j.view.lines.Printf("%s: %s", r, r.story())
				}
				return j.verdict(r)
			})
		}
		if why := inFlight.Wait(); why != nil {
			return why
		}
		takes = errLater
	}
	return nil
}

// verdict returns a reason to try no further recordings, or nil.
func (j *job) verdict(r *recording) error {
	switch {
	case errors.Is(r.err, errUnprinted):
		return errUnprinted
	case errors.Is(r.err, aicontent.ErrUnauthorized):
		return errRefused
	case r.err == errLater && !r.billed: // The upload of an earlier run says nothing of the service.
	case r.err == errLater, aicontent.Retryable(r.err), errors.Is(r.err, aicontent.ErrForbidden),
		errors.Is(r.err, errUnsaved):
		if j.inRow.Add(1) == maxInRow {
			return fmt.Errorf("%d in a row failed", maxInRow)
		}
	default:
		j.inRow.Store(0)
	}
	return nil
}

// one transcribes a recording and saves or prints its text.
func (j *job) one(ctx context.Context, names *once.Client, r *recording) error {
	t, err := j.transcribe(ctx, names, r)
	later := errors.Is(err, once.ErrMaxWait)
	if err == nil {
		r.id, later = t.ID, t.Result == "" // The text may come.
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return errInterrupted
	case later && names == j.quick:
		return errLater
	case err != nil:
		return err
	}
	text := strings.TrimRight(t.Result, "\n") + "\n"
	if j.out != "" {
		return save(r.output, text)
	}
	if len(j.recordings) > 1 {
		text = fmt.Sprintf("# %s\n%s\n", r, text)
	}
	if err := j.view.texts.Output(0, text); err != nil {
		return fmt.Errorf("%w: %v", errUnprinted, err)
	}
	return nil
}

// transcribe finds or creates the record. If a text is there, it must be that of a record: another one could not be
// saved, and would be paid for.
func (j *job) transcribe(
	ctx context.Context, names *once.Client, r *recording,
) (t *aicontent.Transcription, err error) {
	flight := j.view.begin(r)
	defer flight.bar.Abort(true)
	if err := j.identify(ctx, r); err != nil {
		return nil, err
	}
	if _, missing := os.Lstat(r.output); j.out != "" && missing == nil {
		t, err = names.Transcriptions.Find(ctx, r.name)
		if errors.Is(err, aicontent.ErrNotFound) {
			err = fmt.Errorf("%s is there, and the service has no text for it; move it away to have one made", r.output)
		}
	} else {
		var found bool
		t, found, err = names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
			Name: r.name, File: aicontent.FileFromFS(r, r.name+filepath.Ext(r.path)),
			Description: j.description, Language: aicontent.CountryCode(j.language),
		}, aicontent.WithProgress(flight.progress))
		sent := flight.last.Load().Total > 0
		r.billed = r.billed || sent && !found && aicontent.OutcomeOf(err) != aicontent.OutcomeNotExecuted
		if err == nil && !found && t.Result == "" && names == j.patient {
			return j.awaitText(ctx, t.ID)
		}
	}
	// Several records with the name have the same content, since the name is its hash.
	if several, ok := errors.AsType[*aicontent.ConflictError](err); ok && len(several.IDs) > 1 {
		return j.client.Transcriptions.Show(ctx, several.IDs[len(several.IDs)-1])
	}
	return t, err
}

// awaitText waits for the text of a new record for the settle time, as package once does for a found record. A silent
// recording may never get one.
func (j *job) awaitText(ctx context.Context, id aicontent.ID) (*aicontent.Transcription, error) {
	waiting, cancel := context.WithTimeout(ctx, j.settle)
	defer cancel()
	t, err := j.client.Transcriptions.Wait(waiting, id)
	if t != nil && waiting.Err() != nil && ctx.Err() == nil {
		return t, nil
	}
	return t, err
}
