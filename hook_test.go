package aicontent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
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
		start := time.Now()
		var paused time.Duration
		limiter := limited(func(int) error {
			if len(o.results) == 1 {
				paused = time.Since(start)
			}
			return nil
		})
		c := over(t, script(busy, fakes.OK(fakes.StoredImage)), WithAttemptHook(o.hook), limiter)
		require.NoError(t, allTen(c)["images.store"](t.Context()))
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
			StatusCode: 429, RequestID: "req-1", Outcome: OutcomeNotExecuted, WillRetry: true, Pause: 7 * time.Second,
			Budget: 100, // a wait that the service asked for costs nothing
		}, first)
		assert.Equal(t, AttemptResult{StatusCode: 200, Outcome: OutcomeExecuted, Budget: 100}, o.results[1])
	})
}

// What a hook refuses has cost nothing, and the error says so. Later it must not hide the service's response.
func TestAttemptThatAHookRefusesIsNotMade(t *testing.T) {
	t.Parallel()
	tooMany := errors.New("100 images today")
	o := &observer{refuse: func(Attempt) error { return tooMany }}
	s := script(fakes.OK(fakes.StoredImage))
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
	s = script(fakes.Respond(502, `{"message":"upstream is away"}`))
	c := over(t, s, WithAttemptHook(o.hook), WithRetryPolicy(quick))
	err = showSeven(t.Context(), c)
	var refused *APIError
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, tooMany)
	assert.EqualError(t, err, "images.show: 502: upstream is away (not retried: 100 images today)")
	assert.Equal(t, 1, refused.Attempts)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	assert.Len(t, s.Asked, 1)
}

// Hooks nest: the first one given sees the attempt first and its result last, whatever the others and the transport do.
func TestAttemptHooksNest(t *testing.T) {
	t.Parallel()
	var events []string
	ending := func(name string, end func()) Option {
		return WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) {
			events = append(events, name)
			return func(r AttemptResult) {
				events = append(events, fmt.Sprintf("%s: %d %v %v", name, r.StatusCode, r.Outcome, r.Err))
				end()
			}, nil
		})
	}
	hook := func(name string) Option { return ending(name, func() {}) }
	panicking := ending("panicking", func() { panic("boom") })
	silent := refusing(nil)
	blows := WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) { panic("boom") })
	panics := func(*http.Request) (*http.Response, error) { panic("boom") }
	const panicked = "0 unknown the attempt ended in a panic"
	for name, row := range map[string]struct {
		rt     fakes.RoundTripper
		opts   []Option
		want   []string
		fails  bool
		panics bool
	}{
		"a success": {fakes.OK(fakes.StoredImage), []Option{hook("a"), silent, hook("b")},
			[]string{"a", "b", "b: 200 executed <nil>", "a: 200 executed <nil>"}, false, false},
		"a refusal": {fakes.OK(fakes.StoredImage), []Option{hook("a"), refusing(errUserLeft), hook("c")},
			[]string{"a", "a: 0 not executed the user left"}, true, false},
		"a transport panics": {panics, []Option{hook("a"), hook("b")},
			[]string{"a", "b", "b: " + panicked, "a: " + panicked}, true, true},
		"a later hook panics": {fakes.OK(fakes.StoredImage), []Option{hook("a"), blows, hook("b")},
			[]string{"a", "a: " + panicked}, true, true},
		"a hook panics when it is told": {fakes.OK(fakes.StoredImage), []Option{hook("a"), panicking},
			[]string{"a", "panicking", "panicking: 200 executed <nil>", "a: 200 executed <nil>"}, true, true},
		"a hook panics when it is told of a panic": {panics, []Option{hook("a"), panicking},
			[]string{"a", "panicking", "panicking: " + panicked, "a: " + panicked}, true, true},
	} {
		events = nil
		func() {
			defer func() { assert.Equal(t, row.panics, recover() != nil, name) }()
			err := showSeven(t.Context(), over(t, row.rt, row.opts...))
			assert.Equal(t, row.fails, err != nil, name)
		}()
		assert.Equal(t, row.want, events, name)
	}
}

// A metric of retries, or an alert, must not wait for an attempt that never comes.
func TestWillRetryOnlyWhereAnAttemptFollows(t *testing.T) {
	t.Parallel()
	var asked int
	source := func(key func(n int) (string, error)) []Option {
		return []Option{keys(func(n int) (string, error) { asked = n; return key(n) })}
	}
	same := source(func(int) (string, error) { return fakes.Key, nil })
	other := source(func(n int) (string, error) { return fmt.Sprint("key-number-", n), nil })
	sealed := source(func(n int) (string, error) {
		if n > 1 {
			return "", errors.New("sealed")
		}
		return fakes.Key, nil
	})
	refused, busy := fakes.Respond(401, ``), fakes.Respond(429, ``, "Retry-After", "59")
	for name, row := range map[string]struct {
		first  func(*http.Request) (*http.Response, error)
		opts   []Option
		within time.Duration
		again  bool
		keys   int // that the source was asked for; 0 if there is none
	}{
		"the same key":          {refused, same, time.Hour, false, 2},
		"another key":           {refused, other, time.Hour, true, 2},
		"no key":                {refused, sealed, time.Hour, false, 2},
		"no key source":         {refused, nil, time.Hour, false, 0},
		"time enough":           {busy, nil, time.Hour, true, 0},
		"the context ends soon": {busy, nil, 10 * time.Second, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked = 0
			o := &observer{}
			ctx, cancel := context.WithTimeout(t.Context(), row.within)
			defer cancel()
			s := script(row.first, fakes.OK(fakes.StoredImage))
			err := showSeven(ctx, over(t, s, append(row.opts, WithAttemptHook(o.hook))...))
			assert.Equal(t, row.again, err == nil, name)
			assert.Equal(t, row.again, o.results[0].WillRetry, name)
			assert.Len(t, o.attempts, map[bool]int{true: 2, false: 1}[row.again], name)
			assert.Len(t, o.results, len(o.attempts), name)
			assert.Equal(t, row.again || row.within == time.Hour, !errors.Is(err, context.DeadlineExceeded), name)
			assert.Equal(t, row.keys, asked, "%s: the source is asked once for each attempt", name)
		})
	}
}

