package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// senderOver returns a Sender with one key and a budget of ten retries.
func senderOver(rt http.RoundTripper) *Sender {
	transport := wire.New(rt, true)
	last := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sender{
		API:       &http.Client{Transport: transport, CheckRedirect: last},
		Pictures:  &http.Client{Transport: wire.NewDownload(rt)},
		Transport: transport, UserAgent: "engine-test",
		Key:    func(context.Context) (*Credential, error) { return NewCredential(fakes.Key), nil },
		Budget: NewBudget(10), MaxResponse: 1 << 20,
	}
}

// rotating makes the sender ask for key-number-1, key-number-2 and so on. It counts into asked.
func rotating(s *Sender, asked *int) *Sender {
	s.Rotates = true
	s.Key = func(context.Context) (*Credential, error) {
		*asked++
		return NewCredential(fmt.Sprint("key-number-", *asked)), nil
	}
	return s
}

// requestOf returns a request to the API.
func requestOf(kind Kind) Request {
	methods := map[Kind]string{Read: "GET", Fetch: "GET", Create: "POST", Change: "PATCH", Remove: "DELETE"}
	return Request{
		Name: "images.test", Kind: kind, Method: methods[kind],
		URL: url.URL{Scheme: "https", Host: "content.example.com", Path: "/api/v1/images"},
	}
}

// readBraces is a Reader that expects {}.
func readBraces(r Reply) (Content, error) {
	text := r.Body
	if r.Picture != nil {
		picture, err := io.ReadAll(r.Picture)
		if err != nil {
			return Content{Kind: Text, Cut: true}, err
		}
		text = string(picture)
	}
	switch {
	case r.Status/100 != 2 && text == "{}":
		return Content{Kind: JSON}, nil
	case r.Status/100 != 2:
		return Content{}, nil
	case r.Err != nil:
		return Content{Kind: Text, Cut: r.Cut}, r.Err
	case text == "{}":
		return Content{Kind: Asked}, nil
	case text == "":
		return Content{}, errors.New("the response is empty")
	}
	return Content{Kind: JSON}, errors.New("the response has something else")
}

// atOnce retries without pauses.
var atOnce = Settings{Policy: Policy{MaxAttempts: 3, MaxRetryAfter: time.Minute}}

// failureOf makes a call that fails.
func failureOf(t *testing.T, ctx context.Context, s *Sender, kind Kind, set Settings) *Failure {
	t.Helper()
	reply, f := s.Do(ctx, requestOf(kind), set, readBraces)
	require.NotNil(t, f)
	require.Zero(t, reply)
	return f
}

// hooked are settings with hooks.
func hooked(hooks ...Hook) Settings {
	set := atOnce
	set.Hooks = hooks
	return set
}

// telling is a hook that is told of results.
func telling(done func(Result)) Hook {
	return func(context.Context, int) (func(Result), error) { return done, nil }
}

// noting is a hook that notes its calls.
func noting(events *[]string, name string) Hook {
	return func(_ context.Context, number int) (func(Result), error) {
		*events = append(*events, fmt.Sprint(name, " asked for ", number))
		return func(r Result) {
			outcome := outcomeNames[r.Verdict.Outcome]
			*events = append(*events, fmt.Sprintf("%s told %d %s %v", name, r.Reply.Status, outcome, r.Err))
		}, nil
	}
}

var (
	ok   = fakes.OK("{}")
	busy = fakes.Respond(503, "")
)

func TestDoReturnsTheFirstSuccess(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{busy, fakes.Lose, ok}}
	reply, failure := senderOver(s).Do(t.Context(), requestOf(Read), atOnce, readBraces)
	require.Nil(t, failure)
	assert.Equal(t, 200, reply.Status)
	assert.Equal(t, "{}", reply.Body)
	assert.Equal(t, 3, reply.Attempts)
	assert.Equal(t, redact.Keys{fakes.Key}, reply.Keys)
	assert.Len(t, s.Asked, 3)
}

