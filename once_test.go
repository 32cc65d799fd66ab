package aicontent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ledger is a service with names alone, whose stores may act late or lose their answer.
type ledger struct {
	mu      sync.Mutex
	names   []string
	looks   []time.Time
	queries []url.Values
	stores  int
	shows   int
	more    string // members that each record has besides, when it is shown
	perPage int    // 0 is all on one page
	// store says what becomes of the nth store, which counts from 1.
	store func(n int, add func()) (*http.Response, error)
	// list replaces the answer to a list where it returns one.
	list func(n int) (*http.Response, error)
}

func (l *ledger) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.handle(r)
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

func (l *ledger) handle(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		l.mu.Lock()
		l.stores++
		n := l.stores
		l.mu.Unlock()
		return l.store(n, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.names = append(l.names, strings.TrimSpace(form.Get("name")))
		})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, err := strconv.Atoi(path.Base(r.URL.Path)); err == nil {
		if l.shows++; id > len(l.names) {
			return answerWith(404, `{"message":"Not found."}`)(r)
		}
		return answer200(fmt.Sprintf(`{"data":{"id":%d,"name":%q%s}}`, id, l.names[id-1], l.more))(r)
	}
	l.looks = append(l.looks, time.Now())
	l.queries = append(l.queries, r.URL.Query())
	if l.list != nil {
		if resp, err := l.list(len(l.looks)); resp != nil || err != nil {
			return resp, err
		}
	}
	return answer200(l.page(r.URL.Query()))(r)
}

func (l *ledger) page(query url.Values) string {
	type record struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	found := []record{}
	for i, name := range l.names {
		if strings.Contains(strings.ToLower(name), strings.ToLower(query.Get("search"))) {
			found = append(found, record{i + 1, name})
		}
	}
	page, last := 1, 1
	if l.perPage > 0 {
		_, _ = fmt.Sscan(query.Get("page"), &page)
		last = max((len(found)+l.perPage-1)/l.perPage, 1)
		found = found[min((page-1)*l.perPage, len(found)):min(page*l.perPage, len(found))]
	}
	text, _ := json.Marshal(map[string]any{"data": found, "meta": map[string]int{"current_page": page, "last_page": last}})
	return string(text)
}

func (l *ledger) client(t *testing.T, opts ...Option) *Client {
	t.Helper()
	c, err := NewClient("https://content.example.com/tenant", "test-key", append([]Option{WithHTTPClient(&http.Client{Transport: l})}, opts...)...)
	require.NoError(t, err)
	return c
}

func stored(name string) func(*http.Request) (*http.Response, error) {
	return answerWith(201, fmt.Sprintf(`{"data":{"id":1,"name":%q}}`, name))
}

func job(name string) ImageStoreParams {
	return ImageStoreParams{Name: name, Description: "d", Resolution: Resolution256x256}
}

func TestOnceStoresWhatIsNotThere(t *testing.T) {
	l := &ledger{names: []string{"job-47110", "JOB-4711", "a job-4711"}, store: func(_ int, add func()) (*http.Response, error) {
		add()
		return stored("job-4711")(nil)
	}}
	image, err := l.client(t).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.NoError(t, err)
	assert.Equal(t, "job-4711", image.Name)
	assert.Equal(t, 1, l.stores, "names that only look alike are other records")
	require.Len(t, l.queries, 1)
	assert.Equal(t, url.Values{"search": {"job-4711"}, "search_by": {"name"}, "per_page": {"100"}}, l.queries[0])
}

func TestOnceReturnsWhatIsThere(t *testing.T) {
	for name, l := range map[string]*ledger{
		"on the first page":  {names: []string{"other", "job-4711"}},
		"on the third page":  {names: []string{"job-4711 a", "job-4711 b", "job-4711 c", "job-4711 d", "job-4711"}, perPage: 2},
		"trimmed by service": {names: []string{"job-4711"}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := "job-4711"
			if name == "trimmed by service" {
				wanted = " job-4711\t"
			}
			image, err := l.client(t).Images.Store(t.Context(), job(wanted), WithOnce())
			require.NoError(t, err)
			assert.Equal(t, "job-4711", image.Name)
			assert.Equal(t, ID(fmt.Sprint(len(l.names))), image.ID)
			assert.Zero(t, l.stores)
		})
	}
}

