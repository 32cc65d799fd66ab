package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ways in which a mutant ends.
const (
	killed    = "killed"    // a test failed
	timedOut  = "timeout"   // the tests took much longer than without it
	survived  = "survived"  // all tests passed
	uncovered = "uncovered" // no test runs its function
)

// Runner runs tests on mutants. The working tree is never changed: the go command gets an overlay.
type Runner struct {
	root   string        // the module's directory
	tmp    string        // for overlays and test programs
	cache  string        // a build cache for this run, kept small; empty for the user's
	slack  time.Duration // what tests may take beyond three times what they take without a mutant
	suites map[string]*suite
	seeded map[string]bool // the files of the build cache that are kept
}

// suite is the tests of one package, built with all mutants that can be built together.
type suite struct {
	dir     string
	program string
	tests   []test // the fastest first
}

type test struct {
	name      string
	took      time.Duration
	functions map[int]bool // those with mutants that it runs
}

func newRunner(root string, slack time.Duration, ownCache bool) (*Runner, error) {
	tmp, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, err
	}
	r := &Runner{root: root, tmp: tmp, slack: slack, suites: map[string]*suite{}, seeded: map[string]bool{}}
	if ownCache {
		r.cache = filepath.Join(tmp, "cache")
	}
	return r, nil
}

func (r *Runner) Close() { os.RemoveAll(r.tmp) }

// prepare builds the tests of the mutants' packages and of the root, and runs each test once without a mutant, to see how
// long it takes and which functions it runs.
func (r *Runner) prepare(ctx context.Context, jobs []*job) error {
	overlay := instrument(jobs)
	dirs := []string{"."}
	for _, p := range packagesOf(jobs) {
		if p.dir != "." {
			dirs = append(dirs, p.dir)
		}
	}
	for i, dir := range dirs {
		s := &suite{dir: dir, program: filepath.Join(r.tmp, fmt.Sprintf("suite%d.test", i))}
		if err := r.build(ctx, dir, overlay, s.program); err != nil {
			return err
		}
		if _, err := os.Stat(s.program); err != nil {
			continue // a package without tests
		}
		if err := r.measure(ctx, s); err != nil {
			return err
		}
		r.suites[dir] = s
	}
	r.walkCache(func(path string) { r.seeded[path] = true })
	return nil
}

func (r *Runner) measure(ctx context.Context, s *suite) error {
	out, err := r.program(ctx, s, 0, time.Minute, "-test.list=.")
	if err != nil {
		return fmt.Errorf("the tests of %s: %w\n%s", s.dir, err, out)
	}
	trace := filepath.Join(r.tmp, "trace")
	for name := range strings.Lines(string(out)) {
		if name = strings.TrimSpace(name); strings.HasPrefix(name, "Benchmark") {
			continue
		}
		os.Remove(trace)
		start := time.Now()
		cmd := r.command(ctx, s, 0, 10*time.Minute, "-test.run=^"+name+"$")
		cmd.Env = append(cmd.Env, traceEnv+"="+trace)
		if out, err := cmd.CombinedOutput(); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			fmt.Printf("%s of %s is left out: it fails without a mutant: %v\n%s", name, s.dir, err, out[:min(len(out), 500)])
			continue
		}
		t := test{name: name, took: time.Since(start), functions: map[int]bool{}}
		data, _ := os.ReadFile(trace)
		for _, number := range strings.Fields(string(data)) {
			n, _ := strconv.Atoi(number)
			t.functions[n] = true
		}
		s.tests = append(s.tests, t)
	}
	slices.SortFunc(s.tests, func(a, b test) int { return int(a.took - b.took) })
	return nil
}

