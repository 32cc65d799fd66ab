package aicontent

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	last    = ""
	noWord  = "no word on whether more follow"
	noQuery = "a next link without a query"
	beacon  = "9 Beacon, 7 Lighthouse"
)

// listAnswers are what the files of testdata/lists hold: the records, the numbers, and what follows.
var listAnswers = map[string]struct {
	records string
	info    PageInfo
	next    string
}{
	"bare.json":                 {beacon, PageInfo{}, last},
	"data.json":                 {beacon, PageInfo{}, last},
	"collection.json":           {beacon, PageInfo{}, last},
	"items.json":                {beacon, PageInfo{}, last},
	"results.json":              {beacon, PageInfo{}, last},
	"data-data.json":            {beacon, PageInfo{Current: 1, Last: 4}, "page=2"},
	"data-collection.json":      {beacon, PageInfo{1, 4, 2, 7}, "page=2"},
	"collection-data.json":      {beacon, PageInfo{}, "page=2"},
	"resource.json":             {beacon, PageInfo{1, 4, 2, 7}, "page=2"},
	"plain-paginator.json":      {beacon, PageInfo{3, 4, 2, 7}, "page=4"},
	"simple-paginator.json":     {beacon, PageInfo{Current: 1, PerPage: 2}, "page=2"},
	"cursor-paginator.json":     {beacon, PageInfo{PerPage: 2}, "cursor=eyJpZCI6N30"},
	"last-page.json":            {beacon, PageInfo{Current: 1, Last: 9}, last},
	"last-page-empty-link.json": {beacon, PageInfo{}, last},
	"last-page-null-url.json":   {beacon, PageInfo{Current: 1, Last: 9}, last},
	"first-source-counts.json":  {beacon, PageInfo{Current: 1, Last: 9}, "page=2"},
	"second-source-counts.json": {beacon, PageInfo{Current: 1, Last: 9}, "page=3"},
	"next-beside.json":          {beacon, PageInfo{}, "page=4"},
	"next-object.json":          {beacon, PageInfo{}, "page=2"},
	"next-number.json":          {beacon, PageInfo{Current: 1, Last: 2}, "page=2"},
	"numbers-in-meta.json":      {beacon, PageInfo{2, 3, 2, 5}, "page=3"},
	"numbers-beside.json":       {beacon, PageInfo{2, 2, 2, 4}, last},
	"last-without-current.json": {beacon, PageInfo{Last: 2}, "page=2"},
	"total-more.json":           {beacon, PageInfo{PerPage: 2, Total: 5}, "page=2"},
	"total-reached.json":        {"10, 9, 8, 7, 6, 5, 4, 3, 2, 1", PageInfo{Total: 10}, last},
	"short-page.json":           {beacon, PageInfo{}, last},
	"empty.json":                {"", PageInfo{1, 1, 10, 0}, last},
	"bare-empty.json":           {"", PageInfo{}, last},
	"full-page.json":            {"10, 9, 8, 7, 6, 5, 4, 3, 2, 1", PageInfo{}, noWord},
	"next-without-query.json":   {beacon, PageInfo{}, noQuery},
	"next-unreadable.json":      {beacon, PageInfo{}, noQuery},
	"wrapped-records.json":      {beacon, PageInfo{}, last},
	"mixed.json":                {beacon, PageInfo{}, last},
	"outer-before-inner.json":   {beacon, PageInfo{}, last},
	"data-before-others.json":   {beacon, PageInfo{}, last},
	"duplicates.json":           {beacon, PageInfo{}, last},
	"white-space.json":          {beacon, PageInfo{}, "page=2"},
}

// names are a page's records in a line.
func names(page *Page[Image]) string {
	var list []string
	for _, image := range page.Items {
		list = append(list, strings.TrimSpace(string(image.ID)+" "+image.Name))
	}
	return strings.Join(list, ", ")
}

