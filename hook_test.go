package aicontent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// observer records what a hook sees, in the order in which it sees it.
type observer struct {
	mu       sync.Mutex
	attempts []Attempt
	results  []AttemptResult
	events   []string
	refuse   func(Attempt) error // nil refuses none
}

func (o *observer) hook(_ context.Context, a Attempt) (func(AttemptResult), error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refuse != nil {
		if err := o.refuse(a); err != nil {
			o.events = append(o.events, fmt.Sprintf("refused %s %d", a.Operation, a.Number))
			return nil, err
		}
	}
	o.attempts = append(o.attempts, a)
	o.events = append(o.events, fmt.Sprintf("%s %d", a.Operation, a.Number))
	return func(r AttemptResult) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.results = append(o.results, r)
		o.events = append(o.events, fmt.Sprintf("%s %d: %v", a.Operation, a.Number, r.Outcome))
	}, nil
}

// A budget or a metric must see each attempt once, with what came of it and what follows.
func TestAttemptHookSeesEachAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &observer{}
		busy := fakes.Respond(429, `{"message":"busy"}`, "Retry-After", "7", "X-Request-Id", "req-1")
		s := &fakes.Script{Responses: fakes.Responses{busy, fakes.OK(fakes.StoredImage)}}
		start := time.Now()
		var paused time.Duration
		limiter := fakes.Limiter(func(context.Context) error {
			if len(o.results) == 1 {
				paused = time.Since(start)
			}
			return nil
		})
		_, err := over(t, s, WithAttemptHook(o.hook), WithRateLimiter(limiter)).Images.Store(t.Context(), aStore)
		require.NoError(t, err)
		assert.Equal(t, 7*time.Second, paused, "the first result is told before the pause")
		assert.Equal(t, []Attempt{
			{ImagesStore, "POST", "/tenant/api/v1/images", 1}, {ImagesStore, "POST", "/tenant/api/v1/images", 2},
		}, o.attempts)
		require.Len(t, o.results, 2)
		first := o.results[0]
		assert.ErrorIs(t, first.Err, ErrRateLimited)
		assert.ErrorContains(t, first.Err, "images.store: 429: busy")
		first.Err = nil
		assert.Equal(t, AttemptResult{
			StatusCode: 429, RequestID: "req-1", Outcome: OutcomeNotExecuted, WillRetry: true, Pause: 7 * time.Second, Budget: 100,
		}, first)
		assert.Equal(t, AttemptResult{StatusCode: 200, Outcome: OutcomeExecuted, Budget: 100}, o.results[1])
	})
}

// What a hook refuses has cost nothing, and the error says so.
func TestAttemptThatAHookRefusesIsNotMade(t *testing.T) {
	t.Parallel()
	tooMany := errors.New("100 images today")
	o := &observer{refuse: func(Attempt) error { return tooMany }}
	s := &fakes.Script{Responses: fakes.Responses{fakes.OK(fakes.StoredImage)}}
	_, err := over(t, s, WithAttemptHook(o.hook), WithRetryPolicy(quick)).Images.Store(t.Context(), aStore)
	var transport *CallError
	require.ErrorAs(t, err, &transport)
	require.ErrorIs(t, err, tooMany)
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
	assert.Zero(t, transport.Attempts)
	assert.Empty(t, s.Asked)
	assert.Len(t, o.events, 1, "it is not retried")

	o = &observer{refuse: func(a Attempt) error {
		if a.Number == 2 {
			return tooMany
		}
		return nil
	}}
	s = &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, ``)}}
	c := over(t, s, WithAttemptHook(o.hook), WithRetryPolicy(quick))
	_, err = c.Images.Show(t.Context(), "7")
	var refused *APIError
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, tooMany)
	assert.Equal(t, 1, refused.Attempts)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	assert.Len(t, s.Asked, 1)
	assert.Equal(t, 100, retriesLeft(c), "the attempt that was not made is given back")
}

