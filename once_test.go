package aicontent

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

func stored(name string) func(*http.Request) (*http.Response, error) {
	return fakes.Respond(201, fmt.Sprintf(`{"data":{"id":1,"name":%q}}`, name))
}

func job(name string) ImageStoreParams {
	return ImageStoreParams{Name: name, Description: "d", Resolution: Resolution256x256}
}

func TestOnceStoresWhatIsNotThere(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Names: []string{"job-47110", "JOB-4711", "a job-4711"}, Store: func(_ int, add func()) (*http.Response, error) {
		add()
		return stored("job-4711")(nil)
	}}
	image, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.NoError(t, err)
	assert.Equal(t, "job-4711", image.Name)
	assert.Equal(t, 1, l.Stores, "names that only look alike are other records")
	require.Len(t, l.Queries, 1)
	assert.Equal(t, url.Values{"search": {"job-4711"}, "search_by": {"name"}, "per_page": {"100"}}, l.Queries[0])
}

func TestOnceReturnsWhatIsThere(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*fakes.Ledger{
		"on the first page":  {Names: []string{"other", "job-4711"}},
		"on the third page":  {Names: []string{"job-4711 a", "job-4711 b", "job-4711 c", "job-4711 d", "job-4711"}, PerPage: 2},
		"trimmed by service": {Names: []string{"job-4711"}},
		"other line breaks":  {Names: []string{"job\n4711 of today"}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := "job-4711"
			switch name {
			case "trimmed by service":
				wanted = " job-4711\t"
			case "other line breaks":
				wanted = "job\r\n4711 of today"
			}
			image, err := over(t, l).Images.Store(t.Context(), job(wanted), WithOnce())
			require.NoError(t, err)
			assert.Equal(t, l.Names[len(l.Names)-1], image.Name)
			assert.Equal(t, ID(fmt.Sprint(len(l.Names))), image.ID)
			assert.Zero(t, l.Stores)
		})
	}
}

// The response is lost and the record appears two minutes later: it must be found, and not created again.
func TestOnceWaitsForALateRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
			time.AfterFunc(2*time.Minute, add)
			return fakes.Respond(504, `<title>Gateway Time-out</title>`)(nil)
		}}
		start := time.Now()
		image, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Equal(t, ID("1"), image.ID)
		assert.Equal(t, 1, l.Stores)
		assert.InDelta(t, (2 * time.Minute).Seconds(), time.Since(start).Seconds(), lastPause.Seconds())
		require.Greater(t, len(l.Searches), 4)
		assert.Equal(t, time.Second, l.Searches[2].Sub(l.Searches[1]))
		assert.Equal(t, 2*time.Second, l.Searches[3].Sub(l.Searches[2]), "the pauses grow")
	})
}

func TestOnceSendsAgainWhenNothingIsFound(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*http.Request) (*http.Response, error){
		"502": fakes.Respond(502, ``), "200": fakes.OK(``), "524": fakes.Respond(524, ``), "lost": fakes.Lose, "page": fakes.OK(`<html>`), "429": fakes.Respond(429, ``),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &fakes.Ledger{Store: func(n int, add func()) (*http.Response, error) {
					if n == 1 {
						return fail(nil)
					}
					add()
					return stored("job-4711")(nil)
				}}
				start := time.Now()
				_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
				took := time.Since(start)
				require.NoError(t, err)
				assert.Equal(t, 2, l.Stores)
				if name == "429" {
					assert.Less(t, took, time.Second, "nothing to search for where the service did not act")
				} else {
					assert.Equal(t, 5*time.Minute, took, "no other pause comes on top")
				}
			})
		})
	}
}

// After a 201 there is a record, so it is searched for and the create request is never sent again.
func TestOnceNeverRepeatsADoneStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
			time.AfterFunc(time.Minute, add)
			return fakes.Respond(201, ``)(nil)
		}}
		image, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Equal(t, "job-4711", image.Name)
		assert.Equal(t, 1, l.Stores)

		l = &fakes.Ledger{Store: func(int, func()) (*http.Response, error) { return fakes.Respond(201, ``)(nil) }}
		_, err = over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		var decode *DecodeError
		require.ErrorAs(t, err, &decode)
		assert.Equal(t, OutcomeDone, OutcomeOf(err))
		assert.Equal(t, 1, l.Stores)
	})
}

func TestOnceSettleTime(t *testing.T) {
	t.Parallel()
	for settle, searches := range map[time.Duration]int{0: 1, 3 * time.Second: 3, 10 * time.Second: 5} {
		t.Run(settle.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &fakes.Ledger{Store: func(int, func()) (*http.Response, error) { return fakes.Lose(nil) }}
				_, err := over(t, l, WithRetryPolicy(RetryPolicy{MaxAttempts: 1}), WithSettleTime(settle)).Images.Store(t.Context(), job("job-4711"), WithOnce())
				require.Error(t, err)
				assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
				assert.Len(t, l.Searches, 1+searches, "one before the send, the rest after it")
				assert.Equal(t, settle, l.Searches[len(l.Searches)-1].Sub(l.Searches[1]), "the last search is at the very end")
			})
		})
	}
}

func TestOnceTwoRecordsWithTheName(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Names: []string{"job-4711", "job-4711 b", "job-4711"}}
	_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.ErrorIs(t, err, ErrConflict)
	assert.Equal(t, `images.store: name "job-4711": more than one record has the name (id 1, 3)`, err.Error())
	assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
	assert.Zero(t, l.Stores)

	l = &fakes.Ledger{Names: []string{"job-4711", "job-4711", "job-4711"}}
	_, err = over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, []ID{"1", "2"}, conflict.IDs, "two are enough")

	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
			add()
			add()
			return fakes.Lose(nil)
		}}
		_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.ErrorIs(t, err, ErrConflict)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	})
}

// Without a search there is no create request: what cannot be proven new is not sent.
func TestOnceDoesNotStoreBlindly(t *testing.T) {
	t.Parallel()
	full := `[` + strings.Repeat(`{"id":"x","name":"y"},`, 99) + `{"id":"x","name":"y"}]`
	for name, row := range map[string]struct {
		list  func(int) (*http.Response, error)
		match error
	}{
		"search refused":   {func(int) (*http.Response, error) { return fakes.Respond(403, `{"message":"Forbidden"}`)(nil) }, ErrForbidden},
		"pages not told":   {func(int) (*http.Response, error) { return fakes.OK(full)(nil) }, ErrPagination},
		"search is broken": {func(int) (*http.Response, error) { return fakes.Lose(nil) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := &fakes.Ledger{List: row.list}
			_, err := over(t, l, WithRetryPolicy(quick)).Images.Store(t.Context(), job("job-4711"), WithOnce())
			require.Error(t, err)
			if row.match != nil {
				require.ErrorIs(t, err, row.match)
			}
			assert.Equal(t, OutcomeNotSent, OutcomeOf(err), "nothing of the store was sent: %v", err)
			assert.Zero(t, l.Stores)
			assert.Contains(t, err.Error(), "WithOnce: the search for the name failed")
		})
	}
}

