package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// A view prints texts, and shows the progress of the recordings in flight: with bars on a terminal, elsewhere with a
// line for each every ten seconds.
type view struct {
	mu       sync.Mutex
	lines    io.Writer
	texts    io.Writer
	bars     *mpb.Progress // nil unless the lines go to a terminal
	headings bool          // above each text
}

func newView(stdout, stderr io.Writer, headings bool) *view {
	v := &view{lines: stderr, texts: stdout, headings: headings}
	if isTerminal(stderr) {
		v.bars = mpb.New(mpb.WithOutput(stderr))
		v.lines = v.bars // It prints above the bars.
		if isTerminal(stdout) {
			v.texts = v.bars
		}
	}
	return v
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// close removes the bars.
func (v *view) close() {
	if v.bars != nil {
		v.bars.Wait()
	}
}

func (v *view) printf(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintf(v.lines, format, args...)
}

// print prints a text, below the names of its files if there are several texts.
func (v *view) print(r *recording, text string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.headings {
		text = fmt.Sprintf("# %s\n%s\n", r, text)
	}
	if _, err := io.WriteString(v.texts, text); err != nil {
		return fmt.Errorf("%w: %w", errUnprinted, err)
	}
	return nil
}

// A flight is the part of a view that shows a recording in flight.
type flight struct {
	end func()

	mu   sync.Mutex
	bar  *mpb.Bar
	does string
	at   time.Time // since when
	sent aicontent.Progress
}

// begin shows a recording until its end is called.
func (v *view) begin(r *recording) *flight {
	f := &flight{does: "looking for its text", at: time.Now()}
	if v.bars != nil {
		name := fmt.Sprintf("%-24.24s", printable(filepath.Base(r.inputs[0].path)))
		f.bar = v.bars.AddBar(0, mpb.PrependDecorators(decor.Name(name)), // The total is not known yet.
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return f.String() })))
		f.end = func() { f.bar.Abort(true) }
		return f
	}
	ticks, ended := time.NewTicker(10*time.Second), make(chan struct{})
	f.end = func() { close(ended) }
	go func() {
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				v.printf("%s: %s\n", r, f)
			case <-ended:
				return
			}
		}
	}()
	return f
}

// progress notes how much of the recording was sent.
func (f *flight) progress(p aicontent.Progress) {
	f.mu.Lock()
	does := "sending"
	if p.Sent >= p.Total {
		does = "waiting for its text"
	}
	if does != f.does {
		f.does, f.at = does, time.Now()
	}
	f.sent = p
	f.mu.Unlock() // The bar waits for String.
	if f.bar != nil {
		f.bar.SetTotal(p.Total, false)
		f.bar.SetCurrent(p.Sent)
	}
}

func (f *flight) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	elapsed := time.Since(f.at).Round(time.Second)
	if f.does == "sending" {
		return fmt.Sprintf("%s, %d of %d KiB in %v", f.does, f.sent.Sent>>10, f.sent.Total>>10, elapsed)
	}
	return fmt.Sprintf("%s for %v", f.does, elapsed)
}
