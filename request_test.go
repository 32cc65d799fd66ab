package aicontent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/response"
)

// responsesIn reads a folder of testdata. Its files must be those that there are cases for, so that none is forgotten.
func responsesIn[C any](t testing.TB, folder string, cases map[string]C) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	require.NoError(t, err)
	bodies := map[string][]byte{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		bodies[filepath.Base(file)] = body
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(cases)), slices.Collect(maps.Keys(bodies)),
		"files and cases of testdata/%s", folder)
	return bodies
}

// What compresses, splits or labels a response must not decide whether a paid record is read.
func TestRecordIsReadHoweverItsResponseIsFramed(t *testing.T) {
	t.Parallel()
	var lighthouse error
	cases := map[string]error{
		"wrong-type.http": lighthouse, "no-type.http": lighthouse,
		"gzip.http":    lighthouse,
		"deflate.http": response.ErrNotJSON, "deflate-in-name-only.http": lighthouse, "identity.http": lighthouse,
		"chunked.http": lighthouse, "until-close.http": lighthouse,
		"empty.http": response.ErrEmpty, "no-content.http": response.ErrEmpty,
		"no-content-gzip.http": response.ErrEmpty, "empty-gzip.http": response.ErrEmpty,
		"page.http": response.ErrHTML, "cut-off.http": engine.ErrCutOff, "cut-off-gzip.http": engine.ErrCutOff,
		"cut-off-chunked.http": engine.ErrCutOff, "broken-gzip.http": engine.ErrCutOff,
		"deleted.http": lighthouse,
	}
	for name, raw := range responsesIn(t, "responses", cases) {
		t.Run(name, func(t *testing.T) {
			image, err := deployment(t, respondingBytes(raw)).Images.Show(t.Context(), "7")
			if cases[name] != nil {
				var unread *DecodeError
				require.ErrorAs(t, err, &unread)
				assert.ErrorIs(t, err, cases[name])
				assert.Nil(t, image)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, ID("7"), image.ID)
		})
	}
}

// The raw response belongs to the caller: changing it must not change the record.
func TestResponseDoesNotShareMemoryWithTheRecord(t *testing.T) {
	t.Parallel()
	const record = `{"id":7,"name":"Lighthouse"}`
	resp := &Response{StatusCode: 999}
	c := over(t, fakes.RoundTripper(fakes.Respond(201, record, "X-Trace-Id", "req-7")))
	image, err := c.Images.Show(t.Context(), "7", WithResponse(&resp))
	require.NoError(t, err)
	assert.Equal(t, &Response{
		StatusCode: 201, Header: http.Header{"X-Trace-Id": {"req-7"}}, Body: []byte(record), RequestID: "req-7",
		Attempts: 1,
	}, resp)
	clear(resp.Body)
	assert.Equal(t, record, string(image.Raw()))
	_, err = c.Images.Show(t.Context(), "", WithResponse(&resp))
	require.ErrorIs(t, err, ErrInvalid)
	assert.Nil(t, resp, "the response to the call before must not be taken for this one's")
}

// stallingAfter responds with some bytes of a body, and then waits for the end of the request's context.
func stallingAfter(begin string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(begin), readerFunc(func([]byte) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		}))
		return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(body)}, nil
	}
}

func stalling(r *http.Request) (*http.Response, error) { return stallingAfter(`{"data":{"id":7,`)(r) }

func TestRetryAfterIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := fakes.Respond(429, ``, "Retry-After", "7")
		s := script(busy, fakes.OK(fakes.StoredImage))
		image, err := over(t, s).Images.Store(t.Context(), aStore)
		require.NoError(t, err)
		assert.Equal(t, ID("7"), image.ID)
		assert.Equal(t, []time.Duration{7 * time.Second}, s.Pauses())
		assert.Equal(t, s.Bodies[0], s.Bodies[1], "the same body again")

		_, err = over(t, script(busy), WithRetryPolicy(oneAttempt)).Images.Store(t.Context(), aStore)
		assert.Equal(t, time.Now().Add(7*time.Second), RetryAt(err))
	})
}

// Clients that failed together must not return together: a pause is random, and not often none.
func TestPausesAreRandomBelowTheirLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		none := 0
		for range 20 {
			s := script(fakes.Respond(502, ``), fakes.Lose, fakes.Respond(503, ``, "Retry-After", "0"))
			err := showSeven(t.Context(), over(t, s))
			var api *APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, 4, api.Attempts)
			require.Len(t, s.Pauses(), 3)
			for i, bound := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
				assert.LessOrEqual(t, s.Pauses()[i], bound)
				if s.Pauses()[i] == 0 {
					none++
				}
			}
		}
		assert.Less(t, none, 5)
	})
}