func TestFailureTellsOfAllAttempts(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{busy, fakes.Respond(429, "{}"), fakes.Lose}}
	f := failureOf(t, t.Context(), senderOver(s), Change, atOnce)
	assert.Equal(t, Unknown, f.Outcome)
	assert.True(t, f.Retryable)
	assert.Equal(t, 3, f.Attempts)
	assert.Equal(t, 3, f.Last.Number)
	assert.True(t, f.Last.Facts.Lost, "it follows an attempt that may have been executed")
	assert.Zero(t, f.Last.Reply.Status)
	assert.ErrorContains(t, f.Last.Err, "connection reset by peer")
	assert.Equal(t, 429, f.LastReply.Status)
	assert.Equal(t, 2, f.LastReply.Attempts)
	assert.Equal(t, redact.Keys{fakes.Key}, f.Keys)
	assert.Equal(t, Final, f.Why)
	assert.NoError(t, f.Stopped)
}

func TestTheOutcomeIsThatOfAllAttemptsTogether(t *testing.T) {
	t.Parallel()
	refused, gone, later := fakes.Respond(422, "{}"), fakes.Respond(404, "{}"), fakes.Respond(429, "")
	unread, page := fakes.Respond(201, ""), fakes.Respond(404, "")
	for name, row := range map[string]struct {
		kind      Kind
		responses fakes.Responses
		succeeds  bool
		want      Outcome // of a failure
	}{
		"lost, then refused":            {Change, fakes.Responses{fakes.Lose, refused}, false, Unknown},
		"busy, then refused":            {Change, fakes.Responses{later, refused}, false, NotExecuted},
		"refused":                       {Change, fakes.Responses{refused}, false, NotExecuted},
		"created, but unread":           {Change, fakes.Responses{unread}, false, Executed},
		"lost, then unreadable":         {Change, fakes.Responses{fakes.Lose, unread}, false, Unknown},
		"lost, then gone":               {Remove, fakes.Responses{fakes.Lose, gone}, true, 0},
		"not executed, then gone":       {Remove, fakes.Responses{later, gone}, false, NotExecuted},
		"gone before the first attempt": {Remove, fakes.Responses{gone}, false, NotExecuted},
		"lost, then gone, says a proxy": {Remove, fakes.Responses{fakes.Lose, page}, false, Unknown},
	} {
		s := &fakes.Script{Responses: row.responses}
		_, f := senderOver(s).Do(t.Context(), requestOf(row.kind), atOnce, readBraces)
		assert.Len(t, s.Sent, len(row.responses), name)
		require.Equal(t, row.succeeds, f == nil, name)
		if f != nil {
			assert.Equal(t, row.want, f.Outcome, name)
		}
	}
}

func TestHooksAreAskedInOrderAndToldOnceInReverse(t *testing.T) {
	t.Parallel()
	var events []string
	s := &fakes.Script{Responses: fakes.Responses{busy, ok}}
	set := hooked(noting(&events, "a"), telling(nil), noting(&events, "b"))
	_, f := senderOver(s).Do(t.Context(), requestOf(Read), set, readBraces)
	require.Nil(t, f)
	assert.Equal(t, []string{
		"a asked for 1", "b asked for 1", "b told 503 Unknown <nil>", "a told 503 Unknown <nil>",
		"a asked for 2", "b asked for 2", "b told 200 Executed <nil>", "a told 200 Executed <nil>",
	}, events)
}

func TestHooksLearnWhetherAnAttemptFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type told struct {
			again  bool
			pause  time.Duration
			budget int
			at     time.Duration
		}
		var results []told
		start := time.Now()
		set := hooked(telling(func(r Result) {
			results = append(results, told{r.Again, r.Pause, r.Budget, time.Since(start)})
		}))
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, "", "Retry-After", "7"), busy, busy}}
		failureOf(t, t.Context(), senderOver(s), Read, set)
		assert.Equal(t, []told{
			{true, 7 * time.Second, 10, 0}, // told before the pause, which the service asked for
			{true, 0, 9, 7 * time.Second},
			{false, 0, 9, 7 * time.Second},
		}, results)
	})
}