// The answer is lost and the record comes two minutes later: it must be found, and not be made again.
func TestOnceWaitsForALateRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{store: func(_ int, add func()) (*http.Response, error) {
			time.AfterFunc(2*time.Minute, add)
			return answerWith(504, `<title>Gateway Time-out</title>`)(nil)
		}}
		start := time.Now()
		image, err := l.client(t).Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Equal(t, ID("1"), image.ID)
		assert.Equal(t, 1, l.stores)
		assert.InDelta(t, (2 * time.Minute).Seconds(), time.Since(start).Seconds(), lastPause.Seconds())
		require.Greater(t, len(l.looks), 4)
		assert.Equal(t, time.Second, l.looks[2].Sub(l.looks[1]))
		assert.Equal(t, 2*time.Second, l.looks[3].Sub(l.looks[2]), "the pauses grow")
	})
}

func TestOnceSendsAgainWhenNothingHasSettled(t *testing.T) {
	for name, fail := range map[string]func(*http.Request) (*http.Response, error){
		"502": answerWith(502, ``), "524": answerWith(524, ``), "lost": lose, "page": answer200(`<html>`), "429": answerWith(429, ``),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{store: func(n int, add func()) (*http.Response, error) {
					if n == 1 {
						return fail(nil)
					}
					add()
					return stored("job-4711")(nil)
				}}
				start := time.Now()
				_, err := l.client(t).Images.Store(t.Context(), job("job-4711"), WithOnce())
				took := time.Since(start)
				require.NoError(t, err)
				assert.Equal(t, 2, l.stores)
				if name == "429" {
					assert.Less(t, took, time.Second, "a service that did not act need not settle")
				} else {
					assert.GreaterOrEqual(t, took, 5*time.Minute)
				}
			})
		})
	}
}

// What was answered with 2xx is made, so it is looked for and never sent again.
func TestOnceNeverRepeatsADoneStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{store: func(_ int, add func()) (*http.Response, error) {
			time.AfterFunc(time.Minute, add)
			return answer200(``)(nil)
		}}
		image, err := l.client(t).Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Equal(t, "job-4711", image.Name)
		assert.Equal(t, 1, l.stores)

		l = &ledger{store: func(int, func()) (*http.Response, error) { return answer200(``)(nil) }}
		_, err = l.client(t).Images.Store(t.Context(), job("job-4711"), WithOnce())
		var decode *DecodeError
		require.ErrorAs(t, err, &decode)
		assert.Equal(t, OutcomeDone, OutcomeOf(err))
		assert.Equal(t, 1, l.stores)
	})
}

func TestOnceSettleTime(t *testing.T) {
	for settle, looks := range map[time.Duration]int{-1: 1, 3 * time.Second: 3, 10 * time.Second: 5} {
		t.Run(settle.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{store: func(int, func()) (*http.Response, error) { return lose(nil) }}
				_, err := l.client(t, WithRetryPolicy(RetryPolicy{MaxAttempts: 1, SettleTime: settle})).Images.Store(t.Context(), job("job-4711"), WithOnce())
				require.Error(t, err)
				assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
				assert.Len(t, l.looks, 1+looks, "one before the send, the rest after it")
				assert.Equal(t, max(settle, 0), l.looks[len(l.looks)-1].Sub(l.looks[1]), "the last look is at the very end")
			})
		})
	}
}

func TestOnceTwoRecordsWithTheName(t *testing.T) {
	l := &ledger{names: []string{"job-4711", "job-4711 b", "job-4711"}}
	_, err := l.client(t).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.ErrorIs(t, err, ErrConflict)
	assert.Equal(t, `images.store: WithOnce: the name "job-4711" is taken (id 1, 3): more than one record has the name`, err.Error())
	assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
	assert.Zero(t, l.stores)

	synctest.Test(t, func(t *testing.T) {
		l := &ledger{store: func(_ int, add func()) (*http.Response, error) {
			add()
			add()
			return lose(nil)
		}}
		_, err := l.client(t).Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.ErrorIs(t, err, ErrConflict)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	})
}

