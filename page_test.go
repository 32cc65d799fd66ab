package aicontent

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// book is a client of a deployment with pages.
type book struct {
	*Client
	*fakes.Pages
}

// pages is a book whose responses a function writes. An empty one is an error.
func pages(t testing.TB, respond func(query url.Values) string, opts ...Option) *book {
	t.Helper()
	transport := &fakes.Pages{Header: http.Header{}, Respond: func(query url.Values) (int, string) {
		if body := respond(query); body != "" {
			return http.StatusOK, body
		}
		return http.StatusTeapot, ""
	}}
	return &book{over(t, transport, append([]Option{WithRetryPolicy(oneAttempt)}, opts...)...), transport}
}

// twoPages is a book with a first page, and a second one for every query of a page or a cursor.
func twoPages(t testing.TB, first, second string) *book {
	t.Helper()
	return pages(t, func(query url.Values) string {
		if query.Get("page")+query.Get("cursor")+query.Get("page_token") == "" {
			return first
		}
		return second
	})
}

// recordsOf writes records with these ids.
func recordsOf(ids ...int) string {
	var list []string
	for _, id := range ids {
		list = append(list, fmt.Sprintf(`{"id":%d}`, id))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// walked returns the IDs of all records of a walk, as text, and the error that ends it.
func walked(t testing.TB, b *book, params ImageListParams, opts ...CallOption) (string, error) {
	t.Helper()
	var ids []string
	var failed error
	for image, err := range b.Images.All(t.Context(), params, opts...) {
		require.NoError(t, failed, "nothing comes after an error")
		if failed = err; err != nil {
			require.Nil(t, image)
			continue
		}
		ids = append(ids, string(image.ID))
	}
	return strings.Join(ids, " "), failed
}

// Whatever the next link calls its host, and whatever of the query it forgets, the walk stays with its deployment and
// its filters.
func TestWalksKeepDeploymentAndFilters(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{
		"link":      `"links":{"next":"http://app.internal:8080/other/path?page=2"}`,
		"url":       `"next_page_url":"https:\/\/evil.example.com\/api\/v1\/images?page=2&per_page=10"`,
		"relative":  `"links":{"next":"?page=2"}`,
		"no scheme": `"links":{"next":"//evil.example.com/?page=2"}`,
		"key":       `"links":{"next":"https://user:pass@evil.example.com/?page=2#page=3"}`,
		"numbers":   `"meta":{"current_page":1,"last_page":2}`,
	} {
		b := twoPages(t, `{"data":`+recordsOf(9, 8)+`,`+next+`}`,
			`{"data":`+recordsOf(7)+`,"meta":{"current_page":2,"last_page":2}}`)
		params := ImageListParams{Search: "sea & storm", Style: StyleRetro, Favorite: new(false), PerPage: PerPage10}
		ids, err := walked(t, b, params, WithQuery("tenant", "7"))
		require.NoError(t, err, name)
		assert.Equal(t, "9 8 7", ids, name)
		const filters = "per_page=10&search=sea+%26+storm&style=retro&tenant=7"
		assert.Equal(t, []string{"favorite=0&" + filters, "favorite=0&page=2&" + filters}, b.Asked, name)
	}
}

// Pages cost: one is fetched when its first record is due, and none after the loop is left or the context has ended.
func TestPagesAreFetchedWhenTheyAreReached(t *testing.T) {
	t.Parallel()
	b := pages(t, func(query url.Values) string {
		page := atoi(query.Get("page"))
		return fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, recordsOf(2*page, 2*page+1), page+1)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all := b.Images.All(ctx, ImageListParams{})
	require.Empty(t, b.Asked, "before the loop")
	seen := 0
	for image, err := range all {
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(seen), string(image.ID))
		require.Len(t, b.Asked, seen/2+1)
		if seen++; seen == 6 {
			break
		}
	}
	assert.Len(t, b.Asked, 3)
	var ids []string
	var failed error
	for image, err := range all {
		require.NoError(t, failed, "nothing comes after an error")
		if failed = err; err != nil {
			continue
		}
		if ids = append(ids, string(image.ID)); image.ID == "2" {
			cancel()
		}
	}
	assert.Equal(t, []string{"0", "1", "2", "3"}, ids, "a second loop begins anew")
	require.ErrorIs(t, failed, context.Canceled)
	assert.Len(t, b.Asked, 5)
}

// A page's number in an address of the caller's own leads to that page, and on from there.
func TestListBeginsAtThePageThatTheQueryNumbers(t *testing.T) {
	t.Parallel()
	b := pages(t, func(query url.Values) string {
		page := atoi(query.Get("page"))
		const list = `{"data":%s,"meta":{"current_page":%d,"last_page":4,"per_page":2,"total":8}}`
		return fmt.Sprintf(list, recordsOf(10*page, 10*page+1), page)
	})
	page, err := b.Images.List(t.Context(), ImageListParams{Style: StyleRetro}, WithQuery("page", "3"))
	require.NoError(t, err)
	assert.Equal(t, "30, 31", namesOf(page))
	assert.Equal(t, PageInfo{Current: 3, Last: 4, PerPage: 2, Total: 8}, page.PageInfo)
	page, err = page.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "40, 41", namesOf(page))
	assert.False(t, page.HasNext())
	ids, err := walked(t, b, ImageListParams{}, WithQuery("page", "3"))
	require.NoError(t, err)
	assert.Equal(t, "30 31 40 41", ids)
	assert.Equal(t, []string{"page=3&style=retro", "page=4&style=retro", "page=3", "page=4"}, b.Asked)
}

// A service that counts its pages from 0 must not have its second page skipped.
func TestAllReadsEachPageOfAListFromZero(t *testing.T) {
	t.Parallel()
	for name, hints := range map[string]string{
		"a flag":            `"current_page":PAGE,"has_more":MORE`,
		"the last page":     `"meta":{"current_page":"PAGE","last_page":2}`,
		"a number of pages": `"pagination":{"current_page":PAGE,"total_pages":3}`,
		"a total":           `"current_page":PAGE,"per_page":2,"total":6`,
		"the next page":     `"current_page":PAGE,"next_page":NEXT`,
	} {
		b := pages(t, func(query url.Values) string {
			page := atoi(query.Get("page"))
			if page > 2 {
				return `{"data":[]}`
			}
			values := strings.NewReplacer("PAGE", strconv.Itoa(page), "MORE", strconv.FormatBool(page < 2),
				"NEXT", []string{"1", "2", "null"}[page])
			return `{"data":` + recordsOf(2*page, 2*page+1) + `,` + values.Replace(hints) + `}`
		})
		ids, err := walked(t, b, ImageListParams{PerPage: PerPage10})
		require.NoError(t, err, name)
		assert.Equal(t, "0 1 2 3 4 5", ids, name)
	}
}

// No hint of more pages is ignored, and none is believed for ever: services count records that a filter leaves out.
func TestListsFollowEveryHintAndNeverLoop(t *testing.T) {
	t.Parallel()
	const huge = `"total":9007199254740991`
	const seven = `"data":[{"id":7}],`
	for name, row := range map[string]struct {
		first, second string // beside two records, and with the third one
		asked         string // of the second page
		ids           string
		err           error
	}{
		"more, in so many words": {`"has_more":true`, seven + `"has_more":false`, "page=2", "9 8 7", nil},
		"a cursor":               {`"next_cursor":"a"`, seven + `"next_cursor":null`, "cursor=a", "9 8 7", nil},
		"a number in pagination": {`"pagination":{"total_pages":2}`, seven + `"total_pages":2`, "page=2", "9 8 7",
			nil},
		"a total": {`"meta":{"pagination":{"total_count":3}}`, seven + `"total":3`, "page=2",
			"9 8 7", nil},
		"a total beside the last page": {`"last_page":1,"total":3`, seven + `"last_page":1,"total":3`, "page=2",
			"9 8 7", nil},
		"a null link beside a total": {`"next":null,"total":3`, seven + `"x":1`, "", "9 8", nil},
		"a total that is wrong":      {huge, `"data":[],` + huge, "page=2", "9 8", nil},
		"more, again and again": {`"has_more":true`, seven + `"has_more":true`, "page=2", "9 8 7",
			ErrPagination},
	} {
		b := twoPages(t, `{"data":[{"id":9},{"id":8}],`+row.first+`}`, `{`+row.second+`}`)
		ids, err := walked(t, b, ImageListParams{})
		require.ErrorIs(t, err, row.err, name)
		assert.Equal(t, row.ids, ids, name)
		assert.Equal(t, row.asked, strings.Join(b.Asked[1:min(2, len(b.Asked))], ""), name)
		assert.True(t, err != nil || b.Requests() <= 2, name)
	}
}

// A list may have no envelope and its hints in the header, in the manner of GitHub and GitLab. A record that moves onto
// the next page is yielded once. Elements that are no records are left out.
func TestAllReadsListsOfEveryShape(t *testing.T) {
	t.Parallel()
	const (
		linked = `{"data":[{"id":9},{"id":8}],"links":{"next":"?page=2"}}`
		mixed  = `{"data":[{"id":9},null,"x",7,{"x":1},{"id":8}],"next":"?page=2"}`
		last   = `],"links":{"next":null}}`
	)
	for name, row := range map[string]struct {
		header, value string // of the first page
		first, second string
		ids           string
	}{
		"a link in the header": {"Link", `</images?page=2>; rel="next"`, `[{"id":9},{"id":8}]`, `[{"id":7}]`,
			"9 8 7"},
		"a total in the header": {"X-Total", "3", `[{"id":9},{"id":8}]`, `[{"id":7}]`, "9 8 7"},
		"a count in the header": {"X-Total-Count", "3", `[{"id":9},{"id":8}]`, `[{"id":7}]`, "9 8 7"},
		"records that moved": {"X-Other", "", linked, `{"data":[{"id":8},{"id":7},{"id":6}` + last,
			"9 8 7 6"},
		"elements that are no records": {"X-Other", "", mixed, `{"data":[7,{"id":8},{"id":7}` + last, "9 8 7"},
	} {
		var b *book
		b = pages(t, func(query url.Values) string {
			delete(b.Header, row.header)
			if len(query) > 0 {
				return row.second
			}
			b.Header.Set(row.header, row.value)
			return row.first
		})
		ids, err := walked(t, b, ImageListParams{})
		require.NoError(t, err, name)
		assert.Equal(t, row.ids, ids, name)
		assert.Equal(t, []string{"", "page=2"}, b.Asked, name)
	}
	page, err := twoPages(t, linked, `{"data":[{"id":8,"name":"b"},{"id":7,"name":"c"}`+last).
		Images.List(t.Context(), ImageListParams{})
	require.NoError(t, err)
	assert.True(t, page.HasNext())
	page, err = page.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "7 c", namesOf(page))
	assert.JSONEq(t, `{"id":7,"name":"c"}`, string(page.Items[0].Raw()))
	assert.False(t, page.HasNext())
}

