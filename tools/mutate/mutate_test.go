package main

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// module writes files into a directory.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// mutantsOf returns what is changed in the body of a function, and which changes compile.
func mutantsOf(t *testing.T, source string) map[string]bool {
	t.Helper()
	root := module(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "m.go": source})
	packages, err := load(root, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	found, ids := map[string]bool{}, map[string]bool{}
	for _, m := range packages[0].mutants(packages[0].files[0]) {
		if ids[m.ID] {
			t.Errorf("two mutants have the ID %s", m.ID)
		}
		ids[m.ID] = true
		id, _, _ := strings.Cut(strings.TrimPrefix(m.ID, "m.go:"), " @ ")
		j := &job{Mutant: m, pkg: packages[0], file: packages[0].files[0]}
		found[id] = j.compiles()
		if strings.Count(string(j.solo()), "\n") != strings.Count(source, "\n") {
			t.Errorf("%s moves lines:\n%s", m.ID, j.solo())
		}
	}
	return found
}

func TestOperators(t *testing.T) {
	for body, want := range map[string][]string{
		"return a < b":         {"f:boundary:<→<=", "f:negation:<→>="},
		"return a >= b":        {"f:boundary:>=→>", "f:negation:>=→<"},
		"return a == b":        {"f:negation:==→!="},
		"return c && d(a)":     {"f:logic:&&→||"},
		"return !c":            {"f:negation:!→"},
		"return d(a - b)":      {"f:arithmetic:-→+", "f:return:d(a - b)→!d(a - b)"},
		"a++; return c":        {"f:increment:++→--", "f:return:c→!c"},
		"a += b; return c":     {"f:arithmetic:+=→-=", "f:return:c→!c", "f:statement:a += b→"},
		"return true":          {"f:constant:true→false"},
		"return d(7)":          {"f:constant:7→8", "f:return:d(7)→!d(7)"},
		"return d('a')":        {"f:constant:'a'→'b'", "f:return:d('a')→!d('a')"},
		`return e("x")`:        {`f:constant:"x"→""`, `f:return:e("x")→!e("x")`},
		`return e("")`:         {`f:constant:""→"mutant"`, `f:return:e("")→!e("")`},
		"x := a; return d(x)":  {"f:return:d(x)→!d(x)"},
		"_ = a; return c":      {"f:return:c→!c"},
		"d(a); return c":       {"f:return:c→!c", "f:statement:d(a)→"},
		"defer d(a); return c": {"f:return:c→!c", "f:statement:defer d(a)→"},
		"if c { return d(a) }; c = d(b); return c": {
			"f:branch:{ return d(a) }→{}", "f:return:d(a)→!d(a)", "f:return:c→!c", "f:statement:c = d(b)→",
		},
		"if c {\nd(a)\n}\nreturn c": {"f:return:c→!c", "f:statement:d(a)→"},
		"if c {\nd(a)\nd(b)\n} else {\nd(b)\nd(a)\n}\nreturn c": {
			"f:branch:{ d(a) d(b) }→{}", "f:branch:{ d(b) d(a) }→{}", "f:return:c→!c",
			"f:statement:d(a)→", "f:statement:d(a)→#2", "f:statement:d(b)→", "f:statement:d(b)→#2",
		},
		"switch {\ncase c:\nd(a)\nd(b)\n}\nreturn c": {"f:branch:d(a) d(b)→", "f:return:c→!c", "f:statement:d(a)→", "f:statement:d(b)→"},
		"for c { break }; return c":                  {"f:return:c→!c", "f:statement:break→"},
		"a zero constant":                            {"f:branch:{ return done, c }→{}", "f:return:done→0", "f:return:c→!c"},
		"values of each type":                        nil,
	} {
		source := "package m\n\nvar d func(int) bool\n\nvar e func(string) bool\n\nfunc f(a, b int, c bool) bool {\n" + body + "\n}\n"
		if body == "a zero constant" {
			source = "package m\n\nconst (\n\tunknown = iota\n\tdone\n)\n\nfunc f(c bool) (int, bool) {\n\tif c {\n\t\treturn done, c\n\t}\n\treturn unknown, c\n}\n"
		} else if want == nil {
			source = "package m\n\ntype t struct {\n\tn int `json:\"n\"`\n}\n\nfunc (x *t) f(s []int, err error) (*t, []int, int, error) {\n\treturn x, s, x.n, err\n}\n"
			want = []string{"*t.f:return:x→nil", "*t.f:return:s→nil", "*t.f:return:x.n→0", "*t.f:return:err→nil"}
		}
		found := mutantsOf(t, source)
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", body, got, want)
		}
		for id, ok := range found {
			if !ok {
				t.Errorf("%s: %s does not compile", body, id)
			}
		}
	}
}

