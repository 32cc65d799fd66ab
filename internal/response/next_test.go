package response

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	end      = ""
	noWord   = "does not say whether more follow"
	noFollow = "a next link that cannot be followed"
)

var sizes = []int{10, 25, 50, 100}

// facts returns the facts of a response, as the callers of the package gather them.
func facts(t testing.TB, body string, query url.Values) Facts {
	t.Helper()
	list, err := FindList(parsed(t, body), "images")
	require.NoError(t, err)
	f := Facts{Hints: list.Hints(nil), Query: query, Count: len(list.Items)}
	for _, item := range list.Items {
		var record struct {
			ID string `json:"id"`
		}
		if _, err := Record(item, "image", &record); err == nil {
			f.IDs = append(f.IDs, record.ID)
		}
	}
	return f
}

// around returns the hints of the members of an object, as they would be around a list.
func around(t testing.TB, text string) Hints {
	return facts(t, strings.Replace(`{"data":[],`+text[1:], ",}", "}", 1), nil).Hints
}

// start returns the state after the first page.
func start(t testing.TB, f Facts) State {
	t.Helper()
	s, _, err := Start(sizes).Arrive(f)
	require.NoError(t, err)
	return s
}

// records writes records with these IDs.
func records(ids ...int) string {
	var list []string
	for _, id := range ids {
		list = append(list, fmt.Sprintf(`{"id":%d}`, id))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// listing returns a page with these records, and more members around them.
func listing(more string, ids ...int) string { return `{"data":` + records(ids...) + `,` + more + `}` }

// numberOf returns the number of the page that a query asks for; 0 if it has none.
func numberOf(query url.Values) int {
	number, _ := strconv.Atoi(query.Get("page"))
	return number
}

// walk follows the pages of a service to the last one. It returns the IDs of the records, the queries laid over the
// first one, and the error that ended it.
func walk(
	t testing.TB, respond func(query url.Values) string, query url.Values,
) (found string, asked []string, err error) {
	t.Helper()
	var ids []string
	take := func(r Facts, leaveOut map[string]bool) {
		for _, id := range r.IDs {
			if !leaveOut[id] {
				ids = append(ids, id)
			}
		}
	}
	r := facts(t, respond(query), query)
	take(r, nil)
	s := start(t, r)
	for s.HasNext() {
		next, err := s.Next()
		if err != nil {
			return strings.Join(ids, " "), asked, err
		}
		require.NotNil(t, next)
		asked = append(asked, next.Encode())
		sent := url.Values{}
		for _, values := range []url.Values{query, next} {
			for name := range values {
				sent[name] = values[name]
			}
		}
		r := facts(t, respond(sent), sent)
		var leaveOut map[string]bool
		if s, leaveOut, err = s.Arrive(r); err != nil {
			return strings.Join(ids, " "), asked, err
		}
		take(r, leaveOut)
	}
	next, err := s.Next()
	require.Nil(t, next)
	return strings.Join(ids, " "), asked, err
}

// always is a service that sends the same page for ever.
func always(body string) func(url.Values) string { return func(url.Values) string { return body } }

// assertWalk asserts the records of a walk, its number of further requests and its error, if text is not empty.
func assertWalk(
	t *testing.T, respond func(url.Values) string, query url.Values, ids string, further int, text, name string,
) {
	t.Helper()
	found, asked, err := walk(t, respond, query)
	assert.Equal(t, ids, found, name)
	assert.Len(t, asked, further, name)
	if text == "" {
		assert.NoError(t, err, name)
		return
	}
	assert.ErrorContains(t, err, text, name)
}

func TestWalkFollowsCursorsToTheEnd(t *testing.T) {
	ids, asked, err := walk(t, func(query url.Values) string {
		return map[string]string{
			"":     listing(`"links":{"next":"http://internal/?cursor=a%2Bb%3D"}`, 9, 8),
			"a+b=": listing(`"links":{"next":"?cursor=c"}`, 7, 6),
			"c":    `{"data":[],"links":{"next":null}}`,
		}[query.Get("cursor")]
	}, url.Values{"per_page": {"25"}})
	require.NoError(t, err)
	assert.Equal(t, "9 8 7 6", ids)
	assert.Equal(t, []string{"cursor=a%2Bb%3D", "cursor=c"}, asked)
}

// A walk that would never end, or give the same records for ever, must say so instead.
func TestWalkThatWouldNotEndSaysWhy(t *testing.T) {
	const again = "sent the records of the previous page again"
	for name, tt := range map[string]struct {
		respond func(url.Values) string
		ids     string
		text    string
		further int
	}{
		"to its own query": {
			always(listing(`"links":{"next":"?per_page=10"}`, 9)), "9", "leads back to an earlier page", 1,
		},
		"page ignored": {
			always(listing(`"links":{"next":"?page=2"}`, 9, 8)),
			"9 8", "the next link of page 2 leads back to page 2", 1,
		},
		"page ignored, only the last page told": {always(listing(`"last_page":50`, 9, 8)), "9 8", again, 3},
		"cursor ignored": {func(query url.Values) string {
			return listing(`"links":{"next":"?cursor=`+query.Get("cursor")+`a"}`, 9, 8)
		}, "9 8", again, 3},
		"back by number": {func(query url.Values) string {
			number := numberOf(query)
			return listing(fmt.Sprintf(`"links":{"next":"?page=%d"}`, []int{2, 2, 3, 1}[number]), number)
		}, "0 2 3", "the next link of page 3 leads back to page 1", 2},
		"back by cursor": {func(query url.Values) string {
			next := map[string]string{"": "a", "a": "b", "b": "c", "c": "a"}[query.Get("cursor")]
			return fmt.Sprintf(`{"data":[{"id":"at%s"}],"links":{"next":"?cursor=%s"}}`, query.Get("cursor"), next)
		}, "at ata atb atc", "leads back to an earlier page", 3},
		"empty for ever": {func(query url.Values) string {
			return listing(fmt.Sprintf(`"links":{"next":"?page=%d"}`, numberOf(query)+1))
		}, "", "100 pages without records", 99},
		"a full page without a word": {
			always(records(9, 8, 7, 6, 5, 4, 3, 2, 1, 0)), "9 8 7 6 5 4 3 2 1 0",
			"a full page of 10 records and does not say whether more follow", 0,
		},
	} {
		assertWalk(t, tt.respond, url.Values{"per_page": {"10"}}, tt.ids, tt.further, tt.text, name)
	}
}

// capped is a service with numbered pages of at most most records, whose records have the IDs from 0 to total-1. It
// tells the total, and more if that is not empty.
func capped(total, most int, more string) func(url.Values) string {
	return func(query url.Values) string {
		size, _ := strconv.Atoi(query.Get("per_page"))
		size = min(size, most)
		var ids []int
		for id := size * (max(numberOf(query), 1) - 1); id < total && len(ids) < size; id++ {
			ids = append(ids, id)
		}
		return listing(fmt.Sprintf(`"total":%d%s`, total, more), ids...)
	}
}

// numbers are the IDs from one to another, as walk returns them.
func numbers(from, to int) string {
	var ids []string
	for id := from; id <= to; id++ {
		ids = append(ids, strconv.Itoa(id))
	}
	return strings.Join(ids, " ")
}

// A service may tell the total alone, and send fewer records than were asked for: the list is at its end when as many
// came as the total says, however many pages that takes, and not before.
func TestTotalsAreHeldAgainstTheRecordsThatCame(t *testing.T) {
	first := func(size string) url.Values { return url.Values{"per_page": {size}} }
	from := func(page, size string) url.Values { return url.Values{"per_page": {size}, "page": {page}} }
	// ofSize is a service that replaces the page size.
	ofSize := func(size string, total, most int) func(url.Values) string {
		return func(query url.Values) string {
			return capped(total, most, "")(url.Values{"page": query["page"], "per_page": {size}})
		}
	}
	for name, tt := range map[string]struct {
		respond func(url.Values) string
		query   url.Values
		ids     string
		pages   int
	}{
		"pages of one":                     {capped(7, 1, ""), first("10"), numbers(0, 6), 7},
		"larger than asked":                {ofSize("25", 60, 25), first("10"), numbers(0, 59), 3},
		"all at once":                      {ofSize("37", 37, 37), first("10"), numbers(0, 36), 1},
		"from the last page on":            {capped(120, 50, ""), from("3", "100"), numbers(100, 119), 2},
		"the size that is asked for, told": {capped(120, 50, `,"per_page":100`), first("100"), numbers(0, 119), 3},
		"a size that is told": {
			capped(25, 10, `,"meta":{"per_page":10}`), from("3", "10"), numbers(20, 24), 1,
		},
	} {
		assertWalk(t, tt.respond, tt.query, tt.ids, tt.pages-1, "", name)
	}
}

// Pages and totals change while a walk is under way. The last total counts, and no page ends the walk before it.
func TestWalkKeepsToTheLastTotal(t *testing.T) {
	const untold = `"x":1`
	for name, tt := range map[string]struct {
		bodies []string // of the pages; the last one also of those that follow
		ids    string
	}{
		"smaller pages": {[]string{
			listing(`"total":8`, 0, 1, 2, 3), listing(`"total":8`, 4),
			listing(`"total":8`, 5, 6), listing(`"total":8`, 7),
		}, "0 1 2 3 4 5 6 7"},
		"a record is made": {[]string{
			listing(`"total":5`, 5, 4), listing(`"total":6`, 4, 3), listing(`"total":6`, 2, 1), listing(`"total":6`),
		}, "5 4 3 2 1"},
		"told on the first page alone": {[]string{
			listing(`"total":5`, 5, 4), listing(untold, 3, 2), listing(untold, 1),
		}, "5 4 3 2 1"},
		"more than there are": {[]string{listing(`"total":30`, 5, 4), listing(`"total":30`)}, "5 4"},
		"a last page that is told, too": {[]string{
			listing(`"total":30`, 5, 4), listing(`"total":30,"last_page":2`, 3, 2), listing(`"total":30`),
		}, "5 4 3 2"},
	} {
		respond := func(query url.Values) string {
			return tt.bodies[min(max(numberOf(query), 1), len(tt.bodies))-1]
		}
		assertWalk(t, respond, url.Values{"per_page": {"10"}}, tt.ids, len(tt.bodies)-1, "", name)
	}
}

// A deletion moves records to pages that were read already. The walk gives all that it can, and then says so.
func TestWalkOverAListThatShrinksSaysSo(t *testing.T) {
	for name, bodies := range map[string][]string{
		"a total": {listing(`"total":6`, 5, 4), listing(`"total":5`, 2, 1), listing(`"total":5`, 0)},
		"a number of pages": {
			listing(`"last_page":4`, 5, 4), listing(`"last_page":3`, 2, 1), listing(`"last_page":3`, 0),
		},
	} {
		respond := func(query url.Values) string { return bodies[max(numberOf(query), 1)-1] }
		assertWalk(t, respond, nil, "5 4 2 1 0", 2, ErrShrank.Error(), name)
	}
	grows := func(query url.Values) string {
		number := max(numberOf(query), 1)
		return listing(fmt.Sprintf(`"total":%d,"last_page":%d`, min(number, 3), min(number+1, 3)), number)
	}
	assertWalk(t, grows, nil, "1 2 3", 2, "", "a list that grows")
}

// Pages made full by new records while a walk is under way do not end it, but a service that repeats itself does.
func TestPagesOfRecordsThatMovedDoNotEndAWalk(t *testing.T) {
	for repeats, want := range map[int]string{0: "9 8 7 6", 1: "9 8 7 6", 2: "9 8 7 6", 3: "9 8"} {
		ids, _, err := walk(t, func(query url.Values) string {
			number := max(numberOf(query), 1)
			numbers := fmt.Sprintf(`"current_page":%d,"last_page":%d`, number, repeats+2)
			if number <= 1+repeats {
				return listing(numbers, 9, 8)
			}
			return listing(numbers, 7, 6)
		}, nil)
		assert.Equal(t, want, ids, repeats)
		assert.Equal(t, repeats >= maxRepeats, err != nil, repeats)
	}
	// Only pages in a row count.
	inARow := func(query url.Values) string {
		number := max(numberOf(query), 1)
		return listing(fmt.Sprintf(`"current_page":%d,"last_page":12`, number), number/3)
	}
	assertWalk(t, inARow, nil, "0 1 2 3 4", 11, "", "twelve pages")
}

// Records without an ID cannot be told apart, so none of them may be lost.
func TestRecordsWithoutIDAreNeverLeftOut(t *testing.T) {
	s := start(t, Facts{
		IDs: []string{"", "7"}, Count: 2, Query: url.Values{"per_page": {"2"}},
		Hints: around(t, `{"next":"?cursor=2"}`),
	})
	_, leaveOut, err := s.Arrive(Facts{IDs: []string{"", ""}, Count: 2})
	require.NoError(t, err)
	assert.False(t, leaveOut[""])
	_, leaveOut, err = s.Arrive(Facts{IDs: []string{"", "7"}, Count: 2})
	require.NoError(t, err)
	assert.False(t, leaveOut[""])
	assert.True(t, leaveOut["7"])
}

// Whatever a next link says, a walk comes to an end on a service that sends the same page for ever.
func FuzzNextLink(f *testing.F) {
	for _, link := range []string{
		"", "?page=2", "https://evil.example.com/?page=2", "//evil.example.com?cursor=a", "http://[::1", "?page=%zz",
		"?a;b", "?page=1", "?page=-1", "?page=99999999999999999999", "javascript:alert(1)", "?page=2#page=3",
		"?search=other", "?cursor=a&cursor=b", "page=2", "?", "\x00", "?page=\xff",
		"http://user:pass@evil.example.com:1/?page=2", "?x[]=1&page=2", "?page=2&page=3", "?page=9223372036854775807",
	} {
		f.Add(link)
	}
	f.Fuzz(func(t *testing.T, link string) {
		r := Facts{IDs: []string{"1"}, Count: 1, Query: url.Values{"search": {"sea"}, "per_page": {"1"}}}
		quoted, err := json.Marshal(link)
		require.NoError(t, err)
		r.Hints = facts(t, `{"data":[],"links":{"next":`+string(quoted)+`}}`, nil).Hints
		s, pages := start(t, r), 0
		for s.HasNext() {
			next, err := s.Next()
			if err != nil {
				break
			}
			require.NotEmpty(t, next)
			if s, _, err = s.Arrive(r); err != nil {
				break
			}
			pages++
			require.Less(t, pages, 4, "the same page for ever")
		}
	})
}

// placesOf are the numbers that lists in the fixtures tell of their place, and the page that follows. Any other list
// tells nothing and has no further page.
var placesOf = map[string]struct {
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
	"next-object.json":          {Info{}, noFollow},
	"next-number.json":          {Info{Current: 1, Last: 2}, "page=2"},
	"numbers-in-meta.json":      {Info{2, 3, 2, 5}, "page=3"},
	"numbers-beside.json":       {Info{2, 2, 2, 4}, end},
	"last-without-current.json": {Info{Last: 2}, "page=2"},
	"total-more.json":           {Info{PerPage: 2, Total: 5}, "page=2"},
	"total-reached.json":        {Info{Total: 10}, end},
	"empty.json":                {Info{1, 1, 10, 0}, end},
	"full-page.json":            {Info{}, noWord},
	"next-without-query.json":   {Info{}, noFollow},
	"next-unreadable.json":      {Info{}, noFollow},
	"white-space.json":          {Info{}, "page=2"},
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
	found := 0
	for file, body := range fixtures[any](t, "lists", nil) {
		want, known := placesOf[file]
		if known {
			found++
		}
		s := start(t, facts(t, body, nil))
		assert.Equal(t, want.info, s.Info, file)
		assert.Equal(t, want.next != end, s.HasNext(), file)
		assertNext(t, want.next, s, file)
	}
	assert.Equal(t, len(placesOf), found, "a row without a file")
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
		s := start(t, Facts{Count: tt.count, Query: url.Values{"per_page": {tt.asked}}})
		assert.Equal(t, tt.last, !s.HasNext(), "%d of %s", tt.count, tt.asked)
	}
	// A size that the service tells is its size.
	text := `{"data":` + records(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + `,"per_page":11}`
	assert.False(t, start(t, facts(t, text, url.Values{"per_page": {"500"}})).HasNext())
}

// Numbers that make no sense are numbers that were not sent.
func TestNumbersThatMakeNoSenseAreIgnored(t *testing.T) {
	for text, want := range map[string]Info{
		`"current_page":-3,"last_page":"x","per_page":[],"total":1.5,"meta":{"total":-1}`: {},
		// Meta goes first if it has the number.
		`"meta":{"per_page":"25","total":0},"per_page":10,"total":"30"`: {PerPage: 25, Total: 30},
	} {
		assert.Equal(t, want, start(t, facts(t, `{"data":[{"id":1}],`+text+`}`, nil)).Info, text)
	}
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
		return start(t, Facts{Count: full, Query: asked(), Hints: around(t, body)})
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
		"a number":                 {byLink, asked("page", "2"), `{"meta":{"last_page":3}}`, "page=3"},
		"a total":                  {byLink, asked("page", "2"), `{"total":21}`, "page=3"},
		"nothing":                  {State{}, asked(), `{}`, noWord},
		"a link to the one before": {State{}, asked(), `{"links":{"prev":"?page=1"}}`, noWord},
		"nothing after numbers":    {byNumber, asked("page", "2"), `{}`, noWord},
	} {
		r := Facts{Count: full, Query: tt.query, Hints: around(t, tt.around)}
		s := start(t, r)
		if tt.before.sizes != nil {
			var err error
			s, _, err = tt.before.Arrive(r)
			require.NoError(t, err, name)
		}
		assert.Equal(t, tt.want != end, s.HasNext(), name)
		assertNext(t, tt.want, s, name)
	}
}

// A hint that is overlooked ends a walk in silence: a copy lacks records, and a search takes a record for missing.
func TestNoHintOfMorePagesIsIgnored(t *testing.T) {
	for want, texts := range map[string][]string{
		"page=2": {
			`"has_more":true`, `"has_more":1`, `"h\u0061s_more":"1"`,
			// Links.
			`"next":"?page=2"`, `"links":{"next":"?page=2"}`, `"next_page_url":"?page=2"`,
			// Numbers.
			`"next_page":2`, `"next_page":"2"`, `"last_page":2`, `"last_page":"2"`, `"total_pages":9`,
			// Totals.
			`"total":2`, `"total_count":2`, `"total_count":"5000"`, `"total":1,"total_count":2`,
			`"last_page":1,"total":5000`,
			// Only a null link ends a list; nothing else that says no hides a hint.
			`"next_cursor":null,"last_page":2`, `"next_page":null,"total":900`, `"has_more":false,"total":900`,
			`"has_more":false,"next":"?page=2"`, `"links":{"next":null},"next_page_url":"?page=2"`,
			// The first link or cursor counts, and a number before a link that cannot be followed.
			`"next":"?page=2","next_cursor":"a"`, `"next":"/images/page/2","last_page":2`, `"next":2,"last_page":2`,
		},
		"page=3":        {`"next_page":3`},
		"page=4":        {`"last_page":4,"current_page":3`},
		"page=7":        {`"total":52,"per_page":10,"current_page":6`},
		"skip=1":        {`"next":"https://x/y?skip=1"`},
		"cursor=eyJ%3D": {`"next_cursor":"eyJ="`},
		"cursor=17":     {`"next_cursor":17`},
		// A cursor goes before a total.
		"cursor=a": {
			`"next":null,"next_cursor":"a"`, `"next_cursor":"a","total":900`,
			`"next":"/images/page/2","next_cursor":"a"`,
		},
		noFollow: {
			`"next":"/images/page/2"`, `"next":2`, `"next":true`, `"next":{"href":"?page=2"}`, `"next_cursor":{"id":5}`,
			`"next_cursor":["a"]`, `"next_page":[2]`,
		},
		"leads back": {`"next_page":3,"current_page":3`},
		end: {
			`"has_more":false`, `"has_more":null`, `"has_more":0`, `"more":true`, `"has_previous":true`,
			`"next_cursor":null`, `"next_cursor":""`, `"next_cursor":0`, `"next_cursor":false`, `"prev_cursor":"a"`,
			`"cursor":"a"`, `"links":["?page=2"]`, `"links":{"prev":"?page=1"}`, `"next":false`,
			`"next_page":null`, `"next_page":0`, `"pages":[1,2]`, `"last_page":1`, `"last_page":4,"current_page":4`,
			`"total":1`, `"count":5000`, `"total":{"value":2}`, `"total":1.5`,
			`"total":50,"per_page":10,"current_page":6`,
			`"links":{"next":null},"last_page":9,"total":900`, `"next_page_url":null,"has_more":true`,
			`"next":"","total":900`,
			// Spellings that no deployment is known to use.
			`"hasMore":true`, `"Has_More":true`, `"lastPage":2`, `"nextPage":2`, `"_links":{"next":{"href":"?page=2"}}`,
		},
	} {
		for _, text := range texts {
			for _, form := range []string{
				`{"data":[{"id":1}],%s}`, `{"data":[{"id":1}],"meta":{%s}}`, `{"pagination":{%s},"data":[{"id":1}]}`,
				`{"data":[{"id":1}],"meta":{"a":1,"pagination":{%s}}}`, `{"images":{"data":[{"id":1}],"meta":{%s}}}`,
			} {
				body := fmt.Sprintf(form, text)
				s := start(t, facts(t, body, url.Values{"per_page": {"100"}}))
				assert.Equal(t, want != end, s.HasNext(), body)
				assertNext(t, want, s, body)
			}
			// Other places are not those of a list.
			for _, form := range []string{
				`{"data":[{"id":1}],"debug":{%s}}`, `{"data":[{"id":1}],"meta":{"debug":{%s}}}`,
			} {
				f := facts(t, fmt.Sprintf(form, text), url.Values{"per_page": {"100"}})
				assert.False(t, start(t, f).HasNext(), form, text)
			}
		}
	}
}

// A header is a hint like any other.
func TestLinkAndTotalHeadersLeadToTheNextPage(t *testing.T) {
	const one = `[{"id":1}]`
	link := func(values ...string) http.Header { return http.Header{"Link": values} }
	total := func(n string) http.Header { return http.Header{"X-Total-Count": {n}} }
	for _, tt := range []struct {
		header http.Header
		body   string
		want   string
	}{
		{link(`<https://app.internal/images?page=2&per_page=1>; rel="next"`), one, "page=2&per_page=1"},
		{link(`</images?page=1>; rel=prev, </images?page=3>; title="a, b"; rel=next`), one, "page=3"},
		{link(`<?page=9>;rel="last"`, `<?cursor=a,b>; rel="next"; type="x"`), one, "cursor=a%2Cb"},
		{link(`<?page=2; rel=next`, ``, `<>`), one, end},
		{link(`<?page=1>; rel="next-archive", <?page=2>; rel=next`), one, "page=2"},
		{link(`<?page=2>; rel="next"`), `[]`, "page=2"},
		{link(`<?page=2>; rel="next"`), `{"data":[{"id":1}],"next":"?page=3"}`, "page=3"},
		{link(`<?page=2>; rel="next"`), `{"data":[{"id":1}],"next_cursor":"a"}`, "cursor=a"},
		{link(`</images/2>; rel="next"`), one, noFollow},
		{http.Header{"X-Total": {"2"}}, one, "page=2"},
		{total("2"), one, "page=2"},
		{total("1"), one, end},
		{total("5000"), `[]`, end},
		{total("5000"), `{"data":[{"id":1}],"next":null}`, end},
		{http.Header{"X-Total": {`5000\`}, "X-Total-Count": {`"2"`}}, one, end},
		{http.Header{"X-Total-Pages": {"9"}}, one, end},
	} {
		list, err := FindList(parsed(t, tt.body), "images")
		require.NoError(t, err)
		s := start(t, Facts{Hints: list.Hints(tt.header), Count: len(list.Items)})
		assertNext(t, tt.want, s, fmt.Sprint(tt.header, tt.body))
	}
	assert.Equal(t, 7, List{}.Hints(total("7")).Total)
}

// An empty page ends a list whatever is counted, unless the service says that more follow.
func TestEmptyPagesAreNotCountedOn(t *testing.T) {
	for text, want := range map[string]string{
		`"total":5000`:                                 end,
		`"last_page":50,"current_page":1`:              end,
		`"meta":{"total_pages":50,"total_count":5000}`: end,
		`"last_page":9,"total":900,"next":null`:        end,
		`"next":"?page=2"`:                             "page=2",
		`"next_cursor":"a"`:                            "cursor=a",
		`"has_more":true`:                              "page=2",
		`"next_page":2`:                                "page=2",
	} {
		assertNext(t, want, start(t, facts(t, `{"data":[],`+text+`}`, nil)), text)
	}
}

// A full page is the last one only if something says so.
func TestFullPageIsTheLastOnlyIfSomethingSaysSo(t *testing.T) {
	ten := records(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	for want, texts := range map[string][]string{
		end: {
			`"has_more":false`, `"next_cursor":null`, `"next_page":null`, `"next":false`, `"last_page":1`, `"total":10`,
			`"has_more":"false"`, `"next_cursor":""`,
		},
		noWord: {
			`"has_more":null`, `"total":0`, `"current_page":1,"per_page":10`, `"more":false`,
			`"has_more":"yes"`, `"has_more":{"value":true}`,
		},
	} {
		for _, text := range texts {
			assertNext(t, want, start(t, facts(t, `{"data":`+ten+`,`+text+`}`, nil)), text)
		}
	}
}

// A walk by cursor goes on by the number of its next page if the cursors end and a hint says that more follow.
func TestWalkGoesOnByNumberIfCursorsEndEarly(t *testing.T) {
	ids, asked, err := walk(t, func(query url.Values) string {
		return map[string]string{
			"":         `{"data":[{"id":1}],"next_cursor":"a"}`,
			"cursor=a": `{"data":[{"id":2}],"next_cursor":"b"}`,
			"cursor=b": `{"data":[{"id":3}],"next_cursor":null,"total":4}`,
			"page=4":   `{"data":[{"id":4}]}`,
		}[query.Encode()]
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, "1 2 3 4", ids)
	assert.Equal(t, []string{"cursor=a", "cursor=b", "page=4"}, asked)
}
