// Mutate changes the code in small ways, one at a time, and looks whether a test fails. A change that no test finds
// is a test that is missing, or code that does nothing.
//
// It is run in tools/:
//
//	go run ./mutate                       all of the root package and internal/, for hours; stop it and run it again to go on
//	go run ./mutate ./internal/redact     one package
//	go run ./mutate -since HEAD~1         the lines that differ from a commit, for five minutes
//	go run ./mutate -match ^once.go       those of one file
//	go run ./mutate -retry                again those that were not found
//	go run ./mutate -report > mutate/RESULTS.md
//
// A mutant is tested with those tests of its package that run its function and, if it survives them, with those of the root. The
// working tree is not changed. The mutants that no test can find are listed in mutate/equivalent.txt, with the reason.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

type settings struct {
	root       string
	patterns   []string
	since      string
	limit      time.Duration
	least      float64
	results    string
	equivalent string
	slack      time.Duration
	match      string
	retry      bool
	list       bool
	report     bool
}

func main() {
	var s settings
	flag.StringVar(&s.root, "C", "..", "directory of the module")
	flag.StringVar(&s.since, "since", "", "mutate only the lines that differ from this `commit`; results are not kept")
	flag.DurationVar(&s.limit, "limit", 0, "stop after this time; 0 is none, or five minutes with -since")
	flag.DurationVar(&s.slack, "slack", 10*time.Second, "what tests may take with a mutant, beyond three times what they take without")
	flag.Float64Var(&s.least, "least", 95, "fail if fewer than this `percentage` is found")
	flag.StringVar(&s.results, "results", "mutate/results.jsonl", "`file` that results are added to and read from")
	flag.StringVar(&s.equivalent, "equivalent", "mutate/equivalent.txt", "`file` of the mutants that no test can find")
	flag.StringVar(&s.match, "match", "", "only the mutants whose ID matches this regular `expression`, such as ^once.go")
	flag.BoolVar(&s.retry, "retry", false, "test again the mutants that were not found, and are not judged equivalent")
	flag.BoolVar(&s.list, "list", false, "list the mutants without a result and test none")
	flag.BoolVar(&s.report, "report", false, "write the results of the present code as Markdown and test none")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./mutate [flags] [packages]\n\nWithout packages: the root package and internal/.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if s.patterns = flag.Args(); len(s.patterns) == 0 {
		s.patterns = []string{".", "./internal/..."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

const heading = `# Mutants found by the tests

Written by ` + "`go run ./mutate -report`" + ` in tools/, from a run over the root package and internal/. A mutant is killed when a test fails, and found too when
the tests hang (timeout). Found is the share of the mutants that are not judged equivalent.

`

// job is a mutant and what it takes to test it.
type job struct {
	Mutant
	pkg  *Package
	file *sourceFile

	number, function int // in the build that holds many mutants; 0 if it does not hold this one
}

func (s *settings) run(ctx context.Context) error {
	var err error
	if s.root, err = filepath.Abs(s.root); err != nil {
		return err
	}
	equivalent, err := readEquivalent(s.equivalent)
	if err != nil {
		return err
	}
	jobs, err := s.jobs()
	if err != nil || jobs == nil {
		return err
	}
	known := map[string]Result{}
	if s.since == "" {
		if known, err = readResults(s.results); err != nil {
			return err
		}
		if err := stale(equivalent, jobs); err != nil && s.match == "" {
			return err
		}
	}
	var done []Result
	var open []*job
	for _, j := range jobs {
		r, ok := known[j.ID]
		again := s.retry && (r.Status == survived || r.Status == uncovered) && equivalent[j.ID] == ""
		if ok && r.Sum == j.Sum && !again {
			r.Line = j.Line
			done = append(done, r)
		} else if j.compiles() {
			open = append(open, j)
		}
	}
	if s.list {
		for _, j := range open {
			fmt.Printf("%s:%d\t%s\n", j.File, j.Line, j.ID)
		}
		return nil
	}
	all := len(done) + len(open)
	if all == 0 {
		fmt.Println("no mutants: the change has no code of the packages in it")
		return nil
	}
	if !s.report {
		tested, err := s.test(ctx, open)
		if err != nil {
			return err
		}
		done = append(done, tested...)
		fmt.Println()
	}
	if s.report {
		fmt.Print(heading)
	}
	total := report(os.Stdout, done, equivalent)
	if missing := all - len(done); missing > 0 {
		fmt.Fprintf(os.Stderr, "%d of %d mutants not reached\n", missing, all)
	}
	if total.Found() < s.least {
		return fmt.Errorf("tests found %.1f %% of the mutants, fewer than %.0f %%", total.Found(), s.least)
	}
	return nil
}

// stale reports the mutants that were judged equivalent and are no more, of the files in question.
func stale(equivalent map[string]string, jobs []*job) error {
	ids, files := map[string]bool{}, map[string]bool{}
	for _, j := range jobs {
		ids[j.ID], files[j.File] = true, true
	}
	var errs []error
	for id := range equivalent {
		if file, _, _ := strings.Cut(id, ":"); files[file] && !ids[id] {
			errs = append(errs, fmt.Errorf("there is no mutant %s any more, which was judged equivalent", id))
		}
	}
	return errors.Join(errs...)
}

// jobs returns the mutants in question, nil if that is not known. Some of them may not compile.
func (s *settings) jobs() ([]*job, error) {
	var changed map[string]map[int]bool
	if s.since != "" {
		var ok bool
		var err error
		if changed, ok, err = changedLines(s.root, s.since); err != nil {
			return nil, err
		}
		if !ok {
			fmt.Printf("skipped: there is no commit %s here\n", s.since)
			return nil, nil
		}
		if s.limit == 0 {
			s.limit = 5 * time.Minute
		}
	}
	match, err := regexp.Compile(s.match)
	if err != nil {
		return nil, fmt.Errorf("-match: %w", err)
	}
	packages, err := load(s.root, s.patterns)
	if err != nil {
		return nil, err
	}
	jobs := []*job{}
	for _, p := range packages {
		for _, f := range p.files {
			for _, m := range p.mutants(f) {
				if match.MatchString(m.ID) && (s.since == "" || changed[m.File][m.Line]) {
					jobs = append(jobs, &job{Mutant: m, pkg: p, file: f})
				}
			}
		}
	}
	return jobs, nil
}

// test tests mutants until all are done, time is up, or the context ends. Where time is limited, they come in random order: what is
// reached then says something of the whole.
func (s *settings) test(ctx context.Context, jobs []*job) ([]Result, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	// Thousands of mutants would fill the user's build cache.
	runner, err := newRunner(s.root, s.slack, s.limit == 0)
	if err != nil {
		return nil, err
	}
	defer runner.Close()
	if s.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.limit)
		defer cancel()
	}
	if err := runner.prepare(ctx, jobs); err != nil && ctx.Err() == nil {
		return nil, err
	}
	var kept *os.File
	if s.since == "" {
		if kept, err = os.OpenFile(s.results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
			return nil, err
		}
		defer kept.Close()
	}
	if s.limit > 0 {
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	}
	var done []Result
	for i, j := range jobs {
		start := time.Now()
		status, by, err := runner.test(ctx, j)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return done, err
		}
		r := Result{ID: j.ID, Sum: j.Sum, File: j.File, Line: j.Line, Status: status, By: by, Milliseconds: time.Since(start).Milliseconds()}
		done = append(done, r)
		fmt.Printf("%d/%d %-9s %s:%d %s\n", i+1, len(jobs), status, j.File, j.Line, strings.TrimPrefix(j.ID, j.File+":"))
		if kept != nil {
			line, err := json.Marshal(r)
			if err != nil {
				return done, err
			}
			if _, err := kept.Write(append(line, '\n')); err != nil {
				return done, err
			}
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		fmt.Println("time is up")
	}
	return done, nil
}
