package integration

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

func readme(t *testing.T) string {
	text, err := os.ReadFile("../README.md")
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

// documents are the texts for users.
func documents(t *testing.T) []string {
	list, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"} {
		list = append(list, filepath.Join("..", name))
	}
	return list
}

// Code that a reader copies from a document compiles: each block stands in an example or in docs/recipes, which are
// compiled and tested.
func TestCodeInDocumentsIsCompiled(t *testing.T) {
	t.Parallel()
	var compiled strings.Builder
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		slashed := filepath.ToSlash(path)
		if err == nil && filepath.Ext(path) == ".go" &&
			(filepath.Base(path) == "example_test.go" || strings.HasPrefix(slashed, "../examples/") || strings.HasPrefix(slashed, "../docs/recipes/")) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			compiled.WriteString(flat(string(text)) + "\n")
		}
		return err
	}))
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, block := range blocks(string(text), "go") {
			assert.True(t, strings.Contains(compiled.String(), flat(block)), "%s has code that is not compiled:\n%s", name, block)
		}
	}
}

// Every option is in the table, no other is, and each says truly where it can be given.
func TestPackageDocListsEveryOption(t *testing.T) {
	t.Parallel()
	given := map[string]string{"Option": "client", "CallOption": "call"}
	want := map[string]string{}
	files, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
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
	text, err := os.ReadFile("../doc.go")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n// # Options\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n// # ")
	got := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^//\t(With\w+) +(client|call) +\S`).FindAllStringSubmatch(section, -1) {
		got["`"+row[1]+"`"] = row[2]
	}
	assert.Equal(t, want, got)
}

// A reader who searches the document for the text of an error must find it: each one that it quotes is in the code.
func TestQuotedErrorsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	once, err := filepath.Glob("../once/*.go")
	require.NoError(t, err)
	for _, file := range append(sources(t), once...) {
		if strings.Contains(filepath.ToSlash(file), "/fakes/") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		code.Write(text)
	}
	// These come from the operating system, the resolver, the TLS package, a proxy or the server.
	foreign := []string{
		"connection refused", "no such host", "certificate signed by unknown authority", "certificate required",
		"handshake failure", "Proxy Authentication Required",
	}
	text, err := os.ReadFile("../docs/troubleshooting.md")
	require.NoError(t, err)
	found := 0
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(string(text), -1) {
		for _, quote := range regexp.MustCompile("`([^`]* [^`]*)`").FindAllStringSubmatch(row[1], -1) {
			if slices.Contains(foreign, quote[1]) {
				continue
			}
			for piece := range strings.SplitSeq(quote[1], "…") {
				assert.Contains(t, code.String(), strings.Trim(piece, " :,"), "quoted in docs/troubleshooting.md")
				found++
			}
		}
	}
	assert.Greater(t, found, 15)
}

// A link that leads nowhere sends a reader away.
func TestDocumentsLinkToFilesThatExist(t *testing.T) {
	t.Parallel()
	var names []string
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			names = append(names, path)
		}
		return err
	}))
	require.Subset(t, names, documents(t))
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, link := range regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(string(text), -1) {
			target, anchor := name, link[2]
			if link[1] != "" {
				target = filepath.Join(filepath.Dir(name), link[1])
			}
			_, err := os.Stat(target)
			require.NoError(t, err, name)
			if anchor != "" {
				there, err := os.ReadFile(target)
				require.NoError(t, err, name)
				assert.Contains(t, anchors(string(there)), anchor, "%s links to %s", name, target)
			}
		}
	}
}

// The README says which statuses are retried in a sentence: it names those of the table, and no others.
func TestReadmeNamesTheRetriedStatuses(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../outcome.go")
	require.NoError(t, err)
	others, store := map[string]bool{}, map[string]bool{}
	status := regexp.MustCompile(`\b[45](?:\d\d|xx)\b`)
	for _, row := range regexp.MustCompile(`(?m)^//\t(\d.*?) {2,}\w+ +(\S+) +(\S+) +\S+$`).FindAllStringSubmatch(string(source), -1) {
		for _, code := range status.FindAllString(row[1], -1) {
			if strings.HasPrefix(row[1], "2") {
				continue
			}
			others[code] = others[code] || row[2] == "yes"
			store[code] = store[code] || row[3] == "yes"
		}
	}
	for prefix, want := range map[string]map[string]bool{"- List, Show, Update, Delete and Download are retried after ": others, "- Store is retried only if ": store} {
		_, rest, found := strings.Cut(readme(t), prefix)
		require.True(t, found, prefix)
		sentence, _, _ := strings.Cut(rest, ".\n")
		for code, retried := range want {
			assert.Equal(t, retried, slices.Contains(status.FindAllString(sentence, -1), code), "%s: %s", prefix, code)
		}
	}
}

