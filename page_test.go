package aicontent

import (
	"context"
	"encoding/json"
	"errors"
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
		b := pages(t, func(query url.Values) string {
			if query.Get("page") == "" {
				return `{"data":` + recordsOf(9, 8) + `,` + next + `}`
			}
			return `{"data":` + recordsOf(7) + `,"meta":{"current_page":2,"last_page":2}}`
		})
		ids, err := walked(t, b, ImageListParams{Search: "sea & storm", Style: StyleRetro, Favorite: new(false), PerPage: PerPage10}, WithQuery("tenant", "7"))
		require.NoError(t, err, name)
		assert.Equal(t, "9 8 7", ids, name)
		const filters = "per_page=10&search=sea+%26+storm&style=retro&tenant=7"
		assert.Equal(t, []string{"favorite=0&" + filters, "favorite=0&page=2&" + filters}, b.Asked, name)
	}
}

// Pages cost: one is fetched when its first record is due, and none after the loop is left.
func TestPagesAreFetchedWhenTheyAreReached(t *testing.T) {
	t.Parallel()
	b := pages(t, func(query url.Values) string {
		page, _ := strconv.Atoi(query.Get("page"))
		return fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, recordsOf(2*page, 2*page+1), page+1)
	})
	all := b.Images.All(t.Context(), ImageListParams{})
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
	for image, err := range all {
		require.NoError(t, err)
		assert.Equal(t, ID("0"), image.ID, "a second loop begins anew")
		break
	}
}

// A page's number in an address of the caller's own leads to that page, and on from there.
func TestPageByNumber(t *testing.T) {
	t.Parallel()
	b := pages(t, func(query url.Values) string {
		page, _ := strconv.Atoi(query.Get("page"))
		return fmt.Sprintf(`{"data":%s,"meta":{"current_page":%d,"last_page":4,"per_page":2,"total":8}}`, recordsOf(10*page, 10*page+1), page)
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

// A service may cap its pages below what was asked for, and tell the total alone: a copy of the list must have all of
// it.
func TestAllGivesTheTotalOfCappedPages(t *testing.T) {
	t.Parallel()
	const total = 120
	var want []string
	for id := range total {
		want = append(want, strconv.Itoa(id))
	}
	{
		b := pages(t, func(query url.Values) string {
			page, _ := strconv.Atoi(query.Get("page"))
			var ids []int
			for id := 50 * (max(page, 1) - 1); id < total && len(ids) < 50; id++ {
				ids = append(ids, id)
			}
			return fmt.Sprintf(`{"data":%s,"total":%d}`, recordsOf(ids...), total)
		})
		ids, err := walked(t, b, ImageListParams{PerPage: PerPage100})
		require.NoError(t, err)
		assert.Equal(t, strings.Join(want, " "), ids)
		assert.ElementsMatch(t, []string{"per_page=100", "page=2&per_page=100", "page=3&per_page=100"}, b.Asked)
	}
}

// A total that is never reached must not keep a walk going: services count records that a filter leaves out.
func TestAllEndsBelowATotalThatIsWrong(t *testing.T) {
	t.Parallel()
	{
		b := pages(t, func(query url.Values) string {
			if query.Get("page") == "" {
				return `{"data":` + recordsOf(2, 1) + `,"total":9007199254740991}`
			}
			return `{"data":[],"total":9007199254740991}`
		})
		ids, err := walked(t, b, ImageListParams{})
		require.NoError(t, err)
		assert.Equal(t, "2 1", ids)
		assert.Equal(t, 2, b.Requests())
	}
}

// While a walk goes on, records are made: a page's worth shifts all that follow by a page, and is no reason to end.
func TestWalkWhileRecordsAreMade(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		made int // pages' worth of records, each made before page 2, 3 and so on
		ids  string
		err  error
	}{
		"none":                  {0, "59 58 57 56 55 54", nil},
		"one page's worth":      {1, "59 58 57 56 55 54", nil},
		"two pages' worth":      {2, "59 58 57 56 55 54", nil},
		"as fast as it is read": {9, "59 58", ErrPagination},
	} {
		made := 0
		b := pages(t, func(query url.Values) string {
			page, _ := strconv.Atoi(query.Get("page"))
			if page = max(page, 1); page > 1 && made < row.made {
				made++
			}
			first := 59 + 2*made - 2*(page-1)
			return fmt.Sprintf(`{"data":%s,"meta":{"current_page":%d,"last_page":%d}}`, recordsOf(first, first-1), page, 3+made)
		})
		ids, err := walked(t, b, ImageListParams{})
		assert.Equal(t, row.ids, ids, name)
		assert.ErrorIs(t, err, row.err, name)
	}
}

// A record that moves onto the next page is yielded once.
func TestMovedRecordsAreGivenOnce(t *testing.T) {
	t.Parallel()
	b := pages(t, func(query url.Values) string {
		if query.Get("page") == "" {
			return `{"data":` + recordsOf(9, 8, 7) + `,"links":{"next":"?page=2"}}`
		}
		return `{"data":` + recordsOf(8, 7, 6) + `,"links":{"next":null}}`
	})
	ids, err := walked(t, b, ImageListParams{})
	require.NoError(t, err)
	assert.Equal(t, "9 8 7 6", ids)
	first, err := b.Images.List(t.Context(), ImageListParams{})
	require.NoError(t, err)
	second, err := first.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "6", namesOf(second))
}

// What follows a list without an envelope stands in the header, in the manner of GitHub and GitLab.
func TestAllFollowsTheHeaderOfAList(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"Link": `<https://app.internal/images?page=2>; rel="next"`, "X-Total": "3", "X-Total-Count": "3"} {
		b := pages(t, func(query url.Values) string {
			if query.Get("page") == "2" {
				return recordsOf(7)
			}
			return recordsOf(9, 8)
		})
		b.Header.Set(name, value)
		page, err := b.Images.List(t.Context(), ImageListParams{PerPage: PerPage10})
		require.NoError(t, err)
		assert.True(t, page.HasNext(), name)
		delete(b.Header, "Link")
		page, err = page.Next(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "7", namesOf(page), name)
		assert.False(t, page.HasNext(), name)
	}
}

