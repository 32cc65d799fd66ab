package integration

import (
	"fmt"
	"go/ast"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

func readme(t *testing.T) string { return read(t, "../README.md") }

// flat is code without indentation, so that a block can be found inside a function.
func flat(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// documents are the texts for users.
func documents(t *testing.T) []string {
	t.Helper()
	list := []string{"../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md", "../SECURITY.md"}
	for _, name := range tree(t, ".md") {
		if path.Dir(name) == "../docs" {
			list = append(list, name)
		}
	}
	return list
}

// Code that a reader copies from a document compiles: each block stands in an example or in docs/recipes, which are
// compiled and tested. The whole programs of README are run as they stand.
func TestCodeInDocumentsIsCompiled(t *testing.T) {
	t.Parallel()
	var compiled strings.Builder
	for _, file := range tree(t, ".go") {
		if isExample(file) || strings.HasSuffix(file, "/example_test.go") {
			compiled.WriteString(flat(read(t, file)) + "\n")
		}
	}
	for _, name := range documents(t) {
		for _, block := range blocks(read(t, name), "go") {
			if name == "../README.md" && strings.HasPrefix(block, "package main\n") {
				continue // TestReadmeWorksInAnEmptyModule runs it
			}
			assert.True(t, strings.Contains(compiled.String(), flat(block)),
				"%s has code that is not compiled:\n%s", name, block)
		}
	}
}

// Every option is in the table, no other is, and each says truly where it can be given.
func TestPackageDocListsEveryOption(t *testing.T) {
	t.Parallel()
	given := map[string]string{"Option": "client", "CallOption": "call"}
	want := map[string]string{}
	for _, file := range rootFiles(t) {
		for n := range ast.Preorder(parse(t, file)) {
			if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "With") {
				result := f.Type.Results.List[0].Type.(*ast.Ident).Name
				require.Contains(t, given, result)
				want[f.Name.Name] = given[result]
			}
		}
	}
	require.NotEmpty(t, want)
	got := map[string]string{}
	options := section(t, read(t, "../doc.go"), "// # ", "Options")
	for _, row := range matches(`(?m)^//\t(With\w+) +(client|call) +\S`, options) {
		got[row[1]] = row[2]
	}
	assert.Equal(t, want, got)
}

// A reader who searches the document for the text of an error must find it: each one that it quotes is in the code.
func TestQuotedErrorsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, file := range sources(t) {
		if !strings.Contains(file, "/fakes/") {
			code.WriteString(read(t, file))
		}
	}
	// These come from the operating system, the resolver, the TLS package, a proxy or the server.
	foreign := []string{
		"connection refused", "no such host", "certificate signed by unknown authority", "certificate required",
		"handshake failure", "Proxy Authentication Required",
	}
	found, quotes := 0, matches("`(the [^`]*)`", strings.Join(strings.Fields(read(t, "../docs/limits.md")), " "))
	require.NotEmpty(t, quotes)
	for _, row := range matches(`(?m)^\| ([^|]+) \|`, read(t, "../docs/troubleshooting.md")) {
		quotes = append(quotes, matches("`([^`]+)`", row[1])...)
	}
	for _, quote := range quotes {
		if slices.Contains(foreign, quote[1]) || !strings.Contains(quote[1], " ") {
			continue
		}
		for piece := range strings.SplitSeq(quote[1], "…") {
			assert.True(t, strings.Contains(code.String(), strings.Trim(piece, " :,")), quote[1])
			found++
		}
	}
	assert.Greater(t, found, 20)
}

// A form that a document beside the files promises must have a test, and one that is tested must be promised.
func TestDocumentsNameEveryResponse(t *testing.T) {
	t.Parallel()
	var named, files []string
	for _, room := range []string{".", "internal/response"} {
		for _, row := range matches(`(?m)^\|.*\| ([^|]+) \|$`, read(t, path.Join("..", room, "testdata/README.md"))) {
			for _, file := range matches("`([^`]+/[^`]+)`", row[1]) {
				named = append(named, filepath.FromSlash(file[1]))
			}
		}
	}
	for folder, room := range map[string]string{
		"responses": ".", "records": "internal/response", "refused": "internal/response", "lists": "internal/response",
		"refused-lists": "internal/response", "errors": "internal/response",
	} {
		found, err := filepath.Glob(filepath.Join("..", room, "testdata", folder, "*"))
		require.NoError(t, err)
		require.NotEmpty(t, found, folder)
		for _, file := range found {
			files = append(files, filepath.Join(folder, filepath.Base(file)))
		}
	}
	assert.ElementsMatch(t, files, named)
}

