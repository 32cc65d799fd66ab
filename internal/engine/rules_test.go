package engine

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// columns are a row of the table of aicontent.OutcomeOf.
type columns struct{ row, outcome, store, others string }

// documentedRows returns the table in the documentation of aicontent.OutcomeOf, from top to bottom.
func documentedRows(t *testing.T) []columns {
	t.Helper()
	source, err := os.ReadFile("../../outcome.go")
	require.NoError(t, err)
	const line = `(?m)^//\t(\S.*?) {2,}(NotExecuted|Executed|Unknown) +(\S.*?) {2,}(\S.*)$`
	var table []columns
	for _, m := range regexp.MustCompile(line).FindAllStringSubmatch(string(source), -1) {
		table = append(table, columns{m[1], m[2], m[3], m[4]})
	}
	return table
}

var outcomeNames = map[Outcome]string{Unknown: "Unknown", NotExecuted: "NotExecuted", Executed: "Executed"}

func TestRulesAreTheRowsOfTheDocumentedTable(t *testing.T) {
	t.Parallel()
	table := documentedRows(t)
	require.NotEmpty(t, table)
	invalid := columns{"invalid arguments", "NotExecuted", "final", "final"}
	require.Equal(t, invalid, table[0], "it has no attempt to judge")
	require.LessOrEqual(t, len(table), 24, "a reader must take the table in at first sight")
	var ruled []columns
	for _, r := range rules {
		ruled = append(ruled, columns{r.row, outcomeNames[r.outcome], string(r.store), string(r.others)})
	}
	assert.Equal(t, table[1:], ruled)
}

// statusesOf lists the statuses of the classes from first to last, such as 4 for 400 to 499.
func statusesOf(first, last int, but ...int) (list []int) {
	for status := first * 100; status < (last+1)*100; status++ {
		if !slices.Contains(but, status) {
			list = append(list, status)
		}
	}
	return list
}

var (
	kinds = map[Kind]string{Read: "read", Change: "change", Remove: "remove", Create: "create", Fetch: "fetch"}
	ends  = []End{Broke, Cancelled, Unread, Fatal}

	beforeForwarding = []int{400, 401, 411, 413, 414, 417, 421, 431}
	transients       = append(statusesOf(5, 5, 501, 505), 408)
)

// situations are all combinations of facts that an attempt of some kind can end with. Only a Create has an upload that
// may be incomplete, and only a Fetch a writer.
func situations(yield func(Kind, Facts) bool) {
	both := []bool{false, true}
	for kind := range kinds {
		completes := both
		if kind != Create {
			completes = both[1:]
		}
		for _, complete := range completes {
			for _, end := range ends {
				for _, unsent := range both {
					if !yield(kind, Facts{Kind: kind, Unsent: unsent, Complete: complete, End: end}) {
						return
					}
				}
			}
			for status := 200; status <= 599; status++ {
				for _, end := range ends[:2] { // a response came
					for _, content := range contentsOf(kind, status) {
						for _, lost := range both {
							f := Facts{
								Kind: kind, Complete: complete, End: end, Status: status, Content: content, Lost: lost,
							}
							if !yield(kind, f) {
								return
							}
						}
					}
				}
			}
		}
	}
}

func contentsOf(kind Kind, status int) (list []Content) {
	for _, content := range []ContentKind{None, JSON, Error, Page, Text} {
		list = append(list, Content{Kind: content})
		if status/100 == 2 {
			list = append(list, Content{Kind: content, Cut: true})
		}
	}
	if status/100 == 2 {
		list = append(list, Content{Kind: Asked})
	}
	if kind == Fetch && status/100 == 2 {
		list = append(list,
			Content{Kind: Text, Cut: true, Begun: true}, Content{Kind: Asked, WriterFailed: true},
			Content{WriterFailed: true}, Content{WriterFailed: true, Begun: true})
	}
	return list
}