// A page that is read short is a loss that nobody sees.
func TestListsOfEveryShape(t *testing.T) {
	for name, body := range answersIn(t, "lists", listAnswers) {
		t.Run(name, func(t *testing.T) {
			want := listAnswers[name]
			asked := ""
			c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
				if asked == "" {
					asked = "?"
					_, _ = w.Write(body)
					return
				}
				asked = r.URL.RawQuery
				_, _ = w.Write([]byte(`[]`))
			})
			page, err := c.Images.List(t.Context(), ImageListParams{})
			require.NoError(t, err)
			assert.Equal(t, want.records, names(page))
			assert.NotNil(t, page.Items)
			assert.Equal(t, want.info, page.PageInfo)
			for _, image := range page.Items {
				assert.Contains(t, string(body), string(image.Raw()))
			}
			require.Equal(t, want.next != last, page.HasNext())
			_, err = page.Next(t.Context())
			if strings.Contains(want.next, " ") {
				require.ErrorIs(t, err, ErrPagination)
				assert.ErrorContains(t, err, want.next)
				assert.Equal(t, OutcomeDone, OutcomeOf(err))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "?"[:1-min(len(want.next), 1)]+want.next, asked)
		})
	}
}

// What is no list must not be taken for an empty one.
func TestAnswersThatHoldNoList(t *testing.T) {
	cases := map[string]error{
		"empty-object.json": errNoList, "record.json": errNoList, "data-null.json": errNoList, "other-name.json": errNoList,
		"three-deep.json": errNoList, "no-records.json": errNoRecord, "objects-without-members.json": errNoRecord,
		"empty.txt": errEmpty, "page.html": errPage, "cut-off.json": errCutOff, "deep.json": errTooDeep,
	}
	for name, body := range answersIn(t, "refused-lists", cases) {
		t.Run(name, func(t *testing.T) {
			page, err := deployment(t, answeringBody(200, body)).Images.List(t.Context(), ImageListParams{})
			var unread *DecodeError
			require.ErrorAs(t, err, &unread)
			assert.ErrorIs(t, err, cases[name])
			assert.Nil(t, page)
		})
	}
}

// A few kilobytes on the wire must not become gigabytes of records.
func TestTooManyRecords(t *testing.T) {
	list := func(n int) []byte { return []byte("[" + strings.Repeat(`{"id":1},`, n-1) + `{"id":1}]`) }
	page, err := readPage[Image](&answer{body: list(maxRecords)}, "images")
	require.NoError(t, err)
	assert.Len(t, page.Items, maxRecords)
	_, err = readPage[Image](&answer{body: list(maxRecords + 1)}, "images")
	assert.ErrorIs(t, err, errTooMany)
}

// A deployment replaces a page size that it does not know by its own and says nothing: the page then looks short.
func TestShortPagesOfAnotherSize(t *testing.T) {
	for _, tt := range []struct {
		asked string
		count int
		last  bool
	}{
		{"", 9, true}, {"", 10, false}, {"", 37, false}, {"25", 24, true}, {"25", 25, false}, {"100", 50, true},
		{"500", 499, true}, {"500", 10, false}, {"500", 100, false}, {"500", 500, false}, {"x", 9, true}, {"-5", 9, true},
	} {
		body := "[" + strings.TrimSuffix(strings.Repeat(`{"id":1},`, tt.count), ",") + "]"
		page, err := readPage[Image](&answer{body: []byte(body), params: url.Values{"per_page": {tt.asked}}}, "images")
		require.NoError(t, err)
		assert.Equal(t, tt.last, page.last, "%d of %s", tt.count, tt.asked)
	}
}

// Where a body says nothing, the header does: RFC 8288 in all its spellings.
func TestNextLinkInHeader(t *testing.T) {
	for header, want := range map[string]string{
		`<https://app.example.com/images?page=2>; rel="next"`:        "https://app.example.com/images?page=2",
		`</images?page=1>; rel="prev", </images?page=3>; rel="next"`: "/images?page=3",
		`<?page=3>;rel=next`:                                          "?page=3",
		`<?page=3>; REL=Next; title="a"`:                              "?page=3",
		`<?page=3>; title="of <5>, or so; rel=prev"; rel="next last"`: "?page=3",
		`<?page=3> ; rel = "last next"`:                               "?page=3",
		`<?a=1,2&page=3>; rel="next"`:                                 "?a=1,2&page=3",
		`<?page=9>; rel="last"`:                                       "-",
		`<?page=9>; rel="nextish"`:                                    "-",
		`<?page=9>; title="rel=next"`:                                 "-",
		`<?page=9>; title="a \"quoted\"; rel=next"`:                   "-",
		`<?page=9`:                          "-",
		`<?page=9>`:                         "-",
		`<?page=9>; rel="prev"; rel="next"`: "-",
		`rel="next"`:                        "-",
		``:                                  "-",
		`<?page=1>; rel=first,, , <?page=2>; rel="next"; title*=UTF-8''n%c3%a4chste`: "?page=2",
	} {
		target, found := nextLink([]string{"", header})
		if !found {
			target = "-"
		}
		assert.Equal(t, want, target, header)
	}
	page, err := readPage[Image](&answer{body: []byte(`{"data":[{"id":1}],"current_page":1,"last_page":1}`), header: http.Header{"Link": {`<?page=7>; rel="next"`}}}, "images")
	require.NoError(t, err)
	assert.Equal(t, url.Values{"page": {"7"}}, page.next, "the header goes before the numbers")
}

