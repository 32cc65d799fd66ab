package aicontent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/names"
)

// The documentation advises to search for the record after an unknown outcome.
func TestFindByName(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Names: []string{"job-47110", "job-4711", "twice", "twice"}, More: `,"url":"/a.png"`}
	c := over(t, l, WithQuery("style", "retro"), WithQuery("tenant", "5"))
	image, err := c.Images.FindByName(t.Context(), " job-4711\r\n")
	require.NoError(t, err)
	assert.Equal(t, ID("2"), image.ID)
	assert.Equal(t, "/a.png", image.URL, "it is shown in full")
	assert.Equal(t, "5", l.Queries[0].Get("tenant"))
	assert.Empty(t, l.Queries[0].Get("style"), "a filter would hide the record")

	_, err = c.Images.FindByName(t.Context(), "job-4712")
	require.ErrorIs(t, err, ErrNotFound)
	assert.EqualError(t, err, `images.findByName: no image has the name "job-4712"`)
	_, err = c.Images.FindByName(t.Context(), "twice")
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, []ID{"3", "4"}, conflict.IDs)
	assert.EqualError(t, err, `images.findByName: name "twice": more than one record has the name (id 3, 4)`)
	_, err = c.Images.FindByName(t.Context(), "\n")
	assert.ErrorIs(t, err, ErrInvalid)
	_, err = (&Client{}).Images.FindByName(t.Context(), "n")
	assert.ErrorIs(t, err, ErrInvalid)
	transcription, err := c.Transcriptions.FindByName(t.Context(), "job-4711")
	require.NoError(t, err)
	assert.Equal(t, "job-4711", transcription.Name)
}

// Laravel trims these characters, so the record's name is "a".
func TestFindByNameIgnoresInvisibleCharactersAtTheEnds(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]string{
		"a\u200b": "a", "\ufeffa\u2060": "a", "\u200b \n\u00ada\x00": "a", "a": "a\u200b", "\u2800\\a\u200b": `\a`,
	} {
		l := &fakes.Ledger{Names: []string{"ab", stored}}
		image, err := over(t, l).Images.FindByName(t.Context(), name)
		require.NoError(t, err, "%q", name)
		assert.Equal(t, ID("2"), image.ID, "%q", name)
	}
	l := &fakes.Ledger{Names: []string{"ab", "a\u200bb"}, Store: func(_ int, add func()) (*http.Response, error) {
		add()
		return fakes.Respond(http.StatusGatewayTimeout, "")(nil)
	}}
	c := over(t, l)
	_, err := c.Images.FindByName(t.Context(), "a")
	require.ErrorIs(t, err, ErrNotFound)
	p := ImageStoreParams{Name: "a\u200b", Description: "d", Resolution: Resolution256x256}
	_, err = c.Images.Store(t.Context(), p)
	require.Equal(t, OutcomeUnknown, OutcomeOf(err))
	image, err := c.Images.FindByName(t.Context(), p.Name)
	require.NoError(t, err)
	assert.Equal(t, "a", image.Name)
	_, err = c.Images.FindByName(t.Context(), "\u200b\ufeff")
	assert.ErrorContains(t, err, `name "\u200b\ufeff": is required`)
}