// It sees downloads, attempts with another key, and pages that are read ahead.
func TestAttemptHookSeesEveryKindOfCall(t *testing.T) {
	t.Parallel()
	o := &observer{}
	pictures := gallery(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "BMpicture") })
	c, err := NewClient("https://content.example.com", fakes.Key, WithAttemptHook(o.hook))
	require.NoError(t, err)
	_, err = c.Images.Download(t.Context(), at(pictures.URL+"/a.png?secret=1"), io.Discard)
	require.NoError(t, err)
	assert.Equal(t, []Attempt{{ImagesDownload, "GET", "/a.png", 1}}, o.attempts)

	o = &observer{}
	asked := 0
	source := WithAPIKeySource(func(context.Context) (string, error) { asked++; return fmt.Sprint("key-number-", asked), nil })
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(401, ``), fakes.OK(fakes.StoredImage)}}
	_, err = over(t, s, source, WithAttemptHook(o.hook)).Images.Store(t.Context(), aStore)
	require.NoError(t, err)
	assert.Equal(t, []string{"images.store 1", "images.store 1: not executed", "images.store 2", "images.store 2: executed"}, o.events)
	assert.True(t, o.results[0].WillRetry)
	assert.Equal(t, 100, o.results[0].Budget, "the retry with another key costs nothing")

	o = &observer{}
	ids, err := idsOf(t.Context(), over(t, &fakes.Pages{Respond: numbered(10)}, WithAttemptHook(o.hook)))
	require.NoError(t, err)
	assert.Equal(t, tenPages, ids)
	assert.Len(t, o.attempts, 10)
	assert.Len(t, o.results, 10)
}

// Hooks nest: the first one given sees the attempt first and its result last, whatever the others and the transport do.
func TestAttemptHooksNest(t *testing.T) {
	t.Parallel()
	var events []string
	hook := func(name string, err error) Option {
		return WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) {
			events = append(events, name)
			if err != nil {
				return nil, err
			}
			return func(r AttemptResult) { events = append(events, fmt.Sprintf("%s: %v %v", name, r.Outcome, r.Err)) }, nil
		})
	}
	silent := WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) { return nil, nil })
	s := &fakes.Script{Responses: fakes.Responses{fakes.OK(fakes.StoredImage)}}
	_, err := over(t, s, hook("a", nil), silent, hook("b", nil)).Images.Show(t.Context(), "7")
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "b: executed <nil>", "a: executed <nil>"}, events)

	events = nil
	_, err = over(t, s, hook("a", nil), hook("b", errors.New("no")), hook("c", nil)).Images.Show(t.Context(), "7")
	require.Error(t, err)
	assert.Equal(t, []string{"a", "b", "a: not executed no"}, events)

	events = nil
	c := over(t, fakes.RoundTripper(func(*http.Request) (*http.Response, error) { panic("boom") }), hook("a", nil))
	assert.PanicsWithValue(t, "boom", func() { _, _ = c.Images.Show(t.Context(), "7") })
	assert.Equal(t, []string{"a", "a: unknown the attempt ended in a panic"}, events)

	events = nil
	blows := WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) { panic("boom") })
	c = over(t, s, hook("a", nil), blows, hook("b", nil))
	assert.PanicsWithValue(t, "boom", func() { _, _ = c.Images.Show(t.Context(), "7") })
	assert.Equal(t, []string{"a", "a: unknown the attempt ended in a panic"}, events, "a later hook panics")

	_, err = NewClient("https://content.example.com", fakes.Key, WithAttemptHook(nil))
	assert.ErrorContains(t, err, "attempt_hook: must not be nil")
}

// A metric of retries, or an alert, must not wait for an attempt that never comes.
func TestWillRetryOnlyWhereAnAttemptFollows(t *testing.T) {
	t.Parallel()
	var asked int
	same := WithAPIKeySource(func(context.Context) (string, error) { asked++; return fakes.Key, nil })
	other := WithAPIKeySource(func(context.Context) (string, error) { asked++; return fmt.Sprint("key-number-", asked), nil })
	sealed := WithAPIKeySource(func(context.Context) (string, error) {
		if asked++; asked > 1 {
			return "", errors.New("sealed")
		}
		return fakes.Key, nil
	})
	busy := fakes.Respond(429, ``, "Retry-After", "59")
	for name, row := range map[string]struct {
		first  func(*http.Request) (*http.Response, error)
		opts   []Option
		within time.Duration
		again  bool
		keys   int // that the source was asked for; 0 if there is none
	}{
		"the same key":          {fakes.Respond(401, ``), []Option{same}, time.Hour, false, 2},
		"another key":           {fakes.Respond(401, ``), []Option{other}, time.Hour, true, 2},
		"no key":                {fakes.Respond(401, ``), []Option{sealed}, time.Hour, false, 2},
		"no key source":         {fakes.Respond(401, ``), nil, time.Hour, false, 0},
		"time enough":           {busy, nil, time.Hour, true, 0},
		"the context ends soon": {busy, nil, 10 * time.Second, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked = 0
			o := &observer{}
			s := &fakes.Script{Responses: fakes.Responses{row.first, fakes.OK(fakes.StoredImage)}}
			ctx, cancel := context.WithTimeout(t.Context(), row.within)
			defer cancel()
			c := over(t, s, append(row.opts, WithAttemptHook(o.hook))...)
			_, err := c.Images.Show(ctx, "7")
			assert.Equal(t, row.again, err == nil, name)
			assert.Equal(t, row.again, o.results[0].WillRetry, name)
			assert.Len(t, o.attempts, map[bool]int{true: 2, false: 1}[row.again], name)
			assert.Len(t, o.results, len(o.attempts), name)
			assert.Equal(t, row.again || row.within == time.Hour, !errors.Is(err, context.DeadlineExceeded), name)
			assert.Equal(t, row.keys, asked, "%s: the source is asked once for each attempt", name)
		})
	}
}

