package integration

import (
	"context"
	"go/ast"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// operations returns the constants of the type Operation, by name.
func operations(t *testing.T) map[string]aicontent.Operation {
	t.Helper()
	found := map[string]aicontent.Operation{}
	for n := range ast.Preorder(parse(t, "../request.go")) {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Operation" {
				found[spec.Names[0].Name] = aicontent.Operation(literal(spec.Values[0]))
			}
		}
	}
	require.Greater(t, len(found), 10)
	return found
}

// documented returns the method and path of each operation in openapi.yaml, such as GET /images/{id}.
func documented(t *testing.T) map[aicontent.Operation]string {
	t.Helper()
	var path, method string
	found := map[aicontent.Operation]string{}
	const lines = `(?m)^(  /\S*|    [a-z]+|      operationId): ?(\S*)$`
	for _, m := range matches(lines, read(t, "../openapi.yaml")) {
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

// started returns a server that tells no test of violations: these calls need not be allowed.
func started(t *testing.T, opts ...aicontenttest.Option) *aicontenttest.Server {
	t.Helper()
	srv, err := aicontenttest.Start(opts...)
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	return srv
}

// made makes all calls, and returns method and path of the requests that they sent, and the operations that the kit
// saw.
func made(t *testing.T) (sent map[aicontent.Operation]string, seen map[aicontent.Operation]bool) {
	t.Helper()
	srv := started(t, aicontenttest.BasePath("/tenant"))
	srv.AddImage(aicontent.Image{ID: "7", Name: "n"})
	srv.AddTranscription(aicontent.Transcription{ID: "7", Name: "n"})
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
	srv := started(t)
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
	for _, op := range operations(t) {
		in := func(place string, found bool) { assert.True(t, found, "%s is missing in %s", op, place) }
		in("the calls that the tests make", sent[op] != "")
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
	}
}
