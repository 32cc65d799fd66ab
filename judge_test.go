package aicontent

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// from lists statuses.
func from(first, last int, but ...int) (list []int) {
	for status := first; status <= last; status++ {
		if !slices.Contains(but, status) {
			list = append(list, status)
		}
	}
	return list
}

// responded is a response as a row of the table of OutcomeOf sees it.
type responded struct {
	status                        int
	json, says, blank, cut, early bool // early: before the end of an upload
	store, reads, record          bool // record: neither Store nor Download
}

// statuses says which rows of the table of OutcomeOf speak of a response, written down here once more, in the order of
// the table: the first one that does counts.
var statuses = []struct {
	row    string
	speaks func(r responded) bool
}{
	{"an upload cut off by the network, a stall, 408, or 5xx except 501 and 505", func(r responded) bool {
		return r.early && slices.Contains(append(from(500, 599, 501, 505), 408), r.status)
	}},
	{"an upload cut off by its reader, or by a 3xx, 4xx or 5xx that proves nothing", func(r responded) bool {
		foreign := !r.json && slices.Contains(from(400, 499, 400, 401, 408, 411, 413, 414, 417, 421, 429, 431), r.status)
		return r.early && (foreign || slices.Contains(append(from(300, 399), 499, 501, 505), r.status))
	}},
	{"429", func(r responded) bool { return r.status == 429 }},
	{"401, if the key source then returns another key", func(r responded) bool { return r.status == 401 }},
	{"403, 404 or 405 without JSON, for List, Show, Update and Delete", func(r responded) bool {
		return r.record && !r.json && slices.Contains([]int{403, 404, 405}, r.status)
	}},
	{"400, 401, 411, 413, 414, 417, 421 or 431", func(r responded) bool {
		return slices.Contains([]int{400, 401, 411, 413, 414, 417, 421, 431}, r.status)
	}},
	{"any other 4xx except 408 and 499, for Store only with JSON", func(r responded) bool {
		return slices.Contains(from(400, 498, 408), r.status) && (r.json || !r.store)
	}},
	{"307, 308, or for List and Show any other 3xx", func(r responded) bool {
		return r.status == 307 || r.status == 308 || r.reads && slices.Contains(from(300, 399), r.status)
	}},
	{"201 or 204 that is cut off", func(r responded) bool { return (r.status == 201 || r.status == 204) && r.cut && !r.says }},
	{"201 or 204 without a record, unless JSON says that it is an error", func(r responded) bool {
		return (r.status == 201 || r.status == 204) && !r.says
	}},
	{"any other 2xx that is cut off", func(r responded) bool { return r.status < 300 && r.cut }},
	{"any other 2xx that is empty, blank or an HTML page", func(r responded) bool { return r.status < 300 && r.blank }},
	{"408, or 5xx except 501 and 505", func(r responded) bool {
		return slices.Contains(append(from(500, 599, 501, 505), 408), r.status)
	}},
	{"any other response without what was asked for", func(responded) bool { return true }},
}

// A status that moves into another row bills twice, or gives up what could be saved: each of them is looked up in the
// documented table, for each kind of request and of body.
func TestJudgeEachStatus(t *testing.T) {
	t.Parallel()
	table := map[string]tableRow{}
	for _, row := range docTable(t) {
		table[row.text] = row
	}
	ops := []*operation{images.list, images.show, images.store, images.remove, transcriptions.store, imagesDownload,
		{name: ImagesUpdate, in: images, method: http.MethodPatch}}
	visited := map[string]bool{}
	for status := 200; status <= 599; status++ {
		for _, op := range ops {
			for _, body := range []content{contentNone, contentJSON, contentError, contentPage, contentText} {
				for bits := range 4 {
					early, cut := bits&1 != 0, bits&2 != 0
					if early && op != transcriptions.store || cut && status >= 300 || cut && status < 300 && op == images.remove {
						continue // a delete has rows of its own
					}
					what := fmt.Sprintf("%d to %s, body %d, early %v, cut %v", status, op.name, body, early, cut)
					r := responded{
						status: status, json: body == contentJSON || body == contentError, says: body == contentError,
						blank: body == contentNone || body == contentPage, cut: cut, early: early,
						store: op.creates(), reads: op.method == http.MethodGet, record: !op.creates() && op != imagesDownload,
					}
					var row tableRow
					for _, s := range statuses {
						require.Contains(t, table, s.row)
						if s.speaks(r) {
							row = table[s.row]
							break
						}
					}
					visited[row.text] = true
					got := judge(op, observation{status: status, content: body, complete: !early, cut: cut})
					want := map[string]Outcome{
						"NotExecuted": OutcomeNotExecuted, "Executed": OutcomeExecuted, "Unknown": OutcomeUnknown,
					}[row.outcome]
					if early && status < 300 && want == OutcomeUnknown {
						want = OutcomeNotExecuted
					}
					assert.Equal(t, want, got.outcome, what)
					retryable := row.retryable == "yes" || row.retryable == "others" && (!r.store || want == OutcomeNotExecuted)
					assert.Equal(t, retryable, got.retryable, what)
					assert.False(t, r.store && got.retryable && want != OutcomeNotExecuted, "%s: it may be billed twice", what)
					assert.False(t, got.ok, what)
					sends := row.others
					if op.creates() {
						sends = row.store
					}
					if early && status < 300 && cut && want == OutcomeNotExecuted {
						sends = "yes" // as any upload that was cut off
					}
					assert.Equal(t, sends == "yes", got.follow == followRetry, what)
					assert.Equal(t, sends == "1x", got.follow == followRenew, what)
				}
			}
		}
	}
	assert.Len(t, visited, len(statuses), "each row has its statuses")
}