// No hint of more pages is ignored, and none is believed for ever.
func TestAllFollowsEveryHint(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		first, second string // what stands beside the records
		asked         string // of the second page
		ids           string
		err           error
	}{
		"more, in so many words":       {`"has_more":true`, `"has_more":false`, "page=2", "9 8 7", nil},
		"a cursor":                     {`"next_cursor":"a"`, `"next_cursor":null`, "cursor=a", "9 8 7", nil},
		"a token":                      {`"meta":{"nextPageToken":"a"}`, `"meta":{}`, "page_token=a", "9 8 7", nil},
		"a number in pagination":       {`"pagination":{"total_pages":2}`, `"pagination":{"total_pages":2}`, "page=2", "9 8 7", nil},
		"a total":                      {`"meta":{"pagination":{"totalCount":3}}`, `"total":3`, "page=2", "9 8 7", nil},
		"a total beside the last page": {`"last_page":1,"total":3`, `"last_page":1,"total":3`, "page=2", "9 8 7", nil},
		"a null link beside a total":   {`"next":null,"total":3`, ``, "", "9 8", nil},
		"more, again and again":        {`"has_more":true`, `"has_more":true`, "page=2", "9 8 7", ErrPagination},
	} {
		b := pages(t, func(query url.Values) string {
			if len(query) == 0 {
				return strings.Replace(`{"data":`+recordsOf(9, 8)+`,`+row.first+`}`, ",}", "}", 1)
			}
			return strings.Replace(`{"data":`+recordsOf(7)+`,`+row.second+`}`, ",}", "}", 1)
		})
		ids, err := walked(t, b, ImageListParams{})
		require.ErrorIs(t, err, row.err, name)
		assert.Equal(t, row.ids, ids, name)
		asked := ""
		if len(b.Asked) > 1 {
			asked = b.Asked[1]
		}
		assert.Equal(t, row.asked, asked, name)
	}
}

// PHP and Go write an empty list as null.
func TestNullIsAnEmptyListIfTheTotalIsZero(t *testing.T) {
	t.Parallel()
	for body, total := range map[string]string{`{"data":null,"total":0}`: "", `{"data":{"images":null},"meta":{"total":0}}`: "", `null`: "0", `{"data":null}`: "0"} {
		b := pages(t, func(url.Values) string { return body })
		b.Header.Set("X-Total-Count", total)
		page, err := b.Images.List(t.Context(), ImageListParams{})
		require.NoError(t, err, body)
		assert.Empty(t, page.Items, body)
		assert.False(t, page.HasNext(), body)
	}
	for body, total := range map[string]string{`{"data":null}`: "", `null`: "", `{"data":null,"total":7}`: "", `{"data":null,"total":0}`: "7", `{"x":1,"total":0}`: ""} {
		b := pages(t, func(url.Values) string { return body })
		b.Header.Set("X-Total-Count", total)
		_, err := b.Images.List(t.Context(), ImageListParams{})
		require.ErrorAs(t, err, new(*DecodeError), body)
	}
}