// What was read before an error must not be lost.
func TestCollectReturnsTheRecordsBeforeAnError(t *testing.T) {
	t.Parallel()
	const first = `{"data":[{"id":9},{"id":8}],"links":{"next":"?page=2"}}`
	for name, row := range map[string]struct {
		b      *book
		params ImageListParams
		want   any // the type of the error; nil for none
		ids    string
		asked  int
	}{
		"a second page that fails": {twoPages(t, first, ""), ImageListParams{}, new(*APIError), "9 8", 2},
		"a first page that fails":  {twoPages(t, "", ""), ImageListParams{}, new(*APIError), "", 1},
		"a bad argument":           {twoPages(t, first, ""), ImageListParams{PerPage: 7}, new(*ValidationError), "", 0},
		"no records": {twoPages(t, `{"data":[null,{"x":1}]}`, ""),
			ImageListParams{}, new(*DecodeError), "", 1},
		"an empty list": {twoPages(t, `{"data":[]}`, ""), ImageListParams{}, nil, "", 1},
	} {
		images, err := Collect(row.b.Images.All(t.Context(), row.params))
		assert.Equal(t, row.ids, strings.ReplaceAll(namesOf(&Page[Image]{Items: images}), ",", ""), name)
		assert.Len(t, row.b.Asked, row.asked, name)
		if row.want == nil {
			assert.NoError(t, err, name)
			continue
		}
		assert.ErrorAs(t, err, row.want, name)
	}
}

