package aicontent_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readme(t *testing.T) string {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// flat is code without indentation, so that a block can be found inside a function.
func flat(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// Code that a reader copies from the README compiles and does what it says: each block stands in an example that is run.
func TestReadmeCodeIsRun(t *testing.T) {
	var examples strings.Builder
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && (filepath.Base(path) == "example_test.go" || strings.HasPrefix(path, "examples/") && filepath.Ext(path) == ".go") {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			examples.WriteString(flat(string(text)) + "\n")
		}
		return err
	}))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		assert.True(t, strings.Contains(examples.String(), flat(block[1])), "no example has this block of the README:\n%s", block[1])
	}
}

// Every option is in the table, no other is, and each says truly where it can be given.
func TestReadmeListsEveryOption(t *testing.T) {
	given := map[string]string{"Option": "client", "CallOption": "call"}
	want := map[string]string{}
	for _, name := range []string{"options.go", "once.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "With") {
				continue
			}
			result := f.Type.Results.List[0].Type.(*ast.Ident).Name
			require.Contains(t, given, result)
			want["`"+f.Name.Name+"`"] = given[result]
		}
	}
	require.NotEmpty(t, want)
	_, section, found := strings.Cut(readme(t), "\n## Options\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	got := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`With\\w+`) \\| (\\w+) \\| .+ \\|$").FindAllStringSubmatch(section, -1) {
		got[row[1]] = row[2]
	}
	assert.Equal(t, want, got)
}

// A link of the documents that leads nowhere sends a reader away.
func TestDocumentsLinkToFilesThatExist(t *testing.T) {
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(link[1])
			assert.NoError(t, err, name)
		}
	}
}

// Somebody new finds every file of the package in the layout, and none that is gone.
func TestLayoutNamesEveryFile(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	_, layout, found := strings.Cut(string(text), "\n## Layout\n")
	require.True(t, found)
	layout, _, _ = strings.Cut(layout, "\n## ")
	var named []string
	for _, name := range regexp.MustCompile("`([^`/]+\\.go)`").FindAllStringSubmatch(layout, -1) {
		named = append(named, name[1])
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	assert.ElementsMatch(t, files, named)
}

// The README stays short enough to be read.
func TestReadmeIsUnder200Lines(t *testing.T) {
	assert.Less(t, strings.Count(readme(t), "\n"), 200)
}
