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
	const two = "page=2"
	for text, want := range map[string]string{
		// In so many words.
		`"has_more":true`: two, `"has_next":true`: two, `"has_next_page":true`: two, `"hasMore":true`: two, `"HAS_NEXT_PAGE":1`: two, `"hasNextPage":"true"`: two, `"h\u0061s_more":"1"`: two,
		`"has_more":false`: end, `"has_more":null`: end, `"has_more":0`: end, `"more":true`: end, `"has_previous":true`: end,
		// Links, cursors and tokens.
		`"next":"?page=2"`: two, `"links":{"next":"?page=2"}`: two, `"_links":{"next":{"href":"?page=2"}}`: two, `"next_page_url":"?page=2"`: two, `"nextPageUrl":"?page=2"`: two,
		`"next_url":"?page=2"`: two, `"nextLink":"https://x/y?skip=1"`: "skip=1", `"next":{"href":"?page=2"}`: two, `"next_page":"?page=2"`: two, `"next":true`: two,
		`"next_cursor":"eyJ="`: "cursor=eyJ%3D", `"nextCursor":17`: "cursor=17", `"next_page_token":"a b"`: "page_token=a+b", `"nextPageToken":"a"`: "page_token=a", `"next_token":"a"`: "next_token=a",
		`"next_cursor":null`: end, `"next_cursor":""`: end, `"next_cursor":0`: end, `"next_cursor":false`: end, `"prev_cursor":"a"`: end, `"cursor":"a"`: end, `"links":["?page=2"]`: end, `"links":{"prev":"?page=1"}`: end,
		// Numbers.
		`"next_page":2`: two, `"nextPage":"2"`: two, `"next_page":3`: "page=3", `"next":2`: two, `"next_page":1`: end, `"next_page":null`: end, `"next_page":0`: end, `"next_page":3,"current_page":3`: end,
		`"last_page":2`: two, `"pages":2`: two, `"total_pages":2`: two, `"page_count":2`: two, `"lastPage":"2"`: two, `"totalPages":9`: two, `"pages":[1,2]`: end, `"last_page":1`: end,
		`"last_page":4,"current_page":4`: end, `"last_page":4,"currentPage":3`: "page=4",
		// Totals.
		`"total":2`: two, `"total_count":2`: two, `"count_total":2`: two, `"totalCount":"5000"`: two, `"total":1`: end, `"count":5000`: end, `"total":{"value":2}`: end, `"total":1.5`: end,
		`"total":50,"per_page":10,"current_page":6`: end, `"total":52,"per_page":10,"current_page":6`: "page=7", `"total":1,"total_count":2`: two, `"last_page":1,"total":5000`: two,
		// A null link ends a list; nothing else that says no hides a hint.
		`"links":{"next":null},"last_page":9,"total":900`: end, `"next_page_url":null,"has_more":true`: end, `"next":"","total":900`: end, `"next":{"href":null},"last_page":9`: end,
		`"next_cursor":null,"last_page":2`: two, `"next_page":null,"total":900`: two, `"has_more":false,"total":900`: two, `"has_more":false,"next":"?page=2"`: two,
		`"links":{"next":null},"next_page_url":"?page=2"`: two, `"next":null,"next_cursor":"a"`: "cursor=a",
		// A link goes before a cursor, and that before a number.
		`"next_cursor":"a","next":"?page=2"`: two, `"next_cursor":"a","next_page":2,"total":900`: "cursor=a", `"next":"/images/page/2","next_cursor":"a"`: "cursor=a", `"next":"/images/page/2","last_page":2`: two,
		`"next":"/images/page/2"`: noQuery,
	} {
		for _, form := range []string{`{"data":[{"id":1}],%s}`, `{"data":[{"id":1}],"meta":{%s}}`, `{"pagination":{%s},"data":[{"id":1}]}`, `{"data":[{"id":1}],"Meta":{"a":1,"Pagination":{%s}}}`, `{"images":{"data":[{"id":1}],"meta":{%s}}}`} {
			body := fmt.Sprintf(form, text)
			s := Start(page(t, body, url.Values{"per_page": {"100"}}), sizes)
			next, err := s.Next()
			if want == noQuery {
				assert.ErrorContains(t, err, noQuery, body)
				continue
			}
			require.NoError(t, err, body)
			assert.Equal(t, want, next.Encode(), body)
			assert.Equal(t, want != end, s.HasNext(), body)
		}
		// Other places are not those of a list.
		for _, form := range []string{`{"data":[{"id":1}],"debug":{%s}}`, `{"data":[{"id":1}],"meta":{"meta":{%s}}}`} {
			assert.False(t, Start(page(t, fmt.Sprintf(form, text), url.Values{"per_page": {"100"}}), sizes).HasNext(), form, text)
		}
	}
}

