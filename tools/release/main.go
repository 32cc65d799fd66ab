// Release checks that the commit at hand can be released as a version, and tags it.
//
// It is run in tools/:
//
//	go run ./release v1.2.3         check, and say what is missing
//	go run ./release -tag v1.2.3    check, and make the annotated tag; pushing it is left to you: git push origin v1.2.3
//
// Before that, on main, in one commit:
//
//  1. go run ./api -write records the API, after it has compared it with the last release's.
//  2. CHANGELOG.md: what stands under [Unreleased] moves under "## [1.2.3] - 2006-01-02".
//  3. The constant Version becomes "1.2.3".
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	tag := flag.Bool("tag", false, "make the tag; without it nothing is changed")
	root := flag.String("C", "..", "directory of the module")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), help)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	r := release{root: *root, version: flag.Arg(0), out: os.Stdout}
	r.api = func() error { return r.command(".", "go", "run", "./api", "-C", r.root, "-exact") }
	r.ci = func() error { return r.command(r.root, filepath.Join(".ci", "run")) }
	if err := r.run(*tag); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

const help = `usage: go run ./release [-tag] vX.Y.Z

Checks that the commit at hand can be released, and tags it with -tag:

  - the working tree is clean, on main, and the tag does not exist
  - the constant Version is X.Y.Z
  - CHANGELOG.md has the section "## [X.Y.Z] - YYYY-MM-DD" first, after an empty [Unreleased]
  - the recorded API (tools/api) is the present one: go run ./api -write
  - .ci/run passes

`

type release struct {
	root, version string
	out           io.Writer
	api, ci       func() error
}

// versions are those of Semantic Versioning, without build metadata.
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

func (r *release) run(tag bool) error {
	if !versions.MatchString(r.version) {
		return fmt.Errorf("%q is no version: write v1.2.3", r.version)
	}
	checks := []struct {
		name  string
		check func() error
	}{
		{"clean tree on main", r.tree},
		{"constant Version", r.constant},
		{"changelog", r.changelog},
		{"recorded API", r.api},
		{".ci/run", r.ci},
		{"clean tree after .ci/run", r.tree},
	}
	var failed []error
	for i, c := range checks {
		// The long check comes last, and only for what may be released.
		if i >= 4 && len(failed) > 0 {
			break
		}
		err := c.check()
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
			continue
		}
		fmt.Fprintln(r.out, "ok  ", c.name)
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	if !tag {
		fmt.Fprintf(r.out, "%s can be released; nothing was changed. To tag it: go run ./release -tag %s\n", r.version, r.version)
		return nil
	}
	if _, err := r.git("tag", "-a", r.version, "-m", "aicontent-go "+r.version); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "tagged %s; to publish it: git push origin %s\n", r.version, r.version)
	return nil
}

func (r *release) tree() error {
	status, err := r.git("status", "--porcelain")
	if err != nil {
		return err
	}
	if status != "" {
		return fmt.Errorf("not committed:\n%s", status)
	}
	branch, err := r.git("branch", "--show-current")
	if err != nil {
		return err
	}
	if branch != "main" {
		return fmt.Errorf("the branch is %q", branch)
	}
	exists, err := r.git("tag", "--list", r.version)
	if err != nil {
		return err
	}
	if exists != "" {
		return fmt.Errorf("the tag %s exists", r.version)
	}
	return nil
}

var constant = regexp.MustCompile(`(?m)^const Version = "(.*)"$`)

func (r *release) constant() error {
	files, err := filepath.Glob(filepath.Join(r.root, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if m := constant.FindSubmatch(text); m != nil {
			if "v"+string(m[1]) != r.version {
				return fmt.Errorf("it is %q in %s", m[1], filepath.Base(file))
			}
			return nil
		}
	}
	return errors.New("there is none")
}

// changelog checks that the version's section comes first, after an [Unreleased] with nothing in it.
func (r *release) changelog() error {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	version := strings.TrimPrefix(r.version, "v")
	heading := regexp.MustCompile(`^## \[` + regexp.QuoteMeta(version) + `\] - \d{4}-\d\d-\d\d$`)
	_, unreleased, ok := strings.Cut(string(text), "\n## [Unreleased]\n")
	if !ok {
		return errors.New("there is no section [Unreleased]")
	}
	for line := range strings.Lines(unreleased) {
		switch line = strings.TrimSpace(line); {
		case line == "":
		case heading.MatchString(line):
			return nil
		default:
			return fmt.Errorf("after [Unreleased] comes %q, not the section \"## [%s] - YYYY-MM-DD\"", line, version)
		}
	}
	return fmt.Errorf("there is no section \"## [%s] - YYYY-MM-DD\"", version)
}

func (r *release) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", r.root}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

func (r *release) command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, r.out, r.out
	return cmd.Run()
}