// anchors are the headings of a document as links write them.
func anchors(text string) (list []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")
		list = append(list, regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(name, ""))
	}
	return list
}

// blocks are the pieces of code in one language that a document shows.
func blocks(text, language string) (list []string) {
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		list = append(list, block[1])
	}
	return list
}

// A newcomer looks for two commands: one that shows what the project does, and one that shows that it works.
func TestReadmeHasTheTwoCommands(t *testing.T) {
	t.Parallel()
	shell := blocks(readme(t), "sh")
	require.NotEmpty(t, shell)
	lines := strings.Split(shell[0], "\n")
	for _, command := range []string{"go run ./examples/quickstart", "go test ./..."} {
		assert.Contains(t, lines, command)
	}
	assert.DirExists(t, "../examples/quickstart")
}

// What README says to try in an empty folder works there, with the first block of Go code as it stands.
func TestReadmeWorksInAnEmptyModule(t *testing.T) {
	t.Parallel()
	text, folder, modules, proxy := readme(t), t.TempDir(), t.TempDir(), moduleProxy(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(blocks(text, "go")[0]), 0o600))
	checkout, err := filepath.Abs("..")
	require.NoError(t, err)
	srv := aicontenttest.NewServer(t)
	commands, out := blocks(text, "sh")[1], ""
	for line := range strings.Lines(commands) {
		words := strings.Fields(strings.ReplaceAll(line, "../aicontent-go", checkout))
		require.Equal(t, "go", words[0])
		cmd := exec.CommandContext(t.Context(), "go", words[1:]...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "GOFLAGS=-modcacherw", "GOWORK=off", "GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=none",
			"GOPROXY="+proxy, "GOMODCACHE="+modules, "AICONTENT_BASE_URL="+srv.URL, "AICONTENT_API_KEY="+srv.APIKey)
		printed, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s%s", line, printed)
		out = string(printed)
	}
	require.Len(t, srv.Records(), 1)
	assert.True(t, strings.HasPrefix(out, "1 http"), out)
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

// Blocks of the README are read at a glance, but for the whole program and package once.
func TestReadmeShowsShortBlocks(t *testing.T) {
	t.Parallel()
	for _, block := range blocks(readme(t), "go")[2:] {
		assert.LessOrEqual(t, strings.Count(block, "\n"), 8, block)
	}
}

// Words of the glossary have one meaning everywhere. More than nine are learned by nobody.
func TestGlossaryHasNineWords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/errors.md")
	require.NoError(t, err)
	_, glossary, found := strings.Cut(string(text), "\n## Glossary\n")
	require.True(t, found)
	var words []string
	for _, word := range regexp.MustCompile(`(?m)^- \*([a-z ]+)\*: `).FindAllStringSubmatch(glossary, -1) {
		words = append(words, word[1])
	}
	assert.Equal(t, []string{
		"deployment", "record", "call", "attempt", "request", "outcome", "search", "settle time", "ledger",
	}, words)
}

// The README stays short enough to be read.
func TestReadmeIsUnder200Lines(t *testing.T) {
	t.Parallel()
	assert.Less(t, strings.Count(readme(t), "\n"), 200)
}

// A line that leaves the screen is not read to its end. Tables and code cannot be wrapped.
func TestLinesOfDocumentsFitAScreen(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, list)
	for _, name := range append(list, "../README.md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		n, code := 0, false
		for line := range strings.Lines(string(text)) {
			n++
			fence := strings.HasPrefix(line, "```")
			code = code != fence
			if !code && !fence && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "\t") {
				assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 120, "%s:%d", name, n)
			}
		}
		assert.False(t, code, "%s has a block of code without an end", name)
	}
}