// test runs the tests of the mutant's package on it, and then the root's if it survives them. By is the directory whose tests
// ended it.
func (r *Runner) test(ctx context.Context, j *job) (status, by string, err error) {
	dirs := []string{j.Package}
	if j.Package != "." {
		dirs = append(dirs, ".")
	}
	status = uncovered
	for _, dir := range dirs {
		s := r.suites[dir]
		if s == nil {
			continue
		}
		if j.number == 0 {
			if s, err = r.alone(ctx, j, s); errors.Is(err, errNoTests) {
				return killed, dir, nil
			} else if err != nil {
				return "", "", err
			}
		}
		for _, group := range groups(s.tests, j.function) {
			status = survived
			var names []string
			timeout := r.slack
			for _, t := range group {
				names = append(names, regexp.QuoteMeta(t.name))
				timeout += 3 * t.took
			}
			out, err := r.program(ctx, s, j.number, timeout, "-test.failfast", "-test.run=^("+strings.Join(names, "|")+")$")
			switch {
			case ctx.Err() != nil:
				return "", "", ctx.Err()
			case bytes.Contains(out, []byte("panic: test timed out")):
				return timedOut, dir, nil
			case err != nil:
				return killed, dir, nil
			}
		}
	}
	return status, "", nil
}

// groups returns the tests that run the function, all of them if it is 0: first those that take a second together, most
// mutants do not survive them.
func groups(tests []test, function int) [][]test {
	var quick, rest []test
	var sum time.Duration
	for _, t := range tests {
		if function != 0 && !t.functions[function] {
			continue
		}
		if sum += t.took; sum < time.Second {
			quick = append(quick, t)
		} else {
			rest = append(rest, t)
		}
	}
	return slices.DeleteFunc([][]test{quick, rest}, func(g []test) bool { return len(g) == 0 })
}

// errNoTests is the error of a build that fails in the tests: a constant may make one of their expressions impossible.
var errNoTests = errors.New("the tests do not compile")

// alone builds a suite with a mutant that cannot be built together with others.
func (r *Runner) alone(ctx context.Context, j *job, s *suite) (*suite, error) {
	single := &suite{dir: s.dir, program: filepath.Join(r.tmp, "alone.test"), tests: s.tests}
	err := r.build(ctx, s.dir, map[string][]byte{j.file.abs: j.solo()}, single.program)
	r.walkCache(func(path string) {
		if !r.seeded[path] {
			os.Remove(path) // thousands of these would fill a disk
		}
	})
	return single, err
}

func (r *Runner) build(ctx context.Context, dir string, files map[string][]byte, program string) error {
	mapping := map[string]string{}
	for path, text := range files {
		name := filepath.Join(r.tmp, fmt.Sprintf("file%d.go", len(mapping)))
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return err
		}
		mapping[path] = name
	}
	overlay := filepath.Join(r.tmp, "overlay.json")
	data, err := json.Marshal(map[string]any{"Replace": mapping})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+overlay, "-o="+program, "./"+dir)
	cmd.Dir = r.root
	cmd.Env = os.Environ()
	if r.cache != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+r.cache)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("_test.go:")) {
			err = errNoTests
		}
		return fmt.Errorf("building the tests of %s: %w\n%s", dir, err, out)
	}
	return nil
}

func (r *Runner) program(ctx context.Context, s *suite, mutant int, timeout time.Duration, args ...string) ([]byte, error) {
	// The test program ends itself before that, unless it cannot.
	ctx, cancel := context.WithTimeout(ctx, timeout+30*time.Second)
	defer cancel()
	out, err := r.command(ctx, s, mutant, timeout, args...).CombinedOutput()
	if err != nil && ctx.Err() != nil {
		out = append(out, "panic: test timed out"...)
	}
	return out, err
}

func (r *Runner) command(ctx context.Context, s *suite, mutant int, timeout time.Duration, args ...string) *exec.Cmd {
	args = append([]string{s.program, "-test.timeout=" + timeout.String()}, args...)
	// A mutant may allocate without end.
	if prlimit, err := exec.LookPath("prlimit"); err == nil {
		args = append([]string{prlimit, "--as=" + strconv.Itoa(8<<30)}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(s.dir))
	cmd.Env = append(os.Environ(), activeEnv+"="+strconv.Itoa(mutant))
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func (r *Runner) walkCache(visit func(path string)) {
	if r.cache == "" {
		return
	}
	_ = filepath.WalkDir(r.cache, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			visit(path)
		}
		return nil
	})
}