func FuzzList(f *testing.F) {
	for _, body := range everyAnswer(f) {
		f.Add(body, `<?page=2>; rel="next"`)
	}
	f.Fuzz(func(t *testing.T, body []byte, link string) {
		page, err := readPage[Image](&answer{body: body, header: http.Header{"Link": {link}}}, "images")
		if err != nil {
			require.Nil(t, page)
			require.Less(t, len(err.Error()), 200)
			return
		}
		require.True(t, json.Valid(trimmed(body)))
		require.LessOrEqual(t, len(page.Items), page.count)
		require.LessOrEqual(t, page.count, min(maxRecords, len(body)))
		require.Equal(t, page.count > 0, len(page.Items) > 0, "success without a record")
		require.LessOrEqual(t, cap(page.Items), max(256, 2*page.count), "memory")
		for _, image := range page.Items {
			require.True(t, bytes.Contains(body, image.Raw()))
			require.NotEmpty(t, image.Raw())
		}
		require.True(t, page.last || page.next != nil || page.puzzle != "", "a page that does not say what follows")
		require.GreaterOrEqual(t, page.Current, 0)
		require.GreaterOrEqual(t, page.Last, 0)
		require.GreaterOrEqual(t, page.PerPage, 0)
		require.GreaterOrEqual(t, page.Total, 0)
	})
}

// Whatever a next link says, the call after it goes to the same deployment, keeps the filters, and comes to an end.
func FuzzNextLink(f *testing.F) {
	for _, link := range []string{
		"", "?page=2", "https://evil.example.com/?page=2", "//evil.example.com?cursor=a", "http://[::1", "?page=%zz", "?a;b", "?page=1", "?page=-1", "?page=99999999999999999999",
		"javascript:alert(1)", "?page=2#page=3", "?search=other", "?cursor=a&cursor=b", "page=2", "?", "\x00", "?page=\xff", "http://user:pass@evil.example.com:1/?page=2", "?x[]=1&page=2", "?page=2&page=3",
	} {
		f.Add(link, false)
		f.Add(link, true)
	}
	f.Fuzz(func(t *testing.T, link string, inHeader bool) {
		quoted, err := json.Marshal(link)
		require.NoError(t, err)
		body := `{"data":[{"id":1}],"links":{"next":` + string(quoted) + `}}`
		if inHeader {
			body = `[{"id":1},{"id":2},{"id":3},{"id":4},{"id":5},{"id":6},{"id":7},{"id":8},{"id":9},{"id":0}]`
		}
		b := pages(t, func(url.Values) string { return body })
		if inHeader {
			b.header.Set("Link", "<"+link+`>; rel="next"`)
		}
		calls := 0
		for _, err := range b.Images.All(t.Context(), ImageListParams{Search: "sea & storm", PerPage: PerPage10}) {
			if calls++; err != nil && !errors.Is(err, ErrPagination) {
				t.Fatal(err)
			}
		}
		require.Less(t, len(b.asked), 4, "the same page for ever")
		target, _ := url.Parse(link)
		for _, asked := range b.asked {
			query, err := url.ParseQuery(asked)
			require.NoError(t, err)
			if target == nil || !target.Query().Has("search") {
				require.Equal(t, []string{"sea & storm"}, query["search"])
			}
			if target == nil || !target.Query().Has("per_page") {
				require.Equal(t, []string{"10"}, query["per_page"])
			}
		}
	})
}
