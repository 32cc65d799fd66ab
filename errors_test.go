package aicontent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/wire"
)

func TestSentinelsFollowTheStatus(t *testing.T) {
	t.Parallel()
	sentinels := map[string]error{
		"bad request": ErrBadRequest, "unauthorized": ErrUnauthorized, "forbidden": ErrForbidden, "not found": ErrNotFound,
		"conflict": ErrConflict, "too large": ErrTooLarge, "invalid": ErrInvalid, "too many requests": ErrRateLimited, "server error": ErrServer,
	}
	matches := map[int]string{
		400: "bad request", 401: "unauthorized", 403: "forbidden", 404: "not found", 409: "conflict", 412: "conflict", 413: "too large", 422: "invalid",
		429: "too many requests", 500: "server error", 502: "server error", 599: "server error", 405: "", 418: "", 302: "", 600: "",
	}
	for status, match := range matches {
		err := fmt.Errorf("drawing: %w", &APIError{StatusCode: status})
		for name, sentinel := range sentinels {
			assert.Equal(t, name == match, errors.Is(err, sentinel), "%d is %s", status, name)
			assert.EqualError(t, sentinel, name)
		}
		assert.NotErrorIs(t, err, ErrPagination)
	}
	assert.ErrorIs(t, &ValidationError{}, ErrInvalid)
}

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for text, err := range map[string]error{
		"images.store: 422: name: is taken": &APIError{
			StatusCode: 422, summary: summary{op: "images.store"}, Fields: map[string][]string{"name": {"is taken"}},
		},
		"images.store: 422: The data is invalid; description: too long, not nice; name: is taken": &APIError{
			StatusCode: 422, summary: summary{op: "images.store"}, Message: "The data is invalid.",
			Fields: map[string][]string{"name": {"is taken"}, "description": {"too long", "not nice"}},
		},
		"images.store: 422: name: The name is taken.": &APIError{
			StatusCode: 422, summary: summary{op: "images.store"}, Message: "The name is taken. (and 1 more error)",
			Fields: map[string][]string{"name": {"The name is taken."}},
		},
		"name: is required":                   &ValidationError{Problems: []FieldProblem{{Field: "name", Reason: "is required"}}},
		"POST /api/v1/images: unexpected EOF": &CallError{Method: "POST", Path: "/api/v1/images", Err: io.ErrUnexpectedEOF},
		"GET /api/v1/images/7: 200: the response is empty": &DecodeError{
			StatusCode: 200, Method: "GET", Path: "/api/v1/images/7", Err: lenient.ErrEmpty,
		},
		`name "a": the record differs (id 7)`:  &ConflictError{Name: "a", IDs: []ID{"7"}, Reason: "the record differs"},
		"GET /api/v1/images/7: 404: not found": &APIError{StatusCode: 404, Method: "GET", Path: "/api/v1/images/7"},
		"images.show: 404: No such image.":     &APIError{StatusCode: 404, Message: "No such image.", summary: summary{op: "images.show"}},
		"images.show: unexpected EOF":          &CallError{Err: io.ErrUnexpectedEOF, summary: summary{op: "images.show"}},
		"images.show: 200: the response is empty": &DecodeError{
			StatusCode: 200, Err: lenient.ErrEmpty, summary: summary{op: "images.show"},
		},
		`images.list: per_page "7": must be one of 10, 25; id: is required`: &ValidationError{op: "images.list", Problems: []FieldProblem{
			{Field: "per_page", Value: PerPage(7), Reason: "must be one of 10, 25"}, {Field: "id", Value: ID(""), Reason: "is required"},
		}},
		"images.show: 502: Bad Gateway (attempt 2 of 4; request abc)": &APIError{
			StatusCode: 502, Message: "502 Bad Gateway", summary: summary{op: "images.show", note: "attempt 2 of 4; request abc"},
		},
	} {
		assert.Equal(t, text, err.Error())
	}
}

// A log must stay readable whatever a service writes into its errors.
func TestErrorTextIsBounded(t *testing.T) {
	t.Parallel()
	err := &APIError{StatusCode: 500, Message: strings.Repeat("ü", 2000), Fields: map[string][]string{"name": {strings.Repeat("x", 2000)}}}
	assert.Less(t, len(err.Error()), 600)
	assert.True(t, utf8.ValidString(err.Error()))
	bad := &ValidationError{Problems: []FieldProblem{{Field: "name", Value: strings.Repeat("\n", 2000), Reason: "is bad"}}}
	assert.Less(t, len(bad.Error()), 300)
	assert.NotContains(t, bad.Error(), "\n")
}