func TestHooksBeforeOneThatRefusesAreTold(t *testing.T) {
	t.Parallel()
	refusal := errors.New("the day's limit is spent")
	var events []string
	refuse := func(from int) Hook {
		return func(_ context.Context, number int) (func(Result), error) {
			if number < from {
				return nil, nil
			}
			return func(Result) { t.Error("a hook that refuses is not told") }, refusal
		}
	}
	s := &fakes.Script{Responses: fakes.Responses{busy}}
	set := hooked(noting(&events, "a"), noting(&events, "b"), refuse(1), noting(&events, "c"))
	f := failureOf(t, t.Context(), senderOver(s), Create, set)
	assert.Equal(t, []string{
		"a asked for 1", "b asked for 1",
		"b told 0 NotExecuted the day's limit is spent", "a told 0 NotExecuted the day's limit is spent",
	}, events)
	assert.Empty(t, s.Sent)
	assert.Equal(t, Failure{
		Outcome: NotExecuted, Retryable: true, Keys: redact.Keys{fakes.Key}, Why: HookError, Stopped: refusal,
	}, *f)

	sender := senderOver(s)
	f = failureOf(t, t.Context(), sender, Read, hooked(refuse(2)))
	assert.Equal(t, HookError, f.Why)
	assert.Equal(t, refusal, f.Stopped)
	assert.Equal(t, 1, f.Attempts)
	assert.Equal(t, 503, f.Last.Reply.Status)
	assert.Equal(t, Unknown, f.Outcome)
	assert.Equal(t, 10, sender.Budget.Retries(), "no retry was made")
}

// A retry that was taken and not made must come back to the budget: net/http recovers a panic in a handler.
func TestHooksAreToldOfAPanic(t *testing.T) {
	t.Parallel()
	panics := func(*http.Request) (*http.Response, error) { panic("boom") }
	blows := func(context.Context, int) (func(Result), error) { panic("boom") }
	blowsLater := telling(func(Result) { panic("boom") })
	const ended, answered = "0 Unknown the attempt ended in a panic", "503 Unknown <nil>"
	for name, row := range map[string]struct {
		responses fakes.Responses
		after     []Hook
		told      []string // the results of the attempts
	}{
		"of a RoundTripper":                {fakes.Responses{panics}, nil, []string{ended}},
		"of a RoundTripper, after a retry": {fakes.Responses{busy, panics}, nil, []string{answered, ended}},
		"of a later hook":                  {fakes.Responses{ok}, []Hook{blows}, []string{ended}},
		"of a hook that is told":           {fakes.Responses{busy, ok}, []Hook{blowsLater}, []string{answered}},
	} {
		var events, want []string
		for i, told := range row.told {
			want = append(want, fmt.Sprint("a asked for ", i+1), fmt.Sprint("b asked for ", i+1))
			want = append(want, "b told "+told, "a told "+told)
		}
		set := hooked(append([]Hook{noting(&events, "a"), noting(&events, "b")}, row.after...)...)
		sender := senderOver(&fakes.Script{Responses: row.responses})
		assert.PanicsWithValue(t, "boom", func() { sender.Do(t.Context(), requestOf(Read), set, readBraces) }, name)
		assert.Equal(t, want, events, name)
		assert.Equal(t, 10, sender.Budget.Retries(), name)
	}
}

func TestRetriesAreTakenFromTheBudget(t *testing.T) {
	t.Parallel()
	once := Settings{Policy: Policy{MaxAttempts: 1}}
	free := fakes.Respond(503, "", "Retry-After", "0.001")
	for name, row := range map[string]struct {
		responses fakes.Responses
		attempts  int
		left      int
	}{
		"a failed call pays for its retries":          {fakes.Responses{busy}, 3, 6},
		"a call that succeeds in the end pays for no": {fakes.Responses{busy, busy, ok}, 3, 8},
		"a pause that the service asks for is free":   {fakes.Responses{free}, 3, 8},
		"a final failure takes and earns nothing":     {fakes.Responses{fakes.Respond(404, "{}")}, 1, 8},
	} {
		s := &fakes.Script{Responses: row.responses}
		sender := senderOver(s)
		require.True(t, sender.Budget.take())
		require.True(t, sender.Budget.take())
		_, _ = sender.Do(t.Context(), requestOf(Read), atOnce, readBraces)
		assert.Len(t, s.Sent, row.attempts, name)
		assert.Equal(t, row.left, sender.Budget.Retries(), name)
	}

	sender := senderOver(fakes.RoundTripper(ok))
	require.True(t, sender.Budget.take())
	for range 10 {
		_, f := sender.Do(t.Context(), requestOf(Read), once, readBraces)
		require.Nil(t, f)
	}
	assert.Equal(t, 10, sender.Budget.Retries(), "ten successes at the first attempt earn a retry")
}

