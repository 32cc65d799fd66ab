package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

var (
	errNotTried    = errors.New("not tried")
	errLater       = errors.New("its text is not there yet; looking for it when the others are done")
	errInterrupted = errors.New("interrupted")
	errChanged     = errors.New("the file changed after it was first read; run again")
	errUnsaved     = errors.New("the text cannot be saved")
	errUnprinted   = errors.New("the texts cannot be printed")
	errRefused     = errors.New("the API key was refused; see AICONTENT_API_KEY")
)

func (r *recording) String() string { return printable(r.path) }

// printable returns a text, quoted if it has control characters: a file name must not look like another line, or move
// the cursor.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) {
		return strconv.Quote(text)
	}
	return text
}

// story returns the line of a recording in the end.
func (r *recording) story() string {
	switch r.err {
	case nil:
		return fmt.Sprintf("%s, id %s", strings.ToLower(r.status()), r.id)
	case errLater:
		return r.err.Error()
	}
	return "failed: " + explain(r.err)
}

// status returns the word under which the summary counts the recording.
func (r *recording) status() string {
	switch {
	case r.err == nil && r.billed:
		return "Made"
	case r.err == nil:
		return "Found"
	case r.err == errNotTried:
		return "Not tried"
	case r.err == errLater, r.err == errInterrupted:
		return "Interrupted"
	}
	return "Failed"
}

// explain returns the reason why a recording failed, and the state of its text.
func explain(err error) string {
	text := strings.Replace(aicontent.Reason(err), "the ledger", "the journal", 1)
	if disk, ok := errors.AsType[*fs.PathError](err); ok { // of the recording
		text = disk.Error()
	} else if errors.Is(err, aicontent.ErrFile) {
		text = errChanged.Error()
	}
	if wait := time.Until(aicontent.RetryAt(err)); wait > time.Minute {
		text += fmt.Sprintf("; the service asks to wait %v", wait.Round(time.Minute))
	}
	e, ok := errors.AsType[*once.Error](err)
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

// summarize prints the failures and the totals, and reports whether all texts are there. The first line of the totals
// counts each file once. The second one counts the records that this run has made, whatever became of their texts.
func summarize(w io.Writer, recordings []*recording, stopped error) bool {
	if stopped != nil {
		fmt.Fprintf(w, "Stopped: %v.\n", stopped)
	}
	fmt.Fprintln(w)
	count, billed, perhaps, again := make(map[string]int), 0, 0, 0
	for _, r := range recordings {
		count[r.status()]++
		switch {
		case r.billed && r.id != "":
			billed++
		case r.billed:
			perhaps++
		}
		if errors.Is(r.err, aicontent.ErrFile) || aicontent.Retryable(r.err) {
			again++
		}
		if r.status() == "Failed" {
			fmt.Fprintf(w, "  %s: %s\n", r, explain(r.err))
		}
	}
	fmt.Fprintf(w, "Files: %d. Made: %d. Found: %d.", len(recordings), count["Made"], count["Found"])
	for _, label := range []string{"Not tried", "Interrupted", "Failed"} {
		if count[label] > 0 {
			fmt.Fprintf(w, " %s: %d.", label, count[label])
		}
	}
	fmt.Fprintf(w, "\nBilled: %d.", billed)
	if perhaps > 0 {
		fmt.Fprintf(w, " Perhaps billed: %d.", perhaps)
	}
	fmt.Fprintln(w)
	if again += count["Not tried"] + count["Interrupted"]; again > 0 && stopped != errRefused {
		fmt.Fprintf(w, "Run it again for %d of these.\n", again)
	}
	return count["Made"]+count["Found"] == len(recordings)
}
