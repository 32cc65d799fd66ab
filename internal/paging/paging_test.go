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

// response returns what a body tells, as the callers of the package gather it.
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

func TestWalkByCursor(t *testing.T) {
	ids, asked, err := walk(t, func(query url.Values) string {
		switch query.Get("cursor") {
		case "":
			return `{"data":` + records(9, 8) + `,"links":{"next":"http://internal/?cursor=a%2Bb%3D"}}`
		case "a+b=":
			return `{"data":` + records(7, 6) + `,"links":{"next":"?cursor=c"}}`
		}
		return `{"data":[],"links":{"next":null}}`
	}, url.Values{"per_page": {"25"}})
	require.NoError(t, err)
	assert.Equal(t, "9 8 7 6", ids)
	assert.Equal(t, []string{"cursor=a%2Bb%3D", "cursor=c"}, asked)
}

// A walk that begins in the middle goes on from there.
func TestWalkFromAPageInTheMiddle(t *testing.T) {
	ids, asked, err := walk(t, func(query url.Values) string {
		number, _ := strconv.Atoi(query.Get("page"))
		return fmt.Sprintf(`{"data":%s,"meta":{"last_page":5}}`, records(number))
	}, url.Values{"page": {"3"}})
	require.NoError(t, err)
	assert.Equal(t, "3 4 5", ids)
	assert.Equal(t, []string{"page=4", "page=5"}, asked)
}

// A walk that would never end, or give the same records for ever, must say so instead.
func TestWalksThatWouldNotEnd(t *testing.T) {
	counter := 0
	for name, tt := range map[string]struct {
		respond func(url.Values) string
		ids     string
		text    string
		asked   int
	}{
		"to itself": {func(url.Values) string {
			return `{"data":` + records(9) + `,"meta":{"current_page":1},"links":{"next":"?page=1"}}`
		}, "9", "the next link of page 1 leads back to page 1", 0},
		"to its own query": {func(url.Values) string {
			return `{"data":` + records(9) + `,"links":{"next":"?per_page=10"}}`
		}, "9", "leads back to an earlier page", 0},
		"page below the first": {func(url.Values) string {
			return `{"data":` + records(9) + `,"links":{"next":"?page=-1"}}`
		}, "9", "leads back to page -1", 0},
		"page ignored": {func(url.Values) string {
			return `{"data":` + records(9, 8) + `,"links":{"next":"?page=2"}}`
		}, "9 8", "the next link of page 2 leads back to page 2", 1},
		"page ignored, numbers kept": {func(url.Values) string {
			return `{"data":` + records(9, 8) + `,"current_page":1,"last_page":5}`
		}, "9 8", "sent the records of the previous page again", 1},
		"page ignored, only the last page told": {func(url.Values) string {
			return `{"data":` + records(9, 8) + `,"last_page":50}`
		}, "9 8", "sent the records of the previous page again", 3},
		"page ignored, other records each time": {func(url.Values) string {
			counter++
			return `{"data":` + records(-counter) + `,"current_page":1,"links":{"next":"?page=2"}}`
		}, "-1 -2", "leads back to page 2", 1},
		"cursor ignored": {func(query url.Values) string {
			return `{"data":` + records(9, 8) + `,"links":{"next":"?cursor=` + query.Get("cursor") + `a"}}`
		}, "9 8", "sent the records of the previous page again", 1},
		"back by number": {func(query url.Values) string {
			number, _ := strconv.Atoi(query.Get("page"))
			return fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, records(number), []int{2, 2, 3, 1}[number])
		}, "0 2 3", "the next link of page 3 leads back to page 1", 2},
		"back by cursor": {func(query url.Values) string {
			next := map[string]string{"": "a", "a": "b", "b": "c", "c": "a"}[query.Get("cursor")]
			return fmt.Sprintf(`{"data":[{"id":"at%s"}],"links":{"next":"?cursor=%s"}}`, query.Get("cursor"), next)
		}, "at ata atb atc", "leads back to an earlier page", 3},
		"empty for ever": {func(query url.Values) string {
			number, _ := strconv.Atoi(query.Get("page"))
			return fmt.Sprintf(`{"data":[],"links":{"next":"?page=%d"}}`, number+1)
		}, "", "100 pages without records", 100},
		"a full page without a word": {func(url.Values) string { return records(9, 8, 7, 6, 5, 4, 3, 2, 1, 0) },
			"9 8 7 6 5 4 3 2 1 0", "a full page of 10 records and does not say whether more follow", 0},
	} {
		t.Run(name, func(t *testing.T) {
			ids, asked, err := walk(t, tt.respond, url.Values{"per_page": {"10"}})
			assert.Equal(t, tt.ids, ids)
			assert.ErrorContains(t, err, tt.text)
			assert.Len(t, asked, tt.asked)
		})
	}
}

