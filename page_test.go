package aicontent

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
	assert.Equal(t, "30, 31", names(page))
	assert.Equal(t, PageInfo{Current: 3, Last: 4, PerPage: 2, Total: 8}, page.PageInfo)
	page, err = page.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "40, 41", names(page))
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
	for _, ahead := range []int{0, 1, 8} {
		b := pages(t, func(query url.Values) string {
			page, _ := strconv.Atoi(query.Get("page"))
			var ids []int
			for id := 50 * (max(page, 1) - 1); id < total && len(ids) < 50; id++ {
				ids = append(ids, id)
			}
			return fmt.Sprintf(`{"data":%s,"total":%d}`, recordsOf(ids...), total)
		})
		ids, err := walked(t, b, ImageListParams{PerPage: PerPage100}, WithReadAhead(ahead))
		require.NoError(t, err, ahead)
		assert.Equal(t, strings.Join(want, " "), ids, ahead)
		assert.ElementsMatch(t, []string{"per_page=100", "page=2&per_page=100", "page=3&per_page=100"}, b.Asked, ahead)
	}
}

// A total that is never reached must not keep a walk going for ever.
func TestAllEndsBelowATotalThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, ahead := range []int{0, 4} {
		b := pages(t, func(query url.Values) string {
			if query.Get("page") == "" {
				return `{"data":` + recordsOf(2, 1) + `,"total":9007199254740991}`
			}
			return `{"data":[],"total":9007199254740991}`
		})
		ids, err := walked(t, b, ImageListParams{}, WithReadAhead(ahead))
		require.ErrorIs(t, err, ErrPagination)
		assert.ErrorContains(t, err, "100 pages without records")
		assert.Equal(t, "2 1", ids)
		assert.LessOrEqual(t, b.Requests(), 101+ahead)
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
	assert.Equal(t, "6", names(second))
}

