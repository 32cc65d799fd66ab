package aicontent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// The documentation advises to search for the record after an unknown outcome.
func TestFindByNameReturnsTheOneRecordOfTheName(t *testing.T) {
	t.Parallel()
	names := []string{"job-47110", "job-4711", "twice", "thrice", "twice", "thrice", "thrice"}
	l := &fakes.Ledger{Names: names, More: `,"url":"/a.png"`}
	c := over(t, l)
	image, err := c.Images.FindByName(t.Context(), " job-4711\r\n")
	require.NoError(t, err)
	assert.Equal(t, ID("2"), image.ID)
	assert.Equal(t, "/a.png", image.URL, "it is shown in full")
	_, err = c.Images.FindByName(t.Context(), "job-4712")
	require.ErrorIs(t, err, ErrNotFound)
	assert.EqualError(t, err, `images.findByName: no image has the name "job-4712"`)
	for name, ids := range map[string][]ID{"twice": {"3", "5"}, "thrice": {"4", "6"}} {
		_, err = c.Images.FindByName(t.Context(), name)
		var conflict *ConflictError
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, ids, conflict.IDs, "two are enough to know that the name is not unique")
		assert.EqualError(t, err,
			fmt.Sprintf("images.findByName: name %q: more than one record has the name (id %s, %s)",
				name, ids[0], ids[1]))
		assert.False(t, Retryable(err))
	}
	_, err = c.Images.FindByName(t.Context(), "\n")
	assert.ErrorIs(t, err, ErrInvalid)
	transcription, err := c.Transcriptions.FindByName(t.Context(), "job-4711")
	require.NoError(t, err)
	assert.Equal(t, "job-4711", transcription.Name)
}

