package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// A job transcribes recordings.
type job struct {
	options
	client         *aicontent.Client
	quick, patient *once.Client // of one journal; the calls of quick wait for nothing
	view           *view

	mu    sync.Mutex
	inRow int // consecutive failures that are not about a single recording
}

// maxInRow is how many of these failures end the run.
const maxInRow = 5

// status is the result for one recording.
type status int

const (
	notTried status = iota
	unfinished
	failed
	done
)

type result struct {
	*recording
	status status
	id     aicontent.ID
	text   string
	err    error // where it failed
	later  bool  // it has to wait, and is tried again when the others are done
}

// run transcribes the recordings and returns a result for each. Those that have to wait, mostly for what became of an
// upload of an earlier run, come last. It stops early when the context ends or the service seems to refuse everything.
func (j *job) run(outer context.Context, recordings []*recording) []result {
	results := make([]result, len(recordings))
	for i, r := range recordings {
		results[i].recording = r
	}
	j.view.headings = len(recordings) > 1
	more, enough := context.WithCancelCause(outer)
	defer enough(nil)
	slots := make(chan struct{}, j.parallel)
	for _, names := range []*once.Client{j.quick, j.patient} {
		var wg sync.WaitGroup
		for i := range results {
			if results[i].later != (names == j.patient) {
				continue
			}
			slots <- struct{}{}
			if more.Err() != nil {
				<-slots
				break
			}
			wg.Go(func() {
				results[i] = j.one(outer, names, results[i])
				if why := j.verdict(results[i]); why != nil {
					enough(why)
				}
				<-slots
			})
		}
		wg.Wait()
	}
	for i := range results {
		if results[i].later && outer.Err() != nil {
			results[i].status = unfinished
		}
	}
	if more.Err() != nil && outer.Err() == nil {
		fmt.Fprintf(j.view, "Stopped: %v.\n", context.Cause(more))
	}
	return results
}

// verdict returns a reason to try no further recordings, or nil.
func (j *job) verdict(res result) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case errors.Is(res.err, errTexts):
		return errTexts
	case errors.Is(res.err, aicontent.ErrUnauthorized):
		return errors.New("the API key was refused; see AICONTENT_API_KEY")
	case !serviceWide(res.err):
		if !res.later { // which says nothing of the service
			j.inRow = 0
		}
		return nil
	}
	if j.inRow++; j.inRow >= maxInRow {
		return fmt.Errorf("%d in a row failed", j.inRow)
	}
	return nil
}

// serviceWide reports whether other recordings are likely to fail in the same way.
func serviceWide(err error) bool {
	_, transport := errors.AsType[*aicontent.CallError](err)
	_, journal := errors.AsType[*fs.PathError](err)
	_, stored := errors.AsType[*once.Error](err)
	return !errors.Is(err, aicontent.ErrFile) && (transport || stored && journal ||
		errors.Is(err, aicontent.ErrUnauthorized) || errors.Is(err, aicontent.ErrForbidden) ||
		errors.Is(err, aicontent.ErrRateLimited) || errors.Is(err, aicontent.ErrServer))
}

// one transcribes a recording and saves or prints its text. Before is the result of the call that did not wait.
func (j *job) one(ctx context.Context, names *once.Client, before result) result {
	r := before.recording
	j.view.begin(before)
	t, err := j.transcribe(ctx, names, r)
	res := result{recording: r, status: done, err: err, later: waits(err)}
	if err == nil {
		res.id, res.text = t.ID, t.Result
		res.later = t.Result == "" // it may come
	}
	res.later = res.later && names == j.quick
	text := strings.TrimRight(res.text, "\n") + "\n"
	switch {
	case res.err != nil || res.later:
	case j.out == "":
		res.err = j.view.print(r, text)
	default:
		for _, in := range r.files() {
			res.err = errors.Join(res.err, save(filepath.Join(j.out, in.output), text))
		}
	}
	switch {
	case res.err != nil && ctx.Err() != nil:
		res.status = unfinished
	case res.err != nil:
		res.status = failed
	}
	j.view.end(res)
	return res
}