// A search that fails after a lost create request must not hide that one was sent.
func TestOnceSearchThatFailsAfterALostStore(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{
		Store: func(int, func()) (*http.Response, error) { return fakes.Lose(nil) },
		List: func(n int) (*http.Response, error) {
			if n == 1 {
				return nil, nil
			}
			return fakes.Respond(403, `{"message":"Forbidden"}`)(nil)
		},
	}
	_, err := over(t, l, WithRetryPolicy(quick)).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.ErrorIs(t, err, ErrForbidden)
	var transport *TransportError
	require.ErrorAs(t, err, &transport)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	assert.Equal(t, 1, l.Stores)
}

// Three different pictures called "cover" must not all come back as the first.
func TestOnceRefusesAnotherRecord(t *testing.T) {
	t.Parallel()
	params := ImageStoreParams{Name: "job-4711", Description: "a lighthouse\r\nin a storm", Resolution: Resolution512x512, Style: StyleRetro}
	for name, row := range map[string]struct {
		more     string // of the record that is there
		opts     []CallOption
		conflict string // empty for none
	}{
		"nothing is known":       {},
		"all is the same":        {more: `,"description":"a lighthouse\nin a storm","resolution":"512x512","style":"retro","medium":"ink"`},
		"another description":    {more: `,"description":"a cat"`, conflict: `a different description: "a cat", not "a lighthouse\nin a storm"`},
		"another resolution":     {more: `,"resolution":"256x256"`, conflict: `a different resolution: "256x256", not "512x512"`},
		"another style":          {more: `,"style":"anime"`, conflict: `a different style: "anime", not "retro"`},
		"trimmed":                {more: `,"description":" a lighthouse\r\nin a storm "`},
		"old line breaks":        {more: `,"description":"a lighthouse\rin a storm"`},
		"null and empty":         {more: `,"description":null,"resolution":"","style":{}`},
		"a field of the caller":  {more: `,"quality":"low"`, opts: []CallOption{WithFormField("quality", "high")}, conflict: `a different quality: "low", not "high"`},
		"the same, as a number":  {more: `,"seed":2`, opts: []CallOption{WithFormField("seed", "2")}},
		"another number":         {more: `,"seed":3`, opts: []CallOption{WithFormField("seed", "2")}, conflict: `a different seed: "3", not "2"`},
		"the same, as a boolean": {more: `,"hd":true,"draft":false,"raw":true`, opts: []CallOption{WithFormField("hd", "1"), WithFormField("draft", "0"), WithFormField("raw", "true")}},
		"another boolean":        {more: `,"hd":false`, opts: []CallOption{WithFormField("hd", "true")}, conflict: `a different hd: "false", not "true"`},
		"not sent":               {more: `,"filter":"sepia","favorite":true,"words":7`},
	} {
		t.Run(name, func(t *testing.T) {
			l := &fakes.Ledger{Names: []string{"job-4711"}, More: row.more}
			image, err := over(t, l).Images.Store(t.Context(), params, append(row.opts, WithOnce())...)
			assert.Zero(t, l.Stores)
			if row.conflict == "" {
				require.NoError(t, err)
				assert.Equal(t, ID("1"), image.ID)
				return
			}
			var conflict *ConflictError
			require.ErrorAs(t, err, &conflict)
			assert.Equal(t, "the record with the name has "+row.conflict, conflict.Reason)
			assert.Equal(t, `images.store: name "job-4711": `+conflict.Reason+" (id 1)", err.Error())
			assert.Equal(t, []ID{"1"}, conflict.IDs)
			assert.Equal(t, "job-4711", conflict.Name)
			assert.ErrorIs(t, err, ErrConflict)
			assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
		})
	}
	l := &fakes.Ledger{Names: []string{"job-4711"}, More: `,"language":"US","file":"other.wav"`}
	store := TranscriptionStoreParams{Name: "job-4711", File: FileFromBytes("a.wav", []byte(wavHead)), Language: "GB"}
	_, err := over(t, l).Transcriptions.Store(t.Context(), store, WithOnce())
	assert.ErrorIs(t, err, ErrConflict)
	store.Language = "US"
	_, err = over(t, l).Transcriptions.Store(t.Context(), store, WithOnce())
	assert.NoError(t, err, "a file cannot be compared")
}

// Another record with the name does not show what a lost create request came to.
func TestOnceConflictAfterALostStore(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{More: `,"description":"a cat"`, Store: func(_ int, add func()) (*http.Response, error) { add(); return fakes.Lose(nil) }}
	_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.ErrorIs(t, err, ErrConflict)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	assert.Equal(t, 1, l.Stores)
}

// Between attempts that are proven not to have created anything there is nothing to look for.
func TestOnceDoesNotSearchBetweenRejectedAttempts(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Store: func(int, func()) (*http.Response, error) { return fakes.Respond(429, "")(nil) }}
	_, err := over(t, l, WithRetryPolicy(quick)).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.ErrorIs(t, err, ErrRateLimited)
	assert.Equal(t, OutcomeRejected, OutcomeOf(err))
	assert.Equal(t, 3, l.Stores)
	assert.Len(t, l.Searches, 1)
}

// A list may leave members out, and a caller who asks for the response must get one.
func TestOnceShowsWhatItFinds(t *testing.T) {
	t.Parallel()
	const more = `,"result":"a.png","url":"https://pictures.example.com/a.png"`
	for name, l := range map[string]*fakes.Ledger{
		"before": {Names: []string{"job-4711"}, More: more},
		"after":  {More: more, Store: func(_ int, add func()) (*http.Response, error) { add(); return fakes.Lose(nil) }},
	} {
		resp := &Response{}
		image, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce(), WithResponse(&resp))
		require.NoError(t, err, name)
		assert.Equal(t, "a.png", image.Result)
		assert.Equal(t, "https://pictures.example.com/a.png", image.URL)
		assert.Equal(t, 1, l.Shows)
		require.NotNil(t, resp)
		assert.True(t, resp.Found)
		assert.Equal(t, l.Stores, resp.Attempts, name)
		assert.Equal(t, 200, resp.StatusCode)
		assert.JSONEq(t, `{"data":{"id":1,"name":"job-4711"`+more+`}}`, string(resp.Body))
	}
	l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return stored("job-4711")(nil) }}
	var resp *Response
	_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce(), WithResponse(&resp))
	require.NoError(t, err)
	assert.False(t, resp.Found)
	assert.Equal(t, 1, resp.Attempts)
}

