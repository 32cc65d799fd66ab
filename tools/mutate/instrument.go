package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant within a function needs no build for itself: the function gets a copy for each of its mutants, and calls the one whose number is
// in the environment. A literal that a variable of the package begins with becomes a call that returns it or its mutant. One build then
// serves all of these. The rest, mostly in constants, is built one by one.
const (
	activeEnv = "MUTATE_ACTIVE" // the number of the mutant
	traceEnv  = "MUTATE_TRACE"  // a file to which the numbers of the functions that run are written
)

// runtime is the file that each package with mutants gets.
const runtime = `package %s

import (
	mutatefmt "fmt"
	mutateos "os"
	mutatestrconv "strconv"
	mutatesync "sync"
)

var (
	mutateActive, _ = mutatestrconv.Atoi(mutateos.Getenv(%q))
	mutateTrace     = mutateos.Getenv(%q)
	mutateSeen      mutatesync.Map
)

func mutateNow(function int) int {
	if mutateTrace != "" {
		if _, seen := mutateSeen.LoadOrStore(function, true); !seen {
			if f, err := mutateos.OpenFile(mutateTrace, mutateos.O_APPEND|mutateos.O_CREATE|mutateos.O_WRONLY, 0o600); err == nil {
				mutatefmt.Fprintln(f, function)
				f.Close()
			}
		}
	}
	return mutateActive
}

func mutateLiteral[T any](mutant int, literal, mutated T) T {
	if mutateActive == mutant {
		return mutated
	}
	return literal
}
`

// edit replaces a piece of a file.
type edit struct {
	start, end int
	text       string
}

func apply(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, text[at:]...)
}

// instrument returns the files of an overlay with all mutants that it can hold, which it gives their numbers: of the mutant,
// and of its function.
func instrument(jobs []*job) map[string][]byte {
	files := map[*sourceFile][]*job{}
	overlay := map[string][]byte{}
	for _, j := range jobs {
		files[j.file] = append(files[j.file], j)
	}
	numbers, functions := 0, 0
	for _, p := range packagesOf(jobs) {
		for _, f := range p.files {
			var edits []edit
			for _, decl := range f.syntax.Decls {
				d, ok := decl.(*ast.FuncDecl)
				if !ok {
					for lit, typ := range p.literals(decl) {
						for _, j := range files[f] {
							if j.start == p.offset(lit.Pos()) && j.end == p.offset(lit.End()) {
								numbers++
								j.number = numbers
								edits = append(edits, edit{j.start, j.end, fmt.Sprintf("mutateLiteral[%s](%d, %s, %s)", typ, numbers, lit.Value, j.After)})
							}
						}
					}
					continue
				}
				if !copyable(d) {
					continue
				}
				start, end := p.offset(d.Type.Func), p.offset(d.End())
				var inside []*job
				for _, j := range files[f] {
					if j.start >= start && j.end <= end {
						inside = append(inside, j)
					}
				}
				if len(inside) == 0 {
					continue
				}
				functions++
				name := edit{p.offset(d.Name.Pos()), p.offset(d.Name.End()), ""}
				call, renamed := p.call(d)
				edits = append(edits, renamed...)
				cases := ""
				for _, j := range inside {
					numbers++
					j.number, j.function = numbers, functions
					name.text = fmt.Sprintf("mutant%d", numbers)
					copied := apply(f.text[:end], []edit{name, {j.start, j.end, j.After}})
					edits = append(edits, edit{len(f.text), len(f.text), "\n" + string(copied[start:]) + "\n"})
					cases += fmt.Sprintf("case %d: %s;", numbers, fmt.Sprintf(call, name.text))
				}
				body := p.offset(d.Body.Lbrace) + 1
				edits = append(edits, edit{body, body, fmt.Sprintf("switch mutateNow(%d) {%s};", functions, cases)})
			}
			if edits != nil {
				overlay[f.abs] = apply(f.text, edits)
				file := filepath.Join(filepath.Dir(f.abs), "mutate_runtime.go")
				overlay[file] = fmt.Appendf(nil, runtime, f.syntax.Name.Name, activeEnv, traceEnv)
			}
		}
	}
	return overlay
}

func packagesOf(jobs []*job) (packages []*Package) {
	for _, j := range jobs {
		if !slices.Contains(packages, j.pkg) {
			packages = append(packages, j.pkg)
		}
	}
	return packages
}

// literals returns the literals of a declaration that need not be constants, with the names of their types.
func (p *Package) literals(decl ast.Decl) map[*ast.BasicLit]string {
	d, ok := decl.(*ast.GenDecl)
	if !ok || d.Tok != token.VAR {
		return nil
	}
	found := map[*ast.BasicLit]string{}
	ast.Inspect(d, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			t := p.info.TypeOf(lit)
			if basic, ok := t.Underlying().(*types.Basic); ok && basic.Info()&types.IsUntyped == 0 {
				found[lit] = types.TypeString(t, func(other *types.Package) string {
					if other.Path() == p.path {
						return ""
					}
					return other.Name()
				})
			}
		}
		switch n := n.(type) {
		case *ast.ArrayType:
			return n.Len == nil // a length is a constant
		case *ast.StructType:
			return false // tags
		}
		return true
	})
	return found
}

// copyable reports whether a copy of the function that it calls does the same as it does.
func copyable(d *ast.FuncDecl) bool {
	if d.Body == nil || d.Recv == nil && (d.Name.Name == "init" || d.Name.Name == "main") {
		return false
	}
	recovers := false
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "recover" {
				recovers = true
			}
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return !recovers
}

// call returns the statement that calls a copy of the function, with %s for its name, and the edits that give names to the
// parameters that have none.
func (p *Package) call(d *ast.FuncDecl) (string, []edit) {
	var edits []edit
	var receiver string
	var arguments []string
	named := func(field *ast.Field) (names []string) {
		for _, ident := range field.Names {
			name := ident.Name
			if name == "_" {
				name = fmt.Sprintf("mutateP%d", len(edits))
				edits = append(edits, edit{p.offset(ident.Pos()), p.offset(ident.End()), name})
			}
			names = append(names, name)
		}
		if len(field.Names) == 0 {
			name := fmt.Sprintf("mutateP%d", len(edits))
			edits = append(edits, edit{p.offset(field.Type.Pos()), p.offset(field.Type.Pos()), name + " "})
			names = append(names, name)
		}
		return names
	}
	if d.Recv != nil {
		receiver = named(d.Recv.List[0])[0] + "."
	}
	for _, field := range d.Type.Params.List {
		arguments = append(arguments, named(field)...)
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			arguments[len(arguments)-1] += "..."
		}
	}
	var types []string
	if d.Type.TypeParams != nil {
		for _, field := range d.Type.TypeParams.List {
			for _, ident := range field.Names {
				types = append(types, ident.Name)
			}
		}
	}
	call := receiver + "%s"
	if types != nil {
		call += "[" + strings.Join(types, ", ") + "]"
	}
	call += "(" + strings.Join(arguments, ", ") + ")"
	if d.Type.Results != nil {
		return "return " + call, edits
	}
	return call + "; return", edits
}

// solo returns the file with one mutant.
func (j *job) solo() []byte {
	return bytes.Join([][]byte{j.file.text[:j.start], []byte(j.After), j.file.text[j.end:]}, nil)
}
