package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"
)

// A view shows progress: a bar for each file in flight on a terminal, plain lines otherwise. It prints the texts, too.
type view struct {
	mu       sync.Mutex
	w        io.Writer
	bars     *mpb.Progress // nil for plain lines
	texts    io.Writer
	headings bool   // above each text
	between  string // what comes before the next text
}

func newView(w, texts io.Writer) *view {
	// Whoever reads a pipe may write to the same terminal, which must not have bars then.
	if !isTerminal(w) || isPipe(texts) {
		return &view{w: w, texts: texts}
	}
	bars := mpb.New(mpb.WithOutput(w), mpb.WithWidth(100))
	if isTerminal(texts) {
		texts = bars // above them
	}
	return &view{w: bars, bars: bars, texts: texts}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && cwriter.IsTerminal(int(f.Fd()))
}

func isPipe(w io.Writer) bool {
	f, _ := w.(*os.File)
	info, err := f.Stat() // fails if f is nil
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// line prints a line, above the bars.
func (v *view) line(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintf(v.w, format+"\n", args...)
}

// close removes the bars.
func (v *view) close() {
	if v.bars != nil {
		v.bars.Wait()
	}
}

// A line shows one recording.
type line struct {
	view  *view
	r     *recording
	bar   *mpb.Bar // nil for plain lines
	phase atomic.Value
	last  time.Time // when a plain line was printed
}

// begin shows a recording. It says until when the record of an earlier run is looked for, if that is in the future.
func (v *view) begin(r *recording, until time.Time) *line {
	l := &line{view: v, r: r, last: time.Now()}
	l.phase.Store("looking for it")
	if time.Until(until) > 0 {
		v.line("%s: may have been sent before; looking for its text until %s", r, until.Local().Format(time.TimeOnly))
	}
	if v.bars == nil {
		return l
	}
	name := runewidth.Truncate(printable(filepath.Base(r.path)), 24, "…")
	l.bar = v.bars.AddBar(0,
		mpb.PrependDecorators(decor.Name(name, decor.WC{W: 25, C: decor.DindentRight})),
		mpb.AppendDecorators(
			decor.CountersKibiByte("% .1f / % .1f", decor.WCSyncSpace),
			decor.Any(func(decor.Statistics) string { return " " + l.phase.Load().(string) }, decor.WCSyncSpaceR),
		))
	l.bar.SetTotal(r.size, false)
	return l
}

// progress is called by one goroutine at a time.
func (l *line) progress(p aicontent.Progress) {
	phase := "sending"
	switch {
	case p.Sent >= p.Total:
		phase = "waiting for the text"
	case p.Attempt > 1:
		phase = fmt.Sprintf("sending, attempt %d", p.Attempt)
	}
	l.phase.Store(phase)
	if l.bar != nil {
		l.bar.SetCurrent(p.Sent)
		return
	}
	if time.Since(l.last) >= 10*time.Second {
		l.last = time.Now()
		l.view.line("%s: %d of %d bytes, %s", l.r, p.Sent, p.Total, phase)
	}
}

// end replaces the bar with a line.
func (l *line) end(res result) {
	if l.bar != nil {
		l.bar.Abort(true)
		l.bar.Wait()
	}
	switch res.status {
	case made, found:
		what := map[status]string{made: "made", found: "found"}[res.status]
		if res.text == "" {
			what += ", without a text"
		}
		l.view.line("%s: %s, id %s", res, what, res.id)
	case failed:
		l.view.line("%s: failed: %s", res, plain(res.err))
	case unfinished:
		l.view.line("%s: interrupted", res)
	}
}