// Numbers in README that are older than the results beside them would be a claim that nobody measured.
func TestReadmeHasTheMeasuredNumbers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../bench/results/results.md")
	require.NoError(t, err)
	results := string(text)
	lines := strings.Split(readme(t), "\n")
	row := func(prefix string) []string {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, prefix) })
		require.GreaterOrEqual(t, i, 0, prefix)
		return cells(lines[i])[1:]
	}
	for name, places := range map[string]struct {
		tables []string // the first that has the client counts
		column string
	}{
		"created exactly once, and reported to the caller": {[]string{"Faults, retries as documented", "Faults, as it comes"}, "made once and told"},
		"created twice":                               {[]string{"Faults, retries as documented", "Faults, as it comes"}, "made twice"},
		"still waiting after 20 s":                    {[]string{"Faults, retries as documented", "Faults, as it comes"}, "still waiting"},
		"requests, searches included":                 {[]string{"Faults, retries as documented", "Faults, as it comes"}, "requests"},
		"a create request over loopback with TLS, ms": {[]string{"Create, loopback with TLS"}, "µs"},
		"peak memory of a 512 MiB upload, MiB":        {[]string{"Upload 512 MiB"}, "peak memory over start, MiB"},
	} {
		var want []string
		for _, client := range row("| | aicontent") {
			value := ""
			for _, table := range places.tables {
				value = cmp.Or(value, measured(t, results, table, client, places.column))
			}
			if value == "" {
				// Package once, with a settle time, makes the requests of its client.
				client, _, _ = strings.Cut(client, ", once")
				value = measured(t, results, places.tables[0], client, places.column)
			}
			require.NotEmpty(t, value, "%s: %s", name, client)
			if strings.HasSuffix(name, ", ms") {
				value = milliseconds(t, value)
			}
			want = append(want, value)
		}
		assert.Equal(t, want, row("| "+name), name)
	}
}

// An aim that was missed, and that README does not name, would be a claim that it was met. README names the aim and the
// measured number.
func TestReadmeNamesTheMissedAims(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../bench/results/results.md")
	require.NoError(t, err)
	_, aims, found := strings.Cut(string(text), "\n## What this SDK sets out to reach\n")
	require.True(t, found)
	aims, _, _ = strings.Cut(aims, "\n## ")
	_, prose, found := strings.Cut(strings.Join(strings.Fields(readme(t)), " "), "[This run](bench/results/results.md) missed")
	require.Equal(t, strings.Contains(aims, "**missed**"), found)
	prose, _, _ = strings.Cut(prose, "![")
	for line := range strings.Lines(aims) {
		if row := cells(line); len(row) == 4 && row[3] == "**missed**" {
			assert.Contains(t, prose, row[1], row[0])
			assert.Regexp(t, `\b`+regexp.QuoteMeta(row[2])+`\b`, prose, row[0])
		}
	}
}

// milliseconds are of microseconds the one digit that holds on another machine, too.
func milliseconds(t *testing.T, microseconds string) string {
	value, err := strconv.ParseFloat(strings.ReplaceAll(microseconds, ",", ""), 64)
	require.NoError(t, err)
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value/1000, 'g', 1, 64), 64)
	require.NoError(t, err)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// measured is the median in a table of the results, empty for a client that it does not have.
func measured(t *testing.T, results, table, client, column string) string {
	_, section, found := strings.Cut(results, "\n## "+table+"\n")
	require.True(t, found, table)
	section, _, _ = strings.Cut(section, "\n## ")
	at := -1
	for line := range strings.Lines(section) {
		list := cells(line)
		switch {
		case len(list) > 0 && list[0] == "SDK":
			at = slices.Index(list, column)
			require.GreaterOrEqual(t, at, 0, "%s: %s", table, column)
		case len(list) > 0 && list[0] == client:
			value, _, _ := strings.Cut(list[at], " ")
			return value
		}
	}
	return ""
}

// cells are those of a row of a table.
func cells(line string) (list []string) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		list = append(list, strings.TrimSpace(cell))
	}
	return list
}
