package aicontent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// book is a deployment with pages: it answers each query with what a function says, and remembers the queries.
type book struct {
	*Client
	asked  []string
	header http.Header // of every answer
}

// pages is a book whose answers are made without a network.
func pages(t testing.TB, answer func(query url.Values) string, opts ...Option) *book {
	t.Helper()
	b := &book{header: http.Header{}}
	transport := oneTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != "content.example.com" || r.URL.Path != "/tenant/api/v1/images" {
			return nil, fmt.Errorf("a stranger was asked: %s", r.URL)
		}
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		b.asked = append(b.asked, r.URL.RawQuery)
		body := answer(r.URL.Query())
		resp := &http.Response{StatusCode: 200, Header: b.header.Clone(), Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}
		if body == "" {
			resp.StatusCode = 418
		}
		return resp, nil
	})
	c, err := NewClient("https://content.example.com/tenant", "a-key-for-tests",
		append([]Option{WithHTTPClient(&http.Client{Transport: transport}), WithRetryPolicy(RetryPolicy{MaxAttempts: 1})}, opts...)...)
	require.NoError(t, err)
	b.Client = c
	return b
}

type oneTrip func(*http.Request) (*http.Response, error)

func (f oneTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// recordsOf writes records with these ids.
func recordsOf(ids ...int) string {
	var list []string
	for _, id := range ids {
		list = append(list, fmt.Sprintf(`{"id":%d}`, id))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// walked takes all that a walk gives, as text, and the error that ends it.
func walked(t testing.TB, b *book, params ImageListParams, opts ...CallOption) (string, error) {
	t.Helper()
	var ids []string
	var failed error
	for image, err := range b.Images.All(t.Context(), params, opts...) {
		require.NoError(t, failed, "an error is the last that a walk gives")
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
		ids, err := walked(t, b, ImageListParams{Search: "sea & storm", Style: StyleRetro, Favorite: Ptr(false), PerPage: PerPage10}, WithQuery("tenant", "7"))
		require.NoError(t, err, name)
		assert.Equal(t, "9 8 7", ids, name)
		const filters = "per_page=10&search=sea+%26+storm&style=retro&tenant=7"
		assert.Equal(t, []string{"favorite=0&" + filters, "favorite=0&page=2&" + filters}, b.asked, name)
	}
}

// Pages cost: one is fetched when its first record is due, and none after the loop is left.
func TestPagesAreFetchedWhenTheyAreReached(t *testing.T) {
	b := pages(t, func(query url.Values) string {
		page, _ := strconv.Atoi(query.Get("page"))
		return fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, recordsOf(2*page, 2*page+1), page+1)
	})
	all := b.Images.All(t.Context(), ImageListParams{})
	require.Empty(t, b.asked, "before the loop")
	seen := 0
	for image, err := range all {
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(seen), string(image.ID))
		require.Len(t, b.asked, seen/2+1)
		if seen++; seen == 6 {
			break
		}
	}
	assert.Len(t, b.asked, 3)
	for image, err := range all {
		require.NoError(t, err)
		assert.Equal(t, ID("0"), image.ID, "a second loop begins anew")
		break
	}
}

// A page's number in an address of the caller's own leads to that page, and on from there.
func TestPageByNumber(t *testing.T) {
	b := pages(t, func(query url.Values) string {
		page, _ := strconv.Atoi(query.Get("page"))
		return fmt.Sprintf(`{"data":%s,"meta":{"current_page":%d,"last_page":4,"per_page":2,"total":8}}`, recordsOf(10*page, 10*page+1), page)
	})
	page, err := b.Images.List(t.Context(), ImageListParams{Style: StyleRetro}, WithQuery("page", "3"))
	require.NoError(t, err)
	assert.Equal(t, "30, 31", names(page))
	assert.Equal(t, PageInfo{Current: 3, Last: 4, PerPage: 2, Total: 8}, page.PageInfo)
	page, err = page.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "40, 41", names(page))
	assert.False(t, page.HasNext())
	ids, err := walked(t, b, ImageListParams{}, WithQuery("page", "3"))
	require.NoError(t, err)
	assert.Equal(t, "30 31 40 41", ids)
	assert.Equal(t, []string{"page=3&style=retro", "page=4&style=retro", "page=3", "page=4"}, b.asked)
}