// The error of a walk says which operation it was, and what the service does. Whoever is on call wants to know which
// response did not say what follows.
func TestPaginationErrorsKeepTheirResponse(t *testing.T) {
	t.Parallel()
	b := pages(t, func(url.Values) string { return recordsOf(9, 8, 7, 6, 5, 4, 3, 2, 1, 0) })
	_, err := walked(t, b, ImageListParams{})
	require.ErrorIs(t, err, ErrPagination)
	assert.EqualError(t, err, "images.list: 200: pagination: the service sent a full page of 10 records "+
		"and does not say whether more follow (request page)")
	assert.Equal(t, OutcomeExecuted, OutcomeOf(err))
	var unread *DecodeError
	require.ErrorAs(t, err, &unread)
	assert.Equal(t, 200, unread.StatusCode)
	assert.Equal(t, "page", unread.RequestID)
	assert.Equal(t, "page ", unread.Header.Get("X-Request-Id"))
	assert.Equal(t, 1, unread.Attempts)
	assert.Empty(t, unread.Body)

	b = pages(t, func(query url.Values) string {
		return fmt.Sprintf(`{"data":%s,"links":{"next":"?cursor=%d"}}`, recordsOf(9), atoi(query.Get("cursor"))+1)
	})
	_, err = walked(t, b, ImageListParams{})
	assert.EqualError(t, err,
		"images.list: 200: pagination: the service sent the records of the previous page again (request page)")
}

