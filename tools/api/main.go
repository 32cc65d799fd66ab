// Api compares the exported API of this module with a recorded one. An incompatible change fails unless CHANGELOG.md
// tells of it: the section [Unreleased] must name it in backticks under "### Changed" or "### Removed", such as `Client.Images`
// or, of the test kit, `aicontenttest.Server.Close`.
//
// It is run in tools/:
//
//	go run ./api            compare
//	go run ./api -write     compare, then record the API as it is: a part of each release
//	go run ./api -exact     fail too if the recorded API is not the present one
//
// The recorded API is the Go declarations in api/*.txt, where unexported fields and methods are there only as far as they matter to
// other packages.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/exp/apidiff"

	"github.com/aicontent/aicontent-go/tools/internal/golist"
)

const module = "github.com/aicontent/aicontent-go"

var packages = []string{module, module + "/aicontenttest"}

func main() {
	root := flag.String("C", "..", "directory of the module")
	dir := flag.String("dir", "api", "directory of the recorded API")
	write := flag.Bool("write", false, "record the API as it is, if its changes are compatible or in CHANGELOG.md")
	exact := flag.Bool("exact", false, "fail unless the recorded API is the present one")
	flag.Parse()
	if err := run(os.Stdout, *root, *dir, *write, *exact); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, root, dir string, write, exact bool) error {
	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	told := announced(string(changelog))
	fset := token.NewFileSet()
	listed, err := golist.Run(root, append([]string{"-export", "-deps"}, packages...)...)
	if err != nil {
		return err
	}
	importer := golist.Importer(fset, listed)
	recorded := map[string]string{}
	breaking := 0
	for _, importPath := range packages {
		name := path.Base(importPath)
		if importPath == module {
			name = "aicontent"
		}
		file := filepath.Join(dir, name+".txt")
		present, err := importer.Import(importPath)
		if err != nil {
			return err
		}
		text, err := describe(present)
		if err != nil {
			return err
		}
		recorded[file] = text
		before, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) && write {
			continue
		}
		if err != nil {
			return err
		}
		old, err := read(fset, root, importPath, file, before)
		if err != nil {
			return err
		}
		for _, change := range changes(old, present) {
			symbol := symbolOf(change.Message)
			if importPath != module {
				symbol = name + "." + symbol
			}
			switch {
			case change.Compatible:
				fmt.Fprintf(w, "compatible: %s: %s\n", name, change.Message)
			case told[symbol]:
				fmt.Fprintf(w, "incompatible, in the changelog: %s: %s\n", name, change.Message)
			default:
				fmt.Fprintf(w, "INCOMPATIBLE: %s: %s (name `%s` in CHANGELOG.md)\n", name, change.Message, symbol)
				breaking++
			}
		}
		if exact && string(before) != text {
			return fmt.Errorf("%s is not the present API: go run ./api -write", file)
		}
	}
	if breaking > 0 {
		return fmt.Errorf("%d incompatible changes that CHANGELOG.md does not tell of", breaking)
	}
	if write {
		for file, text := range recorded {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(w, "the API is compatible with the recorded one")
	return nil
}

// read type-checks a recorded API.
func read(fset *token.FileSet, root, importPath, file string, text []byte) (*types.Package, error) {
	syntax, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	args := []string{"-export", "-deps"}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		args = append(args, imported)
	}
	// The packages that the API was made of may be no dependencies any more.
	listed, err := golist.Run(root, args...)
	if err != nil {
		return nil, err
	}
	config := types.Config{Importer: golist.Importer(fset, listed), IgnoreFuncBodies: true}
	p, err := config.Check(importPath, fset, []*ast.File{syntax}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s is not readable with the present packages: %w", file, err)
	}
	return p, nil
}

// changes is apidiff.Changes with the signatures that it takes for equal: it does not look at the type arguments of generic
// types of other packages, such as iter.Seq2.
func changes(old, present *types.Package) []apidiff.Change {
	list := apidiff.Changes(old, present).Changes
	known := map[string]bool{}
	for _, change := range list {
		known[symbolOf(change.Message)] = true
	}
	now := signatures(present)
	for symbol, before := range signatures(old) {
		if after, ok := now[symbol]; ok && after != before && !known[symbol] {
			list = append(list, apidiff.Change{Message: fmt.Sprintf("%s: changed from %s to %s", symbol, before, after)})
		}
	}
	return list
}

// signatures returns the exported functions and methods without the names of parameters.
func signatures(p *types.Package) map[string]string {
	all := map[string]string{}
	add := func(symbol string, f *types.Func) {
		if f.Exported() {
			s := f.Signature()
			plain := types.NewSignatureType(nil, nil, nil, unnamed(s.Params()), unnamed(s.Results()), s.Variadic())
			all[symbol] = types.TypeString(plain, types.RelativeTo(p))
		}
	}
	for _, name := range p.Scope().Names() {
		switch obj := p.Scope().Lookup(name).(type) {
		case *types.Func:
			add(name, obj)
		case *types.TypeName:
			if named, ok := obj.Type().(*types.Named); ok && obj.Exported() {
				for m := range named.Methods() {
					add(name+"."+m.Name(), m)
				}
			}
		}
	}
	return all
}

func unnamed(tuple *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for v := range tuple.Variables() {
		vars = append(vars, types.NewParam(v.Pos(), v.Pkg(), "", v.Type()))
	}
	return types.NewTuple(vars...)
}

// symbolOf returns the name that a change is about: Client.Images of "(*Client).Images: removed".
func symbolOf(message string) string {
	symbol, _, _ := strings.Cut(message, ":")
	symbol, _, _ = strings.Cut(symbol, ",")
	return strings.NewReplacer("(", "", ")", "", "*", "").Replace(symbol)
}

var quoted = regexp.MustCompile("`([^`]+)`")

// announced returns what the changelog names as changed or removed since the last release.
func announced(changelog string) map[string]bool {
	names := map[string]bool{}
	unreleased, breaking := false, false
	for line := range strings.Lines(changelog) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "## "):
			unreleased, breaking = strings.HasPrefix(line, "## [Unreleased]"), false
		case strings.HasPrefix(line, "### "):
			breaking = unreleased && (line == "### Changed" || line == "### Removed")
		case breaking:
			for _, name := range quoted.FindAllStringSubmatch(line, -1) {
				names[name[1]] = true
			}
		}
	}
	return names
}