// A header is a hint like any other.
func TestHeadersTellWhatFollows(t *testing.T) {
	for i, tt := range []struct {
		header http.Header
		body   string
		want   string
	}{
		{http.Header{"Link": {`<https://app.internal/images?page=2&per_page=1>; rel="next"`}}, `[{"id":1}]`, "page=2&per_page=1"},
		{http.Header{"Link": {`</images?page=1>; rel=prev, </images?page=3>; title="a, b"; REL=Next`}}, `[{"id":1}]`, "page=3"},
		{http.Header{"Link": {`<?page=9>;rel="last"`, `<?cursor=a,b>; rel="alternate next"`}}, `[{"id":1}]`, "cursor=a%2Cb"},
		{http.Header{"Link": {`<?page=2>; rel="nextish"`, `</app.css>; rel=preload`, `?page=2; rel=next`, `<?page=2; rel=next`, ``, `<>`}}, `[{"id":1}]`, end},
		{http.Header{"Link": {`<?page=2>; title="rel=next"`}}, `[{"id":1}]`, end},
		{http.Header{"Link": {`<?page=2>; title="a, b" ; rel = "Up  Next" ; type="x"`}}, `[{"id":1}]`, "page=2"},
		{http.Header{"Link": {`<?page=1>; rel="next-archive", <?page=2> rel=next`}}, `[{"id":1}]`, "page=2"},
		{http.Header{"Link": {`<?page=2>; rel="next"`}}, `[]`, "page=2"},
		{http.Header{"Link": {`<?page=2>; rel="next"`}}, `{"data":[{"id":1}],"next":"?page=3"}`, "page=3"},
		{http.Header{"Link": {`<?page=2>; rel="next"`}}, `{"data":[{"id":1}],"next_cursor":"a"}`, "cursor=a"},
		{http.Header{"X-Total": {"2"}}, `[{"id":1}]`, "page=2"},
		{http.Header{"X-Total-Count": {"2"}}, `[{"id":1}]`, "page=2"},
		{http.Header{"X-Total-Count": {"1"}}, `[{"id":1}]`, end},
		{http.Header{"X-Total-Count": {"5000"}}, `[]`, end},
		{http.Header{"X-Total-Count": {"5000"}}, `{"data":[{"id":1}],"next":null}`, end},
		{http.Header{"X-Total-Count": {"5000"}}, `{"data":[{"id":1}],"total":1}`, "page=2"},
		{http.Header{"X-Total": {`5000\`}, "X-Total-Count": {`"2"`}}, `[{"id":1}]`, end},
		{http.Header{"X-Total-Pages": {"9"}}, `[{"id":1}]`, end},
	} {
		f := page(t, tt.body, nil)
		f.Header = tt.header
		next, err := Start(f, sizes).Next()
		require.NoError(t, err, i)
		assert.Equal(t, tt.want, next.Encode(), "%d: %v", i, tt.header)
	}
	f := page(t, `[{"id":1}]`, nil)
	f.Header = http.Header{"X-Total-Count": {"7"}}
	assert.Equal(t, Info{Total: 7}, Start(f, sizes).Info)
}

// An empty page ends a list whatever is counted, unless the service says that more follow.
func TestEmptyPagesAreNotCountedOn(t *testing.T) {
	for text, want := range map[string]string{
		`"total":5000`: end, `"last_page":50,"current_page":1`: end, `"meta":{"total_pages":50,"total_count":5000}`: end, `"last_page":9,"total":900,"next":null`: end,
		`"next":"?page=2"`: "page=2", `"next_cursor":"a"`: "cursor=a", `"has_more":true`: "page=2", `"next_page":2`: "page=2",
	} {
		next, err := Start(page(t, `{"data":[],`+text+`}`, nil), sizes).Next()
		require.NoError(t, err, text)
		assert.Equal(t, want, next.Encode(), text)
	}
}

// A full page is the last one only if something says so.
func TestFullPagesThatSayWhetherMoreFollow(t *testing.T) {
	ten := records(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	for text, want := range map[string]string{
		`"has_more":false`: end, `"next_cursor":null`: end, `"next_page":null`: end, `"next":false`: end, `"last_page":1`: end, `"total":10`: end, `"next":1,"current_page":1`: end,
		`"has_more":null`: noWord, `"total":0`: noWord, `"current_page":1,"per_page":10`: noWord, `"more":false`: noWord,
	} {
		_, err := Start(page(t, `{"data":`+ten+`,`+text+`}`, nil), sizes).Next()
		if want == noWord {
			assert.ErrorContains(t, err, noWord, text)
			continue
		}
		require.NoError(t, err, text)
	}
}

// A walk by cursor goes on by the number of its next page if the cursors end and a hint says that more follow.
func TestHintsAfterCursors(t *testing.T) {
	ids, asked, err := walk(t, func(query url.Values) string {
		return map[string]string{
			"": `{"data":[{"id":1}],"next_cursor":"a"}`, "cursor=a": `{"data":[{"id":2}],"next_cursor":"b"}`, "cursor=b": `{"data":[{"id":3}],"next_cursor":null,"total":4}`,
			"page=4": `{"data":[{"id":4}]}`,
		}[query.Encode()]
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, "1 2 3 4", ids)
	assert.Equal(t, []string{"cursor=a", "cursor=b", "page=4"}, asked)
}

// A service that says that more follow, and repeats its page, has no end.
func TestHintsThatLeadToTheSamePage(t *testing.T) {
	for _, text := range []string{`"has_more":true`, `"total":5000`, `"last_page":9`, `"next_page":2`, `"next_cursor":"a"`, `"next_page_token":"a"`} {
		ids, asked, err := walk(t, func(url.Values) string { return `{"data":[{"id":1}],` + text + `}` }, nil)
		require.Error(t, err, text)
		assert.Equal(t, "1", ids, text)
		assert.LessOrEqual(t, len(asked), maxRepeats, text)
	}
}

func TestNoRecords(t *testing.T) {
	for text, want := range map[string]bool{
		`{"data":[],"total":0}`: true, `{"data":[],"meta":{"total_count":"0"}}`: true, `{"data":[],"meta":{"pagination":{"totalCount":0}}}`: true,
		`{"data":[]}`: false, `{"data":[],"total":1}`: false, `{"data":[],"total":null}`: false, `{"data":[],"total":0,"meta":{"total":7}}`: false, `{"data":[],"count":0}`: false,
	} {
		assert.Equal(t, want, page(t, text, nil).NoRecords(), text)
	}
	for total, want := range map[string]bool{"0": true, "": false, "7": false} {
		assert.Equal(t, want, Facts{Header: http.Header{"X-Total": {total}}}.NoRecords(), total)
	}
}
