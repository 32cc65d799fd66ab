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
)

// senderOver returns a Sender with one key and a budget of ten retries.
func senderOver(rt http.RoundTripper) *Sender {
	transport := NewTransport(rt, true)
	last := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sender{
		API:       &http.Client{Transport: transport, CheckRedirect: last},
		Pictures:  &http.Client{Transport: NewPictureTransport(rt)},
		Transport: transport, UserAgent: "engine-test",
		Key:    func(context.Context) (*Credential, error) { return NewCredential(fakes.Key), nil },
		Keys:   func() redact.Keys { return nil },
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
		Kind: kind, Method: methods[kind],
		URL: url.URL{Scheme: "https", Host: "content.example.com", Path: "/api/v1/images"},
	}
}

// readBraces is a Reader that expects {}.
func readBraces(r Reply) Content {
	text := r.Body
	if r.Picture != nil {
		picture, err := io.ReadAll(r.Picture)
		if err != nil {
			return Content{Kind: Text, Cut: true, Err: err}
		}
		text = string(picture)
	}
	switch {
	case r.Status/100 != 2 && text == "{}":
		return Content{Kind: JSON}
	case r.Status/100 != 2:
		return Content{}
	case r.Err != nil:
		return Content{Kind: Text, Cut: errors.Is(r.Err, ErrCutOff), Err: r.Err}
	case text == "{}":
		return Content{Kind: Asked}
	}
	return Content{Err: errors.New("the response has no braces")}
}

// atOnce retries without pauses.
var atOnce = Settings{Policy: Policy{MaxAttempts: 3, MaxRetryAfter: time.Minute}}

// failureOf makes a call that fails.
func failureOf(t *testing.T, ctx context.Context, s *Sender, kind Kind, set Settings) *Failure {
	t.Helper()
	a, f := s.Do(ctx, requestOf(kind), set, readBraces)
	require.NotNil(t, f)
	require.Zero(t, a)
	return f
}

var (
	ok   = fakes.OK("{}")
	busy = fakes.Respond(503, "")
)

func TestDoReturnsTheFirstSuccess(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{busy, fakes.Lose, ok}}
	a, failure := senderOver(s).Do(t.Context(), requestOf(Read), atOnce, readBraces)
	require.Nil(t, failure)
	assert.Equal(t, Asked, a.Facts.Content.Kind)
	assert.Equal(t, 200, a.Reply.Status)
	assert.Equal(t, "{}", a.Reply.Body)
	assert.Equal(t, []int{3, 3}, []int{a.Number, a.Reply.Attempts})
	assert.Equal(t, redact.Keys{fakes.Key}, a.Reply.Keys)
	assert.Len(t, s.Asked, 3)
}

func TestFailureTellsOfAllAttempts(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{busy, fakes.Respond(429, "{}"), fakes.Lose}}
	f := failureOf(t, t.Context(), senderOver(s), Change, atOnce)
	assert.Equal(t, Unknown, f.Outcome)
	assert.True(t, f.Retryable)
	assert.Equal(t, 3, f.Last.Number)
	assert.True(t, f.Last.Facts.Lost, "it follows an attempt that may have been executed")
	assert.Zero(t, f.Last.Reply.Status)
	assert.ErrorContains(t, f.Last.Err, "connection reset by peer")
	assert.True(t, f.Replied, "an earlier attempt got a response")
	assert.Equal(t, redact.Keys{fakes.Key}, f.Last.Reply.Keys)
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
			a, f := rotating(senderOver(s), &asked).Do(t.Context(), requestOf(kind), set, readBraces)
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
				assert.Equal(t, used, a.Reply.Keys, name)
			} else {
				assert.Equal(t, used, f.Keys, "all keys of the call are masked: %s", name)
				assert.Equal(t, used, f.LastReply.Keys, name)
			}
		}
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
	assert.Empty(t, f.Last.Reply.Keys)
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
			for _, n := range []int{f.Last.Number, len(s.Sent), asked, limited} {
				assert.Equal(t, row.attempts, n, name)
			}
		})
	}
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
