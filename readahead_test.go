package aicontent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shelf is a service that takes a second for each page, and counts what is asked for at once.
type shelf struct {
	answer func(query url.Values) (status int, body string)
	delay  func(query url.Values) time.Duration // nil is a second

	mu             sync.Mutex
	asked          []string
	inFlight, most int
	ended          int // by their context
}

func (s *shelf) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	s.mu.Lock()
	s.asked = append(s.asked, query.Encode())
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	delay := time.Second
	if s.delay != nil {
		delay = s.delay(query)
	}
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
		s.mu.Lock()
		s.ended++
		s.mu.Unlock()
		return nil, r.Context().Err()
	}
	status, body := s.answer(query)
	return answerWith(status, body, "X-Request-Id", "page "+query.Get("page"))(r)
}

func (s *shelf) client(t *testing.T, opts ...Option) *Client {
	c, err := NewClient("https://content.example.com/tenant", aKey, append([]Option{WithHTTPClient(&http.Client{Transport: s}), WithRetryPolicy(oneAttempt)}, opts...)...)
	require.NoError(t, err)
	return c
}

func (s *shelf) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
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

// idsOf takes all that a walk gives, as text.
func idsOf(ctx context.Context, c *Client, opts ...CallOption) (string, error) {
	images, err := Collect(c.Images.All(ctx, ImageListParams{}, opts...))
	var ids []string
	for _, image := range images {
		ids = append(ids, string(image.ID))
	}
	return strings.Join(ids, " "), err
}

const tenPages = "11 12 21 22 31 32 41 42 51 52 61 62 71 72 81 82 91 92 101 102"

// Ten pages at a second each come in three, in order, and no more are asked for at once than were allowed.
func TestReadAheadKeepsTheOrder(t *testing.T) {
	for ahead, took := range map[int]time.Duration{0: 10 * time.Second, 1: 10 * time.Second, 4: 4 * time.Second, 9: 2 * time.Second, 1000: 2 * time.Second} {
		for name, delay := range map[string]func(url.Values) time.Duration{
			"all the same": nil,
			"later ones are fast": func(query url.Values) time.Duration {
				return time.Second / time.Duration(max(1, atoi(query.Get("page"))))
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{answer: numbered(10), delay: delay}
				start := time.Now()
				ids, err := idsOf(t.Context(), s.client(t), WithReadAhead(ahead))
				require.NoError(t, err)
				assert.Equal(t, tenPages, ids)
				assert.Len(t, s.asked, 10, "no page twice, and none after the last")
				assert.LessOrEqual(t, s.most, max(ahead, 1))
				if delay == nil {
					assert.Equal(t, took, time.Since(start), "%d pages ahead, %s", ahead, name)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{answer: numbered(10)}
		start := time.Now()
		_, err := idsOf(t.Context(), s.client(t, WithReadAhead(9)))
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, time.Since(start), "an option of the client")
	})
}

// What fails ahead must not hide the records before it.
func TestReadAheadGivesErrorsAtTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{answer: func(query url.Values) (int, string) {
			if query.Get("page") == "4" {
				return 422, `{"message":"page 4 is broken"}`
			}
			return numbered(10)(query)
		}, delay: func(query url.Values) time.Duration {
			if query.Get("page") == "4" {
				return 0
			}
			return time.Second
		}}
		ids, err := idsOf(t.Context(), s.client(t), WithReadAhead(5))
		assert.Equal(t, "11 12 21 22 31 32", ids)
		assert.EqualError(t, err, "images.list: 422: page 4 is broken (request page 4)")
		assert.Zero(t, s.inFlight, "the rest was ended")
	})
}

// A loop that is left must leave nothing running: no request, no goroutine.
func TestLeavingEndsWhatIsReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{answer: numbered(100), delay: func(query url.Values) time.Duration {
			if query.Get("page") == "" {
				return 0
			}
			return time.Hour
		}}
		start := time.Now()
		for _, err := range s.client(t).Images.All(t.Context(), ImageListParams{}, WithReadAhead(8)) {
			require.NoError(t, err)
			synctest.Wait()
			assert.Equal(t, 8, s.inFlight)
			break
		}
		assert.Zero(t, s.inFlight)
		assert.Equal(t, 8, s.ended)
		assert.Zero(t, time.Since(start))
	})
}

func TestReadAheadEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextAfter(t, 90*time.Second)
		defer cancel()
		s := &shelf{answer: numbered(100), delay: func(url.Values) time.Duration { return time.Minute }}
		ids, err := idsOf(ctx, s.client(t, WithTimeout(0)), WithReadAhead(3))
		assert.Equal(t, "11 12", ids)
		require.ErrorIs(t, err, errUserLeft)
		assert.Zero(t, s.inFlight)
	})
}