func TestNoAttemptFollowsWithoutBudget(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{busy}}
	sender := senderOver(s)
	sender.Budget = NewBudget(1)
	f := failureOf(t, t.Context(), sender, Read, atOnce)
	assert.Len(t, s.Sent, 2)
	assert.Equal(t, NoBudget, f.Why)
	assert.NoError(t, f.Stopped)
	assert.True(t, f.Retryable)
}

// A retry that was taken and not made must come back, or the budget shrinks with each such call.
func TestARetryThatIsNotMadeReturnsToTheBudget(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	second := func() func() error {
		calls := 0
		return func() error {
			if calls++; calls > 1 {
				return gone
			}
			return nil
		}
	}
	limit, source := second(), second()
	late := atOnce
	late.Policy.MinBackoff, late.Policy.MaxBackoff = 1000*time.Hour, 1000*time.Hour
	for name, row := range map[string]struct {
		change func(*Sender)
		set    Settings
		why    Why
		stop   error
	}{
		"the deadline is nearer": {func(*Sender) {}, late, Ended, context.DeadlineExceeded},
		"the limiter fails": {func(s *Sender) {
			s.Limiter = fakes.Limiter(func(context.Context) error { return limit() })
		}, atOnce, LimiterError, gone},
		"the key source fails": {func(s *Sender) {
			s.Key = func(context.Context) (*Credential, error) { return NewCredential(fakes.Key), source() }
		}, atOnce, KeyError, gone},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		s := &fakes.Script{Responses: fakes.Responses{busy}}
		sender := senderOver(s)
		row.change(sender)
		require.True(t, sender.Budget.take())
		f := failureOf(t, ctx, sender, Read, row.set)
		cancel()
		assert.Equal(t, row.why, f.Why, name)
		assert.Equal(t, row.stop, f.Stopped, name)
		assert.Equal(t, 503, f.Last.Reply.Status, name)
		assert.Len(t, s.Sent, 1, name)
		assert.Equal(t, 9, sender.Budget.Retries(), name)
	}
}

func TestARefusedKeyIsRenewedOnce(t *testing.T) {
	t.Parallel()
	refused := fakes.Respond(401, "{}")
	slow := fakes.Respond(429, "")
	for name, row := range map[string]struct {
		policy    int
		responses fakes.Responses
		asked     int // the key source
		attempts  int
		succeeds  bool
	}{
		"another key is accepted":             {3, fakes.Responses{refused, ok}, 2, 2, true},
		"another key is refused":              {3, fakes.Responses{refused}, 2, 2, false},
		"one attempt by policy":               {1, fakes.Responses{refused, ok}, 2, 2, true},
		"the last attempt by policy":          {2, fakes.Responses{slow, refused, ok}, 3, 3, true},
		"a retry after the renewal":           {3, fakes.Responses{refused, slow, slow, ok}, 4, 4, true},
		"no more retries after the renewal":   {3, fakes.Responses{refused, slow}, 4, 4, false},
		"a second refusal after a retry":      {3, fakes.Responses{refused, slow, refused}, 3, 3, false},
		"every attempt asks for its own key":  {3, fakes.Responses{slow, slow, ok}, 3, 3, true},
		"a success at once asks for one key":  {3, fakes.Responses{ok}, 1, 1, true},
		"a redirect to a login page is final": {3, fakes.Responses{fakes.Respond(302, "")}, 1, 1, false},
	} {
		for _, kind := range []Kind{Read, Create} {
			asked := 0
			s := &fakes.Script{Responses: row.responses}
			set := Settings{Policy: Policy{MaxAttempts: row.policy}}
			reply, f := rotating(senderOver(s), &asked).Do(t.Context(), requestOf(kind), set, readBraces)
			require.Equal(t, row.succeeds, f == nil, "%s: %s", kinds[kind], name)
			assert.Equal(t, row.asked, asked, "%s: %s", kinds[kind], name)
			assert.Len(t, s.Sent, row.attempts, "%s: %s", kinds[kind], name)
			for i, sent := range s.Sent {
				assert.Equal(t, fmt.Sprint("Bearer key-number-", i+1), sent.Header.Get("Authorization"))
			}
			used := redact.Keys(nil)
			for n := range row.attempts {
				used = used.With(redact.Key(fmt.Sprint("key-number-", n+1)))
			}
			if row.succeeds {
				assert.Equal(t, used, reply.Keys, name)
			} else {
				assert.Equal(t, used, f.Keys, "all keys of the call are masked: %s", name)
				assert.Equal(t, used, f.LastReply.Keys, name)
			}
		}
	}
}