// A paginator over filtered records has numbers for names from page 2 on. Their order is the list's.
func TestListsAsObjectsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	b := pages(t, func(query url.Values) string {
		if query.Get("page") == "" {
			return `{"data":` + recordsOf(9, 8) + `,"meta":{"current_page":1,"last_page":2}}`
		}
		return `{"data":{"3":{"id":7},"2":{"id":6},"10":{"id":5}},"meta":{"current_page":2,"last_page":2}}`
	})
	ids, err := walked(t, b, ImageListParams{})
	require.NoError(t, err)
	assert.Equal(t, "9 8 7 6 5", ids)
}

// What was read before an error must not be lost.
func TestCollect(t *testing.T) {
	t.Parallel()
	b := pages(t, func(query url.Values) string {
		if query.Get("page") == "" {
			return `{"data":` + recordsOf(9, 8) + `,"links":{"next":"?page=2"}}`
		}
		return ""
	})
	images, err := Collect(b.Images.All(t.Context(), ImageListParams{}))
	var refused *APIError
	require.ErrorAs(t, err, &refused)
	require.Len(t, images, 2)
	assert.Equal(t, ID("8"), images[1].ID)

	b = pages(t, func(url.Values) string { return `{"data":[]}` })
	images, err = Collect(b.Images.All(t.Context(), ImageListParams{}))
	require.NoError(t, err)
	assert.Empty(t, images)
}

// Elements that are no records are left out; a list of nothing else is no list.
func TestElementsThatAreNoRecords(t *testing.T) {
	t.Parallel()
	body := `{"data":[{"id":9,"name":"a"},null,"x",7,{"x":1},{"id":8,"name":"b"}],"links":{"next":null}}`
	b := pages(t, func(url.Values) string { return body })
	page, err := b.Images.List(t.Context(), ImageListParams{})
	require.NoError(t, err)
	assert.Equal(t, "9 a, 8 b", namesOf(page))
	assert.JSONEq(t, `{"id":8,"name":"b"}`, string(page.Items[1].Raw()))
	// What was on the page before is told by its ID, whatever stands between.
	moved := pages(t, func(query url.Values) string {
		if query.Get("page") == "" {
			return `{"data":[null,{"id":9},{"id":8}],"links":{"next":"?page=2"}}`
		}
		return `{"data":[7,{"id":8},{"id":7},{"id":6}],"links":{"next":null}}`
	})
	ids, err := walked(t, moved, ImageListParams{})
	require.NoError(t, err)
	assert.Equal(t, "9 8 7 6", ids)
	body = `{"data":[null,{"x":1}],"links":{"next":null}}`
	_, err = b.Images.List(t.Context(), ImageListParams{})
	var unread *DecodeError
	require.ErrorAs(t, err, &unread)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
}

// The error of a walk says which operation it was, and what the service does.
func TestPaginationErrors(t *testing.T) {
	t.Parallel()
	b := pages(t, func(url.Values) string { return recordsOf(9, 8, 7, 6, 5, 4, 3, 2, 1, 0) })
	_, err := walked(t, b, ImageListParams{})
	assert.EqualError(t, err, "images.list: 200: pagination: the service sent a full page of 10 records and does not say whether more follow (request page)")
	assert.Equal(t, OutcomeExecuted, OutcomeOf(err))
	var refused *APIError
	assert.False(t, errors.As(err, &refused))
	b = pages(t, func(query url.Values) string {
		return fmt.Sprintf(`{"data":%s,"links":{"next":"?cursor=%d"}}`, recordsOf(9), atoi(query.Get("cursor"))+1)
	})
	page, err := b.Images.List(t.Context(), ImageListParams{})
	for err == nil {
		page, err = page.Next(t.Context())
	}
	assert.EqualError(t, err, "images.list: 200: pagination: the service sent the records of the previous page again (request page)")
}

// The end of the context ends a walk at the next page, and is found in its error.
func TestWalkEndsWithTheContext(t *testing.T) {
	t.Parallel()
	b := pages(t, func(query url.Values) string {
		page, _ := strconv.Atoi(query.Get("page"))
		return fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, recordsOf(2*page, 2*page+1), page+1)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ids []string
	var failed error
	for image, err := range b.Images.All(ctx, ImageListParams{}) {
		require.NoError(t, failed)
		if failed = err; err != nil {
			continue
		}
		if ids = append(ids, string(image.ID)); image.ID == "2" {
			cancel()
		}
	}
	assert.Equal(t, []string{"0", "1", "2", "3"}, ids)
	require.ErrorIs(t, failed, context.Canceled)
	assert.Len(t, b.Asked, 2)
}

// After an error the same page can be asked for its successor again: nothing is lost, nothing comes twice.
func TestNextAgainAfterAnError(t *testing.T) {
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
			var api *APIError
			require.ErrorAs(t, err, &api)
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
			assert.False(t, third.HasNext())
			end, err := third.Next(t.Context())
			require.NoError(t, err)
			assert.Nil(t, end)
		}
	}
}

