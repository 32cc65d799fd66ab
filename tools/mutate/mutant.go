package main

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// Mutant is one small change to one file.
type Mutant struct {
	ID       string // file, function, operator, change, line, and a number where these repeat; it survives changes elsewhere
	Sum      string // of the declaration's text: a result holds until that changes
	Package  string // directory, relative to the module
	File     string // relative to the module
	Line     int
	Operator string
	Before   string
	After    string

	start, end int // what is replaced, as offsets in the file
}

// replacements are the operators that take an operator's place.
var replacements = map[token.Token][]struct {
	operator string
	with     token.Token
}{
	token.LSS:  {{"boundary", token.LEQ}, {"negation", token.GEQ}},
	token.LEQ:  {{"boundary", token.LSS}, {"negation", token.GTR}},
	token.GTR:  {{"boundary", token.GEQ}, {"negation", token.LEQ}},
	token.GEQ:  {{"boundary", token.GTR}, {"negation", token.LSS}},
	token.EQL:  {{"negation", token.NEQ}},
	token.NEQ:  {{"negation", token.EQL}},
	token.LAND: {{"logic", token.LOR}},
	token.LOR:  {{"logic", token.LAND}},

	token.ADD: {{"arithmetic", token.SUB}},
	token.SUB: {{"arithmetic", token.ADD}},
	token.MUL: {{"arithmetic", token.QUO}},
	token.QUO: {{"arithmetic", token.MUL}},
	token.REM: {{"arithmetic", token.MUL}},
	token.AND: {{"arithmetic", token.OR}},
	token.OR:  {{"arithmetic", token.AND}},
	token.XOR: {{"arithmetic", token.AND}},
	token.SHL: {{"arithmetic", token.SHR}},
	token.SHR: {{"arithmetic", token.SHL}},

	token.ADD_ASSIGN: {{"arithmetic", token.SUB_ASSIGN}},
	token.SUB_ASSIGN: {{"arithmetic", token.ADD_ASSIGN}},
	token.MUL_ASSIGN: {{"arithmetic", token.QUO_ASSIGN}},
	token.QUO_ASSIGN: {{"arithmetic", token.MUL_ASSIGN}},
	token.OR_ASSIGN:  {{"arithmetic", token.AND_ASSIGN}},
	token.INC:        {{"increment", token.DEC}},
	token.DEC:        {{"increment", token.INC}},
}

// generator finds the mutants of one file.
type generator struct {
	pkg      *Package
	file     *sourceFile
	mutants  []Mutant
	count    map[string]int
	function string
	sum      string
	results  []*types.Tuple // of the functions around the node
}

func (p *Package) mutants(f *sourceFile) []Mutant {
	g := generator{pkg: p, file: f, count: map[string]int{}}
	for _, decl := range f.syntax.Decls {
		g.function, g.results = "", nil
		g.sum = fmt.Sprintf("%x", sha256.Sum256(g.text(decl)))[:12]
		if d, ok := decl.(*ast.FuncDecl); ok {
			g.function = d.Name.Name
			if d.Recv != nil {
				g.function = types.ExprString(d.Recv.List[0].Type) + "." + g.function
			}
		}
		g.walk(decl)
	}
	return g.mutants
}

func (g *generator) text(n ast.Node) []byte {
	return g.file.text[g.pkg.offset(n.Pos()):g.pkg.offset(n.End())]
}
func (g *generator) replace(op string, n ast.Node, after string) {
	g.add(op, n.Pos(), n.End(), after)
}

func (g *generator) add(operator string, start, end token.Pos, after string) {
	m := Mutant{
		Sum: g.sum, Package: g.pkg.dir, File: g.file.path, Line: g.pkg.fset.Position(start).Line, Operator: operator, After: after,
		start: g.pkg.offset(start), end: g.pkg.offset(end),
	}
	m.Before = string(g.file.text[m.start:m.end])
	m.ID = fmt.Sprintf("%s:%s:%s:%s→%s", m.File, g.function, operator, brief(m.Before), brief(after))
	if line := brief(g.file.line(m.start)); line != brief(m.Before) {
		m.ID += " @ " + line
	}
	g.count[m.ID]++
	if n := g.count[m.ID]; n > 1 {
		m.ID += fmt.Sprintf("#%d", n)
	}
	// What is taken away leaves its line breaks, so that the lines of failures are those of the file.
	if lines := strings.Repeat("\n", strings.Count(m.Before, "\n")); operator == "statement" || operator == "branch" {
		m.After = strings.Replace(after, "}", "", 1) + lines
		if after == "{}" {
			m.After += "}"
		}
	}
	g.mutants = append(g.mutants, m)
}

