package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

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
	notRead // so that nothing was sent
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
	results := make([]result, len(recordings))
	order := make([]int, len(recordings))
	for i, r := range recordings {
		results[i].recording, order[i] = r, i
	}
	// Recordings that an earlier run may have sent come last: most of the settle time has then passed.
	slices.SortStableFunc(order, func(a, b int) int {
		return j.journal.entry(recordings[a].name).Until.Compare(j.journal.entry(recordings[b].name).Until)
	})

	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	if j.journal.file != nil {
		go j.journal.keepAlive(ctx, stop)
	}
	more, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	slots := make(chan struct{}, j.parallel)
	var wg sync.WaitGroup
	for _, i := range order {
		slots <- struct{}{}
		if more.Err() != nil {
			break
		}
		wg.Go(func() {
			results[i] = j.one(ctx, recordings[i])
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
	if !serviceWide(err) {
		j.inRow = 0
		return nil
	}
	j.inRow++
	switch {
	case errors.Is(err, aicontent.ErrUnauthorized):
		return errors.New("the API key was refused; see AICONTENT_API_KEY")
	case j.inRow >= maxInRow:
		return fmt.Errorf("%d in a row failed", j.inRow)
	}
	return nil
}

// serviceWide reports whether other recordings are likely to fail in the same way.
func serviceWide(err error) bool {
	_, file := errors.AsType[*fs.PathError](err)
	_, transport := errors.AsType[*aicontent.TransportError](err)
	return !file && !errors.Is(err, errChanged) && (transport ||
		errors.Is(err, aicontent.ErrUnauthorized) || errors.Is(err, aicontent.ErrForbidden) ||
		errors.Is(err, aicontent.ErrRateLimited) || errors.Is(err, aicontent.ErrServer))
}

// one transcribes a recording and saves its text.
func (j *job) one(ctx context.Context, r *recording) result {
	line := j.view.begin(r, j.journal.entry(r.name).Until.Add(j.settle))
	res := j.transcribe(ctx, r, line)
	if res.err == nil && j.out != "" {
		for _, in := range append([]input{r.input}, r.copies...) {
			res.err = errors.Join(res.err, saveText(filepath.Join(j.out, in.output), res.text))
		}
	}
	switch {
	case res.err != nil && ctx.Err() != nil:
		res.status = unfinished
	case res.err != nil:
		res.status = failed
	}
	line.end(res)
	if j.out != "" {
		res.text = "" // saved
	}
	return res
}

// transcribe shows the record if the journal knows it, and otherwise finds or creates it.
func (j *job) transcribe(ctx context.Context, r *recording, line *line) result {
	known := j.journal.entry(r.name)
	if known.ID != "" {
		t, err := j.client.Transcriptions.Show(ctx, known.ID)
		switch {
		case err == nil:
			return result{recording: r, status: found, id: t.ID, text: t.Result}
		case !errors.Is(err, aicontent.ErrNotFound):
			return result{recording: r, err: err}
		}
		// It has been deleted: create it again.
	}
	// The run that had until then is over.
	lastTry := slices.MinFunc([]time.Time{known.Until, time.Now()}, time.Time.Compare)
	var resp *aicontent.Response
	t, err := j.client.Transcriptions.Store(journalled(ctx, r.name), aicontent.TranscriptionStoreParams{
		Name:        r.name,
		File:        aicontent.FileFromFS(r, filepath.Base(r.path)),
		Description: j.description,
		Language:    aicontent.CountryCode(j.language),
	}, aicontent.WithOnceSince(lastTry), aicontent.WithProgress(line.progress), aicontent.WithResponse(&resp))
	if err != nil {
		unwritten := j.journal.finish(r.name, "", err)
		return result{recording: r, err: errors.Join(err, unwritten)}
	}
	res := result{recording: r, status: made, id: t.ID, text: t.Result, err: j.journal.finish(r.name, t.ID, nil)}
	if resp.Found {
		res.status = found
	}
	return res
}

// saveText writes a text as a file that ends with a line break.
func saveText(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return replaceFile(path, []byte(strings.TrimRight(text, "\n")+"\n"), 0o666)
}

// printTexts prints the texts, with the file names above each if there is more than one.
func printTexts(stdout io.Writer, results []result) error {
	w := bufio.NewWriter(stdout)
	between := ""
	for _, r := range results {
		if r.status < found {
			continue
		}
		if len(results) > 1 {
			fmt.Fprint(w, between)
			between = "\n"
			for _, in := range append([]input{r.input}, r.copies...) {
				fmt.Fprintf(w, "# %s\n", in.path)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(r.text, "\n"))
	}
	return w.Flush()
}

// summarize prints the totals and the failures, and returns the exit status.
func summarize(w io.Writer, interrupted bool, results []result) int {
	var count [made + 1]int
	files, again, refused := 0, 0, false
	for _, r := range results {
		count[r.status]++
		files += 1 + len(r.copies)
		if r.passing() {
			again++
		}
		refused = refused || errors.Is(r.err, aicontent.ErrUnauthorized)
	}
	if files == 0 {
		fmt.Fprintln(w, "There are no recordings.")
		return exitDone
	}
	fmt.Fprintf(w, "\nFiles: %d. Different recordings: %d. Made: %d. Found: %d.",
		files, len(results)-count[notRead], count[made], count[found])
	count[failed] += count[notRead]
	missing := 0
	for s := failed; s >= notTried; s-- {
		if missing += count[s]; count[s] > 0 {
			fmt.Fprintf(w, " %s: %d.", [...]string{"Not tried", "Interrupted", "Failed"}[s], count[s])
		}
	}
	fmt.Fprintln(w)
	for _, r := range results {
		if r.status == failed || r.status == notRead {
			fmt.Fprintf(w, "  %s: %s\n", r.path, plain(r.err))
		}
	}
	if interrupted || again > 0 {
		again += count[notTried] // for the same reason
	}
	switch {
	case refused || again == 0:
	case again == missing:
		fmt.Fprintln(w, "Run it again for the rest. Nothing is paid for twice.")
	default:
		fmt.Fprintf(w, "Run it again for %d of these. Nothing is paid for twice.\n", again)
	}
	switch {
	case interrupted:
		return exitInterrupted
	case refused:
		return exitUsage
	case missing > 0:
		return exitSomeFailed
	}
	return exitDone
}

// passing reports whether another run may get the text though nobody changes anything.
func (r result) passing() bool {
	switch {
	case r.status == unfinished, errors.Is(r.err, errChanged):
		return true
	case r.status != failed || r.id != "" || errors.Is(r.err, aicontent.ErrForbidden):
		return false
	}
	outcome := aicontent.OutcomeOf(r.err)
	return serviceWide(r.err) || outcome == aicontent.OutcomeUnknown || outcome == aicontent.OutcomeDone
}

// goNames are the operations, functions and hints in errors of the SDK, which are for programmers.
var goNames = regexp.MustCompile(`(aicontent|transcriptions)\.\w+: | \([^()]*With(out)?[A-Z].*?\)|WithOnce: `)

var plainWords = strings.NewReplacer(
	"outcome unknown: it may have been created", "the text may still be made; the next run looks for it first",
	"outcome done: it was created", "the text was made; run again to fetch it",
)

// plain is the text of an error for people who do not program.
func plain(err error) string { return plainWords.Replace(goNames.ReplaceAllString(err.Error(), "")) }