func TestFirstPageFails(t *testing.T) {
	t.Parallel()
	b := pages(t, func(url.Values) string { return "" })
	ids, err := walked(t, b, ImageListParams{})
	assert.Empty(t, ids)
	var api *APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, 418, api.StatusCode)
	_, err = walked(t, b, ImageListParams{PerPage: 7})
	assert.ErrorIs(t, err, ErrInvalid)
	assert.Len(t, b.Asked, 1)
}

// A page that was made by hand has no next page.
func TestPageOfNoCall(t *testing.T) {
	t.Parallel()
	page := &Page[Image]{Items: []*Image{{ID: "7"}}}
	assert.False(t, page.HasNext())
	next, err := page.Next(t.Context())
	require.NoError(t, err)
	assert.Nil(t, next)
}

// endless serves a list of that many records in pages of 100, by number or by cursor.
func endless(records int, key string) func(url.Values) string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `%s{"id":"#-%d","name":"Lighthouse %d","resolution":"512x512","favorite":false}`, ","[:min(i, 1)], i, i)
	}
	hundred := b.String()
	return func(query url.Values) string {
		at, _ := strconv.Atoi(query.Get(key))
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
		assert.Less(t, late, early+uint64(trail)+64<<10, "live bytes at the end of a walk by %s, %d at its beginning", key, early)
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

// Next returns a nil page after the last one, and its methods can be called.
func TestNoPage(t *testing.T) {
	t.Parallel()
	var page *Page[Image]
	assert.False(t, page.HasNext())
	next, err := page.Next(t.Context())
	require.NoError(t, err)
	assert.Nil(t, next)
}

// numbered has pages of two records up to last: 11 and 12 on the first, 21 and 22 on the second.
func numbered(last int) func(url.Values) (int, string) {
	return func(query url.Values) (int, string) {
		page := max(1, atoi(query.Get("page")))
		if page > last {
			return 404, `{"message":"no such page"}`
		}
		return 200, fmt.Sprintf(`{"data":%s,"meta":{"current_page":%d,"last_page":%d}}`, recordsOf(10*page+1, 10*page+2), page, last)
	}
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// idsOf returns the IDs of all records of a walk, as text.
func idsOf(ctx context.Context, c *Client, opts ...CallOption) (string, error) {
	images, err := Collect(c.Images.All(ctx, ImageListParams{}, opts...))
	var ids []string
	for _, image := range images {
		ids = append(ids, string(image.ID))
	}
	return strings.Join(ids, " "), err
}

const tenPages = "11 12 21 22 31 32 41 42 51 52 61 62 71 72 81 82 91 92 101 102"

// Whoever is on call wants to know which response did not say what follows.
func TestPaginationErrorsKeepTheirResponse(t *testing.T) {
	t.Parallel()
	full := fakes.Respond(200, recordsOf(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), "X-Request-Id", "req-7")
	_, err := idsOf(t.Context(), over(t, fakes.RoundTripper(full)))
	require.ErrorIs(t, err, ErrPagination)
	var unread *DecodeError
	require.ErrorAs(t, err, &unread)
	assert.Equal(t, 200, unread.StatusCode)
	assert.Equal(t, "req-7", unread.RequestID)
	assert.Equal(t, "req-7", unread.Header.Get("X-Request-Id"))
	assert.Equal(t, 1, unread.Attempts)
	assert.Empty(t, unread.Body)
	assert.Equal(t, OutcomeExecuted, OutcomeOf(err))
}

func TestNextLinkThatDoesNotParseSaysItsReason(t *testing.T) {
	t.Parallel()
	for link, reason := range map[string]string{
		"https://[::1/?page=2":     "missing ']' in host",
		"?page=%zz":                `invalid URL escape "%zz"`,
		"https://a\u007fb/?page=2": "invalid control character in URL",
	} {
		text, err := json.Marshal(link)
		require.NoError(t, err)
		body := `{"data":` + recordsOf(9, 8) + `,"links":{"next":` + string(text) + `}}`
		page, err := over(t, fakes.RoundTripper(fakes.OK(body))).Images.List(t.Context(), ImageListParams{})
		require.NoError(t, err)
		_, err = page.Next(t.Context())
		assert.ErrorIs(t, err, ErrPagination)
		assert.ErrorContains(t, err, reason)
	}
}
