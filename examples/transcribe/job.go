package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// A job transcribes recordings.
type job struct {
	options
	client *aicontent.Client
	names  *once.Client
	view   *view

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
	found
	made
)

type result struct {
	*recording
	status status
	id     aicontent.ID
	text   string
	err    error // where it failed
	later  bool  // it has to wait, and is tried again when the others are done
}

// errLater ends a call that would wait while there are other recordings to transcribe.
var errLater = errors.New("an earlier upload may still become its text")

// errAsked ends a call if the service asks to wait for longer than the longest pause of a run.
var errAsked = errors.New("the service asks to wait")

const longest = time.Minute

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
	for _, patient := range []bool{false, true} {
		var wg sync.WaitGroup
		for i, r := range recordings {
			if results[i].later != patient {
				continue
			}
			slots <- struct{}{}
			if more.Err() != nil {
				<-slots
				break
			}
			wg.Go(func() {
				results[i] = j.one(outer, r, patient)
				if why := j.verdict(results[i].err); why != nil {
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
		j.view.line("Stopped: %v.", context.Cause(more))
	}
	j.view.close()
	return results
}

// verdict returns a reason to try no further recordings, or nil.
func (j *job) verdict(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case errors.Is(err, errUnprinted):
		return errUnprinted
	case errors.Is(err, aicontent.ErrUnauthorized):
		return errors.New("the API key was refused; see AICONTENT_API_KEY")
	case !serviceWide(err):
		if !errors.Is(err, errLater) { // which says nothing of the service
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
	_, transport := errors.AsType[*aicontent.TransportError](err)
	_, journal := errors.AsType[*fs.PathError](err)
	_, stored := errors.AsType[*once.Error](err)
	return !errors.Is(err, aicontent.ErrFile) && (transport || stored && journal ||
		errors.Is(err, aicontent.ErrUnauthorized) || errors.Is(err, aicontent.ErrForbidden) ||
		errors.Is(err, aicontent.ErrRateLimited) || errors.Is(err, aicontent.ErrServer))
}

// one transcribes a recording and saves its text. Unless it is patient, it puts the recording off where it would wait.
func (j *job) one(outer context.Context, r *recording, patient bool) result {
	ctx, putOff := context.WithCancelCause(outer)
	defer putOff(nil)
	line := j.view.begin(r)
	if !patient {
		line.putOff = func() { putOff(errLater) }
	}
	res := j.transcribe(context.WithValue(ctx, lineKey{}, line), r, line)
	text := strings.TrimRight(res.text, "\n") + "\n"
	switch {
	case res.err != nil:
	case j.out == "":
		res.err = j.view.print(r, text)
	default:
		for _, in := range r.files() {
			res.err = errors.Join(res.err, replaceFile(filepath.Join(j.out, in.output), []byte(text)))
		}
	}
	switch {
	case res.err != nil && outer.Err() != nil:
		res.status = unfinished
	case res.err != nil:
		res.status = failed
		res.later = res.id == "" && errors.Is(context.Cause(ctx), errLater) && !line.asked
	}
	line.end(res)
	res.text = "" // saved or printed
	return res
}

// transcribe finds or creates the record.
func (j *job) transcribe(ctx context.Context, r *recording, line *line) result {
	params := aicontent.TranscriptionStoreParams{
		Name:        r.name,
		File:        aicontent.FileFromFS(r, r.sentName()),
		Description: j.description,
		Language:    aicontent.CountryCode(j.language),
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	asked := func(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
		return func(result aicontent.AttemptResult) {
			// Whoever asks for an hour will not have the text before.
			if e, ok := errors.AsType[*aicontent.APIError](result.Err); ok && e.RetryAfter > longest {
				line.asked = true
				stop(errAsked)
			}
		}, nil
	}
	t, wasThere, err := j.names.Transcriptions.Store(ctx, params,
		aicontent.WithProgress(line.progress), aicontent.WithAttemptHook(asked))
	if conflict, ok := errors.AsType[*aicontent.ConflictError](err); ok && len(conflict.IDs) > 1 {
		wasThere = true
		t, err = j.oldest(ctx, conflict)
	}
	switch {
	case err != nil:
		return result{recording: r, err: err}
	case wasThere:
		return result{recording: r, status: found, id: t.ID, text: t.Result}
	}
	return result{recording: r, status: made, id: t.ID, text: t.Result}
}

// oldest returns the first of several records with a name. They have the same content, since the name is its hash.
func (j *job) oldest(ctx context.Context, several *aicontent.ConflictError) (*aicontent.Transcription, error) {
	params := aicontent.TranscriptionListParams{Search: several.Name, PerPage: aicontent.PerPage100}
	records, err := aicontent.Collect(j.client.Transcriptions.All(ctx, params))
	records = slices.DeleteFunc(records, func(t *aicontent.Transcription) bool { return t.Name != several.Name })
	if err != nil || len(records) == 0 {
		return nil, cmp.Or[error](err, several)
	}
	return j.client.Transcriptions.Show(ctx, slices.MinFunc(records, byAge).ID)
}

// byAge compares records by their time of creation, then by ID. Decimal IDs compare as numbers.
func byAge(a, b *aicontent.Transcription) int {
	x, y := strings.TrimLeft(string(a.ID), "0"), strings.TrimLeft(string(b.ID), "0")
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
}

// summarize prints the totals and the failures, and returns the exit status. Unread are the files and folders that
// could not be read.
func summarize(w io.Writer, interrupted bool, unread, results []result) int {
	var count [made + 1]int
	files, again, refused := 0, 0, false
	all := append(unread, results...)
	for _, r := range all {
		count[r.status]++
		files += len(r.files())
		if r.passing() {
			again++
		}
		refused = refused || errors.Is(r.err, aicontent.ErrUnauthorized)
	}
	fmt.Fprintf(w, "\nFiles: %d. Different recordings: %d. Made: %d. Found: %d.",
		files, len(results), count[made], count[found])
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
	case count[made]+count[found] < len(all):
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
	return aicontent.Temporary(r.err) || aicontent.OutcomeOf(r.err) == aicontent.OutcomeUnknown
}