// The end of the caller's context ends the call: during an attempt, a response or a pause. A pause that would not end
// before the deadline is not begun, and nor is one that is longer than the policy allows.
func TestNoRetryOutlastsTheContext(t *testing.T) {
	t.Parallel()
	never := func(t *testing.T) (context.Context, context.CancelFunc) { return t.Context(), func() {} }
	soon := func(t *testing.T) (context.Context, context.CancelFunc) {
		return context.WithTimeout(t.Context(), 3*time.Second)
	}
	leaves := func(t *testing.T) (context.Context, context.CancelFunc) { return contextAfter(t, 3*time.Second) }
	busy := fakes.Respond(429, `{"message":"slow down"}`, "Retry-After", "30")
	const ended = "images.store: 429: slow down (not retried: context deadline exceeded"
	for name, row := range map[string]struct {
		response   func(*http.Request) (*http.Response, error)
		ctx        func(*testing.T) (context.Context, context.CancelFunc)
		took       time.Duration
		want       []error
		text       string
		retryAfter time.Duration
	}{
		"a deadline in an attempt": {fakes.Hang, soon, 3 * time.Second, []error{context.DeadlineExceeded}, "", 0},
		"a user leaves in an attempt": {fakes.Hang, leaves, 3 * time.Second,
			[]error{context.Canceled, errUserLeft}, "", 0},
		"a user leaves in a response": {stalling, leaves, 3 * time.Second,
			[]error{context.Canceled, errUserLeft}, "", 0},
		"a user leaves in a pause": {busy, leaves, 3 * time.Second,
			[]error{context.Canceled, errUserLeft, ErrRateLimited}, "", 30 * time.Second},
		"a deadline before the end of a pause": {busy, soon, 0,
			[]error{context.DeadlineExceeded, ErrRateLimited}, ended, 30 * time.Second},
		"a pause that is too long": {fakes.Respond(503, ``, "Retry-After", "61"), never, 0,
			[]error{ErrServer}, "", 61 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := row.ctx(t)
				defer cancel()
				start := time.Now()
				s := script(row.response)
				_, err := over(t, s).Images.Store(ctx, aStore)
				assert.Equal(t, row.took, time.Since(start))
				assert.Len(t, s.Asked, 1)
				for _, want := range row.want {
					assert.ErrorIs(t, err, want)
				}
				assert.ErrorContains(t, err, row.text)
				if api, ok := errors.AsType[*APIError](err); ok || row.retryAfter > 0 {
					require.NotNil(t, api)
					assert.Equal(t, row.retryAfter, api.RetryAfter)
					assert.Equal(t, 1, api.Attempts)
				}
			})
		})
	}
}

// An attempt's timeout is not the caller's deadline: the next attempt still has its chance.
func TestTimeoutEndsTheAttemptOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := script(fakes.Hang, fakes.OK(fakes.StoredImage))
		require.NoError(t, showSeven(t.Context(), over(t, s)))
		pause := s.Pauses()[0]
		assert.GreaterOrEqual(t, pause, 30*time.Second)
		assert.LessOrEqual(t, pause, 30*time.Second+500*time.Millisecond)

		start := time.Now()
		_, err := over(t, fakes.RoundTripper(fakes.Hang)).Images.Store(t.Context(), aStore)
		assert.Equal(t, 10*time.Minute, time.Since(start))
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
		var timeout interface{ Timeout() bool }
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout())
		assert.ErrorContains(t, err, "no complete response within 10m0s")
	})
}

// The last response is captured, even if the call fails or panics: net/http recovers a panic in a handler, which may
// log the response. An attempt without a response counts, too.
func TestResponseIsCapturedAlsoWhenTheCallFails(t *testing.T) {
	t.Parallel()
	panics := func(*http.Request) (*http.Response, error) { panic("boom") }
	down := fakes.Respond(500, `{"message":"down"}`)
	refused := fakes.Respond(422, `{"message":"no"}`, "X-Request-Id", "req-1", "X-Other", "kept")
	for name, row := range map[string]struct {
		responses        fakes.Responses
		status, attempts int // of the response; 0 if there is none
		body             string
		header           http.Header
		panics           bool
	}{
		"the second is refused": {fakes.Responses{down, refused}, 422, 2, `{"message":"no"}`,
			http.Header{"X-Request-Id": {"req-1"}, "X-Other": {"kept"}}, false},
		"a panic": {fakes.Responses{down, panics}, 500, 1, `{"message":"down"}`, http.Header{}, true},
		"lost ones": {fakes.Responses{down, fakes.Lose, fakes.Lose}, 500, 1, `{"message":"down"}`,
			http.Header{}, false},
		"none": {fakes.Responses{fakes.Lose}, 0, 0, "", nil, false},
	} {
		resp := &Response{StatusCode: 1}
		c := over(t, script(row.responses...), WithRetryPolicy(quick))
		var err error
		func() {
			defer func() { assert.Equal(t, row.panics, recover() != nil, name) }()
			_, err = c.Images.Show(t.Context(), "7", WithResponse(&resp))
			assert.Error(t, err, name)
		}()
		if row.status == 0 {
			assert.Nil(t, resp, "that of the last call must not stay")
			continue
		}
		want := &Response{row.status, row.header, []byte(row.body), row.header.Get("X-Request-Id"), row.attempts}
		assert.Equal(t, want, resp, name)
		if api, ok := errors.AsType[*APIError](err); ok {
			assert.Equal(t, resp.RequestID, api.RequestID, name)
		}
	}
}

