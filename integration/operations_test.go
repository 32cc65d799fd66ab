package integration

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// inspect calls visit for each node of a file.
func inspect(t *testing.T, file string, visit func(ast.Node)) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(parsed, func(n ast.Node) bool {
		visit(n)
		return true
	})
}

// literal returns the value of a string literal, and nothing for anything else.
func literal(n ast.Node) string {
	if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		text, _ := strconv.Unquote(lit.Value)
		return text
	}
	return ""
}

// operations returns the constants of the type Operation, by name.
func operations(t *testing.T) map[string]aicontent.Operation {
	t.Helper()
	found := map[string]aicontent.Operation{}
	inspect(t, "../request.go", func(n ast.Node) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
			return
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Operation" {
			found[spec.Names[0].Name] = aicontent.Operation(literal(spec.Values[0]))
		}
	})
	require.Greater(t, len(found), 10)
	return found
}

// documented returns the method and path of each operation in openapi.yaml, such as GET /images/{id}.
func documented(t *testing.T) map[aicontent.Operation]string {
	t.Helper()
	text, err := os.ReadFile("../openapi.yaml")
	require.NoError(t, err)
	var path, method string
	found := map[aicontent.Operation]string{}
	for _, m := range regexp.MustCompile(`(?m)^(  /\S*|    [a-z]+|      operationId): ?(\S*)$`).FindAllStringSubmatch(string(text), -1) {
		switch key := strings.TrimSpace(m[1]); {
		case strings.HasPrefix(key, "/"):
			path = key
		case key == "operationId":
			found[aicontent.Operation(m[2])] = method + " " + path
		default:
			method = strings.ToUpper(key)
		}
	}
	return found
}

// listed returns the collections that a file hands to fakes.Calls.
func listed(t *testing.T, file string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	inspect(t, file, func(n ast.Node) {
		if call, ok := n.(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Calls" {
				found[literal(call.Args[0])] = true
			}
		}
	})
	return found
}

// made makes all calls, and returns method and path of the requests that they sent, and the operations that the kit saw.
func made(t *testing.T) (sent map[aicontent.Operation]string, seen map[aicontent.Operation]bool) {
	t.Helper()
	srv, err := aicontenttest.Start(aicontenttest.BasePath("/tenant"))
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	srv.AddImage(aicontenttest.Image{ID: "7", Name: "n"})
	srv.AddTranscription(aicontenttest.Transcription{ID: "7", Name: "n"})
	record := regexp.MustCompile(`/7$`)
	sent, seen = map[aicontent.Operation]string{}, map[aicontent.Operation]bool{}
	c := srv.Client(aicontent.WithAttemptHook(
		func(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
			path := record.ReplaceAllString(strings.TrimPrefix(a.Path, "/tenant/api/v1"), "/{id}")
			sent[a.Operation] = a.Method + " " + path
			return nil, nil
		}))
	image, err := c.Images.Show(t.Context(), "7")
	require.NoError(t, err)
	_, err = c.Images.Download(t.Context(), image, io.Discard)
	require.NoError(t, err)
	for _, call := range allTen(c) {
		_ = call(t.Context()) // a record may have been deleted before
	}
	for _, r := range srv.Requests() {
		seen[r.Operation] = true
	}
	return sent, seen
}

// exercised returns the operations that the suite of the kit succeeds with.
func exercised(t *testing.T) map[aicontent.Operation]bool {
	t.Helper()
	srv, err := aicontenttest.Start()
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	t.Run("suite", func(t *testing.T) { aicontenttest.TestService(t, srv.Client) })
	found := map[aicontent.Operation]bool{}
	for _, r := range srv.Requests() {
		found[r.Operation] = found[r.Operation] || r.Acted
	}
	return found
}

// An operation that is added and forgotten somewhere is not documented, or not tested, with everything green.
func TestOperationsAreInEveryPlace(t *testing.T) {
	t.Parallel()
	inAPI, inSuite := documented(t), exercised(t)
	sent, seen := made(t)
	inRoot, here := listed(t, "../client_test.go"), listed(t, "helpers_test.go")
	verbs, inKit := map[string]bool{}, map[string]bool{}
	inspect(t, "../internal/fakes/calls.go", func(n ast.Node) { verbs[strings.TrimPrefix(literal(n), ".")] = true })
	inspect(t, "../aicontenttest/requests.go", func(n ast.Node) {
		if spec, ok := n.(*ast.ValueSpec); ok {
			inKit[spec.Names[0].Name] = true
		}
	})
	for name, op := range operations(t) {
		collection, verb, _ := strings.Cut(string(op), ".")
		in := func(place string, found bool) { assert.True(t, found, "%s is missing in %s", op, place) }
		in("the calls that the tests make", sent[op] != "")
		in("the constants of aicontenttest", inKit[name])
		srv, err := aicontenttest.Start(aicontenttest.LatencyOn(op, 0))
		in("the operations of aicontenttest", err == nil)
		if err == nil {
			srv.Close()
		}
		in("the routes of aicontenttest", seen[op])
		if op == aicontent.ImagesDownload {
			continue // of a URL that the service has chosen: no operation of the API
		}
		in("openapi.yaml", inAPI[op] != "")
		if sent[op] != "" && inAPI[op] != "" {
			assert.Equal(t, sent[op], inAPI[op], "method and path of %s in openapi.yaml", op)
		}
		in("TestService", inSuite[op])
		in("allTen of client_test.go", inRoot[collection])
		in("allTen of helpers_test.go", here[collection])
		in("fakes.Calls", verbs[verb])
	}
}

// The name of the file's part is written once: a deployment that calls it otherwise needs one change.
func TestTheFilesPartIsNamedOnce(t *testing.T) {
	t.Parallel()
	var places []string
	for _, file := range sources(t) {
		inspect(t, file, func(n ast.Node) {
			if text := literal(n); text == "file" || strings.HasPrefix(text, `file"`) || strings.HasSuffix(text, `"file`) {
				places = append(places, file)
			}
		})
	}
	assert.Equal(t, []string{"../multipart.go"}, places)
}
