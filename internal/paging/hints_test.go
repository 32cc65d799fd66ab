package paging

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A hint that is overlooked ends a walk in silence: a copy lacks records, and a search takes a record for missing.
func TestNoHintOfMorePagesIsIgnored(t *testing.T) {
	for want, texts := range map[string][]string{
		"page=2": {
			`"has_more":true`, `"has_next":true`, `"has_next_page":true`, `"hasMore":true`, `"HAS_NEXT_PAGE":1`,
			`"hasNextPage":"true"`, `"h\u0061s_more":"1"`,
			// Links.
			`"next":"?page=2"`, `"links":{"next":"?page=2"}`, `"_links":{"next":{"href":"?page=2"}}`,
			`"next_page_url":"?page=2"`, `"nextPageUrl":"?page=2"`, `"next_url":"?page=2"`, `"next":{"href":"?page=2"}`,
			`"next_page":"?page=2"`, `"next":true`,
			// Numbers.
			`"next_page":2`, `"nextPage":"2"`, `"next":2`, `"last_page":2`, `"pages":2`, `"total_pages":2`,
			`"page_count":2`, `"lastPage":"2"`, `"totalPages":9`,
			// Totals.
			`"total":2`, `"total_count":2`, `"count_total":2`, `"totalCount":"5000"`, `"total":1,"total_count":2`,
			`"last_page":1,"total":5000`,
			// Only a null link ends a list; nothing else that says no hides a hint.
			`"next_cursor":null,"last_page":2`, `"next_page":null,"total":900`, `"has_more":false,"total":900`,
			`"has_more":false,"next":"?page=2"`, `"links":{"next":null},"next_page_url":"?page=2"`,
			// A link goes before a cursor.
			`"next_cursor":"a","next":"?page=2"`, `"next":"/images/page/2","last_page":2`,
		},
		"page=3":         {`"next_page":3`},
		"page=4":         {`"last_page":4,"currentPage":3`},
		"page=7":         {`"total":52,"per_page":10,"current_page":6`},
		"skip=1":         {`"nextLink":"https://x/y?skip=1"`},
		"cursor=eyJ%3D":  {`"next_cursor":"eyJ="`},
		"cursor=17":      {`"nextCursor":17`},
		"page_token=a+b": {`"next_page_token":"a b"`},
		"page_token=a":   {`"nextPageToken":"a"`},
		"next_token=a":   {`"next_token":"a"`},
		// A cursor goes before a number.
		"cursor=a": {
			`"next":null,"next_cursor":"a"`, `"next_cursor":"a","next_page":2,"total":900`,
			`"next":"/images/page/2","next_cursor":"a"`,
		},
		noQuery: {`"next":"/images/page/2"`},
		end: {
			`"has_more":false`, `"has_more":null`, `"has_more":0`, `"more":true`, `"has_previous":true`,
			`"next_cursor":null`, `"next_cursor":""`, `"next_cursor":0`, `"next_cursor":false`, `"prev_cursor":"a"`,
			`"cursor":"a"`, `"links":["?page=2"]`, `"links":{"prev":"?page=1"}`,
			`"next_page":"0"`, `"next":"false"`,
			`"next_page":1`, `"next_page":null`, `"next_page":0`, `"next_page":3,"current_page":3`, `"pages":[1,2]`,
			`"last_page":1`, `"last_page":4,"current_page":4`,
			`"total":1`, `"count":5000`, `"total":{"value":2}`, `"total":1.5`,
			`"total":50,"per_page":10,"current_page":6`,
			`"links":{"next":null},"last_page":9,"total":900`, `"next_page_url":null,"has_more":true`,
			`"next":"","total":900`, `"next":{"href":null},"last_page":9`,
		},
	} {
		for _, text := range texts {
			for _, form := range []string{
				`{"data":[{"id":1}],%s}`, `{"data":[{"id":1}],"meta":{%s}}`, `{"pagination":{%s},"data":[{"id":1}]}`,
				`{"data":[{"id":1}],"Meta":{"a":1,"Pagination":{%s}}}`, `{"images":{"data":[{"id":1}],"meta":{%s}}}`,
			} {
				body := fmt.Sprintf(form, text)
				s := Start(page(t, body, url.Values{"per_page": {"100"}}), sizes)
				assert.Equal(t, want != end, s.HasNext(), body)
				assertNext(t, want, s, body)
			}
			// Other places are not those of a list.
			for _, form := range []string{
				`{"data":[{"id":1}],"debug":{%s}}`, `{"data":[{"id":1}],"meta":{"meta":{%s}}}`,
			} {
				f := page(t, fmt.Sprintf(form, text), url.Values{"per_page": {"100"}})
				assert.False(t, Start(f, sizes).HasNext(), form, text)
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
		{link(`</images?page=1>; rel=prev, </images?page=3>; title="a, b"; REL=Next`), one, "page=3"},
		{link(`<?page=9>;rel="last"`, `<?cursor=a,b>; rel="alternate next"`), one, "cursor=a%2Cb"},
		{link(`<?page=2>; rel="nextish"`, `</app.css>; rel=preload`, `?page=2; rel=next`), one, end},
		{link(`<?page=2; rel=next`, ``, `<>`), one, end},
		{link(`<?page=2>; title="rel=next"`), one, end},
		{link(`<?page=2>; title="a, b" ; rel = "Up  Next" ; type="x"`), one, "page=2"},
		{link(`<?page=1>; rel="next-archive", <?page=2> rel=next`), one, "page=2"},
		{link(`<?page=2>; rel="next"`), `[]`, "page=2"},
		{link(`<?page=2>; rel="next"`), `{"data":[{"id":1}],"next":"?page=3"}`, "page=3"},
		{link(`<?page=2>; rel="next"`), `{"data":[{"id":1}],"next_cursor":"a"}`, "cursor=a"},
		{http.Header{"X-Total": {"2"}}, one, "page=2"},
		{total("2"), one, "page=2"},
		{total("1"), one, end},
		{total("5000"), `[]`, end},
		{total("5000"), `{"data":[{"id":1}],"next":null}`, end},
		{total("5000"), `{"data":[{"id":1}],"total":1}`, "page=2"},
		{http.Header{"X-Total": {`5000\`}, "X-Total-Count": {`"2"`}}, one, end},
		{http.Header{"X-Total-Pages": {"9"}}, one, end},
	} {
		f := page(t, tt.body, nil)
		f.Header = tt.header
		assertNext(t, tt.want, Start(f, sizes), fmt.Sprint(tt.header, tt.body))
	}
	f := page(t, one, nil)
	f.Header = total("7")
	assert.Equal(t, Info{Total: 7}, Start(f, sizes).Info)
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
		assertNext(t, want, Start(page(t, `{"data":[],`+text+`}`, nil), sizes), text)
	}
}

// A full page is the last one only if something says so.
func TestFullPageIsTheLastOnlyIfSomethingSaysSo(t *testing.T) {
	ten := records(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	for want, texts := range map[string][]string{
		end: {
			`"has_more":false`, `"next_cursor":null`, `"next_page":null`, `"next":false`, `"last_page":1`, `"total":10`,
			`"next":1,"current_page":1`, `"has_more":"FALSE"`, `"has_more":""`, `"next_cursor":""`, `"next_page":-1`,
		},
		noWord: {
			`"has_more":null`, `"total":0`, `"current_page":1,"per_page":10`, `"more":false`,
			// A hint that cannot be read.
			`"has_more":"yes"`, `"has_more":{"value":true}`, `"next_cursor":{"id":5}`, `"next_cursor":["a"]`,
			`"next":["?page=2"]`, `"next":{"url":"?page=2"}`, `"next_page":2.5`, `"next_page":99999999999999999999`,
		},
	} {
		for _, text := range texts {
			assertNext(t, want, Start(page(t, `{"data":`+ten+`,`+text+`}`, nil), sizes), text)
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

// A service that says that more follow, and repeats its page, has no end.
func TestWalkEndsWhereHintsRepeatThePage(t *testing.T) {
	for _, text := range []string{
		`"has_more":true`, `"total":5000`, `"last_page":9`, `"next_page":2`, `"next_cursor":"a"`,
		`"next_page_token":"a"`,
	} {
		ids, asked, err := walk(t, always(listing(text, 1)), nil)
		require.Error(t, err, text)
		assert.Equal(t, "1", ids, text)
		assert.LessOrEqual(t, len(asked), maxRepeats, text)
	}
}

func TestNoRecordsBelievesOnlyATotalOfZero(t *testing.T) {
	for want, texts := range map[bool][]string{
		true:  {`"total":0`, `"meta":{"total_count":"0"}`, `"meta":{"pagination":{"totalCount":0}}`},
		false: {`"x":1`, `"total":1`, `"total":null`, `"total":0,"meta":{"total":7}`, `"count":0`},
	} {
		for _, text := range texts {
			assert.Equal(t, want, page(t, `{"data":[],`+text+`}`, nil).NoRecords(), text)
		}
	}
	for total, want := range map[string]bool{"0": true, "": false, "7": false} {
		assert.Equal(t, want, Facts{Header: http.Header{"X-Total": {total}}}.NoRecords(), total)
	}
}