// A limit on requests is not to be got around by asking early.
func TestReadAheadWaitsForTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{answer: numbered(10), delay: func(url.Values) time.Duration { return 0 }}
		var mu sync.Mutex
		next, waits := time.Now(), 0
		limiter := limiterFunc(func(ctx context.Context) error {
			mu.Lock()
			waits++
			next = next.Add(time.Minute)
			wait := time.Until(next)
			mu.Unlock()
			return sleep(ctx, wait)
		})
		start := time.Now()
		ids, err := idsOf(t.Context(), s.client(t, WithRateLimiter(limiter)), WithReadAhead(8))
		require.NoError(t, err)
		assert.Equal(t, tenPages, ids)
		assert.Equal(t, 10, waits)
		assert.Equal(t, 10*time.Minute, time.Since(start))
	})
}

// With a cursor only the page that follows is known: it is fetched while the loop works.
func TestReadAheadByCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{answer: func(query url.Values) (int, string) {
			page := max(1, atoi(query.Get("cursor")))
			next := fmt.Sprintf(`"?cursor=%d"`, page+1)
			if page == 5 {
				next = "null"
			}
			return 200, fmt.Sprintf(`{"data":%s,"links":{"next":%s}}`, recordsOf(page), next)
		}}
		start, seen := time.Now(), 0
		for image, err := range s.client(t).Images.All(t.Context(), ImageListParams{}, WithReadAhead(8)) {
			require.NoError(t, err)
			seen++
			assert.Equal(t, strconv.Itoa(seen), string(image.ID))
			synctest.Wait()
			assert.Equal(t, min(seen+1, 5), s.requests(), "one page ahead")
			time.Sleep(time.Second)
		}
		assert.Equal(t, 5, seen)
		assert.Equal(t, 6*time.Second, time.Since(start), "the wait for a page and the work on the one before are the same second")
	})
}

// WithResponse has the response of the page that the loop is at, and not of one that came early.
func TestReadAheadAndResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{answer: numbered(5), delay: func(query url.Values) time.Duration {
			return time.Second / time.Duration(max(1, atoi(query.Get("page"))))
		}}
		var resp *Response
		for image, err := range s.client(t).Images.All(t.Context(), ImageListParams{}, WithReadAhead(4), WithResponse(&resp)) {
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
		s := &shelf{answer: func(query url.Values) (int, string) {
			if query.Get("page") == "3" {
				return 418, ``
			}
			return numbered(5)(query)
		}}
		var resp *Response
		_, err := idsOf(t.Context(), s.client(t), WithReadAhead(4), WithResponse(&resp))
		require.Error(t, err)
		assert.Equal(t, 418, resp.StatusCode)
	})
}

// Where the last page is not told, pages after it are requested in vain, and their responses are no error of the caller's.
func TestReadAheadBeyondTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{answer: func(query url.Values) (int, string) {
			page := max(1, atoi(query.Get("page")))
			switch {
			case page > 3:
				return 404, ``
			case page == 3:
				return 200, `{"data":` + recordsOf(31) + `,"links":{"next":null}}`
			}
			return 200, fmt.Sprintf(`{"data":%s,"links":{"next":"?page=%d"}}`, recordsOf(10*page+1), page+1)
		}}
		ids, err := idsOf(t.Context(), s.client(t), WithReadAhead(4))
		require.NoError(t, err)
		assert.Equal(t, "11 21 31", ids)
		assert.Zero(t, s.inFlight)
		assert.LessOrEqual(t, len(s.asked), 3+4)
	})
}

// Records that move, loops and repeats are judged as they are without reading ahead.
func TestReadAheadJudgesAsWithout(t *testing.T) {
	for name, row := range map[string]struct {
		answer func(url.Values) (int, string)
		ids    string
		err    error
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
				s := &shelf{answer: row.answer}
				ids, err := idsOf(t.Context(), s.client(t), WithReadAhead(ahead))
				assert.Equal(t, row.ids, ids, "%s, %d ahead", name, ahead)
				assert.True(t, errors.Is(err, row.err), "%s, %d ahead: %v", name, ahead, err)
			})
		}
	}
}

// Requests that run at once take their query from the same link. Only the race detector sees what they write into it.
func TestReadAheadWithALinkThatRepeatsAParameter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{answer: func(query url.Values) (int, string) {
			page := max(1, atoi(query.Get("page")))
			link := fmt.Sprintf(`"?tag=a&tag=b&tag=c&page=%d"`, page+1)
			if page == 5 {
				link = "null"
			}
			return 200, fmt.Sprintf(`{"data":%s,"links":{"next":%s},"meta":{"last_page":5}}`, recordsOf(page), link)
		}}
		ids, err := idsOf(t.Context(), s.client(t), WithReadAhead(4))
		require.NoError(t, err)
		assert.Equal(t, "1 2 3 4 5", ids)
		assert.Equal(t, 4, s.most)
		assert.ElementsMatch(t, []string{"", "page=2&tag=a&tag=b&tag=c", "page=3&tag=a&tag=b&tag=c", "page=4&tag=a&tag=b&tag=c", "page=5&tag=a&tag=b&tag=c"}, s.asked)
	})
}