// A hook that keeps count of what is under way must be told, whatever another hook does when it is told.
func TestEveryDoneIsCalledWhereOnePanics(t *testing.T) {
	t.Parallel()
	var told []string
	hook := func(name string, panics bool) Option {
		return WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) {
			return func(r AttemptResult) {
				told = append(told, fmt.Sprint(name, " ", r.StatusCode, " ", r.Err))
				if panics {
					panic(name)
				}
			}, nil
		})
	}
	for want, rt := range map[string]fakes.RoundTripper{
		" 200 <nil>": fakes.OK(fakes.StoredImage),
		" 0 the attempt ended in a panic": func(*http.Request) (*http.Response, error) {
			panic("transport")
		},
	} {
		told = nil
		c := over(t, rt, hook("first", false), hook("second", true))
		assert.Panics(t, func() { _, _ = c.Images.Show(t.Context(), "7") })
		assert.Equal(t, []string{"second" + want, "first" + want}, told)
	}
}

// No key is fetched for an attempt that cannot follow, and none is announced.
func TestNoKeyIsFetchedAfterTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	source := func(context.Context) (string, error) {
		asked++
		return fmt.Sprint("sk-number-", asked), nil
	}
	refusing := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		cancel()
		return fakes.Respond(401, `{}`)(r)
	})
	o := &observer{}
	_, err := over(t, refusing, WithAPIKeySource(source), WithAttemptHook(o.hook)).Images.Show(ctx, "7")
	require.ErrorIs(t, err, ErrUnauthorized)
	assert.ErrorIs(t, err, context.Canceled)
	require.Len(t, o.results, 1)
	assert.False(t, o.results[0].WillRetry)
	assert.Equal(t, 1, asked)
}

// A package on top of the client notes a request in a hook of the call, and must be the last to refuse it.
func TestAttemptHookOfACallComesAfterTheClients(t *testing.T) {
	t.Parallel()
	var order []string
	noting := func(name string) func(context.Context, Attempt) (func(AttemptResult), error) {
		return func(_ context.Context, a Attempt) (func(AttemptResult), error) {
			order = append(order, name+" "+string(a.Operation))
			return func(AttemptResult) { order = append(order, name+" done") }, nil
		}
	}
	l := &fakes.Ledger{Names: []string{"n"}, More: `,"url":"https://pictures.example.com/a.png"`}
	c := over(t, l, WithAttemptHook(noting("client")), WithAttemptHook(noting("client 2")))
	of := WithAttemptHook(noting("call"))
	both := func(op Operation) []string {
		begun := []string{"client " + string(op), "client 2 " + string(op), "call " + string(op)}
		return append(begun, "call done", "client 2 done", "client done")
	}
	for name, row := range map[string]struct {
		call func() error
		ops  []Operation
	}{
		"show":         {func() error { _, err := c.Images.Show(t.Context(), "1", of); return err }, []Operation{ImagesShow}},
		"all":          {func() error { _, err := Collect(c.Images.All(t.Context(), ImageListParams{}, of)); return err }, []Operation{ImagesList}},
		"find by name": {func() error { _, err := c.Images.FindByName(t.Context(), "n", of); return err }, []Operation{ImagesList, ImagesShow}},
		"download": {func() error {
			_, _ = c.Images.Download(t.Context(), &Image{URL: "https://pictures.example.com/a.png"}, io.Discard, of, WithRetryPolicy(oneAttempt))
			return nil
		}, []Operation{ImagesDownload}},
	} {
		order = nil
		require.NoError(t, row.call(), name)
		var want []string
		for _, op := range row.ops {
			want = append(want, both(op)...)
		}
		assert.Equal(t, want, order, name)
	}
	order = nil
	_, err := c.Images.Show(t.Context(), "1")
	require.NoError(t, err)
	assert.NotContains(t, order, "call images.show", "it was another call's")
	refusal := errors.New("not noted")
	_, err = c.Images.Show(t.Context(), "1", WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) { return nil, refusal }))
	require.ErrorIs(t, err, refusal)
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
	_, err = c.Images.Show(t.Context(), "1", WithAttemptHook(nil))
	assert.ErrorContains(t, err, "attempt_hook: must not be nil")
}

