package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree returns the files of the repository with this extension. Like all paths here, theirs have slashes and begin with
// "../".
func tree(t *testing.T, extension string) (list []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case filepath.Ext(path) == extension:
			list = append(list, filepath.ToSlash(path))
		}
		return nil
	}))
	return list
}

// sources returns the files of the root, of package once and of internal/ that are no tests.
func sources(t *testing.T) (list []string) {
	t.Helper()
	for _, pattern := range []string{"../*.go", "../once/*.go", "../internal/*/*.go"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range found {
			if !strings.HasSuffix(file, "_test.go") {
				list = append(list, filepath.ToSlash(file))
			}
		}
	}
	return list
}

// rootFiles returns those of the root.
func rootFiles(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(sources(t), func(file string) bool { return path.Dir(file) != ".." })
}

// isExample reports whether a file is shown to users as it stands.
func isExample(file string) bool {
	return strings.HasPrefix(file, "../examples/") || strings.HasPrefix(file, "../docs/recipes/")
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return parsed
}

// literal returns the value of a string literal, and nothing for anything else.
func literal(n ast.Node) string {
	if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		text, _ := strconv.Unquote(lit.Value)
		return text
	}
	return ""
}

// matches returns the matches of a pattern, each with its groups.
func matches(pattern, text string) [][]string {
	return regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
}
