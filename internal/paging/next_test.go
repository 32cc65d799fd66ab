package paging

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	end      = ""
	noWord   = "does not say whether more follow"
	noQuery  = "a next link without a query"
	badQuery = `an invalid query: invalid URL escape "%zz"`
)

// places are the numbers that lists in the reader's fixtures tell of their place, and the page that follows. Any other
// list tells nothing and has no further page.
var places = map[string]struct {
	info Info
	next string
}{
	"data-data.json":            {Info{Current: 1, Last: 4}, "page=2"},
	"data-collection.json":      {Info{1, 4, 2, 7}, "page=2"},
	"collection-data.json":      {Info{}, "page=2"},
	"resource.json":             {Info{1, 4, 2, 7}, "page=2"},
	"plain-paginator.json":      {Info{3, 4, 2, 7}, "page=4"},
	"simple-paginator.json":     {Info{Current: 1, PerPage: 2}, "page=2"},
	"cursor-paginator.json":     {Info{PerPage: 2}, "cursor=eyJpZCI6N30"},
	"last-page.json":            {Info{Current: 1, Last: 9}, end},
	"last-page-null-url.json":   {Info{Current: 1, Last: 9}, end},
	"first-source-counts.json":  {Info{Current: 1, Last: 9}, "page=2"},
	"second-source-counts.json": {Info{Current: 1, Last: 9}, "page=3"},
	"next-beside.json":          {Info{}, "page=4"},
	"next-object.json":          {Info{}, "page=2"},
	"next-number.json":          {Info{Current: 1, Last: 2}, "page=2"},
	"numbers-in-meta.json":      {Info{2, 3, 2, 5}, "page=3"},
	"numbers-beside.json":       {Info{2, 2, 2, 4}, end},
	"last-without-current.json": {Info{Last: 2}, "page=2"},
	"total-more.json":           {Info{PerPage: 2, Total: 5}, "page=2"},
	"total-reached.json":        {Info{Total: 10}, end},
	"empty.json":                {Info{1, 1, 10, 0}, end},
	"full-page.json":            {Info{}, noWord},
	"next-without-query.json":   {Info{}, noQuery},
	"next-unreadable.json":      {Info{}, badQuery},
	"white-space.json":          {Info{}, "page=2"},
	"numbered.json":             {Info{Current: 2, Last: 2}, end},
	"attributes.json":           {Info{}, "page%5Bnumber%5D=2"},
}

// assertNext asserts the query of the page that follows, or the text of the error, which has spaces.
func assertNext(t *testing.T, want string, s State, name string) {
	t.Helper()
	next, err := s.Next()
	if strings.Contains(want, " ") {
		assert.ErrorContains(t, err, want, name)
		return
	}
	require.NoError(t, err, name)
	assert.Equal(t, want, next.Encode(), name)
}

// A page after which a walk ends too early is a loss that no one sees.
func TestNextPageIsFoundAfterListsOfEveryShape(t *testing.T) {
	files, err := filepath.Glob("../lenient/testdata/lists/*")
	require.NoError(t, err)
	found := 0
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		want, known := places[filepath.Base(file)]
		if known {
			found++
		}
		s := Start(page(t, string(body), nil), sizes)
		assert.Equal(t, want.info, s.Info, file)
		assert.Equal(t, want.next != end, s.HasNext(), file)
		assertNext(t, want.next, s, file)
	}
	assert.Equal(t, len(places), found, "a row without a file")
}

