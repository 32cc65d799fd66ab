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
		append([]Option{WithHTTPClient(&http.Client{Transport: transport}), WithRetryPolicy(RetryPolicy{})}, opts...)...)
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

func TestWalkByCursor(t *testing.T) {
	b := pages(t, func(query url.Values) string {
		switch query.Get("cursor") {
		case "":
			return `{"data":` + recordsOf(9, 8) + `,"links":{"next":"?cursor=a%2Bb%3D"}}`
		case "a+b=":
			return `{"data":` + recordsOf(7, 6) + `,"links":{"next":"?cursor=c"}}`
		}
		return `{"data":[],"links":{"next":null}}`
	})
	ids, err := walked(t, b, ImageListParams{PerPage: PerPage25})
	require.NoError(t, err)
	assert.Equal(t, "9 8 7 6", ids)
	assert.Equal(t, []string{"per_page=25", "cursor=a%2Bb%3D&per_page=25", "cursor=c&per_page=25"}, b.asked)
}

// A walk that never ends, or gives the same records for ever, must say so instead.
func TestWalksThatWouldNotEnd(t *testing.T) {
	counting := 0
	for name, tt := range map[string]struct {
		answer func(url.Values) string
		ids    string
		text   string
		asked  int
	}{
		"to itself": {func(url.Values) string {
			return `{"data":` + recordsOf(9) + `,"meta":{"current_page":1},"links":{"next":"?page=1"}}`
		}, "9", "the next link of page 1 leads back to page 1", 1},
		"to its own query": {func(url.Values) string {
			return `{"data":` + recordsOf(9) + `,"links":{"next":"?per_page=10"}}`
		}, "9", "leads back to a page that was seen", 1},
		"page ignored": {func(url.Values) string {
			return `{"data":` + recordsOf(9, 8) + `,"links":{"next":"?page=2"}}`
		}, "9 8", "sent the records of the page before once more", 2},
		"page ignored, numbers kept": {func(url.Values) string {
			return `{"data":` + recordsOf(9, 8) + `,"current_page":1,"last_page":5}`
		}, "9 8", "sent the records of the page before once more", 2},
		"back by number": {func(query url.Values) string {
			page, _ := strconv.Atoi(query.Get("page"))
			return fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, recordsOf(page), []int{2, 2, 3, 1}[page])
		}, "0 2 3", "the next link of page 3 leads back to page 1", 3},
		"back by cursor": {func(query url.Values) string {
			counting++
			next := map[string]string{"": "a", "a": "b", "b": "c", "c": "a"}[query.Get("cursor")]
			return fmt.Sprintf(`{"data":%s,"links":{"next":"?cursor=%s"}}`, recordsOf(counting), next)
		}, "1 2 3 4", "leads back to a page that was seen", 4},
		"nothing for ever": {func(query url.Values) string {
			page, _ := strconv.Atoi(query.Get("page"))
			return fmt.Sprintf(`{"data":[],"links":{"next":"?page=%d"}}`, page+1)
		}, "", "100 pages without records", 101},
		"a full page without a word": {func(url.Values) string { return recordsOf(9, 8, 7, 6, 5, 4, 3, 2, 1, 0) },
			"9 8 7 6 5 4 3 2 1 0", "a full page of 10 records and no word on whether more follow", 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := pages(t, tt.answer)
			ids, err := walked(t, b, ImageListParams{PerPage: PerPage10})
			assert.Equal(t, tt.ids, ids)
			require.ErrorIs(t, err, ErrPagination)
			assert.ErrorContains(t, err, tt.text)
			assert.Equal(t, OutcomeDone, OutcomeOf(err))
			assert.Len(t, b.asked, tt.asked)
		})
	}
}

// A few empty pages on the way, as cursors over filtered records give them, do not end a walk.
func TestEmptyPagesOnTheWay(t *testing.T) {
	b := pages(t, func(query url.Values) string {
		page, _ := strconv.Atoi(query.Get("page"))
		if page == 0 || page == 90 {
			return fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, recordsOf(page), page+1)
		}
		if page == 150 {
			return `{"data":[{"id":150}],"links":{"next":null}}`
		}
		return fmt.Sprintf(`{"data":[],"links":{"next":"?page=%d"}}`, page+1)
	})
	ids, err := walked(t, b, ImageListParams{})
	require.NoError(t, err)
	assert.Equal(t, "0 90 150", ids)
}

// A record that is made while a walk goes on moves others onto the next page: nobody wants to handle them twice.
func TestMovedRecordsAreGivenOnce(t *testing.T) {
	answers := map[string]string{
		"":  `{"data":` + recordsOf(9, 8, 7) + `,"links":{"next":"?page=2"}}`,
		"2": `{"data":` + recordsOf(8, 7, 6) + `,"links":{"next":"?page=3"}}`,
		"3": `{"data":` + recordsOf(7, 6, 5) + `,"links":{"next":"?page=4"}}`,
		// Only the page before is remembered, with what it was sent.
		"4": `{"data":` + recordsOf(9, 6, 5, 4) + `,"links":{"next":null}}`,
	}
	b := pages(t, func(query url.Values) string { return answers[query.Get("page")] })
	ids, err := walked(t, b, ImageListParams{})
	require.NoError(t, err)
	assert.Equal(t, "9 8 7 6 5 9 4", ids)
}

// Records without an id cannot be told apart, and none of them may be lost.
func TestRecordsWithoutIDAreAllGiven(t *testing.T) {
	b := pages(t, func(query url.Values) string {
		if query.Get("page") == "" {
			return `{"data":[{"name":"Beacon"},{"name":"Beacon"}],"links":{"next":"?page=2"}}`
		}
		return `{"data":[{"name":"Beacon"},{"id":null,"name":"Buoy"}],"links":{"next":null}}`
	})
	ids, err := walked(t, b, ImageListParams{})
	require.NoError(t, err)
	assert.Equal(t, "   ", ids)
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

// A page that was made by hand has nothing behind it.
func TestPageOfNoCall(t *testing.T) {
	page := &Page[Image]{Items: []Image{{ID: "7"}}}
	assert.False(t, page.HasNext())
	next, err := page.Next(t.Context())
	require.NoError(t, err)
	assert.Nil(t, next)
}

// A walk that is begun in the middle goes on from there.
func TestWalkFromAPageInTheMiddle(t *testing.T) {
	b := pages(t, func(query url.Values) string {
		page, _ := strconv.Atoi(query.Get("page"))
		return fmt.Sprintf(`{"data":%s,"meta":{"last_page":5}}`, recordsOf(page))
	})
	ids, err := walked(t, b, ImageListParams{}, WithQuery("page", "3"))
	require.NoError(t, err)
	assert.Equal(t, "3 4 5", ids)
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

// A walk over a million records must not grow: what it holds at the end is what it held at the beginning, one page. By
// cursor it also remembers eight bytes for each page, to find a loop.
func TestWalkHoldsOnePage(t *testing.T) {
	for key, records := range map[string]int{"page": 1_000_000, "cursor": 200_000} {
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

func TestPaginationErrorsAreNotAPIErrors(t *testing.T) {
	b := pages(t, func(url.Values) string { return recordsOf(9, 8, 7, 6, 5, 4, 3, 2, 1, 0) })
	_, err := walked(t, b, ImageListParams{})
	var api *APIError
	assert.False(t, errors.As(err, &api))
}