// waits reports whether a call has ended only because it was not to wait. It does not help to wait for a service that
// asks for hours, or whose firewall was in between.
func waits(err error) bool {
	e, ok := errors.AsType[*once.Error](err)
	api, _ := errors.AsType[*aicontent.APIError](err)
	hopeless := api != nil && (api.StatusCode < 500 || api.RetryAfter > time.Minute)
	return ok && e.Retryable() && !e.Until.IsZero() && e.ID == "" && !hopeless
}

// transcribe finds or creates the record. If a text is there, it must be that of a record: another one could not be
// saved, and would be paid for.
func (j *job) transcribe(ctx context.Context, names *once.Client, r *recording) (*aicontent.Transcription, error) {
	var t *aicontent.Transcription
	var err error
	bill := func(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
		if a.Operation != aicontent.TranscriptionsStore {
			return nil, nil
		}
		return func(result aicontent.AttemptResult) {
			billed := result.Outcome == aicontent.OutcomeExecuted || result.Outcome == aicontent.OutcomeUnknown
			r.billed = r.billed || billed
		}, nil
	}
	if text := j.existing(r); text != "" {
		if t, err = names.Transcriptions.Find(ctx, r.name); errors.Is(err, aicontent.ErrNotFound) {
			err = fmt.Errorf("%s is there, and the service has no text for it; move it away to have one made", text)
		}
	} else {
		t, _, err = names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
			Name:        r.name,
			File:        aicontent.FileFromFS(r, r.sentName()),
			Description: j.description,
			Language:    aicontent.CountryCode(j.language),
		}, aicontent.WithProgress(j.view.progress(r)), aicontent.WithAttemptHook(bill))
	}
	if several, ok := errors.AsType[*aicontent.ConflictError](err); ok && len(several.IDs) > 1 {
		// They have the same content, since the name is its hash.
		return j.client.Transcriptions.Show(ctx, several.IDs[len(several.IDs)-1])
	}
	return t, err
}

// existing is the path of a text of the recording that is there, or empty.
func (j *job) existing(r *recording) string {
	for _, in := range r.files() {
		path := filepath.Join(j.out, in.output)
		if _, err := os.Lstat(path); j.out != "" && err == nil {
			return path
		}
	}
	return ""
}

// summarize prints the totals and the failures, and returns the exit status. Unread are the files and folders that
// could not be read.
func summarize(w io.Writer, interrupted bool, unread, results []result) int {
	var count [done + 1]int
	files, again, made, found, perhaps, refused := 0, 0, 0, 0, 0, false
	all := append(unread, results...)
	for _, r := range all {
		count[r.status]++
		files += len(r.files())
		if r.passing() {
			again++
		}
		refused = refused || errors.Is(r.err, aicontent.ErrUnauthorized)
		switch outcome := aicontent.OutcomeOf(r.err); {
		case r.billed && (r.id != "" || outcome == aicontent.OutcomeExecuted):
			made++
		case r.billed && outcome == aicontent.OutcomeUnknown:
			perhaps++
		case r.id != "":
			found++
		}
	}
	fmt.Fprintf(w, "\nFiles: %d. Different recordings: %d. Made: %d. Found: %d.", files, len(results), made, found)
	if perhaps > 0 {
		fmt.Fprintf(w, " Perhaps made: %d.", perhaps)
	}
	for s, label := range [...]string{"Not tried", "Interrupted", "Failed"} {
		if count[s] > 0 {
			fmt.Fprintf(w, " %s: %d.", label, count[s])
		}
	}
	fmt.Fprintln(w)
	for _, r := range all {
		if r.status == failed {
			fmt.Fprintf(w, "  %s: %s\n", r, plain(r.err))
		}
	}
	if interrupted || again > 0 {
		again += count[notTried] // for the same reason
	}
	if again > 0 && !refused {
		fmt.Fprintf(w, "Run it again for %d of these.\n", again)
	}
	switch {
	case interrupted:
		return exitInterrupted
	case refused:
		return exitUsage
	case count[done] < len(all):
		return exitSomeFailed
	}
	return exitDone
}

// passing reports whether another run may get the text though nobody changes anything.
func (r result) passing() bool {
	switch {
	case r.status == unfinished, errors.Is(r.err, errChanged):
		return true
	case r.status != failed || r.name == "" || r.id != "":
		return false
	}
	return aicontent.Retryable(r.err) || aicontent.OutcomeOf(r.err) == aicontent.OutcomeUnknown
}