// closingBody notes that it was closed.
type closingBody struct {
	io.Reader
	closed *int
}

func (b closingBody) Close() error { *b.closed++; return nil }

// Every 2xx is a success, whatever a proxy makes of its number. A response that is not closed keeps its connection for
// ever.
func TestEach2xxIsASuccessAndEachResponseIsClosed(t *testing.T) {
	t.Parallel()
	const limit = 40
	record := `{"id":7}`
	long := record + strings.Repeat(" ", limit)
	for _, row := range []struct {
		status int
		body   string
		ok     bool
	}{
		{200, record, true}, {201, record, true}, {206, record, true}, {299, record, true}, {200, long, false},
		{199, record, false}, {300, record, false}, {302, record, false}, {404, record, false}, {502, long, false},
	} {
		closed := 0
		c := over(t, fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
			body := closingBody{strings.NewReader(row.body), &closed}
			return &http.Response{StatusCode: row.status, Header: http.Header{}, Body: body, ContentLength: -1}, nil
		}), WithRetryPolicy(oneAttempt), WithMaxResponseSize(limit))
		err := showSeven(t.Context(), c)
		assert.Equal(t, row.ok, err == nil, "%d: %v", row.status, err)
		assert.Equal(t, 1, closed, row.status)
	}
}

// An intermediary's plain text may look like JSON.
func TestBodiesAreClassifiedByTheirContent(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]engine.ContentKind{
		``: engine.None, " \n": engine.None,
		`{"message":"Forbidden"}`: engine.JSON, `[]`: engine.JSON, `{"error":"no"}`: engine.Error,
		`{"mess`: engine.Text, `{nonsense`: engine.Text, `[1,`: engine.Text, `404`: engine.Text,
		`"Forbidden"`: engine.Text, `null`: engine.Text, `n`: engine.Text, `Forbidden`: engine.Text,
		`[warn] slow`: engine.Text, `<html>`: engine.Page,
	} {
		assert.Equal(t, want, kindOf(body, nil), "%q", body)
	}
	page := http.Header{"Content-Type": {"text/HTML; charset=utf-8"}}
	assert.Equal(t, engine.Page, kindOf("Forbidden", page))
	assert.Equal(t, engine.JSON, kindOf("{}", page))
}

// The numbers include five allocations of the transport. Each record of a list owns its memory: a struct and a text.
func TestCallsAllocateLittle(t *testing.T) {
	const record = `{"id":%d,"name":"Lighthouse","style":"retro","favorite":false,` +
		`"url":"https:\/\/cdn.example.com\/a.png","created_at":"2024-05-04T10:11:12.000000Z"}`
	records := make([]string, 100)
	for i := range records {
		records[i] = fmt.Sprintf(record, i)
	}
	list := `{"data":[` + strings.Join(records, ",") + `],"links":{"next":"https:\/\/app.internal\/images?page=2"},` +
		`"meta":{"current_page":1,"last_page":9,"per_page":100,"total":900}}`
	c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/images") {
			return fakes.OK(list)(r)
		}
		return fakes.OK(fakes.StoredImage)(r)
	}))
	for name, row := range map[string]struct {
		most float64
		call func() error
	}{
		"Show": {28, func() error { return showSeven(t.Context(), c) }},
		"a list of 100": {400,
			func() error { return second(c.Images.List(t.Context(), ImageListParams{PerPage: PerPage100})) }},
	} {
		var err error
		count := testing.AllocsPerRun(200, func() { err = errors.Join(err, row.call()) })
		require.NoError(t, err)
		assert.LessOrEqual(t, count, row.most+raceAllocations, name)
	}
}