// After an error the same page can be asked for its successor again: nothing is lost, nothing comes twice. Next returns
// a nil page after the last one, whose methods can be called.
func TestNextMayBeCalledAgainAfterAnError(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"page", "cursor"} {
		ill := true
		b := pages(t, func(query url.Values) string {
			switch {
			case query.Get(key) == "":
				return `{"data":` + recordsOf(9) + `,"links":{"next":"?` + key + `=2"}}`
			case ill:
				return ""
			case query.Get(key) == "2":
				return `{"data":` + recordsOf(8) + `,"links":{"next":"?` + key + `=3"}}`
			}
			return `{"data":` + recordsOf(7) + `,"links":{"next":null}}`
		})
		first, err := b.Images.List(t.Context(), ImageListParams{})
		require.NoError(t, err)
		for range 2 {
			_, err = first.Next(t.Context())
			require.ErrorAs(t, err, new(*APIError))
			require.True(t, first.HasNext())
		}
		ill = false
		for range 2 {
			second, err := first.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, "8", namesOf(second))
			third, err := second.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, "7", namesOf(third))
			for _, last := range []*Page[Image]{third, nil, {Items: third.Items}} {
				assert.False(t, last.HasNext())
				end, err := last.Next(t.Context())
				require.NoError(t, err)
				assert.Nil(t, end)
			}
		}
	}
}

// A caller who appends to one slice for two lists, or reuses a variable that a filter points to, must not get pages of
// the other list.
func TestPagesKeepTheArgumentsOfTheFirstCall(t *testing.T) {
	t.Parallel()
	b := twoPages(t, `{"data":[{"id":9}],"has_more":true}`, `{"data":[{"id":8}]}`)
	shared := append(make([]CallOption, 0, 2), WithQuery("x", "1"))
	favorite := true
	params := ImageListParams{Favorite: &favorite}
	page, err := b.Images.List(t.Context(), params, append(shared, WithQuery("tenant", "1"))...)
	require.NoError(t, err)
	all := b.Images.All(t.Context(), ImageListParams{}, append(shared, WithQuery("tenant", "2"))...)
	_ = append(shared, WithQuery("tenant", "3"))
	favorite = false
	_, err = page.Next(t.Context())
	require.NoError(t, err)
	for _, err := range all {
		require.NoError(t, err)
	}
	assert.Equal(t, []string{
		"favorite=1&tenant=1&x=1", "favorite=1&page=2&tenant=1&x=1", "tenant=2&x=1", "page=2&tenant=2&x=1",
	}, b.Asked)
}