// brief puts a text on one line of bounded length. Long ones end in a part of their sum, which keeps them apart.
func brief(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if r := []rune(line); len(r) > 60 {
		return string(r[:50]) + "…" + fmt.Sprintf("%x", sha256.Sum256([]byte(line)))[:6]
	}
	return line
}

func (g *generator) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.StructType:
			return false // paths and tags
		case *ast.FuncDecl:
			if n.Body != nil {
				g.results = append(g.results, g.pkg.info.Defs[n.Name].Type().(*types.Signature).Results())
				g.walk(n.Body)
				g.results = g.results[:len(g.results)-1]
			}
			return false
		case *ast.FuncLit:
			g.results = append(g.results, g.pkg.info.TypeOf(n).(*types.Signature).Results())
			g.walk(n.Body)
			g.results = g.results[:len(g.results)-1]
			return false
		case *ast.BinaryExpr:
			g.operator(n.Op, n.OpPos)
		case *ast.AssignStmt:
			g.operator(n.Tok, n.TokPos)
		case *ast.IncDecStmt:
			g.operator(n.Tok, n.TokPos)
		case *ast.UnaryExpr:
			if n.Op == token.NOT || n.Op == token.SUB {
				g.add("negation", n.OpPos, n.X.Pos(), "")
			}
		case *ast.BasicLit:
			g.literal(n)
		case *ast.Ident:
			if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" && g.pkg.info.Uses[n] == types.Universe.Lookup(n.Name) {
				g.replace("constant", n, other)
			}
		case *ast.ReturnStmt:
			g.returned(n)
		case *ast.BlockStmt:
			g.statements(n.List)
		case *ast.CommClause:
			g.statements(n.Body)
		case *ast.CaseClause:
			g.statements(n.Body)
			g.branch(n.Body, func() { g.add("branch", n.Body[0].Pos(), n.Body[len(n.Body)-1].End(), "") })
		case *ast.IfStmt:
			g.branch(n.Body.List, func() { g.replace("branch", n.Body, "{}") })
			if block, ok := n.Else.(*ast.BlockStmt); ok {
				g.branch(block.List, func() { g.replace("branch", block, "{}") })
			}
		}
		return true
	})
}

func (g *generator) operator(op token.Token, pos token.Pos) {
	for _, r := range replacements[op] {
		g.add(r.operator, pos, pos+token.Pos(len(op.String())), r.with.String())
	}
}

func (g *generator) literal(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		if value, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			g.replace("constant", n, strconv.FormatInt(value+1, 10))
		}
	case token.CHAR:
		if value, _, _, err := strconv.UnquoteChar(n.Value[1:len(n.Value)-1], '\''); err == nil {
			g.replace("constant", n, strconv.QuoteRune(value+1))
		}
	case token.STRING:
		if n.Value == `""` {
			g.replace("constant", n, `"mutant"`)
		} else {
			g.replace("constant", n, `""`)
		}
	}
}

// returned replaces each value that a function returns by the zero value of its type, or by its opposite. A constant that is the
// zero value by another name stays.
func (g *generator) returned(n *ast.ReturnStmt) {
	results := g.results[len(g.results)-1]
	if len(n.Results) != results.Len() {
		return
	}
	for i, value := range n.Results {
		text := string(g.text(value))
		zero := zeroValue(results.At(i).Type())
		if constant := g.pkg.info.Types[value].Value; constant != nil && constant.ExactString() == zero {
			continue
		}
		switch zero {
		case text, "":
		case "false":
			switch value.(type) {
			case *ast.CallExpr, *ast.SelectorExpr, *ast.Ident, *ast.IndexExpr:
				if text != "true" {
					g.replace("return", value, "!"+text)
				}
			}
		default:
			g.replace("return", value, zero)
		}
	}
}

func zeroValue(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			return "false"
		case u.Info()&types.IsString != 0:
			return `""`
		case u.Info()&types.IsNumeric != 0:
			return "0"
		}
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
		if _, generic := t.(*types.TypeParam); !generic {
			return "nil"
		}
	}
	return ""
}

// statements removes each statement that a program may also compile without.
func (g *generator) statements(list []ast.Stmt) {
	for _, s := range list {
		if removable(s) {
			g.replace("statement", s, "")
		}
	}
}

func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		return true
	case *ast.AssignStmt:
		// An assignment to the blank identifier says that a value is not used.
		blank := func(e ast.Expr) bool { return types.ExprString(e) == "_" }
		return s.Tok != token.DEFINE && !slices.ContainsFunc(s.Lhs, blank)
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE
	}
	return false
}

// branch removes a branch's statements, unless that is the same as removing its only one.
func (g *generator) branch(body []ast.Stmt, remove func()) {
	if len(body) > 1 || len(body) == 1 && !removable(body[0]) {
		remove()
	}
}
