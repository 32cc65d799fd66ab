package integration

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exported returns the exported names that the root declares: of the package, and the methods and fields of its types.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	add := func(idents ...*ast.Ident) {
		for _, ident := range idents {
			if ident.IsExported() {
				names[ident.Name] = true
			}
		}
	}
	for _, file := range sources(t) {
		if filepath.Dir(file) != ".." {
			continue
		}
		inspect(t, file, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.FuncDecl:
				add(n.Name)
			case *ast.TypeSpec:
				add(n.Name)
				if fields, ok := n.Type.(*ast.StructType); ok && n.Name.IsExported() {
					for _, field := range fields.Fields.List {
						add(field.Names...)
					}
				}
			case *ast.ValueSpec:
				add(n.Names...)
			}
		})
	}
	return names
}

// Who adds a name writes down what it is for: in a document, an example or a test. A name that none of them uses is
// one that every later version must keep for nobody.
func TestEveryExportedNameIsUsed(t *testing.T) {
	t.Parallel()
	unused := exported(t)
	require.Greater(t, len(unused), 200, "names were found")
	require.Contains(t, unused, "WithStallTimeout")
	require.Contains(t, unused, "RetryAfter", "a field")
	require.Contains(t, unused, "HasNext", "a method")
	word := regexp.MustCompile(`\w+`)
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		slashed := filepath.ToSlash(path)
		uses := strings.HasSuffix(path, "_test.go") || filepath.Ext(path) == ".go" &&
			(strings.HasPrefix(slashed, "../examples/") || strings.HasPrefix(slashed, "../docs/recipes/"))
		switch {
		case err != nil:
			return err
		case uses:
			inspect(t, path, func(n ast.Node) {
				if ident, ok := n.(*ast.Ident); ok {
					delete(unused, ident.Name)
				}
			})
		case slashed == "../README.md" || strings.HasPrefix(slashed, "../docs/") && filepath.Ext(path) == ".md":
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, name := range word.FindAllString(string(text), -1) {
				delete(unused, name)
			}
		}
		return nil
	}))
	assert.Empty(t, unused)
}