// What does not compile would look like a mutant that is found.
func TestMutantsThatDoNotCompile(t *testing.T) {
	found := mutantsOf(t, "package m\n\nimport \"fmt\"\n\nfunc f() (string, int) {\n\tx := 1\n\tx = 2\n\tfmt.Println(x)\n\ts := \"a\" + \"b\"\n\treturn s, 1 / 1\n}\n")
	for id, want := range map[string]bool{
		`f:arithmetic:+→-`: false, `f:statement:fmt.Println(x)→`: false, `f:statement:x = 2→`: true, `f:return:s→""`: false, `f:return:1 / 1→0`: true,
	} {
		if ok, known := found[id]; !known || ok != want {
			t.Errorf("%s: got %v, want %v (%v)", id, ok, want, known)
		}
	}
}

func TestChangedLines(t *testing.T) {
	root := module(t, map[string]string{"a.go": "1\n2\n3\n4\n", "gone.go": "a\nb\nc\n", "text.md": "1\n"})
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", root, "-c", "user.name=T", "-c", "user.email=t@example.com"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	if _, ok, err := changedLines(root, "HEAD~1"); ok || err != nil {
		t.Errorf("without a parent: %v, %v", ok, err)
	}
	for name, text := range map[string]string{"a.go": "1\n2b\n2c\n4\n5\n", "new.go": "1\n2\n", "text.md": "2\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("rm", "-q", "gone.go")
	git("add", ".")
	git("commit", "-q", "-m", "two")
	changed, ok, err := changedLines(root, "HEAD~1")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	for file, want := range map[string][]int{"a.go": {2, 3, 5}, "new.go": {1, 2}, "gone.go": nil, "text.md": nil} {
		if got := slices.Sorted(maps.Keys(changed[file])); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", file, got, want)
		}
	}
}

// A module with a mutant for each way to end. The tests of the root find what those of the package do not.
var example = map[string]string{
	"go.mod":               "module example.com/m\n\ngo 1.26\n",
	"m.go":                 "package m\n\nimport \"example.com/m/internal/x\"\n\nfunc Sum() int { return x.Sum(3) }\n",
	"m_test.go":            "package m\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum() != 6 {\n\t\tt.Fatal(Sum())\n\t}\n}\n",
	"internal/x/x.go":      "package x\n\nvar Log []string\n\nfunc Sum(n int) (sum int) {\n\tfor i := 1; i <= n; i++ {\n\t\tsum += i\n\t}\n\tLog = append(Log, \"done\")\n\treturn sum\n}\n\nfunc Unused(a, b int) bool { return a == b }\n",
	"internal/x/x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(0) != 0 {\n\t\tt.Fatal(Sum(0))\n\t}\n}\n",
}