// A link that leads nowhere sends a reader away.
func TestDocumentsLinkToFilesThatExist(t *testing.T) {
	t.Parallel()
	names := tree(t, ".md")
	require.Subset(t, names, documents(t))
	for _, name := range names {
		for _, link := range matches(`\]\(([^)#:]*)(?:#([^)]*))?\)`, read(t, name)) {
			target, anchor := name, link[2]
			if link[1] != "" {
				target = filepath.Join(filepath.Dir(name), link[1])
			}
			_, err := os.Stat(target)
			require.NoError(t, err, name)
			if anchor != "" {
				assert.Contains(t, anchors(read(t, target)), anchor, "%s links to %s", name, target)
			}
		}
	}
}

// section returns the text below a heading, up to the next one that begins alike.
func section(t *testing.T, text, begins, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, "\n"+begins+heading+"\n")
	require.True(t, found, heading)
	rest, _, _ = strings.Cut(rest, "\n"+begins)
	return rest
}

// anchors are the headings of a document as links write them.
func anchors(text string) (list []string) {
	for _, heading := range matches(`(?m)^#+ (.*)$`, text) {
		name := strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")
		list = append(list, regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(name, ""))
	}
	return list
}

// blocks are the pieces of code in one language that a document shows.
func blocks(text, language string) (list []string) {
	for _, block := range matches("(?s)```"+language+"\n(.*?)```", text) {
		list = append(list, block[1])
	}
	return list
}

// README, followed literally in an empty folder, works: its two programs, one after the other, print what it shows.
func TestReadmeWorksInAnEmptyModule(t *testing.T) {
	t.Parallel()
	text, folder, modules, proxy := readme(t), t.TempDir(), t.TempDir(), moduleProxy(t)
	programs, outputs := blocks(text, "go")[:2], blocks(text, "text")
	require.Len(t, outputs, len(programs))
	checkout, err := filepath.Abs("..")
	require.NoError(t, err)
	srv := aicontenttest.NewServer(t, aicontenttest.APIKey("test-key"))
	place := strings.NewReplacer("../aicontent-go", checkout, "http://127.0.0.1:8090", srv.URL)
	environment := append(os.Environ(),
		"GOFLAGS=-modcacherw", "GOWORK=off", "GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=none",
		"GOPROXY="+proxy, "GOMODCACHE="+modules)
	run := func(line string) string {
		words := strings.Fields(place.Replace(line))
		if words[0] == "export" {
			environment = append(environment, words[1:]...)
			return ""
		}
		require.Equal(t, "go", words[0])
		cmd := exec.CommandContext(t.Context(), "go", words[1:]...)
		cmd.Dir, cmd.Env = folder, environment
		printed, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s%s", line, printed)
		return string(printed)
	}
	save := func(program string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600))
	}
	save(programs[0])
	var out string
	for line := range strings.Lines(blocks(text, "sh")[1]) {
		out = run(line)
	}
	assert.Equal(t, place.Replace(outputs[0]), out)
	save(programs[1])
	assert.Equal(t, place.Replace(outputs[1]), run("go run .")+run("go run ."), "run twice")
	assert.Len(t, srv.Created(), len(programs))
}

// moduleProxy returns the URL of a proxy that has the modules of this machine's cache. Of a module that is not there it
// has only a go.mod without requirements: a program needs that of a dependency's tests, and nothing else of it.
func moduleProxy(t *testing.T) string {
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	download := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(filepath.Join(download, filepath.FromSlash(r.URL.Path)))
		name, version, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/@v/")
		switch {
		case err == nil:
			_, _ = w.Write(text)
		case strings.HasSuffix(version, ".mod"):
			fmt.Fprintf(w, "module %s\n", name)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// A promise without a test is only a sentence.
func TestEachPromiseNamesItsTest(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	for _, file := range tree(t, ".go") {
		if strings.HasSuffix(file, "_test.go") {
			tests.WriteString(read(t, file))
		}
	}
	rows := matches(`(?m)^\| \d+ \|.*\| (.+) \|$`, read(t, "../docs/limits.md"))
	require.Len(t, rows, 12)
	for _, row := range rows {
		names := matches("`(Test\\w+)`", row[1])
		require.NotEmpty(t, names, row[0])
		for _, name := range names {
			assert.Contains(t, tests.String(), "\nfunc "+name[1]+"(t *testing.T)", row[0])
		}
	}
}
