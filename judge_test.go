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

// statuses are those that a row of the table of OutcomeOf speaks of, written down here once more.
var statuses = map[string][]int{
	"429": {429},
	"401, if the key source then returns another key": {401},
	"403, 404 or 405 without JSON, for Store":         {403, 404, 405},
	"any other 4xx except 408 and 499":                from(400, 498, 401, 408, 429),
	"307 or 308":                                      {307, 308},
	"any other 3xx, for List and Show":                from(300, 399, 307, 308),
	"any other 3xx, for Store, Update and Delete":     from(300, 399, 307, 308),
	"408, or 5xx except 501 and 505":                  append(from(500, 599, 501, 505), 408),
	"499, 501 or 505":                                 {499, 501, 505},

	"an upload cut off by the network, a stall, 408, or 5xx except 501 and 505": append(from(500, 599, 501, 505), 408),
	"an upload cut off by 3xx, 499, 501, 505, or 403 to 405 without JSON":       append(from(300, 399), 499, 501, 505, 403, 404, 405),
}

// A status that moves into another row bills twice, or gives up what could be saved: each of them is looked up in the
// documented table, for each kind of request and of body.
func TestJudgeEachStatus(t *testing.T) {
	t.Parallel()
	table := docTable(t)
	for row := range statuses {
		require.True(t, slices.ContainsFunc(table, func(r tableRow) bool { return r.text == row }), "the table has no row %q", row)
	}
	ops := []*operation{images.list, images.show, images.store, images.remove, transcriptions.store, imagesDownload,
		{name: ImagesUpdate, in: images, method: http.MethodPatch}}
	visited := map[string]bool{}
	for status := 300; status <= 599; status++ {
		for _, op := range ops {
			for _, body := range []content{contentNone, contentJSON, contentError, contentValue, contentPage, contentText} {
				for _, complete := range []bool{true, false} {
					if !complete && op != transcriptions.store {
						continue
					}
					what := fmt.Sprintf("%d to %s, body %d, complete %v", status, op.name, body, complete)
					row := rowOf(t, table, status, op, body == contentJSON || body == contentError, complete)
					visited[row.text] = true
					got := judge(op, observation{status: status, content: body, complete: complete})
					want := map[string]Outcome{"NotSent": OutcomeNotSent, "Rejected": OutcomeRejected, "Unknown": OutcomeUnknown}[row.outcome]
					assert.Equal(t, want, got.outcome, what)
					assert.Equal(t, row.temporary == "yes", got.temporary, what)
					assert.False(t, got.ok, what)
					sends := row.others
					if op.creates() {
						sends = row.store
					}
					assert.Equal(t, sends == "yes", got.follow == followRetry, what)
					assert.Equal(t, sends == "once", got.follow == followRenew, what)
					ended := row.text == "403, 404 or 405 without JSON, for Store"
					assert.Equal(t, op.creates() && want == OutcomeUnknown && !ended, got.follow == followSearch, what)
				}
			}
		}
	}
	assert.Len(t, visited, len(statuses), "each row has its statuses")
}