// What has no status, and what a 2xx holds, row by row.
func TestJudge(t *testing.T) {
	t.Parallel()
	read, store, remove, picture := images.show, images.store, images.remove, imagesDownload
	whole := observation{complete: true}
	for name, tt := range map[string]struct {
		op   *operation
		o    observation
		want verdict
	}{
		"not seen":                    {store, whole, verdict{OutcomeUnknown, false, followNone, false}},
		"not seen, read":              {read, whole, verdict{OutcomeUnknown, false, followRetry, true}},
		"not seen, an upload":         {store, observation{}, verdict{OutcomeNotExecuted, false, followRetry, true}},
		"nothing written":             {store, observation{seen: true, complete: true}, verdict{OutcomeNotExecuted, false, followRetry, true}},
		"written":                     {store, observation{seen: true, wrote: true, complete: true}, verdict{OutcomeUnknown, false, followNone, false}},
		"written, an upload cut off":  {store, observation{seen: true, wrote: true}, verdict{OutcomeNotExecuted, false, followRetry, true}},
		"cancelled":                   {store, observation{complete: true, end: endCancelled}, verdict{OutcomeUnknown, false, followNone, false}},
		"cancelled before":            {store, observation{seen: true, complete: true, end: endCancelled}, verdict{OutcomeNotExecuted, false, followNone, true}},
		"a reader that failed":        {store, observation{seen: true, wrote: true, end: endReader}, verdict{OutcomeNotExecuted, false, followNone, false}},
		"a reader that stalled":       {store, observation{seen: true, wrote: true, end: endIdle}, verdict{OutcomeNotExecuted, false, followRetry, false}},
		"a certificate":               {store, observation{seen: true, complete: true, end: endFinal}, verdict{OutcomeNotExecuted, false, followNone, false}},
		"a refused stream":            {read, observation{seen: true, wrote: true, complete: true, end: endRefused}, verdict{OutcomeNotExecuted, false, followRetry, true}},
		"a refused stream, store":     {store, observation{seen: true, wrote: true, complete: true, end: endRefused}, verdict{OutcomeUnknown, false, followNone, false}},
		"a picture, refused redirect": {picture, observation{seen: true, wrote: true, complete: true, end: endFinal}, verdict{OutcomeUnknown, false, followNone, false}},

		"a record":                {store, observation{status: 201, content: contentAsked}, verdict{OutcomeExecuted, true, followNone, false}},
		"201, an error":           {store, observation{status: 201, content: contentError}, verdict{OutcomeUnknown, false, followNone, false}},
		"201, a page":             {store, observation{status: 201, content: contentPage}, verdict{OutcomeExecuted, false, followNone, false}},
		"201, cut off":            {store, observation{status: 201, cut: true}, verdict{OutcomeExecuted, false, followNone, false}},
		"204":                     {read, observation{status: 204}, verdict{OutcomeExecuted, false, followNone, false}},
		"200, JSON":               {store, observation{status: 200, content: contentJSON}, verdict{OutcomeUnknown, false, followNone, false}},
		"200, JSON cut off":       {store, observation{status: 200, content: contentText, cut: true}, verdict{OutcomeUnknown, false, followNone, false}},
		"200, JSON cut off, read": {read, observation{status: 200, content: contentText, cut: true}, verdict{OutcomeUnknown, false, followRetry, true}},
		"200, cut off by the context": {
			read, observation{status: 200, content: contentText, cut: true, end: endCancelled}, verdict{OutcomeUnknown, false, followNone, true},
		},
		"200, a page":                 {read, observation{status: 200, content: contentPage}, verdict{OutcomeUnknown, false, followNone, true}},
		"200, blank":                  {store, observation{status: 200}, verdict{OutcomeUnknown, false, followNone, false}},
		"200, text":                   {read, observation{status: 200, content: contentText}, verdict{OutcomeUnknown, false, followNone, false}},
		"200, cut off before a byte":  {read, observation{status: 200, cut: true}, verdict{OutcomeUnknown, false, followRetry, true}},
		"delete, cut off":             {remove, observation{status: 200, content: contentText, cut: true}, verdict{OutcomeUnknown, false, followRetry, true}},
		"delete, 204, cut off":        {remove, observation{status: 204, cut: true}, verdict{OutcomeExecuted, true, followNone, false}},
		"delete, 201, cut off, error": {remove, observation{status: 201, content: contentError, cut: true}, verdict{OutcomeUnknown, false, followRetry, true}},
		"delete, an error":            {remove, observation{status: 200, content: contentError}, verdict{OutcomeUnknown, false, followNone, false}},
		"delete, gone":                {remove, observation{status: 404, lost: true, content: contentJSON}, verdict{OutcomeExecuted, true, followNone, false}},
		"delete, gone, no body":       {remove, observation{status: 404, lost: true}, verdict{OutcomeNotExecuted, false, followNone, true}},
		"delete, a proxy's page":      {remove, observation{status: 404, lost: true, content: contentPage}, verdict{OutcomeNotExecuted, false, followNone, true}},
		"delete, never there":         {remove, observation{status: 404, content: contentJSON}, verdict{OutcomeNotExecuted, false, followNone, false}},
		"show, gone":                  {read, observation{status: 404, lost: true, content: contentJSON}, verdict{OutcomeNotExecuted, false, followNone, false}},

		"a picture cut off at its start":   {picture, observation{status: 200, cut: true}, verdict{OutcomeUnknown, false, followRetry, true}},
		"a picture cut off, half written":  {picture, observation{status: 200, cut: true, begun: true}, verdict{OutcomeUnknown, false, followNone, true}},
		"a picture that cannot be written": {picture, observation{status: 200, end: endWriter}, verdict{OutcomeUnknown, false, followNone, false}},
	} {
		tt.o.complete = tt.o.complete || tt.o.status != 0
		assert.Equal(t, tt.want, judge(tt.op, tt.o), name)
	}
}

