package main

import (
	"strings"
	"testing"
	"time"
)

// odd has functions whose copies are not called like others. The tests find each of its mutants.
const odd = `package m

import (
	"strconv"
	"time"
)

type T struct{ n int }

func (T) unnamed(int, string) int        { return 1 }
func (_ *T) blank(_ int, _ ...string) int { return 2 }
func (t *T) pointer(n int)                { t.n += n }
func variadic(ns ...int) int              { return len(ns) + 3 }
func named(a, b int) (sum int, err error) {
	sum = a + b
	return
}

type list[E any] struct{ items []E }

func (l *list[E]) add(e E) { l.items = append(l.items, e) }

func generic[K comparable, V any](m map[K]V, key K) (V, bool) {
	v, ok := m[key]
	return v, ok
}

func recovered() (n int) {
	defer func() { recover() }()
	n = 4
	panic(n)
}

func direct() (caught bool) {
	defer catch(&caught)
	panic(caught)
}

func catch(caught *bool) {
	if recover() != nil {
		*caught = true
	}
}

var table = strconv.Itoa(5)

type kind string

var (
	kinds  = map[kind][]any{"x": {[3]int{1, 2}, 'c', kind("y")}}
	waits  = []time.Duration{3 * time.Second}
	double = func(n int) int { return n * 2 }
)

const size = 1 << 3

func init() { table += "6" }
`

const oddTest = `package m

import (
	"testing"
	"time"
)

func TestAll(t *testing.T) {
	var x T
	x.pointer(7)
	var l list[string]
	l.add("a")
	sum, _ := named(1, 3)
	v, ok := generic(map[string]int{"a": 8}, "a")
	_, no := generic(map[string]int{"a": 8}, "b")
	if x.unnamed(1, "a") != 1 || x.blank(1, "a") != 2 || x.n != 7 || variadic(1, 2) != 5 || sum != 4 || len(l.items) != 1 ||
		v != 8 || !ok || no || recovered() != 4 || !direct() || table != "56" || 8/size != 1 ||
		waits[0] != 3*time.Second || double(4) != 8 || kinds["x"][0] != [3]int{1, 2} || kinds["x"][1] != 'c' || kinds["x"][2] != kind("y") {
		t.Fatal()
	}
}
`

// A function that its copies do not stand in for would make mutants look found, or lost.
func TestInstrumentedFunctionsDoTheSame(t *testing.T) {
	root := module(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "m.go": odd, "m_test.go": oddTest})
	packages, err := load(root, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*job
	file := packages[0].files[0]
	for _, m := range packages[0].mutants(file) {
		if j := (&job{Mutant: m, pkg: packages[0], file: file}); j.compiles() {
			jobs = append(jobs, j)
		}
	}
	runner, err := newRunner(root, time.Second, false)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	if err := runner.prepare(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	if tests := runner.suites["."].tests; len(tests) != 1 {
		t.Fatalf("the tests without a mutant: %v", tests)
	}
	functions := map[string]bool{}
	for _, j := range jobs {
		status, _, err := runner.test(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if status != killed {
			t.Errorf("%s: %s", j.ID, status)
		}
		function := strings.Split(j.ID, ":")[1]
		functions[function] = true
		constant := strings.Contains(j.ID, "@ const size") || strings.Contains(j.ID, "3→4 @ kinds")
		alone := function == "catch" || function == "init" || function == "" && (j.Operator != "constant" || constant)
		if together := j.number != 0; together == alone {
			t.Errorf("%s: built together with others: %v", j.ID, together)
		}
	}
	for _, want := range []string{"T.unnamed", "*T.blank", "*T.pointer", "variadic", "named", "*list[E].add", "generic", "recovered", "catch", "init", ""} {
		if !functions[want] {
			t.Errorf("%q has no mutant", want)
		}
	}
}
