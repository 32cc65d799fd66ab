package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/exp/apidiff"

	"github.com/aicontent/aicontent-go/tools/internal/golist"
)

// source has each kind of declaration that an API may have.
const source = `package p

import (
	"context"
	"iter"
	"sync"
)

type hidden struct{ mu sync.Mutex; secret string }

type T struct {
	Name string
	Embedded
	hidden
	f func(hidden)
}

func (t *T) Close(ctx context.Context) (n int, err error) { return 0, nil }
func (t T) String() string { return "" }
func (t T) private()       {}

type Embedded struct{ Shown int }

type Option interface{ apply(*hidden); Name() string }

type Page[T any] struct{ Items []T; next func() }

func (p *Page[T]) All() iter.Seq2[*T, error] { return nil }

type Kind string

const (
	KindA   Kind = "a"
	Untyped      = 1 << 3
)

type Alias = map[string]T

var Err error

func Ptr[T comparable](v T) *T { return &v }
func New(opts ...Option) *T    { return nil }
`

func check(t *testing.T, text string) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := golist.Run(".", "-export", "-deps", "context", "iter", "sync")
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: golist.Importer(fset, listed)}
	p, err := config.Check("example.com/p", fset, []*ast.File{syntax}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func recordedOf(t *testing.T, p *types.Package) *types.Package {
	t.Helper()
	text, err := describe(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"secret", "private", "hidden", "sync"} {
		if strings.Contains(text, hidden) {
			t.Errorf("the recorded API tells of %s:\n%s", hidden, text)
		}
	}
	old, err := read(token.NewFileSet(), ".", p.Path(), "p.txt", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return old
}

// A recorded API that says less or more than the code lets changes through, or reports what has not changed.
func TestRecordedAPIIsTheAPI(t *testing.T) {
	p := check(t, source)
	old := recordedOf(t, p)
	for _, list := range [][]apidiff.Change{changes(old, p), changes(p, old)} {
		if len(list) != 0 {
			t.Errorf("changes where there are none: %v", list)
		}
	}
}

func TestIncompatibleChangesAreFound(t *testing.T) {
	old := recordedOf(t, check(t, source))
	for name, change := range map[string]struct{ from, to, symbol string }{
		"method removed":      {"func (t T) String() string", "func (t T) Text() string", "T.String"},
		"method of a pointer": {"func (t T) String() string", "func (t *T) String() string", "T.String"},
		"parameter added":     {"func New(", "func New(n int, ", "New"},
		"field removed":       {"type T struct {\n\tName string", "type T struct {", "T.Name"},
		"constant changed":    {`"a"`, `"b"`, "KindA"},
		"variable removed":    {"var Err error", "", "Err"},
		"method of interface": {"apply(*hidden);", "", "Option.apply"},
		"generic method":      {"iter.Seq2[*T, error]", "iter.Seq2[T, error]", "Page.All"},
	} {
		now := check(t, strings.Replace(source, change.from, change.to, 1))
		found := map[string]bool{}
		for _, c := range changes(old, now) {
			if !c.Compatible {
				found[symbolOf(c.Message)] = true
			}
		}
		// An interface that anyone can implement takes all that it took before.
		if want := name != "method of interface"; found[change.symbol] != want {
			t.Errorf("%s: found %v, want %s", name, found, change.symbol)
		}
	}
}

func TestAnnouncedChanges(t *testing.T) {
	names := announced("# Changelog\n`A`\n## [Unreleased]\n`B`\n### Added\n- `C`\n### Changed\n- `D.E` is now\n  `F`.\n### Removed\n- `G`\n## [1.0.0]\n### Changed\n- `H`\n")
	for _, name := range []string{"D.E", "F", "G"} {
		if !names[name] {
			t.Errorf("%s is missing", name)
		}
	}
	if len(names) != 3 {
		t.Errorf("too many: %v", names)
	}
}

// What the program does as a whole, with a module that is changed after its API was recorded.
func TestRun(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compare := func(want string, write, exact bool) {
		t.Helper()
		var out strings.Builder
		err := run(&out, root, dir, write, exact)
		if err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in:\n%s", want, &out)
		}
	}
	write("go.mod", "module "+module+"\n\ngo 1.26\n")
	write("CHANGELOG.md", "## [Unreleased]\n")
	write("client.go", "package aicontent\n\ntype Client struct{}\n\nfunc New() *Client { return nil }\n")
	write("aicontenttest/kit.go", "package aicontenttest\n\nimport \""+module+"\"\n\nfunc Kit() *aicontent.Client { return nil }\n")
	compare("no such file", false, false)
	compare("is compatible", true, false)
	compare("is compatible", false, true)
	write("client.go", "package aicontent\n\ntype Client struct{}\n\nfunc New(n int) *Client { return nil }\n\nfunc Old() {}\n")
	compare("INCOMPATIBLE: aicontent: New: changed from", false, false)
	compare("1 incompatible changes", true, false)
	write("CHANGELOG.md", "## [Unreleased]\n### Changed\n- `New` takes a number.\n")
	compare("incompatible, in the changelog: aicontent: New: changed", false, false)
	compare("is not the present API", false, true)
	compare("compatible: aicontent: Old: added", true, false)
	compare("is compatible", false, true)
	write("aicontenttest/kit.go", "package aicontenttest\n")
	compare("name `aicontenttest.Kit` in CHANGELOG.md", false, false)
}