// succeeds is the meaning of a success, above the table. A Delete also succeeds if a complete response was cut off, and
// if the service says that the record is gone after an attempt that may have been executed.
func succeeds(kind Kind, f Facts) bool {
	says := f.Content.Kind == JSON || f.Content.Kind == Error
	switch {
	case f.Content.Kind == Asked:
		return !f.Content.WriterFailed
	case kind != Remove:
		return false
	}
	return f.Status == 404 && says && f.Lost ||
		(f.Status == 201 || f.Status == 204) && f.Content.Cut && f.Content.Kind != Error
}

// meaning is a row of the table as a condition.
type meaning struct {
	row     string
	applies func(Kind, Facts) bool
}

// meanings repeat the words of the table, in its order. They list statuses where the rules compare, and state
// conditions where the rules rely on those before them.
var meanings = []meaning{
	{"the context, limiter, key source or hook, before sending", func(_ Kind, f Facts) bool {
		return f.Status == 0 && f.End == Cancelled && f.Unsent
	}},
	{"the context, during an upload", func(_ Kind, f Facts) bool {
		broken := f.Status == 0 || slices.Contains(statusesOf(2, 2, 201, 204), f.Status) && f.Content.Cut ||
			(f.Status == 201 || f.Status == 204) && f.Content.Cut && f.Content.Kind == Error
		return !f.Complete && f.End == Cancelled && broken
	}},
	{"an untrusted certificate, or http on an https:// port", func(_ Kind, f Facts) bool {
		return f.Status == 0 && f.End == Fatal && (f.Unsent || !f.Complete)
	}},
	{"no connection", func(_ Kind, f Facts) bool { return f.Status == 0 && f.Unsent && f.End == Broke }},
	{"the network, a stall, 408 or 5xx, during an upload", func(_ Kind, f Facts) bool {
		return !f.Complete && (f.Status == 0 && f.End == Broke || slices.Contains(transients, f.Status))
	}},
	{"429", func(_ Kind, f Facts) bool { return f.Status == 429 }},
	{"401, if the key source then returns another key", func(k Kind, f Facts) bool {
		return f.Status == 401 && k != Fetch
	}},
	{"403, 404 or 405 without JSON, except for Download", func(k Kind, f Facts) bool {
		return slices.Contains([]int{403, 404, 405}, f.Status) && slices.Contains([]Kind{Read, Change, Remove}, k) &&
			slices.Contains([]ContentKind{None, Page, Text}, f.Content.Kind)
	}},
	{"400, 401, 411, 413, 414, 417, 421 or 431", func(_ Kind, f Facts) bool {
		return slices.Contains(beforeForwarding, f.Status)
	}},
	{"any other 4xx; for Store only with JSON", func(k Kind, f Facts) bool {
		json := f.Content.Kind == JSON || f.Content.Kind == Error
		return slices.Contains(statusesOf(4, 4, 408, 499), f.Status) && (json || k != Create)
	}},
	{"307 or 308; for List, Show and Download any 3xx", func(k Kind, f Facts) bool {
		return slices.Contains([]int{307, 308}, f.Status) ||
			slices.Contains(statusesOf(3, 3), f.Status) && (k == Read || k == Fetch)
	}},
	{"201 or 204 whose JSON reports no error", func(_ Kind, f Facts) bool {
		return (f.Status == 201 || f.Status == 204) && f.Content.Kind != Error
	}},
	{"a 2xx that is cut off, empty or HTML, during an upload", func(_ Kind, f Facts) bool {
		blank := f.Content.Kind == None || f.Content.Kind == Page
		return !f.Complete && f.Status/100 == 2 && (blank || f.Content.Cut && f.End != Cancelled)
	}},
	{"any other response or a failed reader, during an upload", func(_ Kind, f Facts) bool { return !f.Complete }},
	{"a picture that is cut off after its first byte", func(_ Kind, f Facts) bool {
		return f.Status/100 == 2 && f.Content.Cut && f.Content.Begun
	}},
	{"any other 2xx that is cut off", func(_ Kind, f Facts) bool {
		return f.Status/100 == 2 && f.Content.Cut && f.End != Cancelled
	}},
	{"any other 2xx that is empty, blank or an HTML page", func(_ Kind, f Facts) bool {
		blank := f.Content.Kind == None || f.Content.Kind == Page
		return f.Status/100 == 2 && blank && !f.Content.WriterFailed
	}},
	{"408 or 5xx", func(_ Kind, f Facts) bool { return slices.Contains(transients, f.Status) }},
	{"the context, at any other time", func(_ Kind, f Facts) bool {
		return f.End == Cancelled && (f.Status == 0 || f.Status/100 == 2 && f.Content.Cut)
	}},
	{"a refused redirect, or a certificate below a middleware", func(_ Kind, f Facts) bool {
		return f.Status == 0 && f.End == Fatal
	}},
	{"no response for another reason", func(_ Kind, f Facts) bool { return f.Status == 0 }},
	{"any other response, or a picture whose writer failed", func(Kind, Facts) bool { return true }},
}