func TestRun(t *testing.T) {
	root := module(t, example)
	dir := t.TempDir()
	s := settings{
		root: root, patterns: []string{"./..."}, least: 100, slack: time.Second, limit: time.Hour,
		results: filepath.Join(dir, "results.jsonl"), equivalent: filepath.Join(dir, "equivalent.txt"),
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(s.equivalent, "# none\n")
	before := treeOf(t, root)
	err := s.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "fewer than 100 %") {
		t.Errorf("mutants survive, but: %v", err)
	}
	if after := treeOf(t, root); after != before {
		t.Errorf("the tree is changed: %s", after)
	}
	results, err := readResults(s.results)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]string{
		"m.go:Sum:constant:3→4 @ func Sum() int { return x.Sum(3) }":                           {killed, "."},
		"internal/x/x.go:Sum:boundary:<=→< @ for i := 1; i <= n; i++ {":                        {killed, "."},
		"internal/x/x.go:Sum:negation:<=→> @ for i := 1; i <= n; i++ {":                        {timedOut, "internal/x"},
		"internal/x/x.go:Sum:constant:1→2 @ for i := 1; i <= n; i++ {":                         {killed, "."},
		"internal/x/x.go:Sum:arithmetic:+=→-= @ sum += i":                                      {killed, "."},
		"internal/x/x.go:Sum:statement:sum += i→":                                              {killed, "."},
		"internal/x/x.go:Sum:return:sum→0 @ return sum":                                        {killed, "."},
		"internal/x/x.go:Sum:increment:++→-- @ for i := 1; i <= n; i++ {":                      {timedOut, "."},
		"internal/x/x.go:Sum:constant:\"done\"→\"\" @ Log = append(Log, \"done\")":             {survived, ""},
		"internal/x/x.go:Sum:statement:Log = append(Log, \"done\")→":                           {survived, ""},
		"internal/x/x.go:Unused:negation:==→!= @ func Unused(a, b int) bool { return a == b }": {uncovered, ""},
	}
	for id, r := range results {
		if got := [2]string{r.Status, r.By}; got != want[id] {
			t.Errorf("%s: got %v, want %v", id, got, want[id])
		}
	}
	if len(results) != len(want) {
		t.Errorf("got %d results, want %d", len(results), len(want))
	}

	// A run that was stopped goes on where it was: a result of the same code is not made again.
	lines := strings.SplitAfter(read(t, s.results), "\n")
	write(s.results, strings.Join(lines[:3], "")+lines[3][:20])
	write(s.equivalent, "internal/x/x.go:Sum:constant:\"done\"→\"\" @ Log = append(Log, \"done\")\tnobody reads it\ninternal/x/x.go:Sum:statement:Log = append(Log, \"done\")→\tnobody reads it\ninternal/x/x.go:Unused:negation:==→!= @ func Unused(a, b int) bool { return a == b }\tdead\n")
	if err := s.run(t.Context()); err != nil {
		t.Error(err)
	}
	write(s.equivalent, "m.go:Sum:constant:4→5\tit was there once\nother.go:x\tanother package's\n")
	if err := s.run(t.Context()); err == nil || !strings.Contains(err.Error(), "no mutant m.go:Sum:constant:4→5 any more") || strings.Contains(err.Error(), "other.go") {
		t.Errorf("a stale judgement: %v", err)
	}
	if now := strings.SplitAfter(read(t, s.results), "\n"); len(now) != len(lines) || now[0] != lines[0] {
		t.Errorf("the run did not go on: %q", now)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func treeOf(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all.WriteString(path + "\n" + read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestMatch(t *testing.T) {
	s := settings{root: module(t, example), patterns: []string{"./..."}, match: "^internal/.*:Unused:"}
	jobs, err := s.jobs()
	if err != nil || len(jobs) != 1 || jobs[0].Operator != "negation" {
		t.Errorf("got %v, %v", jobs, err)
	}
	s.match = "("
	if _, err := s.jobs(); err == nil || !strings.HasPrefix(err.Error(), "-match: ") {
		t.Errorf("a bad expression: %v", err)
	}
}

// A limit must hold whatever the tests do, and say what was not reached.
func TestLimit(t *testing.T) {
	s := settings{root: module(t, example), patterns: []string{"./..."}, limit: time.Nanosecond}
	s.results = filepath.Join(t.TempDir(), "results.jsonl")
	s.equivalent = filepath.Join(t.TempDir(), "equivalent.txt")
	if err := os.WriteFile(s.equivalent, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.run(context.Background()); err != nil {
		t.Error(err)
	}
	if text := read(t, s.results); text != "" {
		t.Errorf("results: %s", text)
	}
}

func TestReport(t *testing.T) {
	var out strings.Builder
	total := report(&out, []Result{
		{ID: "a.go:f:x", File: "a.go", Line: 1, Status: killed}, {ID: "a.go:f:y", File: "a.go", Line: 2, Status: timedOut},
		{ID: "a.go:f:z", File: "a.go", Line: 3, Status: survived}, {ID: "b.go:g:x", File: "b.go", Line: 4, Status: uncovered},
		{ID: "b.go:g:y", File: "b.go", Line: 5, Status: survived},
	}, map[string]string{"b.go:g:y": "it is only faster", "a.go:f:x": "not so"})
	if want := (Count{Killed: 1, Timeout: 1, Survived: 1, Uncovered: 1, Equivalent: 1}); total != want || total.Found() != 50 {
		t.Errorf("got %+v", total)
	}
	for _, want := range []string{
		"| `a.go` | 1 | 1 | 1 | 0 | 0 | 66.7 % |\n", "| `b.go` | 0 | 0 | 0 | 1 | 1 | 0.0 % |\n", "| **all** | 1 | 1 | 1 | 1 | 1 | 50.0 % |\n",
		"\n## Not found by any test\n\n- a.go:3: `a.go:f:z` survived\n- b.go:4: `b.go:g:x` uncovered\n", "\n## Judged equivalent\n\n- `b.go:g:y`: it is only faster\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	if none := (Count{}); none.Found() != 100 {
		t.Error("without a mutant none is missed")
	}
}

func TestEquivalentNeedsAReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "equivalent.txt")
	if err := os.WriteFile(file, []byte("# title\n\na\tb\nc\t \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readEquivalent(file); err == nil || !strings.Contains(err.Error(), "equivalent.txt:4: want an ID") {
		t.Error(err)
	}
}