// capped is a service with numbered pages of at most most records, whose records have the IDs from 0 to total-1. It tells
// the total alone.
func capped(total, most int) func(url.Values) string {
	return func(query url.Values) string {
		number, _ := strconv.Atoi(query.Get("page"))
		size, _ := strconv.Atoi(query.Get("per_page"))
		size = min(size, most)
		var ids []int
		for id := size * (max(number, 1) - 1); id < total && len(ids) < size; id++ {
			ids = append(ids, id)
		}
		return fmt.Sprintf(`{"data":%s,"total":%d}`, records(ids...), total)
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
func TestTotalsAreHeldAgainstWhatCame(t *testing.T) {
	for name, tt := range map[string]struct {
		respond func(url.Values) string
		query   url.Values
		ids     string
		pages   int
	}{
		"pages of 50":       {capped(120, 50), url.Values{"per_page": {"100"}}, numbers(0, 119), 3},
		"an exact multiple": {capped(150, 50), url.Values{"per_page": {"100"}}, numbers(0, 149), 3},
		"pages of one":      {capped(7, 1), url.Values{"per_page": {"10"}}, numbers(0, 6), 7},
		"pages as asked":    {capped(120, 100), url.Values{"per_page": {"100"}}, numbers(0, 119), 2},
		"a single page":     {capped(100, 100), url.Values{"per_page": {"100"}}, numbers(0, 99), 1},
		"larger than asked": {func(query url.Values) string {
			return capped(60, 25)(url.Values{"page": query["page"], "per_page": {"25"}})
		}, url.Values{"per_page": {"10"}}, numbers(0, 59), 3},
		"all at once": {func(url.Values) string { return capped(37, 37)(url.Values{"per_page": {"37"}}) },
			url.Values{"per_page": {"10"}}, numbers(0, 36), 1},
		"from the second page on": {capped(150, 50), url.Values{"per_page": {"100"}, "page": {"2"}}, numbers(50, 149), 2},
		"from the last page on":   {capped(120, 50), url.Values{"per_page": {"100"}, "page": {"3"}}, numbers(100, 119), 2},
		"the size that is asked for, told": {func(query url.Values) string {
			return strings.TrimSuffix(capped(120, 50)(query), "}") + `,"per_page":100}`
		}, url.Values{"per_page": {"100"}}, numbers(0, 119), 3},
		"a size that is told": {func(query url.Values) string {
			return strings.TrimSuffix(capped(25, 10)(query), "}") + `,"meta":{"per_page":10}}`
		}, url.Values{"page": {"3"}, "per_page": {"10"}}, numbers(20, 24), 1},
	} {
		t.Run(name, func(t *testing.T) {
			ids, asked, err := walk(t, tt.respond, tt.query)
			require.NoError(t, err)
			assert.Equal(t, tt.ids, ids)
			assert.Len(t, asked, tt.pages-1)
		})
	}
}

// Pages and totals change while a walk is under way. The last total counts, and no page ends the walk before it.
func TestTotalsThatChange(t *testing.T) {
	for name, tt := range map[string]struct {
		bodies []string // of the pages; the last one also of those that follow
		ids    string
		err    string
		asked  int
	}{
		"smaller pages": {[]string{
			`{"data":` + records(0, 1, 2, 3) + `,"total":8}`, `{"data":` + records(4) + `,"total":8}`,
			`{"data":` + records(5, 6) + `,"total":8}`, `{"data":` + records(7) + `,"total":8}`,
		}, "0 1 2 3 4 5 6 7", "", 3},
		"a record is made": {[]string{
			`{"data":` + records(5, 4) + `,"total":5}`, `{"data":` + records(4, 3) + `,"total":6}`, `{"data":` + records(2, 1) + `,"total":6}`,
			`{"data":[],"total":6}`,
		}, "5 4 3 2 1", "", 3},
		"a record is made that the total lacks": {[]string{
			`{"data":` + records(4, 3) + `,"total":4}`, `{"data":` + records(3, 2) + `,"total":4}`, `{"data":` + records(1) + `,"total":4}`,
		}, "4 3 2 1", "", 2},
		"records are deleted": {[]string{
			`{"data":` + records(5, 4) + `,"total":6}`, `{"data":` + records(1, 0) + `,"total":4}`,
		}, "5 4 1 0", "", 1},
		"told on the first page alone": {[]string{
			`{"data":` + records(5, 4) + `,"total":5}`, `{"data":` + records(3, 2) + `}`, `{"data":` + records(1) + `}`,
		}, "5 4 3 2 1", "", 2},
		"more than there are": {[]string{`{"data":` + records(5, 4) + `,"total":30}`, `{"data":[],"total":30}`}, "5 4", "", 1},
		"of other records":    {[]string{`{"data":[],"total":30}`}, "", "", 0},
		"fewer than came": {[]string{
			`{"data":` + records(20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1) + `,"total":21}`,
			`{"data":` + records(20, 19, 18, 17, 16, 15, 14, 13, 12, 0) + `,"total":1}`,
		}, "20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0", "", 1},
		"a last page that is told, too": {[]string{
			`{"data":` + records(5, 4) + `,"total":30}`, `{"data":` + records(3, 2) + `,"total":30,"last_page":2}`, `{"data":[],"total":30}`,
		}, "5 4 3 2", "", 2},
		"the page ignored": {[]string{`{"data":` + records(5, 4) + `,"total":30}`}, "5 4", "sent the records of the previous page again", 3},
	} {
		t.Run(name, func(t *testing.T) {
			ids, asked, err := walk(t, func(query url.Values) string {
				number, _ := strconv.Atoi(query.Get("page"))
				return tt.bodies[min(max(number, 1), len(tt.bodies))-1]
			}, url.Values{"per_page": {"10"}})
			assert.Equal(t, tt.ids, ids)
			assert.Len(t, asked, tt.asked)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.err)
		})
	}
}

// A page that a link led to may be the end of the links but not of the records, if the service tells a total.
func TestTotalsAfterLinks(t *testing.T) {
	s := Start(page(t, `{"data":`+records(5, 4)+`,"next":"?page=2","total":5}`, nil), sizes)
	s, _, err := s.Arrive(page(t, `{"data":`+records(3, 2)+`}`, url.Values{"page": {"2"}}))
	require.NoError(t, err)
	next, err := s.Next()
	require.NoError(t, err)
	assert.Equal(t, "page=3", next.Encode())
	// The cursor's page is the last one: all records have come, and its number is not the first.
	s = Start(page(t, `{"data":`+records(5, 4)+`,"next":"?cursor=a"}`, nil), sizes)
	s, _, err = s.Arrive(page(t, `{"data":`+records(3, 2)+`,"total":4,"per_page":2}`, url.Values{"cursor": {"a"}}))
	require.NoError(t, err)
	assert.False(t, s.HasNext())
}

// Pages made full by new records while a walk is under way do not end it, but a service that repeats itself does.
func TestPagesOfRecordsThatMoved(t *testing.T) {
	for repeats, want := range map[int]string{0: "9 8 7 6", 1: "9 8 7 6", 2: "9 8 7 6", 3: "9 8"} {
		ids, _, err := walk(t, func(query url.Values) string {
			number, _ := strconv.Atoi(query.Get("page"))
			number = max(number, 1)
			if number <= 1+repeats {
				return fmt.Sprintf(`{"data":%s,"current_page":%d,"last_page":%d}`, records(9, 8), number, repeats+2)
			}
			return fmt.Sprintf(`{"data":%s,"current_page":%d,"last_page":%d}`, records(7, 6), number, repeats+2)
		}, nil)
		assert.Equal(t, want, ids, repeats)
		assert.Equal(t, repeats >= maxRepeats, err != nil, repeats)
	}
	// Only pages in a row count.
	ids, _, err := walk(t, func(query url.Values) string {
		number, _ := strconv.Atoi(query.Get("page"))
		number = max(number, 1)
		return fmt.Sprintf(`{"data":%s,"current_page":%d,"last_page":12}`, records(number/3), number)
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, "0 1 2 3 4", ids)
}

// A few empty pages on the way, as cursors over filtered records have them, do not end a walk. The last page may be
// empty too.
func TestEmptyPagesOnTheWay(t *testing.T) {
	ids, _, err := walk(t, func(query url.Values) string {
		number, _ := strconv.Atoi(query.Get("page"))
		switch number {
		case 0, 90:
			return fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, records(number), number+1)
		case 190:
			return `{"data":[],"links":{"next":null}}`
		}
		return fmt.Sprintf(`{"data":[],"links":{"next":"?page=%d"}}`, number+1)
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, "0 90", ids)
}

// New records move others onto the next page: no caller wants those twice. Only the page before is remembered, as it
// was sent.
func TestMovedRecordsAreGivenOnce(t *testing.T) {
	bodies := map[string]string{
		"":  `{"data":` + records(9, 8, 7) + `,"links":{"next":"?page=2"}}`,
		"2": `{"data":` + records(8, 7, 6) + `,"links":{"next":"?page=3"}}`,
		"3": `{"data":` + records(7, 6, 5) + `,"links":{"next":"?page=4"}}`,
		"4": `{"data":` + records(9, 6, 5, 4) + `,"links":{"next":null}}`,
	}
	ids, _, err := walk(t, func(query url.Values) string { return bodies[query.Get("page")] }, nil)
	require.NoError(t, err)
	assert.Equal(t, "9 8 7 6 5 9 4", ids)
}

// Records without an ID cannot be told apart, so none of them may be lost.
func TestRecordsWithoutIDAreNeverLeftOut(t *testing.T) {
	s := Start(Facts{IDs: []string{"", "7"}, Count: 2, Query: url.Values{"per_page": {"2"}}, Around: around(t, `{"next":"?cursor=2"}`)}, sizes)
	_, leaveOut, err := s.Arrive(Facts{IDs: []string{"", ""}, Count: 2})
	require.NoError(t, err)
	assert.NotContains(t, leaveOut, "")
	_, leaveOut, err = s.Arrive(Facts{IDs: []string{"", "7"}, Count: 2})
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"7": true}, leaveOut)
}