// A service may replace a page size that it does not know without saying so: the page only looks short.
func TestShortPageOfAReplacedSizeIsNotTheLast(t *testing.T) {
	for _, tt := range []struct {
		asked string
		count int
		last  bool
	}{
		{"", 9, true}, {"", 10, false}, {"", 37, false},
		{"25", 24, true}, {"25", 25, false}, {"100", 50, true}, {"10", 25, false},
		{"500", 499, true}, {"500", 10, false}, {"500", 100, false}, {"500", 500, false},
		{"x", 9, true}, {"-5", 9, true}, {"-5", 10, false},
	} {
		s := Start(Facts{Count: tt.count, Query: url.Values{"per_page": {tt.asked}}}, sizes)
		assert.Equal(t, tt.last, !s.HasNext(), "%d of %s", tt.count, tt.asked)
	}
	// A size that the service tells is its size.
	text := `{"data":` + records(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + `,"per_page":11}`
	assert.False(t, Start(page(t, text, url.Values{"per_page": {"500"}}), sizes).HasNext())
}

// Numbers that make no sense are numbers that were not sent.
func TestNumbersThatMakeNoSenseAreIgnored(t *testing.T) {
	for text, want := range map[string]Info{
		`"current_page":-3,"last_page":"x","per_page":[],"total":1.5,"meta":{"total":-1}`: {},
		// Meta goes first if it has the number.
		`"meta":{"per_page":"25","total":0},"per_page":10,"total":"30"`: {PerPage: 25, Total: 30},
	} {
		assert.Equal(t, want, Start(page(t, `{"data":[{"id":1}],`+text+`}`, nil), sizes).Info, text)
	}
}

// A list read one record a page goes on to its end, and so does one whose last page holds a single record.
func TestPagesOfOneRecordDoNotEndAWalkEarly(t *testing.T) {
	for body, want := range map[string]string{
		`"per_page":1,"total":1`:   end,
		`"per_page":1,"total":2`:   "page=2",
		`"per_page":10,"total":11`: "page=2",
	} {
		assertNext(t, want, Start(page(t, `{"data":[{"id":1}],`+body+`}`, nil), sizes), body)
	}
	s := Start(page(t, `{"data":[{"id":1}]}`, url.Values{"per_page": {"1"}}), sizes)
	assertNext(t, noWord, s, "a full page of one")
}

// The last page of a list with links has none to a next page.
func TestPageWithoutANextLinkEndsAWalkByLinks(t *testing.T) {
	const full = 10
	asked := func(pairs ...string) url.Values {
		query := url.Values{"per_page": {"10"}}
		for i := 0; i < len(pairs); i += 2 {
			query.Set(pairs[i], pairs[i+1])
		}
		return query
	}
	after := func(body string) State {
		return Start(Facts{Count: full, Query: asked(), Around: around(t, body)}, sizes)
	}
	byLink, byCursor := after(`{"links":{"next":"?page=2"}}`), after(`{"next":"?cursor=b"}`)
	byNumber := after(`{"last_page":9}`)
	for name, tt := range map[string]struct {
		before State // the zero State where the page is the first of the walk
		query  url.Values
		around string
		want   string
	}{
		"no link":                  {byLink, asked("page", "2"), `{"links":{"prev":"?page=1"}}`, end},
		"no link after a cursor":   {byCursor, asked("cursor", "b"), `{}`, end},
		"another link":             {byLink, asked("page", "2"), `{"links":{"next":"?page=3"}}`, "page=3"},
		"a number":                 {byLink, asked("page", "2"), `{"meta":{"last_page":3}}`, "page=3"},
		"a total":                  {byLink, asked("page", "2"), `{"total":21}`, "page=3"},
		"nothing":                  {State{}, asked(), `{}`, noWord},
		"a link to the one before": {State{}, asked(), `{"links":{"prev":"?page=1"}}`, noWord},
		"nothing after numbers":    {byNumber, asked("page", "2"), `{}`, noWord},
	} {
		r := Facts{Count: full, Query: tt.query, Around: around(t, tt.around)}
		s := Start(r, sizes)
		if tt.before.sizes != nil {
			var err error
			s, _, err = tt.before.Arrive(r)
			require.NoError(t, err, name)
		}
		assert.Equal(t, tt.want != end, s.HasNext(), name)
		assertNext(t, tt.want, s, name)
	}
}

// A service that replaced a page size, and tells the total, has more pages than the size that was asked for says.
func TestTotalCountsTheRecordsThatCameAndNotTheSizeAskedFor(t *testing.T) {
	query := url.Values{"per_page": {"500"}}
	s := Start(Facts{Count: 10, Query: query, Around: around(t, `{"total":25}`)}, sizes)
	assertNext(t, "page=2", s, "10 of 25 came")
	s, _, err := s.Arrive(Facts{Count: 10, Query: url.Values{"per_page": {"500"}, "page": {"2"}}})
	require.NoError(t, err)
	assert.True(t, s.HasNext(), "20 of 25 came")
}