// A deployment may say in a header alone what follows.
func TestNextPageByHeader(t *testing.T) {
	t.Parallel()
	var b *book
	b = pages(t, func(query url.Values) string {
		b.Header.Del("Link")
		if query.Get("page") == "" {
			b.Header.Set("Link", `<https://app.internal/images?page=2>; rel="next"`)
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
	t.Parallel()
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
		baseURL := fakes.RawServer(t, func(r *http.Request) string {
			number := max(atoi(r.URL.Query().Get("page")), 1)
			var ids []int
			for i := range 10 {
				ids = append(ids, number*10+i)
			}
			return fakes.OnTheWire(200, "Link: "+tt.links[number-1], recordsOf(ids...))
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
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
}

// The error of a walk says which operation it was, and what the service does.
func TestPaginationErrors(t *testing.T) {
	t.Parallel()
	b := pages(t, func(url.Values) string { return recordsOf(9, 8, 7, 6, 5, 4, 3, 2, 1, 0) })
	_, err := walked(t, b, ImageListParams{})
	assert.EqualError(t, err, "images.list: 200: pagination: the service sent a full page of 10 records and does not say whether more follow")
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
	assert.EqualError(t, err, "images.list: 200: pagination: the service sent the records of the previous page again")
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
func names(page *Page[Image]) string {
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

// aSecond is what a page takes.
func aSecond(url.Values) time.Duration { return time.Second }

const tenPages = "11 12 21 22 31 32 41 42 51 52 61 62 71 72 81 82 91 92 101 102"

// Ten pages at a second each come in three, in order, and no more are asked for at once than were allowed.
func TestReadAheadKeepsTheOrder(t *testing.T) {
	t.Parallel()
	for ahead, took := range map[int]time.Duration{0: 10 * time.Second, 1: 10 * time.Second, 4: 4 * time.Second, 9: 2 * time.Second, 32: 2 * time.Second} {
		for name, delay := range map[string]func(url.Values) time.Duration{
			"all the same": aSecond,
			"later ones are fast": func(query url.Values) time.Duration {
				return time.Second / time.Duration(max(1, atoi(query.Get("page"))))
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				s := &fakes.Pages{Respond: numbered(10), Delay: delay}
				start := time.Now()
				ids, err := idsOf(t.Context(), over(t, s), WithReadAhead(ahead))
				require.NoError(t, err)
				assert.Equal(t, tenPages, ids)
				assert.Len(t, s.Asked, 10, "no page twice, and none after the last")
				assert.LessOrEqual(t, s.Most, max(ahead, 1))
				if name == "all the same" {
					assert.Equal(t, took, time.Since(start), "%d pages ahead, %s", ahead, name)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Pages{Respond: numbered(10), Delay: aSecond}
		start := time.Now()
		_, err := idsOf(t.Context(), over(t, s, WithReadAhead(9)))
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, time.Since(start), "an option of the client")
	})
}

// What fails ahead must not hide the records before it.
func TestReadAheadGivesErrorsAtTheirPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Pages{Respond: func(query url.Values) (int, string) {
			if query.Get("page") == "4" {
				return 422, `{"message":"page 4 is broken"}`
			}
			return numbered(10)(query)
		}, Delay: func(query url.Values) time.Duration {
			if query.Get("page") == "4" {
				return 0
			}
			return time.Second
		}}
		ids, err := idsOf(t.Context(), over(t, s), WithReadAhead(5))
		assert.Equal(t, "11 12 21 22 31 32", ids)
		assert.EqualError(t, err, "images.list: 422: page 4 is broken (request page 4)")
		assert.Zero(t, s.InFlight, "the rest was ended")
	})
}

// A loop that is left must leave nothing running: no request, no goroutine.
func TestLeavingEndsWhatIsReadAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Pages{Respond: numbered(100), Delay: func(query url.Values) time.Duration {
			if query.Get("page") == "" {
				return 0
			}
			return time.Hour
		}}
		start := time.Now()
		for _, err := range over(t, s).Images.All(t.Context(), ImageListParams{}, WithReadAhead(8)) {
			require.NoError(t, err)
			synctest.Wait()
			assert.Equal(t, 8, s.InFlight)
			break
		}
		assert.Zero(t, s.InFlight)
		assert.Equal(t, 8, s.Ended)
		assert.Zero(t, time.Since(start))
	})
}

func TestReadAheadEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextAfter(t, 90*time.Second)
		defer cancel()
		s := &fakes.Pages{Respond: numbered(100), Delay: func(url.Values) time.Duration { return time.Minute }}
		ids, err := idsOf(ctx, over(t, s, WithResponseTimeout(0)), WithReadAhead(3))
		assert.Equal(t, "11 12", ids)
		require.ErrorIs(t, err, errUserLeft)
		assert.Zero(t, s.InFlight)
	})
}

// A limit on requests is not to be got around by asking early.
func TestReadAheadWaitsForTheLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Pages{Respond: numbered(10)}
		var mu sync.Mutex
		next, waits := time.Now(), 0
		limiter := fakes.Limiter(func(ctx context.Context) error {
			mu.Lock()
			waits++
			next = next.Add(time.Minute)
			wait := time.Until(next)
			mu.Unlock()
			sleep(ctx, wait)
			return ctx.Err()
		})
		start := time.Now()
		ids, err := idsOf(t.Context(), over(t, s, WithRateLimiter(limiter)), WithReadAhead(8))
		require.NoError(t, err)
		assert.Equal(t, tenPages, ids)
		assert.Equal(t, 10, waits)
		assert.Equal(t, 10*time.Minute, time.Since(start))
	})
}

// With a cursor only the page that follows is known: it is fetched while the loop works.
func TestReadAheadByCursor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Pages{Delay: aSecond, Respond: func(query url.Values) (int, string) {
			page := max(1, atoi(query.Get("cursor")))
			next := fmt.Sprintf(`"?cursor=%d"`, page+1)
			if page == 5 {
				next = "null"
			}
			return 200, fmt.Sprintf(`{"data":%s,"links":{"next":%s}}`, recordsOf(page), next)
		}}
		start, seen := time.Now(), 0
		for image, err := range over(t, s).Images.All(t.Context(), ImageListParams{}, WithReadAhead(8)) {
			require.NoError(t, err)
			seen++
			assert.Equal(t, strconv.Itoa(seen), string(image.ID))
			synctest.Wait()
			assert.Equal(t, min(seen+1, 5), s.Requests(), "one page ahead")
			time.Sleep(time.Second)
		}
		assert.Equal(t, 5, seen)
		assert.Equal(t, 6*time.Second, time.Since(start), "the wait for a page and the work on the one before are the same second")
	})
}