// A record that is found and cannot be read is no success, and no reason to create another.
func TestOnceRecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, response := range map[string]func(*http.Request) (*http.Response, error){
		"403: Forbidden":               fakes.Respond(403, `{"message":"Forbidden"}`),
		"the response holds no record": fakes.OK(`{"status":"ok"}`),
		"the response is not JSON":     fakes.OK(`nonsense`),
	} {
		l := &fakes.Ledger{Names: []string{"job-4711"}, Show: func(int) (*http.Response, error) { return response(nil) }}
		_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		assert.ErrorContains(t, err, "WithOnce: the list has a record with the name, but Show failed")
		assert.ErrorContains(t, err, text)
		assert.Zero(t, l.Stores)
	}
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return fakes.Lose(nil) }}
		l.Show = func(n int) (*http.Response, error) {
			if n < 3 {
				return fakes.Respond(503, ``)(nil)
			}
			return nil, nil
		}
		_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Equal(t, []int{1, 3}, []int{l.Stores, l.Shows})
	})
}

// A record that moves onto the next page during the search is one record.
func TestOnceRecordMovedMeanwhile(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Names: []string{"job-4711"}}
	l.List = func(n int) (*http.Response, error) {
		return fakes.OK(fmt.Sprintf(`{"data":[{"id":%d,"name":"job-4711 b"},{"id":1,"name":"job-4711"}],"meta":{"current_page":%d,"last_page":2}}`, 10-n, n))(nil)
	}
	image, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.NoError(t, err)
	assert.Equal(t, ID("1"), image.ID)
}

// A record that is deleted between the search and the reading is not there.
func TestOnceRecordThatIsListedButNotShown(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		shown, gone time.Duration // when Show finds it, and when the list leaves it out; 0 is never
		html        bool          // the 404 is a proxy's page
		stores      int
	}{
		"a replica that lags":      {shown: time.Minute},
		"a page during a deploy":   {shown: time.Minute, html: true},
		"deleted":                  {gone: time.Minute, stores: 1},
		"a replica that never was": {},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			l := &fakes.Ledger{
				List: func(int) (*http.Response, error) {
					if row.gone > 0 && time.Since(start) >= row.gone {
						return nil, nil
					}
					return fakes.OK(`{"data":[{"id":99,"name":"job-4711"}],"links":{"next":null}}`)(nil)
				},
				Show: func(int) (*http.Response, error) {
					if row.shown > 0 && time.Since(start) >= row.shown {
						return stored("job-4711")(nil)
					}
					body := `{"message":"Resource not found."}`
					if row.html {
						body = `<html>deploying</html>`
					}
					return fakes.Respond(404, body)(nil)
				},
				Store: func(int, func()) (*http.Response, error) { return stored("job-4711")(nil) },
			}
			_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
			assert.Equal(t, row.stores, l.Stores, name)
			if row.shown > 0 || row.gone > 0 {
				require.NoError(t, err, name)
				return
			}
			require.ErrorIs(t, err, ErrNotFound, name)
			assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
			assert.True(t, Temporary(err))
			assert.ErrorContains(t, err, "the list has a record with the name, but Show failed")
			assert.Equal(t, 5*time.Minute, time.Since(start), "the settle time")
		})
	}
}

// Calls for one name at once create one record. Those for other names or collections, or without WithOnce, do not wait.
func TestOnceOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(n int, add func()) (*http.Response, error) {
			time.Sleep(time.Minute)
			if n == 1 {
				add()
			}
			return stored("job-4711")(nil)
		}}
		c := over(t, l)
		start := time.Now()
		var group sync.WaitGroup
		image := func(name string, took time.Duration, opts ...CallOption) {
			group.Go(func() {
				_, err := c.Images.Store(t.Context(), job(name), opts...)
				assert.NoError(t, err)
				assert.Equal(t, took, time.Since(start), name)
			})
		}
		for range 8 {
			image("job-4711", time.Minute, WithOnce())
		}
		synctest.Wait()
		assert.Equal(t, 1, l.Stores)
		image("job-4712", time.Minute, WithOnce())
		image("job-4711", time.Minute)
		group.Go(func() {
			_, err := c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "job-4711", File: FileFromBytes("a.wav", []byte(wavHead))})
			assert.NoError(t, err)
			assert.Equal(t, time.Minute, time.Since(start))
		})
		group.Wait()
		assert.Equal(t, 4, l.Stores)
	})
}

func TestOnceWaitsForTheOtherCallNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
			time.Sleep(time.Hour)
			add()
			return stored("job-4711")(nil)
		}}
		c := over(t, l)
		first := make(chan error)
		go func() {
			_, err := c.Images.Store(t.Context(), job("job-4711"), WithOnce(), WithResponseTimeout(0))
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := contextAfter(t, time.Minute)
		defer cancel()
		start := time.Now()
		_, err := c.Images.Store(ctx, job("job-4711"), WithOnce())
		require.ErrorIs(t, err, errUserLeft)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "the other call may create the record")
		assert.Equal(t, time.Minute, time.Since(start))
		assert.Len(t, l.Searches, 1, "it did not search either")
		require.NoError(t, <-first)
		_, err = c.Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err, "the name is free again")
		assert.Equal(t, 1, l.Stores)
	})
}

// A job is started again while the service still executes the create request of the run that was killed.
func TestOnceSince(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for name, row := range map[string]struct {
		since, appears time.Duration // after now; appears 0 is never
		settle         time.Duration
		took, at       time.Duration // when the call returned, if the record was found at all
		stores         int
	}{
		"found late":               {-minute, 3 * minute, 5 * minute, 3*minute + 30*time.Second, 3 * minute, 0},
		"never made":               {-minute, 0, 5 * minute, 4 * minute, 4 * minute, 1},
		"long ago":                 {-time.Hour, 0, 5 * minute, 0, 0, 1},
		"just too long ago":        {-5 * minute, 0, 5 * minute, 0, 0, 1},
		"another time to settle":   {-minute, 0, 10 * minute, 9 * minute, 9 * minute, 1},
		"no time to settle at all": {-1, 0, 0, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return stored("job-4711")(nil) }}
				if row.appears > 0 {
					time.AfterFunc(row.appears, func() {
						l.Add("job-4711")
					})
				}
				start := time.Now()
				_, err := over(t, l, WithSettleTime(row.settle)).Images.Store(t.Context(), job("job-4711"), WithOnceSince(start.Add(row.since)))
				require.NoError(t, err)
				assert.Equal(t, row.stores, l.Stores)
				assert.LessOrEqual(t, time.Since(start), row.took)
				assert.GreaterOrEqual(t, time.Since(start), row.at)
				assert.Equal(t, time.Since(start), l.Searches[len(l.Searches)-1].Sub(start), "the last search is right before the create request")
				if row.took == 0 {
					assert.Len(t, l.Searches, 1)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return stored("job-4711")(nil) }}
		start := time.Now()
		_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnceSince(time.Time{}))
		require.NoError(t, err)
		assert.Zero(t, time.Since(start), "no time is one search")
		assert.Len(t, l.Searches, 1)
	})
}