func TestLogHasALineForEachAttempt(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "took":
			return slog.Attr{}
		case "pause":
			assert.Equal(t, slog.KindDuration, a.Value.Kind())
			a.Value = slog.StringValue("random")
		}
		return a
	}}))
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, `secret words`), fakes.Lose, fakes.OK(`{"data":[]}`)}}
	_, err := over(t, s, WithRetryPolicy(quick), WithLogger(logger)).Images.List(t.Context(), ImageListParams{Search: "secret plans"})
	require.NoError(t, err)
	assert.Equal(t, `level=DEBUG msg="aicontent attempt" op=images.list method=GET path=/tenant/api/v1/images attempt=1 status=502 request_id="" result=502 outcome=unknown sent=0 budget=99 pause=random
level=DEBUG msg="aicontent attempt" op=images.list method=GET path=/tenant/api/v1/images attempt=2 status=0 request_id="" result="connection reset by peer" outcome=unknown sent=0 budget=98 pause=random
level=DEBUG msg="aicontent attempt" op=images.list method=GET path=/tenant/api/v1/images attempt=3 status=200 request_id="" result=ok outcome=executed sent=0 budget=98
`, out.String())
}

// The log tells how much of a request went out: an upload that stops at the same byte each time has a limit in its way.
func TestLogHasTheBytesThatWereSent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := deployment(t, fakes.RespondToAll, WithLogger(logger))
	require.NoError(t, allTen(c)["images.store"](t.Context()))
	var line struct {
		Sent      int64
		RequestID string `json:"request_id"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	assert.Greater(t, line.Sent, int64(len("name=n&description=d&resolution=256x256")))
	assert.Less(t, line.Sent, int64(1000))
}

// A metric that counts errors by their kind must not count another call's error for this attempt.
func TestResultsOfARefusedAttemptMatchOnlyTheRefusalsOwnErrors(t *testing.T) {
	t.Parallel()
	refusal := fmt.Errorf("%w: %w", &APIError{StatusCode: 404}, errUserLeft)
	o := &observer{}
	refuse := WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) { return nil, refusal })
	_, err := over(t, fakes.RoundTripper(fakes.Lose), WithAttemptHook(o.hook), refuse).Images.Show(t.Context(), "7")
	require.Error(t, err)
	require.Len(t, o.results, 1)
	assert.ErrorIs(t, o.results[0].Err, errUserLeft)
	assert.NotErrorIs(t, o.results[0].Err, ErrNotFound)
	assert.Equal(t, OutcomeNotExecuted, o.results[0].Outcome)
}

// The text of an attempt's error is that of a call with this attempt alone.
func TestResultsHaveTheErrorOfTheirAttempt(t *testing.T) {
	t.Parallel()
	o := &observer{}
	s := &fakes.Script{Responses: fakes.Responses{
		fakes.Respond(429, `{"message":"busy"}`), fails(io.EOF), fakes.Respond(422, `{"message":"no"}`),
	}}
	_, err := over(t, s, WithAttemptHook(o.hook), WithRetryPolicy(quick)).Images.Update(t.Context(), "7", ImageUpdateParams{})
	require.ErrorIs(t, err, ErrInvalid)
	var texts []string
	for _, r := range o.results {
		texts = append(texts, r.Err.Error())
	}
	assert.Equal(t, []string{
		"images.update: 429: busy",
		"images.update: the service closed the connection before a response came: EOF (it may have been updated; attempt 2 of 3; host content.example.com)",
		"images.update: 422: no (attempt 3 of 3)",
	}, texts)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(o.results[2].Err))
	assert.Equal(t, OutcomeUnknown, OutcomeOf(o.results[1].Err))
	assert.True(t, Retryable(o.results[0].Err))
}
