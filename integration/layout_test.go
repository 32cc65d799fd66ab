package integration

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

const module = "github.com/aicontent/aicontent-go"

// imports lists, for each package of the module, the packages of the module that it may import. The root is "".
var imports = map[string][]string{
	"":         {"engine", "names", "redact", "response", "upload"},
	"engine":   {"redact", "upload"},
	"fakes":    {"names"},
	"names":    nil,
	"redact":   nil,
	"response": {"redact"},
	"upload":   nil,
	"once":     {"", "names"},
}

// imported returns the packages of this module that a file imports.
func imported(t *testing.T, file string) (list []string) {
	t.Helper()
	for _, spec := range parse(t, file).Imports {
		if path, found := strings.CutPrefix(literal(spec.Path), module); found {
			list = append(list, strings.TrimPrefix(strings.TrimPrefix(path, "/"), "internal/"))
		}
	}
	return list
}

func TestEachPackageImportsOnlyThoseBelowIt(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, file := range sources(t) {
		pkg := strings.TrimPrefix(path.Base(path.Dir(file)), "..")
		seen[pkg] = true
		allowed, listed := imports[pkg]
		assert.True(t, listed, "%s: a package without a place in the layering", pkg)
		assert.Subset(t, allowed, imported(t, file), file)
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(imports)), slices.Collect(maps.Keys(seen)))
}

// outcomes lists the outcomes that each file of the root and of the engine may claim. Claimed elsewhere than by the
// rules of rules.go, an outcome does not rest on the facts of an attempt. The few others concern a call without an
// attempt, and records that a list or Show has returned.
var outcomes = map[string][]string{
	"outcome.go":               all,
	"errors.go":                {"OutcomeNotExecuted", "OutcomeExecuted"}, // bad arguments; a record that Show returned
	"request.go":               {"OutcomeNotExecuted", "OutcomeExecuted"}, // a file not read; a list that was
	"find.go":                  {"OutcomeUnknown", "OutcomeExecuted"},     // the record that a search is for
	"internal/engine/rules.go": all,
	"internal/engine/retry.go": {"NotExecuted"}, // no attempt was made
}

var all = []string{"OutcomeUnknown", "OutcomeNotExecuted", "OutcomeExecuted", "Unknown", "NotExecuted", "Executed"}

func TestOutcomesAreClaimedWhereTheyAreKnown(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		if dir := path.Dir(file); dir != ".." && dir != "../internal/engine" {
			continue
		}
		name := strings.TrimPrefix(file, "../")
		ast.Inspect(parse(t, file), func(n ast.Node) bool {
			if compares, ok := n.(*ast.BinaryExpr); ok && (compares.Op == token.EQL || compares.Op == token.NEQ) {
				return false
			}
			id, ok := n.(*ast.Ident)
			claims := ok && slices.Contains(all, id.Name)
			assert.False(t, claims && !slices.Contains(outcomes[name], id.Name), "%s claims an outcome: %v", name, n)
			return true
		})
	}
}

// A line of more than 120 columns does not fit beside its diff. Tests and nested modules are reviewed, too.
func TestNoLineHasMoreThan120Columns(t *testing.T) {
	t.Parallel()
	for _, file := range tree(t, ".go") {
		n := 0
		for line := range strings.Lines(read(t, file)) {
			n++
			columns := utf8.RuneCountInString(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "))
			assert.LessOrEqual(t, columns, 120, "%s:%d", file, n)
		}
	}
}

// weights are the largest numbers of tokens, without comments and tests. A change that needs more raises its number
// here and says why, as CONTRIBUTING asks of a tolerance.
var weights = map[string]int{"root": 18_400, "internal": 15_800, "once": 6_900}

func TestWeightGrowsByDecisionOnly(t *testing.T) {
	t.Parallel()
	weight := map[string]int{}
	for _, file := range sources(t) {
		part := map[string]string{"..": "root", "../once": "once"}[path.Dir(file)]
		switch {
		case strings.Contains(file, "/fakes/"):
			continue
		case strings.HasPrefix(file, "../internal/"):
			part = "internal"
		}
		weight[part] += tokensOf(t, file)
	}
	for part, tokens := range weight {
		assert.LessOrEqual(t, tokens, weights[part], part)
		assert.Greater(t, tokens, weights[part]*9/10, "%s: lower its number, so that it stays a limit", part)
	}
}

// tokensOf returns the number of tokens in a file, without comments and line ends.
func tokensOf(t *testing.T, file string) (count int) {
	source := []byte(read(t, file))
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(file, -1, len(source)), source, nil, 0)
	for {
		switch _, tok, literal := s.Scan(); {
		case tok == token.EOF:
			return count
		case tok != token.SEMICOLON || literal != "\n":
			count++
		}
	}
}