// Without a look there is no store: what cannot be proven new is not sent.
func TestOnceDoesNotStoreBlindly(t *testing.T) {
	full := `[` + strings.Repeat(`{"id":"x","name":"y"},`, 99) + `{"id":"x","name":"y"}]`
	for name, row := range map[string]struct {
		list  func(int) (*http.Response, error)
		match error
	}{
		"search refused":   {func(int) (*http.Response, error) { return answerWith(403, ``)(nil) }, ErrForbidden},
		"pages not told":   {func(int) (*http.Response, error) { return answer200(full)(nil) }, ErrPagination},
		"search is broken": {func(int) (*http.Response, error) { return lose(nil) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{list: row.list}
			_, err := l.client(t, WithRetryPolicy(quick)).Images.Store(t.Context(), job("job-4711"), WithOnce())
			require.Error(t, err)
			if row.match != nil {
				require.ErrorIs(t, err, row.match)
			}
			assert.Equal(t, OutcomeNotSent, OutcomeOf(err), "nothing of the store was sent: %v", err)
			assert.Zero(t, l.stores)
			assert.Contains(t, err.Error(), "images.store: WithOnce: looking for the name: ")
		})
	}
}

// A look that fails after the store was lost must not make it look as if nothing had been sent.
func TestOnceLookThatFailsAfterALostStore(t *testing.T) {
	l := &ledger{
		store: func(int, func()) (*http.Response, error) { return lose(nil) },
		list: func(n int) (*http.Response, error) {
			if n == 1 {
				return nil, nil
			}
			return answerWith(403, ``)(nil)
		},
	}
	_, err := l.client(t, WithRetryPolicy(quick)).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.ErrorIs(t, err, ErrForbidden)
	var transport *TransportError
	require.ErrorAs(t, err, &transport)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	assert.Equal(t, 1, l.stores)
}

func TestOnceLooksWithTheCallsOwnOptions(t *testing.T) {
	l := &ledger{store: func(_ int, add func()) (*http.Response, error) { add(); return stored("n")(nil) }}
	var resp *Response
	_, err := l.client(t).Images.Store(t.Context(), job(`C:\temp\render 100%`), WithOnce(),
		WithQuery("tenant", "5"), WithQuery("search", "mine"), WithFormField("quality", "high"), WithResponse(&resp))
	require.NoError(t, err)
	assert.Equal(t, "5", l.queries[0].Get("tenant"))
	assert.Equal(t, "render 100%", l.queries[0].Get("search"), "a backslash is an escape in many a database's search")
	assert.Equal(t, 201, resp.StatusCode, "the response is the store's, not the search's")
}

func TestOnceOnTranscriptionsAndOtherOperations(t *testing.T) {
	l := &ledger{names: []string{"job-4711"}}
	c := l.client(t)
	audio := FileFromBytes("a.wav", []byte("RIFF\x00\x00\x00\x00WAVEfmt "))
	transcription, err := c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "job-4711", File: audio}, WithOnce())
	require.NoError(t, err)
	assert.Equal(t, ID("1"), transcription.ID)
	looks := len(l.looks)
	_, err = c.Transcriptions.List(t.Context(), TranscriptionListParams{})
	require.NoError(t, err)
	assert.Len(t, l.looks, looks+1, "a list needs no look")
}

func TestOnceEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{store: func(int, func()) (*http.Response, error) { return lose(nil) }}
		ctx, cancel := contextAfter(t, 10*time.Second)
		defer cancel()
		start := time.Now()
		_, err := l.client(t).Images.Store(ctx, job("job-4711"), WithOnce())
		require.Error(t, err)
		assert.True(t, errors.Is(err, errUserLeft))
		assert.Equal(t, 10*time.Second, time.Since(start))
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	})
}
