package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const changelog = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-22\n\n### Added\n\n- a thing\n"

// repository is one whose commit can be released as v1.2.3.
func repository(t *testing.T, change map[string]string) (r *release, out *strings.Builder) {
	t.Helper()
	out = &strings.Builder{}
	r = &release{root: t.TempDir(), version: "v1.2.3", out: out}
	r.api = func() error { return nil }
	r.ci = func() error { return nil }
	files := map[string]string{
		"client.go":    "package aicontent\n\n// Version.\nconst Version = \"1.2.3\"\n",
		"doc.go":       "package aicontent\n",
		"CHANGELOG.md": changelog,
	}
	for name, text := range change {
		files[name] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(r.root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, r, "init", "-q", "-b", "main")
	git(t, r, "config", "user.name", "Test")
	git(t, r, "config", "user.email", "test@example.com")
	git(t, r, "add", ".")
	git(t, r, "commit", "-q", "-m", "all")
	return r, out
}

func git(t *testing.T, r *release, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", r.root}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestReleaseTagsWhatPasses(t *testing.T) {
	r, out := repository(t, nil)
	if err := r.run(false); err != nil || !strings.Contains(out.String(), "nothing was changed") {
		t.Errorf("a dry run: %v\n%s", err, out)
	}
	if tags := git(t, r, "tag"); tags != "" {
		t.Errorf("a dry run made the tag %s", tags)
	}
	if err := r.run(true); err != nil {
		t.Error(err)
	}
	if kind := git(t, r, "cat-file", "-t", "v1.2.3"); kind != "tag" {
		t.Errorf("the tag is a %s", kind)
	}
	if err := r.run(true); err == nil || !strings.Contains(err.Error(), "the tag v1.2.3 exists") {
		t.Errorf("a second release: %v", err)
	}
}

// A release cannot be taken back: the module proxy keeps it.
func TestReleaseRefuses(t *testing.T) {
	for want, spoiled := range map[string]func(*testing.T) *release{
		"is no version": func(t *testing.T) *release {
			r, _ := repository(t, nil)
			r.version = "1.2.3"
			return r
		},
		"not committed:\n?? new.go": func(t *testing.T) *release {
			r, _ := repository(t, nil)
			if err := os.WriteFile(filepath.Join(r.root, "new.go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return r
		},
		`the branch is "work"`: func(t *testing.T) *release {
			r, _ := repository(t, nil)
			git(t, r, "checkout", "-q", "-b", "work")
			return r
		},
		`constant Version: it is "1.2.2" in client.go`: func(t *testing.T) *release {
			r, _ := repository(t, map[string]string{"client.go": "package aicontent\n\nconst Version = \"1.2.2\"\n"})
			return r
		},
		"constant Version: there is none": func(t *testing.T) *release {
			r, _ := repository(t, map[string]string{"client.go": "package aicontent\n"})
			return r
		},
		"there is no section [Unreleased]": func(t *testing.T) *release {
			r, _ := repository(t, map[string]string{"CHANGELOG.md": "# Changelog\n\n## [1.2.3] - 2026-11-22\n"})
			return r
		},
		`after [Unreleased] comes "### Added"`: func(t *testing.T) *release {
			r, _ := repository(t, map[string]string{"CHANGELOG.md": strings.Replace(changelog, "## [1.2.3] - 2026-11-22\n", "", 1)})
			return r
		},
		`after [Unreleased] comes "## [1.2.3]"`: func(t *testing.T) *release {
			r, _ := repository(t, map[string]string{"CHANGELOG.md": strings.Replace(changelog, " - 2026-11-22", "", 1)})
			return r
		},
		"recorded API: changed": func(t *testing.T) *release {
			r, _ := repository(t, nil)
			r.api = func() error { return errors.New("changed") }
			r.ci = func() error { return errors.New("must not run") }
			return r
		},
		".ci/run: failed": func(t *testing.T) *release {
			r, _ := repository(t, nil)
			r.ci = func() error { return errors.New("failed") }
			return r
		},
		"clean tree after .ci/run: not committed": func(t *testing.T) *release {
			r, _ := repository(t, nil)
			r.ci = func() error { return os.WriteFile(filepath.Join(r.root, "left.go"), nil, 0o644) }
			return r
		},
	} {
		t.Run(want, func(t *testing.T) {
			r := spoiled(t)
			err := r.run(true)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "must not run") {
				t.Errorf("got %v", err)
			}
			if tags := git(t, r, "tag"); tags != "" {
				t.Errorf("tagged all the same: %s", tags)
			}
		})
	}
}
