package aicontenttest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two rules for names make a user look up each option.
func TestOptionsAreNamedWithoutAPrefix(t *testing.T) {
	count := 0
	for _, file := range []string{"options.go", "inspect.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Type.Results == nil || !f.Name.IsExported() {
				continue
			}
			if result, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && result.Name == "Option" {
				count++
				assert.NotRegexp(t, "^(With|Set|Use|Enable)[A-Z]", f.Name.Name)
			}
		}
	}
	assert.Greater(t, count, 15)
}