// rowOf finds the row that speaks of a response, which must be one alone.
func rowOf(t *testing.T, table []tableRow, status int, op *operation, isJSON, complete bool) tableRow {
	var found []tableRow
	reads := op.method == http.MethodGet
	foreign := slices.Contains([]int{403, 404, 405}, status) && !isJSON && op.creates()
	for _, row := range table {
		if !slices.Contains(statuses[row.text], status) {
			continue
		}
		early := strings.HasPrefix(row.text, "an upload ")
		speaks := early == (!complete && (status/100 == 3 || status/100 == 5 || status == 408 || status == 499 || foreign))
		switch row.text {
		case "any other 3xx, for List and Show":
			speaks = speaks && reads
		case "any other 3xx, for Store, Update and Delete":
			speaks = speaks && !reads
		case "403, 404 or 405 without JSON, for Store":
			speaks = speaks && foreign
		case "any other 4xx except 408 and 499":
			speaks = speaks && !foreign
		}
		if speaks {
			found = append(found, row)
		}
	}
	require.Len(t, found, 1, "%d to %s, JSON %v, complete %v", status, op.name, isJSON, complete)
	return found[0]
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
		"not seen":                   {store, whole, verdict{OutcomeUnknown, false, followSearch, true}},
		"not seen, read":             {read, whole, verdict{OutcomeUnknown, false, followRetry, true}},
		"not seen, an upload":        {store, observation{}, verdict{OutcomeNotSent, false, followRetry, true}},
		"nothing written":            {store, observation{seen: true, complete: true}, verdict{OutcomeNotSent, false, followRetry, true}},
		"written":                    {store, observation{seen: true, wrote: true, complete: true}, verdict{OutcomeUnknown, false, followSearch, true}},
		"written, an upload cut off": {store, observation{seen: true, wrote: true}, verdict{OutcomeNotSent, false, followRetry, true}},
		"cancelled":                  {store, observation{complete: true, end: endCancelled}, verdict{OutcomeUnknown, false, followNone, true}},
		"cancelled before":           {store, observation{seen: true, complete: true, end: endCancelled}, verdict{OutcomeNotSent, false, followNone, true}},
		"a reader that failed":       {store, observation{seen: true, wrote: true, end: endReader}, verdict{OutcomeNotSent, false, followNone, false}},
		"a reader that stalled":      {store, observation{seen: true, wrote: true, end: endIdle}, verdict{OutcomeNotSent, false, followRetry, false}},
		"a certificate":              {store, observation{seen: true, complete: true, end: endUntrusted}, verdict{OutcomeNotSent, false, followNone, false}},
		"a refused stream":           {read, observation{seen: true, wrote: true, complete: true, end: endRefused}, verdict{OutcomeRejected, false, followRetry, true}},
		"a refused stream, store":    {store, observation{seen: true, wrote: true, complete: true, end: endRefused}, verdict{OutcomeUnknown, false, followSearch, true}},
		"a refused redirect":         {read, observation{seen: true, wrote: true, complete: true, end: endRedirect}, verdict{OutcomeRejected, false, followNone, false}},

		"a record":                {store, observation{status: 201, content: contentAsked}, verdict{OutcomeDone, true, followNone, false}},
		"201, an error":           {store, observation{status: 201, content: contentError}, verdict{OutcomeUnknown, false, followSearch, false}},
		"201, a page":             {store, observation{status: 201, content: contentPage}, verdict{OutcomeDone, false, followSearch, false}},
		"204":                     {read, observation{status: 204}, verdict{OutcomeDone, false, followNone, false}},
		"200, JSON":               {store, observation{status: 200, content: contentJSON}, verdict{OutcomeDone, false, followSearch, false}},
		"200, JSON cut off":       {store, observation{status: 200, content: contentJSON, cut: true}, verdict{OutcomeDone, false, followSearch, true}},
		"200, JSON cut off, read": {read, observation{status: 200, content: contentJSON, cut: true}, verdict{OutcomeDone, false, followRetry, true}},
		"200, cut off by the context": {
			read, observation{status: 200, content: contentJSON, cut: true, end: endCancelled}, verdict{OutcomeDone, false, followNone, true},
		},
		"200, a page":                 {read, observation{status: 200, content: contentPage}, verdict{OutcomeUnknown, false, followNone, true}},
		"200, a login page":           {read, observation{status: 200, content: contentLogin}, verdict{OutcomeUnknown, false, followNone, false}},
		"200, blank":                  {store, observation{status: 200}, verdict{OutcomeUnknown, false, followSearch, true}},
		"200, text":                   {read, observation{status: 200, content: contentText}, verdict{OutcomeUnknown, false, followNone, false}},
		"200, cut off before a byte":  {read, observation{status: 200, cut: true}, verdict{OutcomeUnknown, false, followRetry, true}},
		"delete, cut off within JSON": {remove, observation{status: 200, content: contentJSON, cut: true}, verdict{OutcomeDone, true, followNone, false}},
		"delete, cut off before":      {remove, observation{status: 200, cut: true}, verdict{OutcomeUnknown, false, followRetry, true}},
		"delete, gone":                {remove, observation{status: 404, lost: true, content: contentJSON}, verdict{OutcomeDone, true, followNone, false}},
		"delete, gone, no body":       {remove, observation{status: 404, lost: true}, verdict{OutcomeDone, true, followNone, false}},
		"delete, a proxy's page":      {remove, observation{status: 404, lost: true, content: contentPage}, verdict{OutcomeRejected, false, followNone, false}},
		"delete, never there":         {remove, observation{status: 404, content: contentJSON}, verdict{OutcomeRejected, false, followNone, false}},
		"show, gone":                  {read, observation{status: 404, lost: true, content: contentJSON}, verdict{OutcomeRejected, false, followNone, false}},

		"a picture cut off at its start":   {picture, observation{status: 200, cut: true, rewinds: true}, verdict{OutcomeUnknown, false, followRetry, true}},
		"a picture cut off, half written":  {picture, observation{status: 200, cut: true}, verdict{OutcomeUnknown, false, followNone, true}},
		"a picture that cannot be written": {picture, observation{status: 200, end: endWriter}, verdict{OutcomeDone, false, followNone, false}},
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
	claims := []string{"OutcomeNotSent", "OutcomeRejected", "OutcomeDone"}
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
		``: contentNone, " \n": contentNone, `{"message":"Forbidden"}`: contentJSON, `[]`: contentJSON, `{"mess`: contentJSON, `{nonsense`: contentJSON,
		`[1,`: contentJSON, `{"error":"no"}`: contentError, `404`: contentValue, `"Forbidden"`: contentValue, `null`: contentValue, `n`: contentValue,
		`<html>`: contentPage, `Forbidden`: contentText, `[warn] slow`: contentText,
	} {
		assert.Equal(t, want, contentOf([]byte(body), nil), "%q", body)
	}
	assert.Equal(t, contentPage, contentOf([]byte("Forbidden"), http.Header{"Content-Type": {"text/HTML; charset=utf-8"}}))
}
