package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
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

	putOff func() // called instead of waiting, unless it is nil
	asked  bool   // the service asked to wait for longer than a run does
}

// begin shows a recording.
func (v *view) begin(r *recording) *line {
	l := &line{view: v, r: r, last: time.Now()}
	l.phase.Store("looking for it")
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

type lineKey struct{}

// waits is the log of package once: what a call waits for is said in its line, which the context has.
type waits struct{}

func (waits) Enabled(context.Context, slog.Level) bool { return true }
func (w waits) WithAttrs([]slog.Attr) slog.Handler     { return w }
func (w waits) WithGroup(string) slog.Handler          { return w }
func (waits) Handle(ctx context.Context, r slog.Record) error {
	l, ok := ctx.Value(lineKey{}).(*line)
	if !ok {
		return nil
	}
	said := make(map[string]slog.Value)
	r.Attrs(func(a slog.Attr) bool {
		said[a.Key] = a.Value
		return true
	})
	var until time.Time
	if v, ok := said["until"]; ok {
		until = v.Time()
	}
	text := "%s: may have been sent before; looking for its text until %s"
	if _, ok := said["holder"]; ok {
		text = "%s: another run is at it, or was killed at it; waiting until %s, or for as long as it runs"
	}
	switch {
	case r.Level >= slog.LevelWarn:
		l.view.line("%s: the journal could not be written: %s", l.r, printable(said["error"].String()))
	case !time.Now().Before(until): // It looks once.
	case l.putOff != nil:
		l.putOff()
	default:
		l.view.line(text, l.r, until.Local().Format(time.TimeOnly))
	}
	return nil
}

// end replaces the bar with a line.
func (l *line) end(res result) {
	if l.bar != nil {
		l.bar.Abort(true)
		l.bar.Wait()
	}
	switch {
	case res.status == made || res.status == found:
		what := map[status]string{made: "made", found: "found"}[res.status]
		if res.text == "" {
			what += ", without a text"
		}
		l.view.line("%s: %s, id %s", res, what, res.id)
	case res.later && bare(res.err) == "":
		l.view.line("%s: may have been sent before; looking for its text when the others are done", res)
	case res.later:
		l.view.line("%s: put off until the others are done: %s", res, plain(res.err))
	case res.status == failed:
		l.view.line("%s: failed: %s", res, plain(res.err))
	case res.status == unfinished:
		l.view.line("%s: interrupted", res)
	}
}
