// Command bench measures this SDK beside others on the same work, in one run: see README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/aicontent/aicontent-go/bench/clients"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	quick := flag.Bool("quick", false, "small sizes and few rounds: whether all of it works, in under a minute")
	out := flag.String("out", "results", "directory for results.json, results.md and the charts")
	only := flag.String("only", "", "one kind of work: calls, goroutines, walk, latency, faults, outage, uploads, large or builds")
	what := flag.String("serve", "", "internal: serve what is given as JSON until the standard input ends")
	task := flag.String("job", "", "internal: do one job, given as JSON, and print what it came to")
	flag.Parse()
	var err error
	switch {
	case *what != "":
		err = serve(*what)
	case *task != "":
		err = runJob(ctx, *task)
	default:
		err = run(ctx, *quick, *only, *out)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run does all work and writes the reports.
func run(ctx context.Context, quick bool, only, out string) error {
	start := time.Now()
	scratch, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	p := fullPlan()
	if quick {
		p = quickPlan()
	}
	r := &runner{plan: p, scratch: scratch, sdks: clients.All(), samples: &samples{}}
	for _, work := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"calls", r.calls}, {"goroutines", r.goroutines}, {"walk", r.walk}, {"latency", r.latency},
		{"faults", r.faults}, {"outage", r.outage}, {"uploads", r.uploads}, {"large", r.large}, {"builds", r.builds},
	} {
		if only != "" && only != work.name {
			continue
		}
		began := time.Now()
		if err := work.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", work.name, err)
		}
		log.Printf("%-10s %6.1f s", work.name, time.Since(began).Seconds())
	}
	results := r.results(start)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	files := map[string]func(string, *Results) error{"results.json": writeJSON, "results.md": writeMarkdown}
	maps.Copy(files, charts)
	for name, write := range files {
		if err := write(filepath.Join(out, name), results); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	log.Printf("%-10s %6.1f s, written to %s", "all", time.Since(start).Seconds(), out)
	return nil
}
