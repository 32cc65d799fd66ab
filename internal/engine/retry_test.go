package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
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

// The host of a picture is not the service: it gets no key, and its 401 is not about one.
func TestAPictureIsFetchedWithoutLimiterAndKey(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(401, "{}")}}
	sender := senderOver(s)
	sender.Rotates = true
	sender.Key = func(context.Context) (*Credential, error) { return nil, errors.New("the key source was asked") }
	sender.Limiter = fakes.Limiter(func(context.Context) error { return errors.New("the limiter was asked") })
	f := failureOf(t, t.Context(), sender, Fetch, atOnce)
	assert.Equal(t, Final, f.Why)
	assert.Len(t, s.Sent, 1)
	assert.Empty(t, s.Sent[0].Header.Get("Authorization"))
	assert.Empty(t, f.Last.Reply.Keys)
}

var errUserLeft = errors.New("the user left")

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
