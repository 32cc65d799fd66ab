package integration

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/aicontent/aicontent-go"

// imports is what each package under internal/ imports of this module.
var imports = map[string][]string{
	"lenient": nil, "paging": {"lenient"}, "wire": nil, "upload": nil, "redact": nil, "errtext": {"lenient", "redact"},
	"fakes": nil,
}

// ours returns what a file imports of this module: "" is the root.
func ours(t *testing.T, file string) (list []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	require.NoError(t, err)
	for _, spec := range parsed.Imports {
		if path, found := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module); found {
			list = append(list, strings.TrimPrefix(strings.TrimPrefix(path, "/"), "internal/"))
		}
	}
	return list
}

// sources returns the files of the root and of internal/ that are no tests.
func sources(t *testing.T) []string {
	t.Helper()
	root, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	internal, err := filepath.Glob("../internal/*/*.go")
	require.NoError(t, err)
	isTest := func(file string) bool { return strings.HasSuffix(file, "_test.go") }
	return slices.DeleteFunc(append(root, internal...), isTest)
}

// A package below that knows another one, or the root, cannot be read alone. Fakes in a program would be a mistake.
func TestLayoutOfImports(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, file := range sources(t) {
		pkg := filepath.Base(filepath.Dir(file))
		if pkg == ".." {
			assert.NotContains(t, ours(t, file), "fakes", file)
			continue
		}
		seen[pkg] = true
		assert.Contains(t, imports, pkg, "a package that is not on the map")
		assert.Subset(t, imports[pkg], ours(t, file), file)
	}
	assert.Len(t, seen, len(imports))
}

// The test of a file is found by its name.
func TestLayoutOfTests(t *testing.T) {
	t.Parallel()
	tests, err := filepath.Glob("../*_test.go")
	require.NoError(t, err)
	for _, test := range tests {
		if base := filepath.Base(test); base != "example_test.go" && base != "client_test.go" {
			assert.FileExists(t, strings.TrimSuffix(test, "_test.go")+".go")
		}
	}
}

// A newcomer finds every file and package in the layout, and none that is gone.
func TestLayoutNamesEveryFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	_, layout, found := strings.Cut(string(text), "\n## Layout\n")
	require.True(t, found)
	layout, _, _ = strings.Cut(layout, "\n## ")
	var named, files []string
	for _, name := range regexp.MustCompile("`([^`/]+\\.go)`").FindAllStringSubmatch(layout, -1) {
		named = append(named, name[1])
	}
	for _, file := range sources(t) {
		if filepath.Dir(file) == ".." {
			files = append(files, filepath.Base(file))
		}
	}
	assert.ElementsMatch(t, files, named)
	for pkg, others := range imports {
		if pkg == "fakes" {
			continue
		}
		column := strings.Join(others, ", ")
		if column == "" {
			column = "nothing"
		}
		assert.Regexp(t, "(?m)^\\| `internal/"+pkg+"` \\|.*\\| "+column+" \\|$", layout)
	}
}

// A debugger who follows the table to a function that is gone has lost the way.
func TestDebuggingTableNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n## Debugging\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	once, err := filepath.Glob("../once/*.go")
	require.NoError(t, err)
	var code strings.Builder
	for _, file := range append(sources(t), once...) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		code.Write(text)
	}
	names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(table, -1)
	require.Greater(t, len(names), 20)
	for _, name := range names {
		switch {
		case strings.Contains(name[1], "/"):
			_, err := os.Stat(filepath.Join("..", name[1]))
			assert.NoError(t, err)
		case strings.HasSuffix(name[1], ".go"):
			in, err := filepath.Glob("../*/" + name[1])
			require.NoError(t, err)
			_, err = os.Stat("../" + name[1])
			assert.True(t, err == nil || len(in) > 0, name[1])
		default:
			assert.Regexp(t, `(?m)^func (\([^)]+\) )?`+name[1]+`[\[(]`, code.String(), name[1])
		}
	}
}

// A line of more than 120 columns does not fit beside its diff.
func TestNoLineHasMoreThan120Columns(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			columns := utf8.RuneCountInString(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "))
			assert.LessOrEqual(t, columns, 120, "%s:%d", file, n)
		}
	}
}
