package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// A view prints texts, and lines that say how the recordings are going.
type view struct {
	mu       sync.Mutex
	w        io.Writer // of the lines
	texts    io.Writer
	headings bool   // above each text
	between  string // what comes before the next text
}

// Write writes a line.
func (v *view) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.w.Write(p)
}

// print prints a text, below the names of its files if there are several texts.
func (v *view) print(r *recording, text string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	heading := v.between
	if v.headings {
		v.between = "\n"
		for _, in := range r.files() {
			heading += fmt.Sprintf("# %s\n", in)
		}
	}
	if _, err := io.WriteString(v.texts, heading+text); err != nil {
		return fmt.Errorf("%w: %w", errTexts, err)
	}
	return nil
}

// begin says what a recording waits for, if it was put off.
func (v *view) begin(before result) {
	if e, ok := errors.AsType[*once.Error](before.err); ok {
		fmt.Fprintf(v, "%s: looking for its text until %s\n", before, e.Until.Local().Format(time.TimeOnly))
	}
}

// progress returns a function that writes a line every ten seconds.
func (v *view) progress(r *recording) func(aicontent.Progress) {
	last := time.Now()
	return func(p aicontent.Progress) {
		if time.Since(last) >= 10*time.Second {
			last = time.Now()
			fmt.Fprintf(v, "%s: attempt %d has sent %d of %d bytes\n", r, p.Attempt, p.Sent, p.Total)
		}
	}
}

// end says what came of a recording.
func (v *view) end(res result) {
	what := "found"
	switch {
	case res.status == unfinished:
		what = "interrupted"
	case res.later && res.err == nil:
		what = "its text is not there yet; looking for it when the others are done"
	case res.later && errors.As(res.err, new(*aicontent.APIError)):
		what = "put off until the others are done: " + plain(res.err)
	case res.later:
		what = "was sent before; looking for its text when the others are done"
	case res.status == failed:
		what = "failed: " + plain(res.err)
	default:
		if res.billed {
			what = "made"
		}
		if res.text == "" {
			what += ", without a text"
		}
		what += ", id " + string(res.id)
	}
	fmt.Fprintf(v, "%s: %s\n", res, what)
}