func TestARefusedKeyIsFinalWithoutAnotherOne(t *testing.T) {
	t.Parallel()
	refused := fakes.Respond(401, "{}")
	sealed := errors.New("the vault is sealed")
	for name, row := range map[string]struct {
		rotates bool
		second  error // of the key source
		asked   int
		why     Why
	}{
		"no key source":               {false, nil, 1, Final},
		"the source has the same key": {true, nil, 2, Final},
		"the source fails":            {true, sealed, 2, KeyError},
	} {
		asked := 0
		s := &fakes.Script{Responses: fakes.Responses{refused, ok}}
		sender := senderOver(s)
		sender.Rotates = row.rotates
		sender.Key = func(context.Context) (*Credential, error) {
			if asked++; asked == 2 && row.second != nil {
				return nil, row.second
			}
			return NewCredential(fakes.Key), nil
		}
		var again []bool
		set := hooked(telling(func(r Result) { again = append(again, r.Again) }))
		f := failureOf(t, t.Context(), sender, Create, set)
		assert.Equal(t, row.asked, asked, name)
		assert.Equal(t, row.why, f.Why, name)
		assert.Equal(t, row.second, f.Stopped, name)
		assert.Equal(t, 401, f.Last.Reply.Status, name)
		assert.Equal(t, []bool{false}, again, name)
		assert.Equal(t, 10, sender.Budget.Retries(), "a renewal costs no retry: %s", name)
	}
}

// The host of a picture is not the service: it gets no key, and its 401 is not about one.
func TestAPictureIsFetchedWithoutLimiterAndKey(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(401, "{}")}}
	asked := 0
	sender := rotating(senderOver(s), &asked)
	sender.Limiter = fakes.Limiter(func(context.Context) error { return errors.New("the limiter was asked") })
	f := failureOf(t, t.Context(), sender, Fetch, atOnce)
	assert.Zero(t, asked)
	assert.Len(t, s.Sent, 1)
	assert.Empty(t, s.Sent[0].Header.Get("Authorization"))
	assert.Empty(t, f.Keys)
}

func TestLimiterAndKeySourceComeBeforeTheHooksOfEachAttempt(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(name string) { order = append(order, name) }
	sender := senderOver(&fakes.Script{Responses: fakes.Responses{busy, ok}})
	sender.Limiter = fakes.Limiter(func(context.Context) error {
		note("limiter")
		return nil
	})
	sender.Key = func(context.Context) (*Credential, error) {
		note("key")
		return NewCredential(fakes.Key), nil
	}
	hook := func(context.Context, int) (func(Result), error) {
		note("hook")
		return nil, nil
	}
	_, f := sender.Do(t.Context(), requestOf(Read), hooked(hook), readBraces)
	require.Nil(t, f)
	assert.Equal(t, []string{"limiter", "key", "hook", "limiter", "key", "hook"}, order)
}