// endless serves a list of that many records in pages of 100, by number or by cursor.
func endless(records int, key string) func(url.Values) string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `%s{"id":"#-%d","name":"Lighthouse %d","resolution":"512x512","favorite":false}`,
			","[:min(i, 1)], i, i)
	}
	hundred := b.String()
	return func(query url.Values) string {
		at := atoi(query.Get(key))
		next := fmt.Sprintf(`"http://app.internal/images?%s=%d"`, key, max(at, 1)+1)
		if max(at, 1)*100 >= records {
			next = "null"
		}
		return `{"data":[` + strings.ReplaceAll(hundred, "#", strconv.Itoa(at)) + `],"links":{"next":` + next + `}}`
	}
}

// A walk over many records must not grow: what it holds at the end is what it held at the beginning, one page. By
// cursor it also remembers eight bytes for each page, to find a loop.
func TestWalkHoldsOnePage(t *testing.T) {
	for key, records := range map[string]int{"page": 300_000, "cursor": 100_000} {
		b := pages(t, endless(records, key))
		var count atomic.Int64
		var early, late uint64
		for image, err := range b.Images.All(t.Context(), ImageListParams{PerPage: PerPage100}) {
			require.NoError(t, err)
			require.NotEmpty(t, image.ID)
			b.Asked = nil
			switch count.Add(1) {
			case 1_000:
				early = fakes.LiveHeap()
			case int64(records) - 50:
				late = fakes.LiveHeap()
			}
		}
		require.EqualValues(t, records, count.Load())
		trail := 2 * 8 * records / 100
		assert.Less(t, late, early+uint64(trail)+64<<10,
			"live bytes at the end of a walk by %s, %d at its beginning", key, early)
	}
}

// names is what a page holds, for a comparison that reads well.
func namesOf(page *Page[Image]) string {
	var list []string
	for _, image := range page.Items {
		list = append(list, strings.TrimSpace(string(image.ID)+" "+image.Name))
	}
	return strings.Join(list, ", ")
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// A deletion moves records to pages that were read already: Delete inside the loop of All would skip every other page.
func TestListThatMayBeShortEndsWithErrPagination(t *testing.T) {
	t.Parallel()
	for name, hints := range map[string]string{
		"a total":              `"meta":{"current_page":PAGE,"total":LEFT}`,
		"a number of pages":    `"meta":{"current_page":PAGE,"last_page":LEFT}`,
		"links beside a total": `"links":{"next":NEXT},"meta":{"total":LEFT}`,
	} {
		left := []string{"4", "3", "2", "1"}
		b := pages(t, func(query url.Values) string {
			page := max(atoi(query.Get("page")), 1)
			next, found := "null", ""
			if page <= len(left) {
				found = `{"id":` + left[page-1] + `}`
			}
			if page < len(left) {
				next = fmt.Sprintf(`"?page=%d"`, page+1)
			}
			values := strings.NewReplacer("PAGE", strconv.Itoa(page), "LEFT", strconv.Itoa(len(left)), "NEXT", next)
			return `{"data":[` + found + `],` + values.Replace(hints) + `}`
		})
		var ids []string
		var failed error
		for image, err := range b.Images.All(t.Context(), ImageListParams{}) {
			require.NoError(t, failed, name)
			if failed = err; err == nil {
				ids = append(ids, string(image.ID))
				left = left[1:]
			}
		}
		assert.Equal(t, []string{"4", "2"}, ids, name)
		require.ErrorIs(t, failed, ErrPagination, name)
		assert.ErrorContains(t, failed, "the list became shorter while it was read", name)
		assert.True(t, Retryable(failed), name)
		assert.Equal(t, OutcomeExecuted, OutcomeOf(failed), name)
	}
}

// A service may write the key that it got into its next link, and a program may print a page.
func TestPagePrintsNoKey(t *testing.T) {
	t.Parallel()
	const list = `{"data":[{"id":9},{"id":8}],"links":{"next":"?key=` + fakes.Key + `"},` +
		`"meta":{"current_page":1,"last_page":2}}`
	page, err := over(t, fakes.RoundTripper(fakes.OK(list))).Images.List(t.Context(), ImageListParams{})
	require.NoError(t, err)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		assert.Equal(t, "Page(1 of 2, 2 records)", fmt.Sprintf(format, page))
		assert.Equal(t, "Page(1 of 2, 2 records)", fmt.Sprintf(format, *page))
	}
}
