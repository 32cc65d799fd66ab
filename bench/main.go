// Command bench measures this SDK beside others on the same work, in one run: see README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// kinds are the kinds of work, in their order.
var kinds = []struct {
	name string
	do   func(*runner, context.Context) error
}{
	{"calls", (*runner).calls}, {"goroutines", (*runner).goroutines}, {"walk", (*runner).walk},
	{"faults", (*runner).faults}, {"outage", (*runner).outage}, {"uploads", (*runner).uploads},
	{"large", (*runner).large}, {"builds", (*runner).builds},
}

// Exit statuses; 1 is any other error.
const (
	exitUsage       = 2 // wrong flags or arguments
	exitInterrupted = 130
)

// A usageError is a mistake in the flags or arguments.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	log.SetFlags(0)
	// A signal that nohup or a shell has switched off stays off.
	signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// The first one still removes the files of the run, a second one ends the program.
	context.AfterFunc(ctx, stop)
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.name)
	}
	all := strings.Join(names, ", ")
	quick := flag.Bool("quick", false, "small sizes and few rounds: whether all of it works, in about a minute")
	out := flag.String("out", "", "directory for results.json, results.md and the charts (default results; "+
		"a new temporary one with -quick or -only)")
	only := flag.String("only", "", "one kind of work: "+all)
	again := flag.Bool("draw", false, "write the tables and charts of the results in -out again, without measuring")
	what := flag.String("serve", "", "internal: serve what is given as JSON until the standard input ends")
	task := flag.String("job", "", "internal: do one job, given as JSON, and print its result")
	flag.Parse()
	var err error
	switch {
	case flag.NArg() > 0:
		err = usagef("unexpected argument %q", flag.Arg(0))
	case *only != "" && !slices.Contains(names, *only):
		err = usagef("-only: no work is named %q: must be one of %s", *only, all)
	case *again && (*quick || *only != ""):
		err = usagef("-draw measures nothing: leave out -quick and -only")
	case *again:
		err = redraw(cmp.Or(*out, results))
	case *what != "":
		err = serve(*what)
	case *task != "":
		err = runJob(ctx, *task)
	default:
		err = run(ctx, *quick, *only, *out)
	}
	_, wrong := errors.AsType[usageError](err)
	switch {
	case err != nil && ctx.Err() != nil:
		log.Print("interrupted: no results were written")
		os.Exit(exitInterrupted)
	case wrong:
		log.Print(err)
		os.Exit(exitUsage)
	case err != nil:
		log.Fatal(err)
	}
}

// run does all work and writes the reports.
func run(ctx context.Context, quick bool, only, out string) error {
	start := time.Now()
	partial := quick || only != ""
	if out == "" && !partial {
		out = results
	}
	if err := usable(out, partial); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	log.Printf("files to upload are made in %s, which goes when the run ends", scratch)
	p := fullPlan()
	if quick {
		p = quickPlan()
	}
	others := othersTime()
	r := &runner{plan: p, only: only, scratch: scratch, sdks: clients.All(), samples: &samples{}}
	for _, kind := range kinds {
		if only != "" && only != kind.name {
			continue
		}
		began := time.Now()
		if err := kind.do(r, ctx); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		log.Printf("%-10s %6.1f s", kind.name, time.Since(began).Seconds())
	}
	return r.write(start, othersTime()-others, out)
}

// results is where the results of the last full run are.
const results = "results"

// usable returns a usage error if results must not be written to the directory. A run may replace the results of an
// earlier run, unless it is partial: a full run takes a quiet machine several minutes.
func usable(dir string, partial bool) error {
	entries, err := os.ReadDir(dir)
	if dir == "" || errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	report, _ := os.ReadFile(filepath.Join(dir, "results.md"))
	switch {
	case partial:
		return usagef("-out: %s must be new or empty with -quick and -only", dir)
	case !strings.HasPrefix(string(report), headline):
		return usagef("-out: %s must be new, empty, or hold the results of an earlier run", dir)
	}
	return nil
}

// write writes the reports, to a new temporary directory if out is empty.
func (r *runner) write(start time.Time, others time.Duration, out string) error {
	found := r.results(start, others)
	if out == "" {
		var err error
		if out, err = os.MkdirTemp("", "bench-results-"); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := errors.Join(writeJSON(filepath.Join(out, "results.json"), found), show(out, found)); err != nil {
		return err
	}
	log.Printf("%-10s %6.1f s, written to %s", "all", time.Since(start).Seconds(), out)
	return nil
}

// show writes the results for people: tables and charts.
func show(out string, r *Results) error {
	return errors.Join(writeMarkdown(filepath.Join(out, "results.md"), r), drawAll(out, r))
}

// redraw shows the run in the directory again.
func redraw(dir string) error {
	r, err := readJSON(filepath.Join(dir, "results.json"))
	if err != nil {
		return usagef("-out: no results to draw: %w", err)
	}
	return show(dir, r)
}