// WithResponse has the response of the page that the loop is at, and not of one that came early.
func TestReadAheadAndResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Pages{Respond: numbered(5), Delay: func(query url.Values) time.Duration {
			return time.Second / time.Duration(max(1, atoi(query.Get("page"))))
		}}
		var resp *Response
		for image, err := range over(t, s).Images.All(t.Context(), ImageListParams{}, WithReadAhead(4), WithResponse(&resp)) {
			require.NoError(t, err)
			time.Sleep(time.Minute)
			page := string(image.ID)[:1]
			require.NotNil(t, resp)
			assert.Contains(t, string(resp.Body), `"current_page":`+page)
			assert.Equal(t, strings.TrimRight("page "+page, "1"), resp.RequestID)
		}
	})
	// The response of a page that failed is there too.
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Pages{Delay: aSecond, Respond: func(query url.Values) (int, string) {
			if query.Get("page") == "3" {
				return 418, ``
			}
			return numbered(5)(query)
		}}
		var resp *Response
		_, err := idsOf(t.Context(), over(t, s), WithReadAhead(4), WithResponse(&resp))
		require.Error(t, err)
		assert.Equal(t, 418, resp.StatusCode)
	})
}

// Where the last page is not told, pages after it are requested in vain, and their responses are no error of the
// caller's.
func TestReadAheadBeyondTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Pages{Delay: aSecond, Respond: func(query url.Values) (int, string) {
			page := max(1, atoi(query.Get("page")))
			switch {
			case page > 3:
				return 404, ``
			case page == 3:
				return 200, `{"data":` + recordsOf(31) + `,"links":{"next":null}}`
			}
			return 200, fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, recordsOf(10*page+1), page+1)
		}}
		ids, err := idsOf(t.Context(), over(t, s), WithReadAhead(4))
		require.NoError(t, err)
		assert.Equal(t, "11 21 31", ids)
		assert.Zero(t, s.InFlight)
		assert.LessOrEqual(t, len(s.Asked), 3+4)
	})
}

// A list whose last page is not told costs few requests behind its end, however many pages may be read ahead.
func TestReadAheadOfAListOfUnknownLength(t *testing.T) {
	t.Parallel()
	for _, pages := range []int{1, 2, 3, 4, 5, 9, 40} {
		synctest.Test(t, func(t *testing.T) {
			s := &fakes.Pages{Delay: aSecond, Respond: func(query url.Values) (int, string) {
				page := max(1, atoi(query.Get("page")))
				next := fmt.Sprintf(`"?page=%d"`, page+1)
				if page >= pages {
					next = "null"
				}
				return 200, fmt.Sprintf(`{"data":%s,"links":{"next":%s}}`, recordsOf(page), next)
			}}
			start := time.Now()
			ids, err := idsOf(t.Context(), over(t, s), WithReadAhead(32))
			require.NoError(t, err)
			assert.Len(t, strings.Fields(ids), pages)
			assert.LessOrEqual(t, len(s.Asked), pages+min(max(pages-2, 0), 31), "%d pages", pages)
			doubled := time.Duration(bits.Len(uint(pages - 1))) // A round trip brings as many pages as came before.
			assert.Equal(t, (1+doubled)*time.Second, time.Since(start), "%d pages", pages)
		})
	}
}