func TestCausesAreFound(t *testing.T) {
	t.Parallel()
	api := &APIError{StatusCode: 429, summary: summary{stopped: context.DeadlineExceeded}}
	require.ErrorIs(t, api, context.DeadlineExceeded)
	require.ErrorIs(t, api, ErrRateLimited)
	transport := &CallError{Err: io.ErrUnexpectedEOF, summary: summary{stopped: context.Canceled}}
	require.ErrorIs(t, transport, io.ErrUnexpectedEOF)
	require.ErrorIs(t, transport, context.Canceled)
	decode := &DecodeError{Err: wire.ErrCutOff, summary: summary{stopped: context.Canceled}}
	require.ErrorIs(t, decode, wire.ErrCutOff)
	require.ErrorIs(t, decode, context.Canceled)
	assert.False(t, (&CallError{Err: io.EOF}).Timeout())
	assert.True(t, (&CallError{Err: &wire.TimeoutError{}}).Timeout())
	var netError net.Error
	require.ErrorAs(t, transport, &netError)
}

// A status that has no name leaves no gap in the text.
func TestErrorTextOfAnUnknownStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{600, 999} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(status, ``)}}
		_, err := over(t, s).Images.Show(t.Context(), "7")
		assert.EqualError(t, err, fmt.Sprintf("images.show: %d", status))
	}
}

// separated is a file system whose errors have several lines, as errors.Join makes them.
type separated struct{}

func (separated) Open(string) (fs.File, error) {
	return nil, errors.Join(errors.New("first"), errors.New("second\rthird"))
}

// Logs are read line by line: an error is one, whatever the caller's own code puts into it.
func TestErrorsOfTheCallersCodeAreOneLine(t *testing.T) {
	t.Parallel()
	var limiter RateLimiter = fakes.Limiter(func(context.Context) error { return errors.New("first\r\nsecond\rthird") })
	_, waiting := over(t, fakes.RoundTripper(fakes.Lose), WithRateLimiter(limiter)).Images.Show(t.Context(), "7")
	_, opening := over(t, fakes.RoundTripper(fakes.Lose)).Transcriptions.Store(t.Context(), TranscriptionStoreParams{
		Name: "a", Language: "SE", File: FileFromFS(separated{}, "a.wav"),
	})
	for _, err := range []error{waiting, opening} {
		assert.NotContains(t, err.Error(), "\n")
		assert.NotContains(t, err.Error(), "\r")
		assert.Contains(t, err.Error(), "first; second; third")
	}
}

// A source that cannot renew a key may say which.
func TestARefusedKeyIsMaskedInTheErrorOfItsSource(t *testing.T) {
	t.Parallel()
	asked := 0
	source := func(context.Context) (string, error) {
		if asked++; asked == 1 {
			return fakes.Key, nil
		}
		return "", errors.New("cannot renew " + fakes.Key)
	}
	refusing := fakes.RoundTripper(fakes.Respond(401, `{}`))
	_, err := over(t, refusing, WithAPIKeySource(source)).Images.Show(t.Context(), "7")
	require.ErrorIs(t, err, ErrUnauthorized)
	assert.Contains(t, err.Error(), "cannot renew")
	fakes.AssertNoKey(t, err, fakes.Key)
}

// A program that keeps what the service sent in place of a record must not keep the key with it.
func TestTheBodyOfADecodeErrorIsMasked(t *testing.T) {
	t.Parallel()
	c := over(t, fakes.RoundTripper(fakes.OK(`{"debug":{"authorization":"Bearer `+fakes.Key+`"}}`)))
	_, err := c.Images.Show(t.Context(), "7")
	failed, ok := errors.AsType[*DecodeError](err)
	require.True(t, ok, err)
	assert.Contains(t, string(failed.Body), "authorization")
	assert.NotContains(t, string(failed.Body), fakes.Key)
}

// A mirror that removes the file of a record that is gone must not believe a proxy during a deploy.
func TestNotFoundIsTheServicesOwnWord(t *testing.T) {
	t.Parallel()
	for body, own := range map[string]bool{
		`{"message":"Resource not found.","status":404}`: true, `{}`: true, `[]`: true, `{"error":"gone"}`: true,
		`<html><h1>404 Not Found</h1></html>`: false, `404 page not found`: false, `default backend - 404`: false, ``: false, `404`: false,
		`"not found"`: false, `null`: false, `{"message":"Res`: false,
	} {
		c := over(t, fakes.RoundTripper(fakes.Respond(404, body)), WithRetryPolicy(quick))
		for name, call := range allTen(c) {
			err := call(t.Context())
			require.ErrorAs(t, err, new(*APIError), name)
			assert.Equal(t, own, errors.Is(err, ErrNotFound), "%s: %s", name, body)
			assert.Equal(t, !own && !strings.HasSuffix(name, "store"), Retryable(err), "%s: %s", name, body)
			record := strings.HasSuffix(name, "show") || strings.HasSuffix(name, "update") || strings.HasSuffix(name, "delete")
			assert.Equal(t, !own || !record, strings.Contains(err.Error(), "https://content.example.com/tenant"), "%s: %v", name, err)
		}
	}
}
