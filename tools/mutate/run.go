package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The ways in which a mutant ends.
const (
	killed    = "killed"    // a test failed
	timedOut  = "timeout"   // the tests took much longer than without it
	survived  = "survived"  // all tests passed
	uncovered = "uncovered" // no test runs the line
)

// Runner runs tests on mutants. The working tree is never changed: the go command gets an overlay.
type Runner struct {
	root   string        // the module's directory
	tmp    string        // for overlays and profiles
	cache  string        // a build cache for this run, kept small; empty for the user's
	exec   []string      // arguments for go test that bound a test's memory
	slack  time.Duration // what a run with a mutant may take beyond three times the run without
	suites map[string]*suite
	seeded map[string]bool // the build cache's files that are kept
}

// suite is the tests of one package.
type suite struct {
	pattern string // ./internal/x
	timeout time.Duration
	covered map[string]map[int]bool // lines by file, relative to the module
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
	// A mutant may allocate without end.
	if prlimit, err := exec.LookPath("prlimit"); err == nil {
		r.exec = []string{"-exec", prlimit + " --as=" + strconv.Itoa(8<<30)}
	}
	return r, nil
}

func (r *Runner) Close() { os.RemoveAll(r.tmp) }

// suite returns the tests of the package in the directory, which must pass without a mutant. It measures how long they
// take and what they cover in this module.
func (r *Runner) suite(ctx context.Context, dir string) (*suite, error) {
	if s := r.suites[dir]; s != nil {
		return s, nil
	}
	s := &suite{pattern: "./" + dir, covered: map[string]map[int]bool{}}
	profile := filepath.Join(r.tmp, "profile")
	// The first run fills the build cache.
	for _, flags := range [][]string{{"-run=^$"}, {"-coverprofile=" + profile, "-coverpkg=.,./internal/..."}} {
		start := time.Now()
		args := append([]string{"test", "-count=1", "-vet=off", s.pattern}, flags...)
		if out, err := r.goCommand(ctx, args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", s.pattern, err, out)
		}
		s.timeout = 3*time.Since(start) + r.slack
	}
	data, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	module, err := r.goCommand(ctx, "list", "-m").Output()
	if err != nil {
		return nil, err
	}
	s.readProfile(string(data), strings.TrimSpace(string(module)))
	// What this built is needed for each mutant.
	r.walkCache(func(path string) { r.seeded[path] = true })
	r.suites[dir] = s
	return s, nil
}

// profileLine is file.go:1.2,3.4 and the numbers of statements and of runs.
var profileLine = regexp.MustCompile(`(?m)^(.+):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)$`)

func (s *suite) readProfile(profile, module string) {
	for _, m := range profileLine.FindAllStringSubmatch(profile, -1) {
		file := strings.TrimPrefix(m[1], module+"/")
		if s.covered[file] == nil {
			s.covered[file] = map[int]bool{}
		}
		first, _ := strconv.Atoi(m[2])
		last, _ := strconv.Atoi(m[3])
		for line := first; line <= last; line++ {
			s.covered[file][line] = s.covered[file][line] || m[4] != "0"
		}
	}
}

// runs reports whether the tests may run the mutant's line: lines outside of functions are in no profile.
func (s *suite) runs(m Mutant) bool {
	covered, known := s.covered[m.File][m.Line]
	return covered || !known
}

// test runs the tests of the mutant's package on it, and then the root's if it survives them. By is the
// package whose tests ended it.
func (r *Runner) test(ctx context.Context, m Mutant, abs string, text []byte) (status, by string, err error) {
	defer r.trimCache()
	mutated, overlay := filepath.Join(r.tmp, "mutant.go"), filepath.Join(r.tmp, "overlay.json")
	if err := os.WriteFile(mutated, text, 0o600); err != nil {
		return "", "", err
	}
	mapping, err := json.Marshal(map[string]map[string]string{"Replace": {abs: mutated}})
	if err != nil {
		return "", "", err
	}
	if err := os.WriteFile(overlay, mapping, 0o600); err != nil {
		return "", "", err
	}
	dirs := []string{m.Package}
	if m.Package != "." {
		dirs = append(dirs, ".")
	}
	status = uncovered
	for _, dir := range dirs {
		s, err := r.suite(ctx, dir)
		if err != nil {
			return "", "", err
		}
		if !s.runs(m) {
			continue
		}
		args := append([]string{"test", "-overlay=" + overlay, "-count=1", "-vet=off", "-failfast", "-timeout=" + s.timeout.String()}, r.exec...)
		deadline, cancel := context.WithTimeout(ctx, s.timeout+time.Minute) // a build and a link go before
		out, err := r.goCommand(deadline, append(args, s.pattern)...).CombinedOutput()
		late := deadline.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return "", "", ctx.Err()
		case late, bytes.Contains(out, []byte("panic: test timed out")):
			return timedOut, dir, nil
		case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
			return "", "", fmt.Errorf("%s does not build: %s", m.ID, out)
		case err != nil, !bytes.HasPrefix(out, []byte("ok ")):
			return killed, dir, nil
		}
		status = survived
	}
	return status, "", nil
}

func (r *Runner) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.root
	if r.cache != "" {
		cmd.Env = append(os.Environ(), "GOCACHE="+r.cache)
	}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// trimCache removes what was built for a mutant and is of no use to another one: thousands of them would fill a disk.
func (r *Runner) trimCache() {
	r.walkCache(func(path string) {
		if !r.seeded[path] {
			os.Remove(path)
		}
	})
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