// While a walk goes on, records are made: a page's worth shifts all that follow by a page, and is no reason to end.
func TestWalkWhileRecordsAreMade(t *testing.T) {
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

// A record that moves onto the next page is given once.
func TestMovedRecordsAreGivenOnce(t *testing.T) {
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
	assert.Equal(t, "6", names(second))
}

// A deployment may say in a header alone what follows.
func TestNextPageByHeader(t *testing.T) {
	var b *book
	b = pages(t, func(query url.Values) string {
		b.header.Del("Link")
		if query.Get("page") == "" {
			b.header.Set("Link", `<https://app.internal/images?page=2>; rel="next"`)
			return recordsOf(9, 8)
		}
		return recordsOf(7)
	})
	ids, err := walked(t, b, ImageListParams{})
	require.NoError(t, err)
	assert.Equal(t, "9 8 7", ids)
}

// Lists as GitHub and WordPress send them say only in Link headers what follows, and say of the last page nothing, or
// that one came before it. Every record must come, and no error after the last.
func TestWalksByLinkHeadersEnd(t *testing.T) {
	const path = "<https://app.internal/api/v1/images?page="
	for name, tt := range map[string]struct {
		links []string // of the pages
		ids   int
		err   error
	}{
		"GitHub": {[]string{
			path + `2>; rel="next", ` + path + `3>; rel="last"`,
			path + `1>; rel="prev", ` + path + `3>; rel="next", ` + path + `3>; rel="last", ` + path + `1>; rel="first"`,
			path + `2>; rel="prev", ` + path + `1>; rel="first"`,
		}, 30, nil},
		"WordPress": {[]string{
			path + `2>; rel="next"`, path + `1>; rel="prev", ` + path + `3>; rel="next"`, path + `2>; rel="prev"`,
		}, 30, nil},
		"no header on the last page": {[]string{path + `2>; rel="next"`, path + `3>; rel="next"`, ""}, 30, nil},
		"the last page alone":        {[]string{path + `3>; rel="last"`, path + `3>; rel="last"`, path + `3>; rel="last"`}, 30, nil},
		"no header on any page":      {[]string{"", "", ""}, 10, ErrPagination},
		"another page as the last": {[]string{
			path + `2>; rel="next"`, path + `1>; rel="prev", <https://app.internal/images?cursor=z>; rel="last"`, "",
		}, 20, ErrPagination},
	} {
		baseURL := rawService(t, func(r *http.Request) string {
			number := max(atoi(r.URL.Query().Get("page")), 1)
			var ids []int
			for i := range 10 {
				ids = append(ids, number*10+i)
			}
			return wireAnswer(200, "Link: "+tt.links[number-1], recordsOf(ids...))
		})
		c, err := NewClient(baseURL, "a-key-for-tests")
		require.NoError(t, err)
		images, err := Collect(c.Images.All(t.Context(), ImageListParams{PerPage: PerPage10}))
		assert.ErrorIs(t, err, tt.err, name)
		require.Len(t, images, tt.ids, name)
		for i, image := range images {
			assert.Equal(t, strconv.Itoa(10+i), string(image.ID), name)
		}
	}
}

// What was read before an error is paid for in time, and must not be lost.
func TestCollect(t *testing.T) {
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
	body := `{"data":[{"id":9,"name":"a"},null,"x",7,{"x":1},{"id":8,"name":"b"}],"links":{"next":null}}`
	b := pages(t, func(url.Values) string { return body })
	page, err := b.Images.List(t.Context(), ImageListParams{})
	require.NoError(t, err)
	assert.Equal(t, "9 a, 8 b", names(page))
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
	assert.Equal(t, OutcomeDone, OutcomeOf(err))
}

// The error of a walk says which operation it was, and what the service does.
func TestPaginationErrors(t *testing.T) {
	b := pages(t, func(url.Values) string { return recordsOf(9, 8, 7, 6, 5, 4, 3, 2, 1, 0) })
	_, err := walked(t, b, ImageListParams{})
	assert.EqualError(t, err, "images.list: pagination: the service sent a full page of 10 records and does not say whether more follow")
	assert.Equal(t, OutcomeDone, OutcomeOf(err))
	var refused *APIError
	assert.False(t, errors.As(err, &refused))
	b = pages(t, func(query url.Values) string {
		return fmt.Sprintf(`{"data":%s,"links":{"next":"?cursor=%d"}}`, recordsOf(9), atoi(query.Get("cursor"))+1)
	})
	page, err := b.Images.List(t.Context(), ImageListParams{})
	for err == nil {
		page, err = page.Next(t.Context())
	}
	assert.EqualError(t, err, "images.list: pagination: the service sent the records of the previous page again")
}

// The end of the context ends a walk at the next page, and is found in its error.
func TestWalkEndsWithTheContext(t *testing.T) {
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
	assert.Len(t, b.asked, 2)
}

// After an error the same page can be asked for its successor again: nothing is lost, nothing comes twice.
func TestNextAgainAfterAnError(t *testing.T) {
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
			require.Equal(t, "8", names(second))
			third, err := second.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, "7", names(third))
			assert.False(t, third.HasNext())
			end, err := third.Next(t.Context())
			require.NoError(t, err)
			assert.Nil(t, end)
		}
	}
}

func TestFirstPageFails(t *testing.T) {
	b := pages(t, func(url.Values) string { return "" })
	ids, err := walked(t, b, ImageListParams{})
	assert.Empty(t, ids)
	var api *APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, 418, api.StatusCode)
	_, err = walked(t, b, ImageListParams{PerPage: 7})
	assert.ErrorIs(t, err, ErrInvalid)
	assert.Len(t, b.asked, 1)
}

// A page that was made by hand has no next page.
func TestPageOfNoCall(t *testing.T) {
	page := &Page[Image]{Items: []Image{{ID: "7"}}}
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
			b.asked = nil
			switch count.Add(1) {
			case 1_000:
				early = liveHeap()
			case int64(records) - 50:
				late = liveHeap()
			}
		}
		require.EqualValues(t, records, count.Load())
		trail := 2 * 8 * records / 100
		assert.Less(t, late, early+uint64(trail)+64<<10, "live bytes at the end of a walk by %s, %d at its beginning", key, early)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// names is what a page holds, for a comparison that reads well.
func names(page *Page[Image]) string {
	var list []string
	for _, image := range page.Items {
		list = append(list, strings.TrimSpace(string(image.ID)+" "+image.Name))
	}
	return strings.Join(list, ", ")
}

// What Next returns after the last page may be asked on.
func TestNoPage(t *testing.T) {
	var page *Page[Image]
	assert.False(t, page.HasNext())
	next, err := page.Next(t.Context())
	require.NoError(t, err)
	assert.Nil(t, next)
}