// After a failed request the same state must lead to the same page again.
func TestStatesDoNotChange(t *testing.T) {
	s := Start(page(t, `{"data":`+records(9)+`,"links":{"next":"?cursor=a"}}`, nil), sizes)
	for range 2 {
		next, err := s.Next()
		require.NoError(t, err)
		assert.Equal(t, url.Values{"cursor": {"a"}}, next)
		next.Set("cursor", "of the caller")
		second, _, err := s.Arrive(page(t, `{"data":`+records(8)+`,"links":{"next":"?cursor=b"}}`, next))
		require.NoError(t, err)
		other, _, err := s.Arrive(page(t, `{"data":`+records(7)+`,"links":{"next":"?cursor=c"}}`, next))
		require.NoError(t, err)
		for want, state := range map[string]State{"b": second, "c": other} {
			next, err := state.Next()
			require.NoError(t, err)
			assert.Equal(t, want, next.Get("cursor"))
		}
	}
}

// A page that no response told of has nothing after it.
func TestZeroState(t *testing.T) {
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
		"", "?page=2", "https://evil.example.com/?page=2", "//evil.example.com?cursor=a", "http://[::1", "?page=%zz", "?a;b", "?page=1", "?page=-1", "?page=99999999999999999999",
		"javascript:alert(1)", "?page=2#page=3", "?search=other", "?cursor=a&cursor=b", "page=2", "?", "\x00", "?page=\xff", "http://user:pass@evil.example.com:1/?page=2", "?x[]=1&page=2", "?page=2&page=3",
		"?page=9223372036854775807",
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
