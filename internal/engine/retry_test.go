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