// Records that move, loops and repeats are judged as they are without reading ahead.
func TestReadAheadJudgesAsWithout(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		respond func(url.Values) (int, string)
		ids     string
		err     error
	}{
		"a record moved on": {func(query url.Values) (int, string) {
			page := max(1, atoi(query.Get("page")))
			return 200, fmt.Sprintf(`{"data":%s,"meta":{"current_page":%d,"last_page":3}}`, recordsOf(page, page+1), page)
		}, "1 2 3 4", nil},
		"the same page for ever": {func(query url.Values) (int, string) {
			return 200, fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, recordsOf(1, 2), max(1, atoi(query.Get("page")))+1)
		}, "1 2", ErrPagination},
		"a link that leads back": {func(query url.Values) (int, string) {
			page := max(1, atoi(query.Get("page")))
			return 200, fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, recordsOf(page), page%3+1)
		}, "1 2 3", ErrPagination},
		"a cursor that leads back": {func(query url.Values) (int, string) {
			page := atoi(query.Get("cursor"))
			return 200, fmt.Sprintf(`{"data":%s,"links":{"next":"?cursor=%d"}}`, recordsOf(page), page%3+1)
		}, "0 1 2 3", ErrPagination},
	} {
		for _, ahead := range []int{0, 1, 3, 10} {
			synctest.Test(t, func(t *testing.T) {
				s := &fakes.Pages{Delay: aSecond, Respond: row.respond}
				ids, err := idsOf(t.Context(), over(t, s), WithReadAhead(ahead))
				assert.Equal(t, row.ids, ids, "%s, %d ahead", name, ahead)
				assert.True(t, errors.Is(err, row.err), "%s, %d ahead: %v", name, ahead, err)
			})
		}
	}
}

// Requests that run at once take their query from the same link. Only the race detector sees what they write into it.
func TestReadAheadWithALinkThatRepeatsAParameter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Pages{Delay: aSecond, Respond: func(query url.Values) (int, string) {
			page := max(1, atoi(query.Get("page")))
			link := fmt.Sprintf(`"?tag=a&tag=b&tag=c&page=%d"`, page+1)
			if page == 5 {
				link = "null"
			}
			return 200, fmt.Sprintf(`{"data":%s,"links":{"next":%s},"meta":{"last_page":5}}`, recordsOf(page), link)
		}}
		ids, err := idsOf(t.Context(), over(t, s), WithReadAhead(4))
		require.NoError(t, err)
		assert.Equal(t, "1 2 3 4 5", ids)
		assert.Equal(t, 4, s.Most)
		assert.ElementsMatch(t, []string{"", "page=2&tag=a&tag=b&tag=c", "page=3&tag=a&tag=b&tag=c", "page=4&tag=a&tag=b&tag=c", "page=5&tag=a&tag=b&tag=c"}, s.Asked)
	})
}

// A panic of the caller's own code reaches whoever loops, as without read-ahead, and can be recovered there.
func TestPanicsBelowReadAhead(t *testing.T) {
	t.Parallel()
	s := &fakes.Pages{Respond: numbered(10)}
	for name, blows := range map[string]func(blow func()) Option{
		"middleware": func(blow func()) Option {
			return WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
				return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) { blow(); return next.RoundTrip(r) })
			})
		},
		"limiter": func(blow func()) Option {
			return WithRateLimiter(fakes.Limiter(func(context.Context) error { blow(); return nil }))
		},
		"key source": func(blow func()) Option {
			return WithAPIKeySource(func(context.Context) (string, error) { blow(); return fakes.Key, nil })
		},
		"hook": func(blow func()) Option {
			return WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) { blow(); return nil, nil })
		},
	} {
		var calls atomic.Int64
		blow := func() {
			if calls.Add(1) > 1 {
				panic("after the first page")
			}
		}
		seen := 0
		walk := func() {
			all := over(t, s, blows(blow)).Images.All(t.Context(), ImageListParams{}, WithReadAhead(3))
			for _, err := range all {
				require.NoError(t, err)
				seen++
			}
		}
		assert.PanicsWithValue(t, "after the first page", walk, name)
		assert.Equal(t, 2, seen, "the records before it were yielded")
	}
}

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
	assert.Equal(t, OutcomeDone, OutcomeOf(err))
}