// After a 429 the wait for an earlier run is not repeated.
func TestOnceSinceWaitsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(n int, add func()) (*http.Response, error) {
			if n == 1 {
				return fakes.Respond(429, ``, "Retry-After", "1")(nil)
			}
			add()
			return stored("job-4711")(nil)
		}}
		start := time.Now()
		_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnceSince(start))
		require.NoError(t, err)
		assert.Equal(t, 5*time.Minute+time.Second, time.Since(start))
	})
}

// A record that appears shortly before the deadline must be found.
func TestOnceSearchesUntilTheDeadline(t *testing.T) {
	t.Parallel()
	for _, appears := range []time.Duration{40 * time.Second, 59 * time.Second, 59*time.Second + 800*time.Millisecond} {
		t.Run(appears.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
					time.AfterFunc(appears, add)
					return fakes.Respond(504, ``)(nil)
				}}
				_, err := over(t, l).Images.Store(ctx, job("job-4711"), WithOnce())
				require.NoError(t, err)
				assert.NoError(t, ctx.Err())
				assert.Equal(t, 1, l.Stores)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l := &fakes.Ledger{Store: func(int, func()) (*http.Response, error) { return fakes.Respond(504, ``)(nil) }}
		start := time.Now()
		_, err := over(t, l).Images.Store(ctx, job("job-4711"), WithOnce())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrServer, "what became of the store is told too")
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
		assert.InDelta(t, 60, time.Since(start).Seconds(), 0.2, "it searches until the end")
		assert.Equal(t, 1, l.Stores)
	})
}

// A search that hangs takes no time from the searches after it.
func TestOnceSearchesOnAfterASearchThatHung(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
			time.AfterFunc(40*time.Second, add)
			return fakes.Respond(504, ``)(nil)
		}}
		l.List = func(n int) (*http.Response, error) {
			if n == 2 {
				time.Sleep(25 * time.Second)
				return fakes.Lose(nil)
			}
			return nil, nil
		}
		_, err := over(t, l).Images.Store(ctx, job("job-4711"), WithOnce())
		require.NoError(t, err)
	})
}

// The last search begins early enough to end before the deadline.
func TestOnceSlowSearchesBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
			time.AfterFunc(55*time.Second, add)
			return fakes.Respond(504, ``)(nil)
		}}
		l.List = func(int) (*http.Response, error) {
			page := l.Page(url.Values{"search": {"job"}})
			time.Sleep(time.Second)
			return fakes.OK(page)(nil)
		}
		_, err := over(t, l).Images.Store(ctx, job("job-4711"), WithOnce())
		require.NoError(t, err)
	})
}

// One field of a policy must not turn off what keeps a record from being created twice.
func TestOnceSearchesWithAnyNumberOfAttempts(t *testing.T) {
	t.Parallel()
	for _, policy := range []RetryPolicy{{MaxAttempts: 5}, {MaxAttempts: 1}, {MaxBackoff: time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
				time.AfterFunc(4*time.Minute, add)
				return fakes.Lose(nil)
			}}
			_, err := over(t, l, WithRetryPolicy(policy)).Images.Store(t.Context(), job("job-4711"), WithOnce())
			require.NoError(t, err)
			assert.Equal(t, 1, l.Stores, "%+v", policy)
		})
	}
}

// Five minutes without a log line look like a program that hangs.
func TestOnceSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "took" {
				return slog.Attr{}
			}
			return a
		}}))
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
			time.AfterFunc(2*time.Second, add)
			return fakes.Respond(504, ``)(nil)
		}}
		start := time.Now()
		_, err := over(t, l, WithLogger(logger)).Images.Store(t.Context(), job("job-4711"), WithOnceSince(start.Add(-299*time.Second)))
		require.NoError(t, err)
		var said []string
		for line := range strings.Lines(out.String()) {
			if !strings.Contains(line, "op=images.list") && !strings.Contains(line, "op=images.show") {
				said = append(said, line)
			}
		}
		searching := func(until time.Duration, earlier bool) string {
			return fmt.Sprintf("level=INFO msg=\"aicontent looks for the record of a create request that may still be executed\" op=images.store until=%s earlier_call=%v\n",
				start.Add(until).Format("2006-01-02T15:04:05.000Z07:00"), earlier)
		}
		assert.Equal(t, []string{
			searching(time.Second, true),
			"level=DEBUG msg=\"aicontent attempt\" op=images.store method=POST path=/tenant/api/v1/images attempt=1 status=504 request_id=\"\" result=504 outcome=unknown sent=0 budget=100\n",
			searching(time.Second+5*time.Minute, false),
		}, said, "and no pause that is not made")
		assert.NotContains(t, out.String(), "job-4711", "a name may be personal")
	})
}