var errUserLeft = errors.New("the user left")

func TestTheContextEndsACall(t *testing.T) {
	t.Parallel()
	slow := fakes.Respond(429, "", "Retry-After", "30")
	leaving := func(leave func(), then fakes.RoundTripper) fakes.RoundTripper {
		return func(r *http.Request) (*http.Response, error) {
			leave()
			return then(r)
		}
	}
	for name, row := range map[string]struct {
		begin    func(leave func()) fakes.RoundTripper
		attempts int
		took     time.Duration
	}{
		"before the first attempt": {func(leave func()) fakes.RoundTripper {
			leave()
			return ok
		}, 0, 0},
		"before another key is asked for": {func(leave func()) fakes.RoundTripper {
			return leaving(leave, fakes.Respond(401, "{}"))
		}, 1, 0},
		"during a pause": {func(leave func()) fakes.RoundTripper {
			return leaving(func() { time.AfterFunc(3*time.Second, leave) }, slow)
		}, 1, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var asked, limited int
			s := &fakes.Script{Responses: fakes.Responses{row.begin(func() { cancel(errUserLeft) })}}
			sender := rotating(senderOver(s), &asked)
			sender.Limiter = fakes.Limiter(func(context.Context) error {
				limited++
				return nil
			})
			start := time.Now()
			f := failureOf(t, ctx, sender, Create, atOnce)
			assert.Equal(t, row.took, time.Since(start), name)
			assert.Equal(t, Ended, f.Why, name)
			assert.ErrorIs(t, f.Stopped, context.Canceled, name)
			assert.ErrorIs(t, f.Stopped, errUserLeft, name)
			assert.Equal(t, NotExecuted, f.Outcome, name)
			assert.True(t, f.Retryable, name)
			assert.Equal(t, row.attempts > 0, f.LastReply.Status > 0, name)
			for _, n := range []int{f.Attempts, len(s.Sent), asked, limited} {
				assert.Equal(t, row.attempts, n, name)
			}
		})
	}
}

// A caller that has a second left must not wait for it in vain.
func TestAPauseBeyondTheDeadlineIsNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, "", "Retry-After", "30")}}
		f := failureOf(t, ctx, senderOver(s), Read, atOnce)
		assert.Zero(t, time.Since(start))
		assert.Equal(t, Ended, f.Why)
		assert.Equal(t, context.DeadlineExceeded, f.Stopped, "before the deadline")
	})
}

// A user who left is named, even if no pause was due.
func TestAContextThatEndsWithoutAPauseEndsTheCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &fakes.Script{Responses: fakes.Responses{busy}}
	f := failureOf(t, ctx, senderOver(s), Read, hooked(telling(func(Result) { cancel(errUserLeft) })))
	assert.ErrorIs(t, f.Stopped, errUserLeft)
	assert.Equal(t, 503, f.Last.Reply.Status)
	assert.Len(t, s.Sent, 1)
}

func TestContextErrorHasTheCauseIfThatSaysMore(t *testing.T) {
	t.Parallel()
	assert.NoError(t, ContextError(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, context.Canceled, ContextError(ctx))
	ctx, end := context.WithCancelCause(t.Context())
	end(errUserLeft)
	assert.ErrorIs(t, ContextError(ctx), context.Canceled)
	assert.ErrorIs(t, ContextError(ctx), errUserLeft)
	assert.EqualError(t, ContextError(ctx), "context canceled: the user left")
	ctx, end = context.WithCancelCause(t.Context())
	end(context.Canceled)
	assert.EqualError(t, ContextError(ctx), "context canceled")
	ctx, end = context.WithCancelCause(t.Context())
	end(fmt.Errorf("%w: %w", errUserLeft, context.Canceled))
	assert.EqualError(t, ContextError(ctx), "the user left: context canceled", "the cause names both")
	assert.ErrorIs(t, ContextError(ctx), context.Canceled)
	assert.ErrorIs(t, ContextError(ctx), errUserLeft)
}