// No key is fetched for an attempt that cannot follow, and none is announced.
func TestNoKeyIsFetchedAfterTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	o := &observer{}
	err := showSeven(ctx, over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		cancel()
		return fakes.Respond(401, `{}`)(r)
	}), rotating(), WithAttemptHook(o.hook)))
	require.ErrorIs(t, err, ErrUnauthorized)
	assert.ErrorIs(t, err, context.Canceled)
	require.Len(t, o.results, 1)
	assert.False(t, o.results[0].WillRetry)
}

// A package on top of the client notes a request in a hook of the call, and must be the last to refuse it.
func TestAttemptHookOfACallComesAfterTheClients(t *testing.T) {
	t.Parallel()
	var order []string
	noting := func(name string) CallOption {
		return WithAttemptHook(func(_ context.Context, a Attempt) (func(AttemptResult), error) {
			order = append(order, name+" "+string(a.Operation))
			return func(AttemptResult) { order = append(order, name+" done") }, nil
		})
	}
	l := &fakes.Ledger{Names: []string{"n"}, More: `,"url":"/a.png"`}
	c := over(t, l, noting("client"), noting("client 2"))
	of := noting("call")
	ctx := t.Context()
	for name, row := range map[string]struct {
		call func() error
		ops  []Operation
	}{
		"show": {func() error { return second(c.Images.Show(ctx, "1", of)) }, []Operation{ImagesShow}},
		"all": {func() error { return second(Collect(c.Images.All(ctx, ImageListParams{}, of))) },
			[]Operation{ImagesList}},
		"find by name": {func() error { return second(c.Images.FindByName(ctx, "n", of)) },
			[]Operation{ImagesList, ImagesShow}},
		"wait": {func() error { return second(c.Images.Wait(ctx, "1", of)) }, []Operation{ImagesShow}},
		"download": {func() error {
			_, _ = c.Images.Download(ctx, aPicture, io.Discard, of, WithRetryPolicy(oneAttempt))
			return nil
		}, []Operation{ImagesDownload}},
	} {
		order = nil
		require.NoError(t, row.call(), name)
		var want []string
		for _, op := range row.ops {
			want = append(want, "client "+string(op), "client 2 "+string(op), "call "+string(op),
				"call done", "client 2 done", "client done")
		}
		assert.Equal(t, want, order, name)
	}
	order = nil
	require.NoError(t, second(c.Images.Show(ctx, "1")))
	assert.NotContains(t, order, "call images.show", "it was another call's")
	_, err := c.Images.Show(ctx, "1", refusing(errUserLeft))
	require.ErrorIs(t, err, errUserLeft)
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
}

func TestLogHasALineForEachAttempt(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	replace := func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, slog.LevelKey, slog.MessageKey, "took":
			return slog.Attr{}
		case "pause":
			assert.Equal(t, slog.KindDuration, a.Value.Kind())
			a.Value = slog.StringValue("random")
		}
		return a
	}
	handler := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: replace})
	s := script(fakes.Respond(502, `secret words`), fakes.Lose, fakes.OK(`{"data":[]}`), fakes.OK("<html>"))
	c := over(t, s, WithRetryPolicy(quick), WithLogger(slog.New(handler)))
	_, err := c.Images.List(t.Context(), ImageListParams{Search: "secret plans"})
	require.NoError(t, err)
	require.Error(t, showSeven(t.Context(), c))
	const reset = `result="connection reset by peer"`
	const list = "op=images.list method=GET path=/tenant/api/v1/images "
	const show = "op=images.show method=GET path=/tenant/api/v1/images/7 "
	assert.Equal(t, []string{
		list + `attempt=1 status=502 request_id="" result=502 outcome=unknown sent=0 budget=99 pause=random`,
		list + `attempt=2 status=0 request_id="" ` + reset + ` outcome=unknown sent=0 budget=98 pause=random`,
		list + `attempt=3 status=200 request_id="" result=ok outcome=executed sent=0 budget=98`,
		show + `attempt=1 status=200 request_id="" result="200 unreadable" outcome=unknown sent=0 budget=100`,
	}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}

// The text of an attempt's error is that of a call with this attempt alone.
func TestResultsHaveTheErrorOfTheirAttempt(t *testing.T) {
	t.Parallel()
	o := &observer{}
	s := &fakes.Script{Responses: fakes.Responses{
		fakes.Respond(429, `{"message":"busy"}`), fails(io.EOF), fakes.Respond(422, `{"message":"no"}`),
	}}
	_, err := over(t, s, WithAttemptHook(o.hook), WithRetryPolicy(quick), WithUpdateMethod("PUT")).
		Images.Update(t.Context(), "7", ImageUpdateParams{})
	require.ErrorIs(t, err, ErrInvalid)
	var texts []string
	for _, r := range o.results {
		texts = append(texts, r.Err.Error())
	}
	assert.Equal(t, []string{
		"images.update: 429: busy",
		"images.update: EOF " +
			"(it may have been updated; attempt 2 of 3; host content.example.com)",
		"images.update: 422: no (attempt 3 of 3)",
	}, texts)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(o.results[2].Err))
	assert.Equal(t, OutcomeUnknown, OutcomeOf(o.results[1].Err))
	assert.True(t, Retryable(o.results[0].Err))
}