// A name that a search cannot tell from all others must not make it read a collection of millions.
func TestOnceBoundsTheSearch(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{PerPage: 1}
	for n := range 20 {
		l.Names = append(l.Names, fmt.Sprint("record ", n))
	}
	_, err := over(t, l).Images.Store(t.Context(), job(`\\\`), WithOnce())
	require.Error(t, err)
	assert.Equal(t, "images.store: 200: the search found more than 10 pages of records; use a name that few others contain (WithOnce: the search for the name failed; no create request was sent)", err.Error())
	assert.IsType(t, &DecodeError{}, err)
	assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
	assert.Len(t, l.Searches, 10)
	assert.Zero(t, l.Stores)

	l = &fakes.Ledger{PerPage: 1, Names: l.Names[:10], Store: func(int, func()) (*http.Response, error) { return stored("n")(nil) }}
	_, err = over(t, l).Images.Store(t.Context(), job(`\\\`), WithOnce())
	require.NoError(t, err, "ten pages are searched")
}

// A search that failed is made again unless that is in vain: the record may be there, and billed.
func TestOnceSearchesThatFailAfterALostStore(t *testing.T) {
	t.Parallel()
	untrusted := func() (*http.Response, error) { return nil, x509.UnknownAuthorityError{} }
	for name, row := range map[string]struct {
		search func() (*http.Response, error)
		found  bool
		match  error
	}{
		"401":                   {func() (*http.Response, error) { return fakes.Respond(401, ``)(nil) }, false, ErrUnauthorized},
		"403":                   {func() (*http.Response, error) { return fakes.Respond(403, `{"message":"Forbidden"}`)(nil) }, false, ErrForbidden},
		"a refused certificate": {untrusted, false, x509.UnknownAuthorityError{}},
		"503":                   {func() (*http.Response, error) { return fakes.Respond(503, ``)(nil) }, true, nil},
		"503 with Retry-After":  {func() (*http.Response, error) { return fakes.Respond(503, ``, "Retry-After", "20")(nil) }, true, nil},
		"429":                   {func() (*http.Response, error) { return fakes.Respond(429, ``)(nil) }, true, nil},
		"lost":                  {func() (*http.Response, error) { return fakes.Lose(nil) }, true, nil},
		"cut off":               {func() (*http.Response, error) { return fakes.OK(`{"data":[{"id":1,"na`)(nil) }, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return fakes.Lose(nil) }}
				l.List = func(n int) (*http.Response, error) {
					if n == 1 || n > 5 {
						return nil, nil
					}
					return row.search()
				}
				start := time.Now()
				_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
				assert.Equal(t, 1, l.Stores)
				if row.found {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, row.match)
				assert.ErrorContains(t, err, "the search for the name failed")
				assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "the store may have been executed")
				assert.Zero(t, time.Since(start), "what does not pass is not waited for")
				assert.Len(t, l.Searches, 2)
			})
		})
	}
}

// At the end of the settle time only a search that succeeded allows a second create request.
func TestOnceDoesNotSendAgainUnseen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(int, func()) (*http.Response, error) { return fakes.Lose(nil) }}
		l.List = func(n int) (*http.Response, error) {
			if n == 1 {
				return nil, nil
			}
			return fakes.Respond(503, ``)(nil)
		}
		_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.ErrorIs(t, err, ErrServer)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
		assert.Equal(t, 1, l.Stores)
	})
}

// A key that was replaced must not end the search.
func TestOnceSearchesWithARotatedKey(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Names: []string{"job-4711"}}
	asked := 0
	source := WithAPIKeySource(func(context.Context) (string, error) { asked++; return fmt.Sprint("api-key-", min(asked, 2)), nil })
	l.List = func(n int) (*http.Response, error) {
		if n == 1 {
			return fakes.Respond(401, ``)(nil)
		}
		return nil, nil
	}
	image, err := over(t, l, source).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.NoError(t, err)
	assert.Equal(t, ID("1"), image.ID)
	assert.Len(t, l.Searches, 2)
}

// A search has the time limit of a list, and not that of a create request.
func TestOnceSearchesAreNotSlow(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		opts []Option
		took time.Duration
	}{
		"default":    {nil, 30 * time.Second},
		"the client": {[]Option{WithResponseTimeout(7 * time.Second)}, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := NewClient("https://content.example.com", fakes.Key, append(row.opts, WithRetryPolicy(oneAttempt),
					WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(fakes.Hang)}))...)
				require.NoError(t, err)
				start := time.Now()
				_, err = c.Images.Store(t.Context(), job("job-4711"), WithOnce(), WithResponseTimeout(time.Hour))
				assert.ErrorContains(t, err, "no complete response within "+row.took.String())
				assert.Equal(t, row.took, time.Since(start))
				assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
			})
		})
	}
}

// A search before anything is sent risks nothing, and is retried like any other request.
func TestOnceFirstSearchIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return stored("job-4711")(nil) }}
		l.List = func(n int) (*http.Response, error) {
			if n < 4 {
				return fakes.Respond(502, ``)(nil)
			}
			return nil, nil
		}
		c := over(t, l)
		_, err := c.Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Len(t, l.Searches, 4)
		assert.Equal(t, 100, c.budget.retries(), "a search that succeeded gives back what it took")

		l.Searches = nil
		l.List = func(int) (*http.Response, error) { return fakes.Respond(502, ``)(nil) }
		_, err = c.Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.ErrorIs(t, err, ErrServer)
		assert.Len(t, l.Searches, 4)
		assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
	})
}

// An empty budget ends retries, and not the search for a record that may be billed.
func TestOnceSearchesWithoutABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
			time.AfterFunc(time.Minute, add)
			return fakes.Lose(nil)
		}}
		c := over(t, l, WithRetryBudget(1))
		require.True(t, c.budget.take())
		_, err := c.Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Equal(t, 1, l.Stores)

		l.Store = func(int, func()) (*http.Response, error) { return fakes.Lose(nil) }
		searches, start := len(l.Searches), time.Now()
		_, err = c.Images.Store(t.Context(), job("job-4712"), WithOnce())
		assert.ErrorContains(t, err, "not retried: the client's retry budget is used up (WithRetryBudget)")
		assert.Equal(t, 2, l.Stores, "only a second send needs the budget")
		assert.Greater(t, len(l.Searches), searches+10)
		assert.Equal(t, 5*time.Minute, time.Since(start))
	})
}

// What was taken for a second create request that was not needed comes back.
func TestOnceReturnsWhatItTook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return fakes.Lose(nil) }}
		c := over(t, l)
		_, err := c.Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Equal(t, 100, c.budget.retries())
	})
	// So does what was taken for a search that the context kept from being retried.
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{List: func(int) (*http.Response, error) { return fakes.Lose(nil) }}
		c := over(t, l, WithRetryPolicy(RetryPolicy{MinBackoff: 1000 * time.Hour, MaxBackoff: 1000 * time.Hour}))
		require.True(t, c.budget.take())
		require.True(t, c.budget.take())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Images.Store(ctx, job("job-4711"), WithOnce())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 98, c.budget.retries())
	})
}

func TestOnceSearchesWithTheCallsOwnOptions(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return stored("n")(nil) }}
	var resp *Response
	tenants := map[string]int{}
	seen := WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			tenants[r.Header.Get("X-Tenant")]++
			return next.RoundTrip(r)
		})
	})
	_, err := over(t, l, seen).Images.Store(t.Context(), job(`C:\temp\render 100%`), WithOnce(), WithHeader("X-Tenant", "5"),
		WithQuery("tenant", "5"), WithQuery("search", "mine"), WithFormField("quality", "high"), WithResponse(&resp))
	require.NoError(t, err)
	assert.Equal(t, "5", l.Queries[0].Get("tenant"))
	assert.Equal(t, map[string]int{"5": 2}, tenants)
	assert.Equal(t, "render 100%", l.Queries[0].Get("search"), "a backslash is an escape in many a database's search")
	assert.Equal(t, 201, resp.StatusCode, "the response is the store's, not the search's")
}