// A claim that is made elsewhere than in judge rests on something else than what was observed.
func TestOutcomesAreClaimedInOnePlace(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	claims := []string{"OutcomeNotExecuted", "OutcomeNotExecuted", "OutcomeExecuted"}
	for _, f := range files {
		if name := f.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name != "judge.go" && name != "outcome.go" {
			parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				if compares, ok := n.(*ast.BinaryExpr); ok && (compares.Op == token.EQL || compares.Op == token.NEQ) {
					return false
				}
				if id, ok := n.(*ast.Ident); ok && slices.Contains(claims, id.Name) {
					t.Errorf("%s claims an outcome: %s", name, id.Name)
				}
				return true
			})
		}
	}
}

// An intermediary's plain text may look like JSON.
func TestContentOf(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]content{
		``: contentNone, " \n": contentNone, `{"message":"Forbidden"}`: contentJSON, `[]`: contentJSON, `{"mess`: contentText, `{nonsense`: contentText,
		`[1,`: contentText, `{"error":"no"}`: contentError, `404`: contentText, `"Forbidden"`: contentText, `null`: contentText, `n`: contentText,
		`<html>`: contentPage, `Forbidden`: contentText, `[warn] slow`: contentText,
	} {
		assert.Equal(t, want, contentOf(body, nil), "%q", body)
	}
	assert.Equal(t, contentPage, contentOf("Forbidden", http.Header{"Content-Type": {"text/HTML; charset=utf-8"}}))
}