func TestFindByNameSearchesForTheLongestPart(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"job-4711": "job-4711", `a\the longest\b`: "the longest", "a\nthe longest": "the longest", `the longest\b`: "the longest", `\`: "",
	} {
		assert.Equal(t, want, searchable(name), name)
	}
}

// What a list shows is there: a caller who takes it for missing stores it again.
func TestFindByNameSaysNotFoundOnlyOfWhatNoListShows(t *testing.T) {
	t.Parallel()
	list := func(body string) func(int) (*http.Response, error) {
		return func(int) (*http.Response, error) { return fakes.OK(body)(nil) }
	}
	full := strings.Repeat(`{"id":1,"name":"other"},`, 99)
	for name, row := range map[string]struct {
		body string
		text string // of the error; empty for success
	}{
		"listed, but not shown":                    {`{"data":[{"id":99,"name":"job-4711"}]}`, "the list has a record with the name and the ID 99, but Show does not"},
		"listed twice":                             {`{"data":[{"id":1,"name":"job-4711"},{"id":1,"name":"job-4711"}]}`, ""},
		"on a page that does not say what follows": {`{"data":[` + full + `{"id":1,"name":"job-4711"}]}`, ""},
	} {
		l := &fakes.Ledger{Names: []string{"job-4711"}, List: list(row.body)}
		image, err := over(t, l).Images.FindByName(t.Context(), "job-4711")
		if row.text == "" {
			require.NoError(t, err, name)
			assert.Equal(t, ID("1"), image.ID, name)
			continue
		}
		assert.IsType(t, &DecodeError{}, err, name)
		require.ErrorContains(t, err, row.text, name)
		assert.NotErrorIs(t, err, ErrNotFound, name)
		assert.True(t, Retryable(err), name)
	}
	l := &fakes.Ledger{List: list(`{"data":[` + full + `{"id":1,"name":"another"}]}`)}
	_, err := over(t, l).Images.FindByName(t.Context(), "job-4711")
	assert.ErrorIs(t, err, ErrPagination, "no match there proves nothing")
}

// A proxy's 404 during a deploy, or a wrong base URL, says nothing of the record.
func TestFindByNameWhereTheListIsNotFound(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`<html>deploying</html>`, `{"message":"Not found."}`, ``} {
		c := over(t, fakes.RoundTripper(fakes.Respond(404, body)))
		_, err := c.Images.FindByName(t.Context(), "job-4711")
		var refused *APIError
		require.ErrorAs(t, err, &refused)
		assert.NotErrorIs(t, err, ErrNotFound, body)
		assert.ErrorContains(t, err, "there is no API at")
		_, err = c.Images.List(t.Context(), ImageListParams{})
		assert.Equal(t, strings.HasPrefix(body, "{"), errors.Is(err, ErrNotFound), body)
	}
}

// Each outcome of a search tells whether the record may be there: nothing before a list has shown it, for certain
// after.
func TestFindByNameOutcomes(t *testing.T) {
	t.Parallel()
	listed := func(id string) func(int) (*http.Response, error) {
		return func(int) (*http.Response, error) {
			return fakes.OK(`{"data":[{"id":"` + id + `","name":"n"}]}`)(nil)
		}
	}
	status := func(code int, body string) func(int) (*http.Response, error) {
		return func(int) (*http.Response, error) { return fakes.Respond(code, body)(nil) }
	}
	lost := func(int) (*http.Response, error) { return nil, io.EOF }
	for name, row := range map[string]struct {
		list, show func(int) (*http.Response, error)
		outcome    Outcome
		retryable  bool
	}{
		"the list is refused":                {status(401, `{"message":"Unauthenticated."}`), nil, OutcomeUnknown, false},
		"the list is lost":                   {lost, nil, OutcomeUnknown, true},
		"the list is a page":                 {status(200, `<html>`), nil, OutcomeUnknown, true},
		"the list has something else":        {status(200, `{"data":[7,{"id":1,"name":"m"}]}`), nil, OutcomeUnknown, false},
		"there is none":                      {status(200, `{"data":[]}`), nil, OutcomeUnknown, false},
		"listed, Show is refused":            {listed("7"), status(403, `{"message":"Forbidden"}`), OutcomeExecuted, false},
		"listed, Show has none":              {listed("7"), status(404, `{"message":"Not found."}`), OutcomeExecuted, true},
		"listed, Show fails":                 {listed("7"), status(500, ``), OutcomeExecuted, true},
		"listed, Show is lost":               {listed("7"), lost, OutcomeExecuted, true},
		"listed, Show is a page":             {listed("7"), status(200, `<html>`), OutcomeExecuted, true},
		"listed under what cannot be an ID":  {listed("7 8"), nil, OutcomeExecuted, false},
		"listed twice, under two IDs":        {status(200, `[{"id":1,"name":"n"},{"id":2,"name":"n"}]`), nil, OutcomeExecuted, false},
		"a page that does not say what next": {status(200, `{"data":[{"id":1,"name":"m"}],"next_page_url":"?page=1"}`), nil, OutcomeUnknown, false},
	} {
		c := over(t, &fakes.Ledger{List: row.list, Show: row.show}, WithRetryPolicy(oneAttempt))
		_, err := c.Images.FindByName(t.Context(), "n")
		require.Error(t, err, name)
		assert.Equal(t, row.outcome, OutcomeOf(err), "%s: %v", name, err)
		assert.Equal(t, row.retryable, Retryable(err), "%s: %v", name, err)
		assert.Equal(t, name == "there is none", errors.Is(err, ErrNotFound), "%s: %v", name, err)
		assert.False(t, name == "there is none" && errors.As(err, new(*APIError)), "nobody sent it")
	}
	c := over(t, &fakes.Ledger{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Images.FindByName(ctx, "n")
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%v", err)
	_, err = c.Images.FindByName(t.Context(), "n", WithHeader("Host", "h"))
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), "%v", err)
}

// A group of calls cancels the others with the first error as the cause. It says nothing of this call's record.
func TestFindByNameIsNotDecidedByTheErrorOfAnotherCall(t *testing.T) {
	t.Parallel()
	_, other := over(t, &fakes.Ledger{}).Images.FindByName(t.Context(), "another")
	_, shown := over(t, &fakes.Ledger{}).Images.Show(t.Context(), "7")
	for _, cause := range []error{ErrNotFound, fmt.Errorf("job 3: %w", ErrNotFound), other, shown, fmt.Errorf("job 3: %w", names.ErrMissing)} {
		require.Error(t, cause)
		for _, path := range []string{"/images", "/images/1"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			l := &fakes.Ledger{Names: []string{"n"}}
			c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, path) {
					cancel(cause)
					return nil, context.Cause(ctx)
				}
				return l.RoundTrip(r)
			}))
			_, err := c.Images.FindByName(ctx, "n")
			require.Error(t, err)
			assert.NotErrorIs(t, err, ErrNotFound, "%s: %v", path, err)
			assert.NotErrorIs(t, err, names.ErrMissing, "%s: %v", path, err)
			assert.True(t, Retryable(err), "%s: %v", path, err)
		}
		hook := WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) { return nil, cause })
		_, err := over(t, &fakes.Ledger{Names: []string{"n"}}, hook).Images.FindByName(t.Context(), "n")
		require.Error(t, err)
		assert.NotErrorIs(t, err, ErrNotFound)
		assert.NotErrorIs(t, err, names.ErrMissing)
	}
}

// A record that a deletion moves from page 2 to page 1 while page 1 is read is on neither: it would be stored again.
func TestFindByNameDuringDeletions(t *testing.T) {
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
	moved := []fakes.RoundTripper{page(1, 2, 4, a, b), page(2, 2, 3, d)}
	for name, row := range map[string]struct {
		pages []fakes.RoundTripper // the last one again and again
		found bool
		lists int
		text  string
	}{
		"the total shrinks":          {slices.Concat(moved, []fakes.RoundTripper{page(1, 2, 3, b, wanted), page(2, 2, 3, d)}), true, 4, ""},
		"found in spite of it":       {[]fakes.RoundTripper{page(1, 1, 9, wanted)}, true, 2, ""},
		"shrinks again and again":    {slices.Concat(moved, moved, moved, moved), false, 8, "images.findByName: 200: the list became shorter while it was read"},
		"counted without the search": {[]fakes.RoundTripper{page(1, 1, 500, a), page(2, 1, 500)}, false, 2, "images.findByName: no image has the name"},
		"pages counted without it":   {[]fakes.RoundTripper{page(1, 50, 5000)}, false, 1, "images.findByName: no image has the name"},
		"counted, and more follow":   {[]fakes.RoundTripper{page(1, 1, 500, a), page(2, 1, 500, wanted), page(3, 1, 500)}, true, 3, ""},
		"has_more":                   {[]fakes.RoundTripper{fakes.OK(`{"data":[` + a + `],"has_more":true}`), fakes.OK(`{"data":[` + wanted + `],"has_more":false}`)}, true, 2, ""},
		"has_more, and nothing does": {[]fakes.RoundTripper{fakes.OK(`{"data":[` + a + `],"has_more":true}`), fakes.OK(`{"data":[]}`)}, false, 2, "images.findByName: no image has the name"},
		"a total in a header":        {[]fakes.RoundTripper{fakes.Respond(200, `[`+a+`]`, "X-Total-Count", "2"), fakes.Respond(200, `[`+wanted+`]`, "X-Total-Count", "2")}, true, 2, ""},
		"a Link header":              {[]fakes.RoundTripper{fakes.Respond(200, `[`+a+`]`, "Link", `</images?page=2>; rel="next"`), fakes.OK(`[` + wanted + `]`)}, true, 2, ""},
		"no list, and none are":      {[]fakes.RoundTripper{fakes.OK(`{"data":null,"meta":{"total":0}}`)}, false, 1, "images.findByName: no image has the name"},
		"none, and one is counted":   {[]fakes.RoundTripper{fakes.OK(`{"data":[],"total":1}`)}, false, 1, "images.findByName: no image has the name"},
		"as many as the total":       {[]fakes.RoundTripper{page(1, 2, 3, a, b), page(2, 2, 3, d)}, false, 2, "images.findByName: no image has the name"},
		"more than the total":        {[]fakes.RoundTripper{page(1, 1, 1, a, b)}, false, 1, "images.findByName: no image has the name"},
		"no total":                   {[]fakes.RoundTripper{page(1, 2, 0, a, b), page(2, 2, 0, d)}, false, 2, "images.findByName: no image has the name"},
		"fewer pages than last told": {[]fakes.RoundTripper{page(1, 3, 0, a), page(2, 2, 0, b), page(1, 1, 0, wanted)}, true, 3, ""},
	} {
		lists := 0
		c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/3") {
				return fakes.OK(wanted)(r)
			}
			lists++
			return row.pages[min(lists, len(row.pages))-1](r)
		}))
		image, err := c.Images.FindByName(t.Context(), "n")
		assert.Equal(t, row.lists, lists, name)
		if row.found {
			require.NoError(t, err, name)
			assert.Equal(t, ID("3"), image.ID, name)
			continue
		}
		require.ErrorContains(t, err, row.text, name)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), name)
		assert.Equal(t, errors.As(err, new(*DecodeError)), Retryable(err), name)
		assert.Equal(t, !errors.As(err, new(*DecodeError)), errors.Is(err, ErrNotFound), name)
	}
}

// Names that only look alike are other records, wherever they are.
func TestFindByNameAmongOthers(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*fakes.Ledger{
		"job-4711":                {Names: []string{"other", "job-47110", "JOB-4711", "a job-4711", "job-4711"}},
		"page 3":                  {Names: []string{"page 3 a", "page 3 b", "page 3 c", "page 3 d", "page 3"}, PerPage: 2},
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

// A record that moves onto the next page during the search is one record.
func TestFindByNameOfARecordThatMoves(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Names: []string{"job-4711"}}
	const page = `{"data":[{"id":%d,"name":"job-4711 b"},{"id":1,"name":"job-4711"}],"meta":{"current_page":%d,"last_page":2}}`
	l.List = func(n int) (*http.Response, error) { return fakes.OK(fmt.Sprintf(page, 10-n, n))(nil) }
	image, err := over(t, l).Images.FindByName(t.Context(), "job-4711")
	require.NoError(t, err)
	assert.Equal(t, ID("1"), image.ID)
}

// Two records with the name are enough to know that it is not unique.
func TestFindByNameOfManyRecords(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Names: []string{"job-4711", "job-4711", "job-4711"}}
	_, err := over(t, l).Images.FindByName(t.Context(), "job-4711")
	conflict, ok := errors.AsType[*ConflictError](err)
	require.True(t, ok)
	assert.Equal(t, []ID{"1", "2"}, conflict.IDs)
	assert.False(t, Retryable(err))
}

// A name that a large part of all records contains costs ten requests, and no more.
func TestFindByNameIsBounded(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{PerPage: 1}
	for n := range 20 {
		l.Names = append(l.Names, fmt.Sprint("record ", n))
	}
	_, err := over(t, l).Images.FindByName(t.Context(), `\\\`)
	require.EqualError(t, err, "images.findByName: 200: the search found more than 10 pages of records; use a name that few others contain")
	assert.IsType(t, &DecodeError{}, err)
	assert.Len(t, l.Searches, 10)

	l = &fakes.Ledger{PerPage: 1, Names: l.Names[:10]}
	_, err = over(t, l).Images.FindByName(t.Context(), `\\\`)
	require.ErrorIs(t, err, ErrNotFound, "ten pages are searched")
}

// A filter that the program gives to all its lists would hide the record, and a second one would be billed.
func TestFindByNameWithoutFilters(t *testing.T) {
	t.Parallel()
	var opts []Option
	for _, name := range []string{
		"search", "search_by", "resolution", "style", "medium", "filter", "favorite", "sort_by", "sort", "per_page", "page", "cursor", "tenant",
	} {
		opts = append(opts, WithQuery(name, "5"))
	}
	var sent []*http.Request
	l := &fakes.Ledger{Names: []string{`C:\temp\render 100%`}}
	c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r)
		return l.RoundTrip(r)
	}), append(opts, WithHeader("X-Tenant", "5"))...)
	_, err := c.Images.FindByName(t.Context(), `C:\temp\render 100%`)
	require.NoError(t, err)
	want := url.Values{"search": {"render 100%"}, "search_by": {"name"}, "per_page": {"100"}, "tenant": {"5"}}
	assert.Equal(t, []url.Values{want}, l.Queries, "a backslash is an escape in many a database's search")
	require.Len(t, sent, 2)
	for _, r := range sent {
		assert.Equal(t, "no-cache", r.Header.Get("Cache-Control"), "a cache does not know what is there now")
		assert.Equal(t, "5", r.Header.Get("X-Tenant"))
	}
}

// What a search cannot read it cannot call missing.
func TestFindByNameIsNotBlindToWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, list := range []string{
		`{"data":[{"uuid":"a","name":"job-4711"}],"links":{"next":null}}`,
		`{"data":[{"id":7}],"links":{"next":null}}`,
		`{"data":[{"id":7,"name":"other"},{"key":7,"title":"job-4711"}],"links":{"next":null}}`,
		`{"data":[],"error":"the search index is not available"}`,
		`{"status":"error","data":[]}`,
		`{"data":null}`,
		`{"data":null,"meta":{"total":1}}`,
		`{"data":null,"total":0,"meta":{"total_count":1}}`,
		`{"data":[{"id":1,"name":"job-47110"}],"has_more":true}`,
		`{"data":[{"id":1,"name":"job-47110"}],"total":2}`,
		`{"data":[{"id":1,"name":"job-47110"}],"errors":["shard 3 timed out"]}`,
	} {
		_, err := over(t, fakes.RoundTripper(fakes.OK(list))).Images.FindByName(t.Context(), "job-4711")
		require.ErrorAs(t, err, new(*DecodeError), list)
		assert.NotErrorIs(t, err, ErrNotFound, list)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), list)
	}
}

// A search is retried as a list is.
func TestFindByNameIsRetried(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		list     func(*http.Request) (*http.Response, error)
		error    any
		requests int
	}{
		"429 for an hour": {fakes.Respond(429, ``, "Retry-After", "3600"), new(*APIError), 1},
		"503 for an hour": {fakes.Respond(503, ``, "Retry-After", "3600"), new(*APIError), 1},
		"401":             {fakes.Respond(401, ``), new(*APIError), 1},
		"403":             {fakes.Respond(403, `{"message":"Forbidden"}`), new(*APIError), 1},
		"429":             {fakes.Respond(429, ``), new(*APIError), 4},
		"an HTML page":    {fakes.OK(`<html>`), new(*DecodeError), 1},
		"no network":      {fakes.Lose, new(*CallError), 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &fakes.Ledger{List: func(int) (*http.Response, error) { return row.list(nil) }}
			_, err := over(t, l).Images.FindByName(t.Context(), "job-4711")
			require.ErrorAs(t, err, row.error, name)
			assert.ErrorContains(t, err, "images.findByName: ", name)
			assert.Len(t, l.Searches, row.requests, name)
		})
	}
	asked := 0
	source := WithAPIKeySource(func(context.Context) (string, error) {
		asked++
		return fmt.Sprint("rotated-key-", min(asked, 2)), nil
	})
	l := &fakes.Ledger{Names: []string{"job-4711"}, List: func(n int) (*http.Response, error) {
		if n == 1 {
			return fakes.Respond(401, ``)(nil)
		}
		return nil, nil
	}}
	_, err := over(t, l, source).Images.FindByName(t.Context(), "job-4711")
	require.NoError(t, err)
	assert.Len(t, l.Searches, 2, "with another key")
}

// A conflict is known from what was read: another question to a key source could wait, or fail, after the call's work
// is done.
func TestConflictDoesNotAskTheKeySource(t *testing.T) {
	t.Parallel()
	asked := 0
	source := func(context.Context) (string, error) {
		asked++
		return fakes.Key, nil
	}
	const list = `{"data":[{"id":"a-%[1]s","name":"Lighthouse"},{"id":8,"name":"Lighthouse"}],"total":2}`
	c := over(t, fakes.RoundTripper(fakes.OK(fmt.Sprintf(list, fakes.Key))), WithAPIKeySource(source))
	_, err := c.Images.FindByName(t.Context(), "Lighthouse")
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, []ID{"a-[API key]", "8"}, conflict.IDs)
	assert.Equal(t, 1, asked, "for the list alone")
}