func TestOnceOnTranscriptionsAndOtherOperations(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Names: []string{"job-4711"}}
	c := over(t, l)
	audio := FileFromBytes("a.wav", []byte("RIFF\x00\x00\x00\x00WAVEfmt "))
	transcription, err := c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "job-4711", File: audio}, WithOnce())
	require.NoError(t, err)
	assert.Equal(t, ID("1"), transcription.ID)
	searches := len(l.Searches)
	_, err = c.Transcriptions.List(t.Context(), TranscriptionListParams{})
	require.NoError(t, err)
	assert.Len(t, l.Searches, searches+1, "a list needs no search")
}

func TestOnceEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(int, func()) (*http.Response, error) { return fakes.Lose(nil) }}
		ctx, cancel := contextAfter(t, 10*time.Second)
		defer cancel()
		start := time.Now()
		_, err := over(t, l).Images.Store(ctx, job("job-4711"), WithOnce())
		require.Error(t, err)
		assert.True(t, errors.Is(err, errUserLeft))
		assert.Equal(t, 10*time.Second, time.Since(start))
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	})
}

// Browsers and databases change line breaks: a name that is stored with others must not be created again.
func TestOnceFindsANameWithLineBreaks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"job\r\n4711", "job\r4711", "\r\njob\n4711\r\n"} {
		l := &fakes.Ledger{Names: []string{"job\n4711"}}
		image, err := over(t, l).Images.Store(t.Context(), job(name), WithOnce())
		require.NoError(t, err, "%q", name)
		assert.Equal(t, ID("1"), image.ID)
		assert.Zero(t, l.Stores)

		l = &fakes.Ledger{Names: []string{name}}
		_, err = over(t, l).Images.Store(t.Context(), job("job\n4711"), WithOnce())
		require.NoError(t, err, "%q", name)
	}
}

// A filter that the program gives to all its lists would hide the record, and a second one would be billed.
func TestOnceSearchesWithoutFilters(t *testing.T) {
	t.Parallel()
	var opts []Option
	for _, name := range []string{
		"search", "search_by", "resolution", "style", "medium", "filter", "favorite", "sort_by", "sort", "per_page", "page", "cursor", "tenant",
	} {
		opts = append(opts, WithQuery(name, "5"))
	}
	l := &fakes.Ledger{Names: []string{"job-4711"}}
	_, err := over(t, l, opts...).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.NoError(t, err)
	require.Len(t, l.Queries, 1)
	assert.Equal(t, url.Values{"search": {"job-4711"}, "search_by": {"name"}, "per_page": {"100"}, "tenant": {"5"}}, l.Queries[0])
}

// A deployment may send a boolean back in another form than it was sent.
func TestOnceComparesBooleans(t *testing.T) {
	t.Parallel()
	forms := [2][]string{{"0", "false"}, {"1", "true"}}
	for stored := range forms {
		for sent := range forms {
			for _, there := range append(forms[stored], fmt.Sprintf("%q", forms[stored][0])) {
				for _, field := range forms[sent] {
					l := &fakes.Ledger{Names: []string{"job-4711"}, More: `,"hd":` + there}
					_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce(), WithFormField("hd", field))
					assert.Equal(t, stored != sent, errors.Is(err, ErrConflict), "%s is stored, %s is sent: %v", there, field, err)
				}
			}
		}
	}
}

// Sixty jobs that all succeed must not use up what the next outage needs.
func TestOnceRepaysItsSearches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return stored("n")(nil) }}
		l.List = func(n int) (*http.Response, error) {
			if n%2 == 1 {
				return fakes.Respond(502, ``)(nil)
			}
			return nil, nil
		}
		c := over(t, l)
		for n := range 60 {
			_, err := c.Images.Store(t.Context(), job(fmt.Sprint("job-", n, "-")), WithOnce())
			require.NoError(t, err)
		}
		assert.Equal(t, 60, l.Stores)
		assert.Equal(t, 100, c.budget.retries())
	})
}

// A program that gives up on a call and makes it again with the same name must not pay twice.
func TestOnceRemembersWhatWasLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var late func()
		l := &fakes.Ledger{Store: func(n int, add func()) (*http.Response, error) {
			if n == 1 {
				late = add
				return fakes.Respond(504, ``)(nil)
			}
			add()
			return stored("n")(nil)
		}}
		c := over(t, l)
		store := func(name string, limit time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err := c.Images.Store(ctx, job(name), WithOnce())
			return err
		}
		start := time.Now()
		err := store("job-4711", 10*time.Second)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, OutcomeUnknown, OutcomeOf(err))
		err = store("job-4711", 10*time.Second)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "the second call has sent nothing, but the first one has")
		assert.ErrorContains(t, err, "an earlier call may have created it")
		require.NoError(t, store("another job", time.Second), "other names are none of it")
		time.AfterFunc(time.Minute, late)
		require.NoError(t, store("job-4711", time.Hour))
		assert.Equal(t, 2, l.Stores, "the record of the first call was found")
		assert.Less(t, time.Since(start), 2*time.Minute)

		l.Names = nil
		before := time.Now()
		require.NoError(t, store("job-4711", time.Second), "what has succeeded is forgotten")
		assert.Zero(t, time.Since(before))
	})
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(n int, add func()) (*http.Response, error) {
			if n == 1 {
				return fakes.Lose(nil)
			}
			add()
			return stored("n")(nil)
		}}
		c := over(t, l, WithRetryPolicy(RetryPolicy{MaxAttempts: 1}), WithSettleTime(time.Minute))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		_, err := c.Images.Store(ctx, job("job-4711"), WithOnce())
		require.Error(t, err)
		lost := time.Since(start)
		start = time.Now()
		_, err = c.Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Equal(t, 2, l.Stores, "nothing came of it until the settle time had passed")
		assert.Equal(t, time.Minute, time.Since(start)+lost, "from the end of the request that was lost")
	})
}