func TestFindByNameSearchesForTheLongestPart(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"job-4711": "job-4711", `a\the longest\b`: "the longest", "a\nthe longest": "the longest",
		`the longest\b`: "the longest", `\`: "",
	} {
		assert.Equal(t, want, searchable(name), name)
	}
}

// Each outcome of a search tells whether the record may be there: nothing before a list has shown it, for certain
// after. A caller who takes a record for missing stores it again, so a search is not blind to what it cannot read.
func TestFindByNameTellsWhetherTheRecordMayBeThere(t *testing.T) {
	t.Parallel()
	listed := func(id string) fakes.RoundTripper { return fakes.OK(`{"data":[{"id":"` + id + `","name":"n"}]}`) }
	list := func(body string) fakes.RoundTripper { return fakes.OK(body) }
	full := `{"data":[` + strings.Repeat(`{"id":1,"name":"m"},`, 99)
	const unseen = "Show does not"
	for name, row := range map[string]struct {
		list, show fakes.RoundTripper
		outcome    Outcome
		retryable  bool
		text       string
	}{
		"the list is refused":   {fakes.Respond(401, `{"message":"Unauthenticated."}`), nil, OutcomeUnknown, false, ""},
		"the list is lost":      {fakes.Lose, nil, OutcomeUnknown, true, ""},
		"the list is not there": {fakes.Respond(404, `{}`), nil, OutcomeUnknown, false, "is the base URL"},
		"a proxy's word of the list": {fakes.Respond(404, `<html>deploying`), nil, OutcomeUnknown, true,
			"is the base URL"},
		"something else in the list": {list(`{"data":[7,{"id":1,"name":"m"}]}`), nil, OutcomeUnknown, false, ""},
		"no name that is known":      {list(`{"data":[{"id":7}]}`), nil, OutcomeUnknown, false, ""},
		"neither, beside a record": {list(`{"data":[{"id":7,"name":"m"},{"key":7,"title":"n"}]}`), nil,
			OutcomeUnknown, false, ""},
		"an error beside an empty list": {list(`{"data":[],"error":"the index is not available"}`), nil,
			OutcomeUnknown, false, ""},
		"an error beside a record": {list(`{"data":[{"id":1,"name":"m"}],"errors":["a shard timed out"]}`),
			nil, OutcomeUnknown, true, ""},
		"no list": {list(`{"data":null}`), nil, OutcomeUnknown, false, ""},
		"more, and the same page again": {list(`{"data":[{"id":1,"name":"m"}],"has_more":true}`), nil,
			OutcomeUnknown, false, ""},
		"a full page, and no word of more": {list(full + `{"id":2,"name":"m"}]}`), nil, OutcomeUnknown, false,
			"pagination"},
		"listed, Show is refused": {listed("7"), fakes.Respond(403, `{"message":"Forbidden"}`),
			OutcomeExecuted, false, ""},
		"listed, Show has none": {listed("7"), fakes.Respond(404, `{"message":"Not found."}`),
			OutcomeExecuted, true, unseen},
		"listed, Show has another name": {listed("7"), fakes.OK(`{"data":{"id":7,"name":"m"}}`),
			OutcomeExecuted, true, unseen + `: its name is "m"`},
		"listed, Show fails":                {listed("7"), fakes.Respond(500, ``), OutcomeExecuted, true, ""},
		"listed, Show is a page":            {listed("7"), fakes.OK(`<html>`), OutcomeExecuted, true, ""},
		"listed under what cannot be an ID": {listed("7 8"), nil, OutcomeExecuted, false, unseen},
		"listed twice, under two IDs": {list(`[{"id":1,"name":"n"},{"id":2,"name":"n"}]`), nil, OutcomeExecuted,
			false, ""},
	} {
		c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/images") {
				return row.list(r)
			}
			return row.show(r)
		}), WithRetryPolicy(oneAttempt))
		err := findN(t.Context(), c)
		require.Error(t, err, name)
		assert.ErrorContains(t, err, row.text, name)
		assert.Equal(t, row.outcome, OutcomeOf(err), "%s: %v", name, err)
		assert.Equal(t, row.retryable, Retryable(err), "%s: %v", name, err)
		assert.NotErrorIs(t, err, ErrNotFound, name)
	}
	none := findN(t.Context(), over(t, list(`{"data":[]}`), WithRetryPolicy(oneAttempt)))
	assert.ErrorIs(t, none, ErrNotFound)
	assert.ErrorContains(t, none, "no image has the name")
	assert.Equal(t, OutcomeUnknown, OutcomeOf(none))
	assert.False(t, Retryable(none))
	assert.False(t, errors.As(none, new(*APIError)), "nobody sent it")
	for name, body := range map[string]string{
		"listed twice": `{"data":[{"id":1,"name":"n"},{"id":1,"name":"n"}]}`,
		"on a page that does not say what follows": full + `{"id":1,"name":"n"}]}`,
	} {
		list := func(int) (*http.Response, error) { return fakes.OK(body)(nil) }
		image, err := over(t, &fakes.Ledger{Names: []string{"n"}, List: list}).Images.FindByName(t.Context(), "n")
		require.NoError(t, err, name)
		assert.Equal(t, ID("1"), image.ID, name)
	}
	c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/images") {
			return listed("7")(r)
		}
		return fakes.OK(`{"data":{"name":"n"}}`)(r)
	}))
	image, err := c.Images.FindByName(t.Context(), "n")
	require.NoError(t, err)
	assert.Equal(t, ID("7"), image.ID, "Show may leave the ID out")
	c = over(t, &fakes.Ledger{})
	assert.Equal(t, OutcomeUnknown, OutcomeOf(findN(cancelledContext(t), c)))
	_, err = c.Images.FindByName(t.Context(), "n", WithHeader("Host", "h"))
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), "%v", err)
}

// A group of calls cancels the others with the first error as the cause. It says nothing of this call's record.
func TestFindByNameIsNotDecidedByTheErrorOfAnotherCall(t *testing.T) {
	t.Parallel()
	nothing := over(t, &fakes.Ledger{})
	for _, cause := range []error{
		ErrNotFound, fmt.Errorf("job 3: %w", ErrNotFound),
		findN(t.Context(), nothing), showSeven(t.Context(), nothing),
	} {
		require.Error(t, cause)
		l := &fakes.Ledger{Names: []string{"n"}}
		errs := []error{findN(t.Context(), over(t, l, refusing(cause)))}
		for _, path := range []string{"/images", "/images/1"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			errs = append(errs, findN(ctx, over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, path) {
					cancel(cause)
					return nil, context.Cause(ctx)
				}
				return l.RoundTrip(r)
			}))))
		}
		for _, err := range errs {
			require.Error(t, err)
			assert.NotErrorIs(t, err, ErrNotFound)
			assert.True(t, Retryable(err), "%v", err)
		}
	}
}

// A record that a deletion moves from page 2 to page 1 while page 1 is read is on neither: it would be stored again.
func TestFindByNameMissesNoRecordThatDeletionsMove(t *testing.T) {
	t.Parallel()
	record := func(id int, name string) string { return fmt.Sprintf(`{"id":%d,"name":%q}`, id, name) }
	page := func(n, last, total int, records ...string) func(*http.Request) (*http.Response, error) {
		meta := fmt.Sprintf(`"meta":{"current_page":%d,"last_page":%d,"total":%d}`, n, last, total)
		if total == 0 {
			meta = fmt.Sprintf(`"meta":{"current_page":%d,"last_page":%d}`, n, last)
		}
		return fakes.OK(`{"data":[` + strings.Join(records, ",") + `],` + meta + `}`)
	}
	a, b, wanted, d := record(1, "a"), record(2, "b"), record(3, "n"), record(4, "d")
	moved := fakes.Responses{page(1, 2, 4, a, b), page(2, 2, 3, d)}
	more := fakes.OK(`{"data":[` + a + `],"has_more":true}`)
	counted := func(of string) func(*http.Request) (*http.Response, error) {
		return fakes.Respond(200, `[`+of+`]`, "X-Total-Count", "2")
	}
	linked := fakes.Respond(200, `[`+a+`]`, "Link", `</images?page=2>; rel="next"`)
	const none, shorter = "no image has the name", "200: pagination: the list became shorter while it was read"
	for name, row := range map[string]struct {
		pages fakes.Responses // the last one again and again
		lists int
		text  string // of the error; empty if the record is found
	}{
		"the total shrinks":            {moved, 2, shorter},
		"found, and the total shrinks": {fakes.Responses{page(1, 2, 4, a, wanted), page(2, 2, 3, d)}, 2, ""},
		"counted without the search":   {fakes.Responses{page(1, 1, 500, a), page(2, 1, 500)}, 2, none},
		"counted, and more follow": {fakes.Responses{page(1, 1, 500, a), page(2, 1, 500, wanted), page(3, 1, 500)},
			3, ""},
		"has_more": {fakes.Responses{more, fakes.OK(`{"data":[` + wanted + `],"has_more":false}`)},
			2, ""},
		"a total in a header":    {fakes.Responses{counted(a), counted(wanted)}, 2, ""},
		"a Link header":          {fakes.Responses{linked, fakes.OK(`[` + wanted + `]`)}, 2, ""},
		"as many as the total":   {fakes.Responses{page(1, 2, 3, a, b), page(2, 2, 3, d)}, 2, none},
		"fewer pages than told":  {fakes.Responses{page(1, 3, 0, a), page(2, 2, 0, b)}, 2, shorter},
		"it moves onto the next": {fakes.Responses{page(1, 2, 0, b, wanted), page(2, 2, 0, d, wanted)}, 2, ""},
	} {
		s := script(row.pages...)
		c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/3") {
				return fakes.OK(wanted)(r)
			}
			return s.RoundTrip(r)
		}))
		image, err := c.Images.FindByName(t.Context(), "n")
		assert.Len(t, s.Asked, row.lists, name)
		if row.text == "" {
			require.NoError(t, err, name)
			assert.Equal(t, ID("3"), image.ID, name)
			continue
		}
		require.ErrorContains(t, err, "images.findByName: "+row.text, name)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), name)
		assert.Equal(t, row.text == shorter, errors.As(err, new(*DecodeError)), name)
		assert.Equal(t, row.text == shorter, Retryable(err), name)
		assert.Equal(t, row.text == none, errors.Is(err, ErrNotFound), name)
	}
}

// Names that only look alike are other records, wherever they are.
func TestFindByNameIsNotMisledByNamesThatLookAlike(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*fakes.Ledger{
		"job-4711": {Names: []string{"other", "job-47110", "JOB-4711", "a job-4711", "job-4711"}},
		"page 3": {
			Names: []string{"page 3 a", "page 3 b", "page 3 c", "page 3 d", "page 3"}, PerPage: 2,
		},
		" trimmed by service\t":   {Names: []string{"trimmed by service"}},
		"job\r\n4711 of today":    {Names: []string{"job\n4711 of today"}},
		"\r\njob\r4711 of\ttoday": {Names: []string{"job\n4711 of\ttoday"}},
		"job\n4711":               {Names: []string{"job\r4711"}},
		"kept as it was":          {Names: []string{"\r\nkept as it was\r\n"}},
	} {
		image, err := over(t, l).Images.FindByName(t.Context(), name)
		require.NoError(t, err, "%q", name)
		assert.Equal(t, l.Names[len(l.Names)-1], image.Name)
		assert.Equal(t, ID(fmt.Sprint(len(l.Names))), image.ID)
	}
	l := &fakes.Ledger{Names: []string{"job-47110", "JOB-4711", "a job-4711"}}
	_, err := over(t, l).Images.FindByName(t.Context(), "job-4711")
	require.ErrorIs(t, err, ErrNotFound)
	assert.Equal(t, []url.Values{{"search": {"job-4711"}, "search_by": {"name"}, "per_page": {"100"}}}, l.Queries)
}

// A name that a large part of all records contains costs ten requests, and no more.
func TestFindByNameIsBounded(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{PerPage: 1}
	for n := range 20 {
		l.Names = append(l.Names, fmt.Sprint("record ", n))
	}
	_, err := over(t, l).Images.FindByName(t.Context(), `\\\`)
	require.EqualError(t, err, "images.findByName: 200: the search found more than 10 pages of records; "+
		"use a name that few others contain")
	assert.IsType(t, &DecodeError{}, err)
	assert.Len(t, l.Searches, 10)

	l = &fakes.Ledger{PerPage: 1, Names: l.Names[:10]}
	_, err = over(t, l).Images.FindByName(t.Context(), `\\\`)
	require.ErrorIs(t, err, ErrNotFound, "ten pages are searched")
}

// A filter that the program gives to all its lists would hide the record, and a second one would be billed.
func TestFindByNameLeavesOutTheFiltersOfTheClient(t *testing.T) {
	t.Parallel()
	opts := []Option{WithHeader("X-Tenant", "5")}
	for _, name := range []string{
		"search", "search_by", "resolution", "style", "medium", "filter", "favorite", "sort_by", "sort", "per_page",
		"page", "cursor", "tenant",
	} {
		opts = append(opts, WithQuery(name, "5"))
	}
	l := &fakes.Ledger{Names: []string{`C:\temp\render 100%`}}
	s := script(l.RoundTrip)
	_, err := over(t, s, opts...).Images.FindByName(t.Context(), `C:\temp\render 100%`)
	require.NoError(t, err)
	want := url.Values{"search": {"render 100%"}, "search_by": {"name"}, "per_page": {"100"}, "tenant": {"5"}}
	assert.Equal(t, []url.Values{want}, l.Queries, "a backslash is an escape in many a database's search")
	require.Len(t, s.Sent, 2)
	for _, r := range s.Sent {
		assert.Equal(t, "no-cache", r.Header.Get("Cache-Control"), "a cache does not know what is there now")
		assert.Equal(t, "5", r.Header.Get("X-Tenant"))
	}
}
