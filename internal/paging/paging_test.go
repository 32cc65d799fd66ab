package paging

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/lenient"
)

var sizes = []int{10, 25, 50, 100}

// response returns the facts of a body, as the callers of the package gather them.
func response(body []byte, query url.Values) (Facts, error) {
	v, err := lenient.Parse(body)
	if err != nil {
		return Facts{}, err
	}
	list, err := lenient.FindList(v, "images")
	if err != nil {
		return Facts{}, err
	}
	r := Facts{Around: list.Around, Query: query, Count: len(list.Items)}
	for _, item := range list.Items {
		var record struct {
			ID string `json:"id"`
		}
		if _, err := lenient.Element(item, "image", &record); err == nil {
			r.IDs = append(r.IDs, record.ID)
		}
	}
	return r, nil
}

func page(t testing.TB, body string, query url.Values) Facts {
	t.Helper()
	r, err := response([]byte(body), query)
	require.NoError(t, err)
	return r
}

// around returns the members of a text, as they would be around a list.
func around(t testing.TB, text string) lenient.Members {
	return page(t, strings.Replace(`{"data":[],`+text[1:], ",}", "}", 1), nil).Around
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
	r := page(t, respond(query), query)
	take(r, nil)
	s := Start(r, sizes)
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
		r := page(t, respond(sent), sent)
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

// A walk that begins in the middle goes on from there.
func TestWalkGoesOnFromAPageInTheMiddle(t *testing.T) {
	ids, asked, err := walk(t, func(query url.Values) string {
		return listing(`"meta":{"last_page":5}`, numberOf(query))
	}, url.Values{"page": {"3"}})
	require.NoError(t, err)
	assert.Equal(t, "3 4 5", ids)
	assert.Equal(t, []string{"page=4", "page=5"}, asked)
}

// A walk that would never end, or give the same records for ever, must say so instead.
func TestWalkThatWouldNotEndSaysWhy(t *testing.T) {
	const again = "sent the records of the previous page again"
	counter := 0
	for name, tt := range map[string]struct {
		respond func(url.Values) string
		ids     string
		text    string
		further int
	}{
		"to itself": {
			always(listing(`"meta":{"current_page":1},"links":{"next":"?page=1"}`, 9)),
			"9", "the next link of page 1 leads back to page 1", 0,
		},
		"to its own query": {
			always(listing(`"links":{"next":"?per_page=10"}`, 9)), "9", "leads back to an earlier page", 0,
		},
		"page below the first": {always(listing(`"links":{"next":"?page=-1"}`, 9)), "9", "leads back to page -1", 0},
		"page ignored": {
			always(listing(`"links":{"next":"?page=2"}`, 9, 8)),
			"9 8", "the next link of page 2 leads back to page 2", 1,
		},
		"page ignored, numbers kept": {
			always(listing(`"current_page":1,"last_page":5`, 9, 8)), "9 8", again, 1,
		},
		"page ignored, only the last page told": {always(listing(`"last_page":50`, 9, 8)), "9 8", again, 3},
		"page ignored, only the total told":     {always(listing(`"total":30`, 9, 8)), "9 8", again, 3},
		"page ignored, other records each time": {func(url.Values) string {
			counter++
			return listing(`"current_page":1,"links":{"next":"?page=2"}`, -counter)
		}, "-1 -2", "leads back to page 2", 1},
		"cursor ignored": {func(query url.Values) string {
			return listing(`"links":{"next":"?cursor=`+query.Get("cursor")+`a"}`, 9, 8)
		}, "9 8", again, 1},
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
		}, "", "100 pages without records", 100},
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
		"pages of 50":                      {capped(120, 50, ""), first("100"), numbers(0, 119), 3},
		"an exact multiple":                {capped(150, 50, ""), first("100"), numbers(0, 149), 3},
		"pages of one":                     {capped(7, 1, ""), first("10"), numbers(0, 6), 7},
		"pages as asked":                   {capped(120, 100, ""), first("100"), numbers(0, 119), 2},
		"a single page":                    {capped(100, 100, ""), first("100"), numbers(0, 99), 1},
		"larger than asked":                {ofSize("25", 60, 25), first("10"), numbers(0, 59), 3},
		"all at once":                      {ofSize("37", 37, 37), first("10"), numbers(0, 36), 1},
		"from the second page on":          {capped(150, 50, ""), from("2", "100"), numbers(50, 149), 2},
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
		"a record is made that the total lacks": {[]string{
			listing(`"total":4`, 4, 3), listing(`"total":4`, 3, 2), listing(`"total":4`, 1),
		}, "4 3 2 1"},
		"records are deleted": {[]string{listing(`"total":6`, 5, 4), listing(`"total":4`, 1, 0)}, "5 4 1 0"},
		"told on the first page alone": {[]string{
			listing(`"total":5`, 5, 4), listing(untold, 3, 2), listing(untold, 1),
		}, "5 4 3 2 1"},
		"more than there are": {[]string{listing(`"total":30`, 5, 4), listing(`"total":30`)}, "5 4"},
		"of other records":    {[]string{listing(`"total":30`)}, ""},
		"fewer than came": {[]string{
			listing(`"total":21`, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1),
			listing(`"total":1`, 20, 19, 18, 17, 16, 15, 14, 13, 12, 0),
		}, "20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0"},
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

// A page that a link led to may be the end of the links but not of the records, if the service tells a total.
func TestWalkGoesOnByTheTotalWhereLinksEnd(t *testing.T) {
	s := Start(page(t, listing(`"next":"?page=2","total":5`, 5, 4), nil), sizes)
	s, _, err := s.Arrive(page(t, `{"data":`+records(3, 2)+`}`, url.Values{"page": {"2"}}))
	require.NoError(t, err)
	assertNext(t, "page=3", s, "4 of 5 came")
	// The cursor's page is the last one: all records have come, and its number is not the first.
	s = Start(page(t, listing(`"next":"?cursor=a"`, 5, 4), nil), sizes)
	s, _, err = s.Arrive(page(t, listing(`"total":4,"per_page":2`, 3, 2), url.Values{"cursor": {"a"}}))
	require.NoError(t, err)
	assert.False(t, s.HasNext())
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

// A few empty pages on the way, as cursors over filtered records have them, do not end a walk. The last page may be
// empty too.
func TestEmptyPagesDoNotEndAWalk(t *testing.T) {
	ids, _, err := walk(t, func(query url.Values) string {
		number := numberOf(query)
		next := fmt.Sprintf(`"links":{"next":"?page=%d"}`, number+1)
		switch number {
		case 0, 90:
			return listing(next, number)
		case 190:
			next = `"links":{"next":null}`
		}
		return listing(next)
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, "0 90", ids)
}

// New records move others onto the next page: no caller wants those twice. Only the page before is remembered, as it
// was sent.
func TestMovedRecordsAreGivenOnce(t *testing.T) {
	ids, _, err := walk(t, func(query url.Values) string {
		return []string{
			0: listing(`"links":{"next":"?page=2"}`, 9, 8, 7),
			2: listing(`"links":{"next":"?page=3"}`, 8, 7, 6),
			3: listing(`"links":{"next":"?page=4"}`, 7, 6, 5),
			4: listing(`"links":{"next":null}`, 9, 6, 5, 4),
		}[numberOf(query)]
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, "9 8 7 6 5 9 4", ids)
}

// Records without an ID cannot be told apart, so none of them may be lost.
func TestRecordsWithoutIDAreNeverLeftOut(t *testing.T) {
	s := Start(Facts{
		IDs: []string{"", "7"}, Count: 2, Query: url.Values{"per_page": {"2"}},
		Around: around(t, `{"next":"?cursor=2"}`),
	}, sizes)
	_, leaveOut, err := s.Arrive(Facts{IDs: []string{"", ""}, Count: 2})
	require.NoError(t, err)
	assert.NotContains(t, leaveOut, "")
	_, leaveOut, err = s.Arrive(Facts{IDs: []string{"", "7"}, Count: 2})
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"7": true}, leaveOut)
}

// After a failed request the same state must lead to the same page again.
func TestStatesDoNotChange(t *testing.T) {
	s := Start(page(t, listing(`"links":{"next":"?cursor=a"}`, 9), nil), sizes)
	for range 2 {
		next, err := s.Next()
		require.NoError(t, err)
		assert.Equal(t, url.Values{"cursor": {"a"}}, next)
		next.Set("cursor", "of the caller")
		second, _, err := s.Arrive(page(t, listing(`"links":{"next":"?cursor=b"}`, 8), next))
		require.NoError(t, err)
		other, _, err := s.Arrive(page(t, listing(`"links":{"next":"?cursor=c"}`, 7), next))
		require.NoError(t, err)
		for want, state := range map[string]State{"b": second, "c": other} {
			next, err := state.Next()
			require.NoError(t, err)
			assert.Equal(t, want, next.Get("cursor"))
		}
	}
}

// A page that no response told of has nothing after it.
func TestZeroStateHasNoNextPage(t *testing.T) {
	var s State
	assert.False(t, s.HasNext())
	next, err := s.Next()
	require.NoError(t, err)
	assert.Nil(t, next)
}

// A walk over many pages must not grow: by cursor it holds eight bytes for each, by number nothing.
func TestStatesStaySmall(t *testing.T) {
	for key, want := range map[string]int{"page": 0, "cursor": 1999} {
		to := func(n int) lenient.Members { return around(t, fmt.Sprintf(`{"next":"?%s=%d"}`, key, n)) }
		s := Start(Facts{IDs: []string{"1"}, Count: 1, Around: to(2)}, sizes)
		for i := 2; i <= 2000; i++ {
			var err error
			s, _, err = s.Arrive(Facts{IDs: []string{strconv.Itoa(i)}, Count: 1, Around: to(i + 1)})
			require.NoError(t, err)
			require.Len(t, s.ids, 1)
		}
		assert.Len(t, s.cursors, want, key)
	}
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
		r.Around = page(t, `{"data":[],"links":{"next":`+string(quoted)+`}}`, nil).Around
		s, pages := Start(r, sizes), 0
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

func FuzzList(f *testing.F) {
	paths, err := filepath.Glob("../lenient/testdata/*/*.json")
	require.NoError(f, err)
	require.NotEmpty(f, paths)
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := response(body, nil)
		if err != nil {
			return
		}
		s := Start(r, sizes)
		next, err := s.Next()
		require.Equal(t, s.HasNext(), next != nil || err != nil)
		for _, number := range []int{s.Current, s.Last, s.PerPage, s.Total} {
			require.GreaterOrEqual(t, number, 0)
		}
		if err != nil {
			require.Less(t, len(err.Error()), 200)
		}
	})
}