// steps are the meanings of the words in the table.
var steps = map[string]Verdict{
	"final":     {Next: final},
	"retryable": {Next: retryable, Retryable: true},
	"retried":   {Next: retried, Retryable: true},
	"new key":   {Next: newKey},
}

var outcomeValues = map[string]Outcome{"Unknown": Unknown, "NotExecuted": NotExecuted, "Executed": Executed}

// A status that moves into another row bills twice, or gives up a call that could succeed.
func TestJudgeFollowsTheTableForEachStatusKindAndBody(t *testing.T) {
	t.Parallel()
	table := map[string]columns{}
	for _, row := range documentedRows(t) {
		table[row.row] = row
	}
	for _, m := range meanings {
		require.Contains(t, table, m.row)
	}
	for kind, f := range situations {
		v := Judge(f)
		if success := (Verdict{Outcome: Executed, OK: true}); succeeds(kind, f) {
			require.Equal(t, success, v, "%s %+v", kinds[kind], f)
			continue
		}
		row := table[meanings[slices.IndexFunc(meanings, func(m meaning) bool { return m.applies(kind, f) })].row]
		word := row.others
		if kind == Create {
			word = row.store
		}
		want := steps[word]
		want.Outcome = outcomeValues[row.outcome]
		if v != want {
			require.Failf(t, "not as documented", "%s %+v: got %+v; want %+v, as %s", kinds[kind], f, v, want, row.row)
		}
	}
}

func TestEachRuleIsTheFirstToApplyToSomeFacts(t *testing.T) {
	t.Parallel()
	reached := map[string]int{}
	for kind, f := range situations {
		reached[rules[slices.IndexFunc(rules, func(r rule) bool {
			applies := kind == Create && r.store != otherRow || kind != Create && r.others != otherRow
			return applies && r.when(f)
		})].row]++
	}
	for _, r := range rules {
		assert.Positive(t, reached[r.row], r.row)
	}
}

// A retry of a create request that was executed is billed twice.
func TestStoreIsRepeatedOnlyIfItWasNotExecuted(t *testing.T) {
	t.Parallel()
	for kind, f := range situations {
		v := Judge(f)
		if kind == Create && v.Outcome != NotExecuted && (v.Next != final && v.Next != "" || v.Retryable) {
			require.Failf(t, "it may be billed twice", "%+v: %+v", f, v)
		}
	}
}

func TestStoreIsNotRetriedAfterGatewayTimeout(t *testing.T) {
	t.Parallel()
	v := Judge(Facts{Kind: Create, Complete: true, Status: 504, Content: Content{Kind: Page}})
	assert.Equal(t, Verdict{Outcome: Unknown, Next: final}, v)
}

func TestOutcomesTogetherAreUnknownFirstThenExecuted(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]Outcome]Outcome{
		{NotExecuted, NotExecuted}: NotExecuted,
		{NotExecuted, Executed}:    Executed,
		{NotExecuted, Unknown}:     Unknown,
		{Executed, Executed}:       Executed,
		{Executed, Unknown}:        Unknown,
		{Unknown, Unknown}:         Unknown,
		{NotExecuted, 42}:          Unknown,
		{Executed, -1}:             Unknown,
	} {
		assert.Equal(t, want, Together(pair[0], pair[1]), "%v", pair)
		assert.Equal(t, want, Together(pair[1], pair[0]), "%v", pair)
	}
	assert.Zero(t, Unknown, "an outcome that was never set must not look like a proof")
}
