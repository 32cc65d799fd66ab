package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/aicontent/aicontent-go"
)

// A job transcribes recordings.
type job struct {
	options
	client  *aicontent.Client
	journal *journal
	view    *view

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
}

// run transcribes the recordings and returns a result for each. It stops early when the context ends or the service
// seems to refuse everything.
func (j *job) run(outer context.Context, recordings []*recording) []result {
	// Recordings that an earlier run may have sent come last: most of the settle time has then passed.
	slices.SortStableFunc(recordings, func(a, b *recording) int {
		return j.journal.entry(a.name).Until.Compare(j.journal.entry(b.name).Until)
	})
	results := make([]result, len(recordings))
	for i, r := range recordings {
		results[i].recording = r
	}

	j.view.headings = len(recordings) > 1
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	go j.journal.keepAlive(ctx, stop)
	more, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	slots := make(chan struct{}, j.parallel)
	var wg sync.WaitGroup
	for i, r := range recordings {
		slots <- struct{}{}
		if more.Err() != nil {
			break
		}
		wg.Go(func() {
			results[i] = j.one(ctx, r)
			if why := j.verdict(results[i].err); why != nil {
				enough(why)
			}
			<-slots
		})
	}
	wg.Wait()
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
		j.inRow = 0
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
	return !errors.Is(err, aicontent.ErrFile) && (transport ||
		errors.Is(err, aicontent.ErrUnauthorized) || errors.Is(err, aicontent.ErrForbidden) ||
		errors.Is(err, aicontent.ErrRateLimited) || errors.Is(err, aicontent.ErrServer))
}

// one transcribes a recording and saves its text.
func (j *job) one(ctx context.Context, r *recording) result {
	line := j.view.begin(r, j.journal.entry(r.name).Until.Add(j.settle))
	res := j.transcribe(ctx, r, line)
	text := strings.TrimRight(res.text, "\n") + "\n"
	switch {
	case res.err != nil:
	case j.out == "":
		res.err = j.view.print(r, text)
	default:
		for _, in := range r.files() {
			res.err = errors.Join(res.err, replaceFile(filepath.Join(j.out, in.output), []byte(text), 0o666))
		}
	}
	switch {
	case res.err != nil && ctx.Err() != nil:
		res.status = unfinished
	case res.err != nil:
		res.status = failed
	}
	line.end(res)
	res.text = "" // saved or printed
	return res
}

// transcribe shows the record if the journal knows it, and otherwise finds or creates it.
func (j *job) transcribe(ctx context.Context, r *recording, line *line) result {
	known := j.journal.entry(r.name)
	if known.ID != "" {
		t, err := j.client.Transcriptions.Show(ctx, known.ID)
		switch {
		case err == nil && (t.Name == r.name || !strings.HasPrefix(t.Name, namePrefix)):
			return result{recording: r, status: found, id: t.ID, text: t.Result}
		case err != nil && !errors.Is(err, aicontent.ErrNotFound):
			return result{recording: r, err: err}
		}
		// It has been deleted, or another service at this address has given the ID to another recording.
	}
	var resp *aicontent.Response
	params := aicontent.TranscriptionStoreParams{
		Name:        r.name,
		File:        aicontent.FileFromFS(r, r.sentName()),
		Description: j.description,
		Language:    aicontent.CountryCode(j.language),
	}
	t, err := j.client.Transcriptions.Store(context.WithValue(ctx, nameKey{}, r.name), params,
		aicontent.WithOnceSince(known.Until), aicontent.WithProgress(line.progress), aicontent.WithResponse(&resp))
	conflict, several := errors.AsType[*aicontent.ConflictError](err)
	if several = several && len(conflict.IDs) > 1; several {
		t, err = j.oldest(ctx, conflict)
	}
	if err != nil {
		unwritten := j.journal.finish(r.name, "", err)
		return result{recording: r, err: errors.Join(err, unwritten)}
	}
	res := result{recording: r, status: made, id: t.ID, text: t.Result, err: j.journal.finish(r.name, t.ID, nil)}
	if several || resp.Found {
		res.status = found
	}
	return res
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
	outcome := aicontent.OutcomeOf(r.err)
	switch {
	case r.status == unfinished, errors.Is(r.err, errChanged):
		return true
	case r.status != failed || r.name == "" || r.id != "":
		return false
	}
	return aicontent.Temporary(r.err) || outcome == aicontent.OutcomeUnknown || outcome == aicontent.OutcomeDone
}