// A search obeys Retry-After, and its error keeps its type: a wrong key is no lost connection.
func TestOnceSearchesAsListDoes(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		list     func(*http.Request) (*http.Response, error)
		error    any
		requests int
	}{
		"429 for an hour": {fakes.Respond(429, ``, "Retry-After", "3600"), new(*APIError), 1},
		"503 for an hour": {fakes.Respond(503, ``, "Retry-After", "3600"), new(*APIError), 1},
		"401":             {fakes.Respond(401, ``), new(*APIError), 1},
		"403":             {fakes.Respond(403, `{"message":"Forbidden"}`), new(*APIError), 1},
		"429":             {fakes.Respond(429, ``), new(*APIError), 4},
		"an HTML page":    {fakes.OK(`<html>`), new(*DecodeError), 1},
		"no network":      {fakes.Lose, new(*TransportError), 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &fakes.Ledger{List: func(int) (*http.Response, error) { return row.list(nil) }}
				_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
				require.ErrorAs(t, err, row.error)
				var transport *TransportError
				if _, want := row.error.(**TransportError); !want {
					assert.False(t, errors.As(err, &transport), "%v", err)
				}
				assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
				assert.ErrorContains(t, err, "images.store: ")
				assert.ErrorContains(t, err, "the search for the name failed")
				assert.Len(t, l.Searches, row.requests)
				assert.Zero(t, l.Stores)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return fakes.Lose(nil) }}
		l.List = func(n int) (*http.Response, error) {
			if n == 2 {
				return fakes.Respond(429, ``, "Retry-After", "40")(nil)
			}
			return nil, nil
		}
		_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Equal(t, 40*time.Second, l.Searches[2].Sub(l.Searches[1]), "what the service asked for, after a lost create request too")
	})
}

// A time in the future is a slip, in a unit or a sign, and would be waited for.
func TestOnceSinceTheFuture(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(int, func()) (*http.Response, error) { return stored("job-4711")(nil) }}
		start := time.Now()
		_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnceSince(start.Add(time.Hour)))
		require.NoError(t, err)
		assert.Equal(t, 5*time.Minute, time.Since(start), "it counts as now")
		assert.Equal(t, 1, l.Stores)
	})
}

// Services write numbers as they like: a job that is resumed must find its record.
func TestOnceComparesNumbers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		stored, sent string
		conflict     bool
	}{
		{`1.5`, "1.50", false}, {`"1.50"`, "1.5", false}, {`7`, "7.0", false}, {`-0.25`, "-0.250", false}, {`7`, "7.1", true},
		{`"-1"`, "1", true}, {`9007199254740993`, "9007199254740992", true}, {`"1.5.0"`, "1.5", true}, {`"1e1"`, "10", true}, {`"."`, "0", true},
	} {
		l := &fakes.Ledger{Names: []string{"job-4711"}, More: `,"guidance":` + row.stored}
		_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce(), WithFormField("guidance", row.sent))
		assert.Equal(t, row.conflict, errors.Is(err, ErrConflict), "%s is stored, %s is sent: %v", row.stored, row.sent, err)
	}
}

// "Nothing was created" is read of the record: a call that ends before an earlier request is settled must not say so.
func TestOnceOutcomeIsThatOfTheRecord(t *testing.T) {
	t.Parallel()
	minuteAgo := func() time.Time { return time.Now().Add(-time.Minute) }
	for name, row := range map[string]struct {
		list    func() (*http.Response, error)
		since   bool
		outcome Outcome
		text    string
	}{
		"the first wait": {nil, true, OutcomeUnknown, "outcome unknown: an earlier call may have created it"},
		"a failed search": {
			func() (*http.Response, error) { return fakes.Respond(403, `{"message":"no"}`)(nil) }, true, OutcomeUnknown,
			"images.store: 403: no (WithOnce: the search for the name failed; outcome unknown: an earlier call may have created it)",
		},
		"two records": {
			func() (*http.Response, error) {
				return fakes.OK(`{"data":[{"id":1,"name":"job-4711"},{"id":2,"name":"job-4711"}],"links":{"next":null}}`)(nil)
			}, true, OutcomeUnknown, "an earlier call may have created it",
		},
		"a failed search, nothing before": {
			func() (*http.Response, error) { return fakes.Respond(403, `{"message":"no"}`)(nil) }, false, OutcomeNotSent,
			"images.store: 403: no (WithOnce: the search for the name failed; no create request was sent)",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &fakes.Ledger{List: func(int) (*http.Response, error) {
				if row.list == nil {
					return nil, nil
				}
				return row.list()
			}}
			opt := WithOnce()
			if row.since {
				opt = WithOnceSince(minuteAgo())
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			c := over(t, l)
			_, err := c.Images.Store(ctx, job("job-4711"), opt)
			require.Error(t, err, name)
			assert.Equal(t, row.outcome, OutcomeOf(err), name)
			assert.ErrorContains(t, err, row.text, name)
			assert.NotContains(t, err.Error(), "nothing was created", name)
			assert.Zero(t, l.Stores, name)
			assert.Empty(t, c.names.open, "%s: a call that sent nothing is not remembered", name)
		})
	}
}

// net/http recovers a panic in a handler, and the program goes on with the client: what was under way stays open.
func TestOnceRemembersAfterAPanic(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"middleware", "done"} {
		synctest.Test(t, func(t *testing.T) {
			l := &fakes.Ledger{Store: func(n int, add func()) (*http.Response, error) {
				if n == 1 {
					time.AfterFunc(time.Minute, add)
					return fakes.Lose(nil)
				}
				add()
				return stored("job-4711")(nil)
			}}
			boom := true
			blow := func(where string) {
				if boom && where == place && l.Stores > 0 {
					boom = false
					panic("boom")
				}
			}
			c := over(t, l, WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
				return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
					resp, err := next.RoundTrip(r)
					blow("middleware")
					return resp, err
				})
			}), WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) {
				return func(AttemptResult) { blow("done") }, nil
			}))
			store := func() error {
				_, err := c.Images.Store(t.Context(), job("job-4711"), WithOnce())
				return err
			}
			assert.PanicsWithValue(t, "boom", func() { _ = store() }, place)
			require.NoError(t, store(), place)
			assert.Equal(t, 1, l.Stores, "%s: the record of the call that panicked was found", place)
			assert.Equal(t, 100, c.budget.retries(), place)
		})
	}
}

// After a 201 without a record there is one, even if the list is slow to show it.
func TestOnceRemembersWhatWasDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
			time.AfterFunc(time.Minute, add)
			return fakes.Respond(201, ``)(nil)
		}}
		c := over(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := c.Images.Store(ctx, job("job-4711"), WithOnce())
		assert.Equal(t, OutcomeDone, OutcomeOf(err))
		_, err = c.Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.NoError(t, err)
		assert.Equal(t, 1, l.Stores)
	})
}

// A deployment whose lists do not tell what a search needs cannot say that a record is not there.
func TestOnceIsNotBlindToWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, list := range []string{
		`{"data":[{"uuid":"a","name":"job-4711"}],"links":{"next":null}}`,
		`{"data":[{"id":7}],"links":{"next":null}}`,
		`{"data":[{"id":7,"name":"other"},{"key":7,"title":"job-4711"}],"links":{"next":null}}`,
	} {
		l := &fakes.Ledger{List: func(int) (*http.Response, error) { return fakes.OK(list)(nil) }}
		c := over(t, l)
		_, stored := c.Images.Store(t.Context(), job("job-4711"), WithOnce())
		_, found := c.Images.FindByName(t.Context(), "job-4711")
		for _, err := range []error{stored, found} {
			var unread *DecodeError
			require.ErrorAs(t, err, &unread, list)
			assert.ErrorContains(t, err, "the list has ")
			assert.NotErrorIs(t, err, ErrNotFound)
		}
		assert.Zero(t, l.Stores, list)
	}
}

