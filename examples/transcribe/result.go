package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// A status is counted under its text.
type status string

const (
	notTried   status = "Not tried"
	unfinished status = "Interrupted"
	failed     status = "Failed"
	done       status = "Done"
)

// A result is the outcome for a recording.
type result struct {
	status status
	id     aicontent.ID
	text   string
	err    error // where it failed
	later  bool  // it has to wait, and is tried again after the others
}

// story returns the line of a recording in the end.
func (r *recording) story() string {
	switch {
	case r.later:
		return "its text is not there yet; looking for it when the others are done"
	case r.status == unfinished:
		return "interrupted"
	case r.status == failed:
		return "failed: " + explain(r.err)
	}
	return fmt.Sprintf("%s, id %s", strings.ToLower(r.bill()), r.id)
}

// bill says whether this run was billed for the record.
func (r *recording) bill() string {
	switch {
	case r.billed && r.id == "":
		return "Perhaps made"
	case r.billed:
		return "Made"
	case r.id != "":
		return "Found"
	}
	return ""
}

// explain returns the reason why a recording failed, and the state of its text.
func explain(err error) string {
	text := aicontent.Reason(err)
	disk, _ := errors.AsType[*fs.PathError](err)
	e, ok := errors.AsType[*once.Error](err)
	switch {
	case errors.Is(err, errChanged):
		text = errChanged.Error()
	case ok && disk != nil && !errors.Is(err, aicontent.ErrFile):
		text = "the journal cannot be used: " + disk.Error()
	}
	if wait := asked(err); wait > time.Minute {
		text += fmt.Sprintf("; the service asks to wait %v", wait.Round(time.Minute))
	}
	switch {
	case !ok:
	case e.Outcome() == aicontent.OutcomeUnknown:
		text += " (the text may still be created; the next run looks for it first)"
	case e.Outcome() == aicontent.OutcomeExecuted && e.Retryable():
		text += " (the text was made; if it was not deleted, the next run fetches it)"
	case e.Outcome() == aicontent.OutcomeExecuted:
		text += fmt.Sprintf(" (the text was made as %s, id %s; another -journal has it made anew)", e.Name, e.ID)
	}
	return printable(text)
}

// summarize prints the totals and the failures, and returns the exit status.
func summarize(w io.Writer, interrupted bool, recordings []*recording) int {
	count, files, different, again, refused := make(map[string]int), 0, 0, 0, false
	for _, r := range recordings {
		count[string(r.status)]++
		count[r.bill()]++
		files += len(r.inputs)
		if r.name != "" {
			different++
		}
		if r.status == unfinished || errors.Is(r.err, errChanged) || aicontent.Retryable(r.err) {
			again++
		}
		refused = refused || errors.Is(r.err, aicontent.ErrUnauthorized)
	}
	fmt.Fprintf(w, "\nFiles: %d. Different recordings: %d. Made: %d. Found: %d.",
		files, different, count["Made"], count["Found"])
	for _, label := range []string{"Perhaps made", string(notTried), string(unfinished), string(failed)} {
		if count[label] > 0 {
			fmt.Fprintf(w, " %s: %d.", label, count[label])
		}
	}
	fmt.Fprintln(w)
	for _, r := range recordings {
		if r.status == failed {
			fmt.Fprintf(w, "  %s: %s\n", r, explain(r.err))
		}
	}
	if interrupted || again > 0 {
		again += count[string(notTried)] // for the same reason
	}
	if again > 0 && !refused {
		fmt.Fprintf(w, "Run it again for %d of these.\n", again)
	}
	switch {
	case interrupted:
		return exitInterrupted
	case refused:
		return exitUsage
	case count[string(done)] < len(recordings):
		return exitSomeFailed
	}
	return exitDone
}
