package main

import (
	"fmt"
	"io"
	"log"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/vbauerster/cupwriter"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// A view prints texts, and shows the progress of the recordings in flight: with bars on a terminal, elsewhere with a
// line for each every ten seconds.
type view struct {
	lines, texts *log.Logger // for several goroutines
	terminal     bool
	bars         *mpb.Progress // It shows them on a terminal alone.
}

func newView(stdout, stderr io.Writer) *view {
	v := &view{terminal: isTerminal(stderr)}
	v.bars = mpb.New(mpb.WithOutput(io.Discard), mpb.ContainerOptional(mpb.WithOutput(stderr), v.terminal))
	if v.terminal {
		if isTerminal(stdout) {
			stdout = v.bars
		}
		stderr = v.bars // It prints above the bars.
	}
	v.texts, v.lines = log.New(stdout, "", 0), log.New(stderr, "", 0)
	return v
}

// isTerminal reports whether w is a terminal with room for bars: one without a size shows none.
func isTerminal(w io.Writer) bool {
	screen := cupwriter.New(w, false)
	width, height, _ := screen.GetTermSize()
	return screen.IsTerminal() && width > 0 && height > 0
}

// A flight shows a recording in flight until its bar is aborted.
type flight struct {
	bar  *mpb.Bar
	last atomic.Pointer[stage]
}

// A stage of a flight is the search for the text, the upload or the wait for the text.
type stage struct {
	aicontent.Progress // zero before anything was sent
	since              time.Time
}

func (v *view) begin(r *recording) *flight {
	f := new(flight)
	f.last.Store(&stage{since: time.Now()})
	name := fmt.Sprintf("%-24.24s", printable(filepath.Base(r.path)))
	f.bar = v.bars.AddBar(0, mpb.PrependDecorators(decor.Name(name)), // The total is not known yet.
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return f.String() })))
	go func() {
		for range time.Tick(10 * time.Second) {
			if v.terminal || f.bar.Aborted() {
				return
			}
			v.lines.Printf("%s: %s", r, f)
		}
	}()
	return f
}

// progress notes how much of the recording was sent.
func (f *flight) progress(p aicontent.Progress) {
	now := stage{p, time.Now()}
	if last := f.last.Load(); last.Total > 0 && p.Sent < p.Total {
		now.since = last.since
	}
	f.last.Store(&now)
	f.bar.SetTotal(p.Total, false)
	f.bar.SetCurrent(p.Sent)
}

func (f *flight) String() string {
	last := f.last.Load()
	elapsed := time.Since(last.since).Round(time.Second)
	switch {
	case last.Total == 0:
		return fmt.Sprintf("looking for its text for %v", elapsed)
	case last.Sent < last.Total:
		return fmt.Sprintf("sending, %d of %d KiB in %v", last.Sent>>10, last.Total>>10, elapsed)
	}
	return fmt.Sprintf("waiting for its text for %v", elapsed)
}