// While it settles, a search waits as long as the service asks, whatever a retry would.
func TestOnceObeysRetryAfterWhileItSettles(t *testing.T) {
	t.Parallel()
	for _, asked := range []int{59, 61, 200} {
		synctest.Test(t, func(t *testing.T) {
			l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) {
				add()
				return fakes.Respond(503, ``, "Retry-After", "5")(nil)
			}}
			l.List = func(n int) (*http.Response, error) {
				if n == 2 {
					return fakes.Respond(429, ``, "Retry-After", fmt.Sprint(asked))(nil)
				}
				return nil, nil
			}
			_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
			require.NoError(t, err)
			require.Len(t, l.Searches, 3)
			assert.Equal(t, 5*time.Second, l.Searches[1].Sub(l.Searches[0]), "and as the create request was told")
			assert.Equal(t, time.Duration(asked)*time.Second, l.Searches[2].Sub(l.Searches[1]))
			assert.Equal(t, 1, l.Stores)
		})
	}
}

// A search must not be answered by a cache on the way, nor carry what is meant for a body.
func TestOnceSearchesAskForWhatIsThereNow(t *testing.T) {
	t.Parallel()
	var sent []*http.Request
	l := &fakes.Ledger{Names: []string{"job-4711"}}
	c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r)
		return l.RoundTrip(r)
	}), WithHeader("Expect", "100-continue"))
	_, err := c.Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.NoError(t, err)
	require.Len(t, sent, 2)
	for _, r := range sent {
		assert.Equal(t, "no-cache", r.Header.Get("Cache-Control"))
		assert.Empty(t, r.Header.Get("Expect"))
	}
}

// Where a deployment keeps names unique, the process that was slower gets the record of the faster one.
func TestOnceReturnsTheRecordThatTookTheName(t *testing.T) {
	t.Parallel()
	refusals := map[string]func(*http.Request) (*http.Response, error){
		"409": fakes.Respond(409, `{"message":"Conflict"}`),
		"422": fakes.Respond(422, `{"message":"invalid","errors":{"name":["has already been taken"]}}`),
	}
	for name, refuse := range refusals {
		l := &fakes.Ledger{Store: func(_ int, add func()) (*http.Response, error) { add(); return refuse(nil) }}
		c := over(t, l)
		var resp *Response
		image, err := c.Images.Store(t.Context(), job("job-4711"), WithOnce(), WithResponse(&resp))
		require.NoError(t, err, name)
		assert.Equal(t, "job-4711", image.Name)
		assert.Equal(t, []any{true, 1}, []any{resp.Found, resp.Attempts}, name)

		l = &fakes.Ledger{More: `,"description":"a cat"`, Store: l.Store}
		_, err = over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		assert.IsType(t, &ConflictError{}, err, name)

		l = &fakes.Ledger{Store: func(int, func()) (*http.Response, error) { return refuse(nil) }}
		_, err = over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		assert.IsType(t, &APIError{}, err, "%s: there is no such record", name)
		assert.Equal(t, OutcomeRejected, OutcomeOf(err))
		assert.Len(t, l.Searches, 2)
	}
	l := &fakes.Ledger{Store: func(int, func()) (*http.Response, error) {
		return fakes.Respond(422, `{"errors":{"description":["is too long"]}}`)(nil)
	}}
	_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
	require.ErrorIs(t, err, ErrInvalid)
	assert.Len(t, l.Searches, 1, "that is none of the name")
}

// losing is a service that creates the record, and loses the response.
func losing(_ int, add func()) (*http.Response, error) {
	add()
	return fakes.Lose(nil)
}

// A job queue that asks Temporary would try a name that is another record's for ever.
func TestOnceConflictsAreNotTemporary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: losing, More: `,"description":"another"`}
		_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
		require.ErrorAs(t, err, new(*ConflictError))
		assert.False(t, Temporary(err), "%v", err)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	})
}

// Whoever gave the context its cause must find it, also where a search took the rest of the time.
func TestOnceKeepsTheCauseOfADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closing := errors.New("the shop closes")
		l := &fakes.Ledger{Store: losing}
		hanging := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if l.Stores > 0 {
				return fakes.Hang(r)
			}
			return l.RoundTrip(r)
		})
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, closing)
		defer cancel()
		_, err := over(t, hanging).Images.Store(ctx, job("job-4711"), WithOnce())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorIs(t, err, closing)
	})
}

// A call that ends while Show does not show what the list has says so: the 404 is the only trace of the record.
func TestOnceSaysWhatItSawLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Names: []string{"job-4711"}, Show: func(int) (*http.Response, error) {
			return fakes.Respond(404, `{"message":"Not found."}`)(nil)
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := over(t, l).Images.Store(ctx, job("job-4711"), WithOnce())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrNotFound)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
		assert.Zero(t, l.Stores)
	})
}

// A list that says that it is an error does not prove that a name is not there, neither an empty nor a partial one.
func TestOnceStoresNothingAfterAListThatIsAnError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"data":[],"error":"the search index is not available"}`,
		`{"status":"error","data":[]}`,
		`{"data":[{"id":1,"name":"job-47110"}],"errors":["shard 3 timed out"]}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &fakes.Ledger{List: func(int) (*http.Response, error) { return fakes.OK(body)(nil) }, Store: losing}
			_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
			require.ErrorAs(t, err, new(*DecodeError), body)
			assert.Zero(t, l.Stores, body)
		})
	}
}

// What a list shows is there, whatever becomes of Show.
func TestOnceOutcomeOfARecordThatCannotBeShown(t *testing.T) {
	t.Parallel()
	for name, show := range map[string]func(*http.Request) (*http.Response, error){
		"503": fakes.Respond(503, ``), "403": fakes.Respond(403, `{"message":"no"}`), "lost": fakes.Lose,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &fakes.Ledger{Names: []string{"job-4711"}, Show: func(int) (*http.Response, error) { return show(nil) }}
			start := time.Now()
			_, err := over(t, l).Images.Store(t.Context(), job("job-4711"), WithOnce())
			assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%s: %v", name, err)
			assert.ErrorContains(t, err, "the list has a record with the name, but Show failed", name)
			assert.Zero(t, l.Stores)
			assert.Equal(t, name != "403", time.Since(start) >= 5*time.Minute, "%s: it goes on looking where that may help", name)
		})
	}
}
