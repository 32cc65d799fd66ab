package aicontent

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
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

func TestErrorTextsOfEachType(t *testing.T) {
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

func TestErrorsUnwrapToTheirCauses(t *testing.T) {
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
func TestErrorTextOfAnUnknownStatusHasNoGap(t *testing.T) {
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

// An error keeps 1 MiB of its response, however long that is.
func TestErrorsKeepTheBeginningOfTheirResponse(t *testing.T) {
	t.Parallel()
	const kept = 1 << 20
	for _, size := range []int{kept, kept + 1, 4 * kept} {
		var resp *Response
		body := strings.Repeat("a", size)
		c := over(t, &fakes.Script{Responses: fakes.Responses{fakes.Respond(500, body)}}, WithRetryPolicy(oneAttempt))
		var refused *APIError
		_, err := c.Images.Show(t.Context(), "7", WithResponse(&resp))
		require.ErrorAs(t, err, &refused)
		assert.Len(t, refused.Body, kept)
		assert.Len(t, resp.Body, kept)
		c = over(t, &fakes.Script{Responses: fakes.Responses{fakes.OK(body)}}, WithRetryPolicy(oneAttempt))
		var unread *DecodeError
		_, err = c.Images.Show(t.Context(), "7", WithResponse(&resp))
		require.ErrorAs(t, err, &unread)
		assert.Len(t, unread.Body, kept)
		assert.Len(t, resp.Body, size, "whole where it is no error by its status")
	}
}

// What ends the call between two attempts must not hide what the service said before.
func TestLimiterThatFailsLaterKeepsTheLastResponse(t *testing.T) {
	t.Parallel()
	closed := errors.New("limiter closed")
	calls := 0
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, `{"message":"upstream is away"}`)}}
	c := over(t, s, WithRetryPolicy(quick), WithRateLimiter(fakes.Limiter(func(context.Context) error {
		if calls++; calls > 1 {
			return closed
		}
		return nil
	})))
	_, err := c.Images.Show(t.Context(), "7")
	require.ErrorIs(t, err, closed)
	require.ErrorIs(t, err, ErrServer)
	assert.Contains(t, err.Error(), "upstream is away")
}

// oneAttempt is a policy without retries.
var oneAttempt = RetryPolicy{MaxAttempts: 1}

func fails(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// What the person on call reads must say what happened, what became of the record, and whom to ask.
func TestErrorsSayWhatHappened(t *testing.T) {
	t.Parallel()
	const page = "<html><title>Not Found</title></html>"
	for name, row := range map[string]struct {
		op        string
		responses fakes.Responses
		policy    RetryPolicy
		base      string // instead of the usual one
		text      string
	}{
		"a store lost its response": {
			"images.store", fakes.Responses{fails(io.EOF)}, oneAttempt, "",
			"images.store: the service closed the connection before a response came: EOF (it may have been created; host content.example.com)",
		},
		"a connection was reset": {
			"images.update", fakes.Responses{fails(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})}, oneAttempt, "",
			"images.update: the service closed the connection before a response came: read tcp: " + syscall.ECONNRESET.Error() + " (it may have been updated; host content.example.com)",
		},
		"a delete lost its response": {
			"images.delete", fakes.Responses{fails(io.ErrUnexpectedEOF)}, oneAttempt, "",
			"images.delete: the service closed the connection before a response came: unexpected EOF (it may have been deleted; host content.example.com)",
		},
		"a show lost its response": {
			"images.show", fakes.Responses{fails(syscall.EPIPE)}, oneAttempt, "",
			"images.show: the service closed the connection before a response came: " + syscall.EPIPE.Error() + " (host content.example.com)",
		},
		"a RoundTripper says that it was never reached": {
			"images.store", fakes.Responses{fails(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})}, oneAttempt, "",
			"images.store: dial tcp: " + syscall.ECONNREFUSED.Error() + " (it may have been created; host content.example.com)",
		},
		"the request id": {
			"images.show", fakes.Responses{fakes.Respond(500, `{"message":"Server Error"}`, "X-Request-Id", "req-7")}, oneAttempt, "",
			"images.show: 500: Server Error (request req-7)",
		},
		"all at once, and each once": {
			"images.store", fakes.Responses{fakes.Respond(504, `504 Gateway Timeout`, "X-Request-Id", "req-7")}, oneAttempt, "",
			"images.store: 504: Gateway Timeout (it may have been created; request req-7)",
		},
		"a 2xx that cannot be read": {
			"images.store", fakes.Responses{fakes.Respond(201, ``)}, oneAttempt, "",
			"images.store: 201: the response is empty (it was created)",
		},
		"the same every time": {
			"images.show", fakes.Responses{fakes.Respond(502, ``)}, quick, "",
			"images.show: 502: bad gateway (attempt 3 of 3)",
		},
		"the same twice": {
			"images.show", fakes.Responses{fakes.Respond(502, ``)}, RetryPolicy{MaxAttempts: 2, MinBackoff: -1}, "",
			"images.show: 502: bad gateway (attempt 2 of 2)",
		},
		"something else before": {
			"images.show", fakes.Responses{fakes.Respond(502, ``), fakes.Respond(502, ``), fakes.Lose, fakes.Respond(404, `{}`)}, RetryPolicy{MaxAttempts: 9, MinBackoff: -1}, "",
			"images.show: 404: not found (attempt 4 of 9)",
		},
		"no API there": {
			"images.list", fakes.Responses{fakes.Respond(404, page)}, oneAttempt, "",
			"images.list: 404: Not Found (there is no API at https://content.example.com/tenant/api/v1: is the base URL right?)",
		},
		"no API there, in JSON": {
			"transcriptions.store", fakes.Responses{fakes.Respond(404, `{"message":""}`)}, oneAttempt, "",
			"transcriptions.store: 404: {\"message\":\"\"} (there is no API at https://content.example.com/tenant/api/v1: is the base URL right?)",
		},
		"the base URL ends in /api": {
			"images.list", fakes.Responses{fakes.Respond(404, page)}, oneAttempt, "https://content.example.com/tenant/api",
			"images.list: 404: Not Found (there is no API at https://content.example.com/tenant/api/api/v1: is the base URL right?)",
		},
		"a host called api": {
			"images.list", fakes.Responses{fakes.Respond(404, page)}, oneAttempt, "https://api",
			"images.list: 404: Not Found (there is no API at https://api/api/v1: is the base URL right?)",
		},
		"the base URL ends in /api, and the record is missing": {
			"images.show", fakes.Responses{fakes.Respond(404, `{"message":"Resource not found."}`)}, oneAttempt, "https://content.example.com/api",
			"images.show: 404: Resource not found.",
		},
		"a record is missing": {
			"images.show", fakes.Responses{fakes.Respond(404, page)}, oneAttempt, "",
			"images.show: 404: Not Found (a proxy may have responded: is the base URL https://content.example.com/tenant right?)",
		},
		"too long a wait": {
			"images.show", fakes.Responses{fakes.Respond(429, `{"message":"Too Many Attempts."}`, "Retry-After", "90")}, RetryPolicy{}, "",
			"images.show: 429: Too Many Attempts. (the service asks to wait 1m30s, the retry policy allows 1m0s (MaxRetryAfter))",
		},
		"no wait at all": {
			"images.store", fakes.Responses{fakes.Respond(429, ``, "Retry-After", "1")}, RetryPolicy{MaxRetryAfter: -1}, "",
			"images.store: 429: too many requests (the service asks to wait 1s, the retry policy allows 0s (MaxRetryAfter))",
		},
		"no double punctuation": {
			"images.store", fakes.Responses{fakes.Respond(422, `{"message":"The given data was invalid.","errors":{"name":["The name is taken."]}}`)}, oneAttempt, "",
			"images.store: 422: The given data was invalid; name: The name is taken.",
		},
		"a message that is an object": {
			"images.store", fakes.Responses{fakes.Respond(422, `{"message":{"name":["The name field is required."]},"status":422}`)}, oneAttempt, "",
			"images.store: 422: name: The name field is required.",
		},
		"a login page elsewhere": {
			"images.show", fakes.Responses{fakes.Respond(302, ``, "Location", "https://sso.example.com/login")}, oneAttempt, "",
			"images.show: 302: the API key is not accepted: the service redirects to https://sso.example.com/login",
		},
		"another origin": {
			"images.show", fakes.Responses{fakes.Respond(302, ``, "Location", "https://cdn.example.com/images/7")}, oneAttempt, "",
			"images.show: 302: the service redirects to https://cdn.example.com/images/7: is the base URL https://content.example.com/tenant right?",
		},
		"a store that is redirected": {
			"images.store", fakes.Responses{fakes.Respond(301, ``, "Location", "/tenant/api/v1/images/")}, oneAttempt, "",
			"images.store: 301: the service redirects to https://content.example.com/tenant/api/v1/images/: is the base URL https://content.example.com/tenant right? (it may have been created)",
		},
		"no connection before": {
			"images.show", fakes.Responses{fails(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 443}, Err: syscall.ECONNREFUSED}), fakes.Respond(404, `{}`)}, quick, "",
			"images.show: 404: not found (attempt 2 of 3)",
		},
		"two connections lost, in different ways": {
			"images.show", fakes.Responses{
				fails(io.EOF), fails(&net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{Port: 2}, Err: syscall.ECONNRESET}), fakes.Respond(404, `{}`),
			}, quick, "",
			"images.show: 404: not found (attempt 3 of 3)",
		},
		"a redirect to nowhere": {
			"images.show", fakes.Responses{fakes.Respond(302, ``)}, oneAttempt, "",
			"images.show: 302: found",
		},
		"cut off before": {
			"images.show", fakes.Responses{fakes.OK(`{"id":7,"na`), fakes.Respond(404, `{}`)}, quick, "",
			"images.show: 404: not found (attempt 2 of 3)",
		},
		"a choice": {
			"images.show", fakes.Responses{fakes.Respond(300, ``, "Location", "/elsewhere")}, oneAttempt, "",
			"images.show: 300: the service redirects to https://content.example.com/elsewhere: is the base URL https://content.example.com/tenant right?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakes.Script{Responses: row.responses}
				c := over(t, s, WithRetryPolicy(row.policy))
				if row.base != "" {
					var err error
					c, err = NewClient(row.base, fakes.Key, WithRetryPolicy(row.policy), WithHTTPClient(&http.Client{Transport: s}))
					require.NoError(t, err)
				}
				assert.EqualError(t, allTen(c)[row.op](t.Context()), row.text)
			})
		})
	}
}

func TestErrorOfAnUpdateByPUTSaysSo(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Lose}}
	_, err := over(t, s, WithUpdateMethod(http.MethodPut), WithRetryPolicy(oneAttempt)).Images.Update(t.Context(), "7", ImageUpdateParams{})
	assert.ErrorContains(t, err, "it may have been updated")
}

// A hundred attempts must not make a line of 75 KB.
func TestErrorTextIsAsShortAfterAHundredAttempts(t *testing.T) {
	t.Parallel()
	n := 0
	s := &fakes.Script{Responses: fakes.Responses{func(*http.Request) (*http.Response, error) {
		n++
		return nil, fmt.Errorf("failure %d: %s", n, strings.Repeat("x", 500))
	}}}
	_, err := over(t, s, WithRetryPolicy(RetryPolicy{MaxAttempts: 100, MinBackoff: -1})).Images.Show(t.Context(), "7")
	require.Error(t, err)
	assert.Len(t, s.Asked, 100)
	assert.Less(t, len(err.Error()), 1500)
	assert.Contains(t, err.Error(), "attempt 100 of 100")
}

// A RoundTripper need not set the response's request.
func TestRelativeRedirectIsResolvedWithoutTheResponsesRequest(t *testing.T) {
	t.Parallel()
	c, err := NewClient("https://content.example.com", fakes.Key, WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(fakes.Respond(302, "", "Location", "/moved"))}))
	require.NoError(t, err)
	_, err = c.Images.Store(t.Context(), aStore)
	assert.ErrorContains(t, err, "images.store: 302: the service redirects to https://content.example.com/moved: is the base URL https://content.example.com right?")
}

// The time limit of the http.Client is the user's, and the error says so. It counts the upload, too.
func TestErrorNamesTheShortestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second / 2)
			_, _ = io.Copy(io.Discard, r.Body)
			return fakes.Hang(r)
		})
		c, err := NewClient("https://content.example.com", fakes.Key, WithHTTPClient(&http.Client{Transport: slow, Timeout: 3 * time.Second}),
			WithRetryPolicy(oneAttempt), WithStoreTimeout(3*time.Second))
		require.NoError(t, err)
		file := FileFromBytes("a.wav", []byte(wavHead))
		_, err = c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: file})
		assert.ErrorContains(t, err, "transcriptions.store: the http.Client's Timeout of 3s ended the attempt (WithHTTPClient): ")
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
		var lost net.Error
		require.ErrorAs(t, err, &lost)
		assert.True(t, lost.Timeout())
		_, err = c.Images.Store(t.Context(), aStore, WithStoreTimeout(time.Second), WithResponseTimeout(time.Millisecond))
		assert.ErrorContains(t, err, "images.store: no complete response within 1s (WithStoreTimeout) (it may have been created; host ")
		assert.NotContains(t, err.Error(), "WithHTTPClient")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.Images.Store(ctx, aStore)
		assert.ErrorContains(t, err, "images.store: context deadline exceeded (it may have been created; host ")
	})
}

// A connection's own timeout, such as the system's, is not the client's.
func TestErrorOfTheSystemsTimeoutNamesNoOption(t *testing.T) {
	t.Parallel()
	dial := fails(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ETIMEDOUT})
	c, err := NewClient("https://content.example.com", fakes.Key, WithRetryPolicy(oneAttempt),
		WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(dial), Timeout: time.Hour}))
	require.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7")
	assert.EqualError(t, err, "images.show: dial tcp: "+syscall.ETIMEDOUT.Error()+" (host content.example.com)")
}

// A cause that is told twice makes a reader look for two faults.
func TestErrorsSayTheirCauseOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Script{Responses: fakes.Responses{stalling}}
		_, err := over(t, s, WithRetryPolicy(oneAttempt)).Images.Show(t.Context(), "7")
		assert.EqualError(t, err, "images.show: 200: the response was cut off: no complete response within 30s (WithResponseTimeout)")
		ctx, cancel := contextAfter(t, time.Second)
		defer cancel()
		_, err = over(t, s, WithRetryPolicy(oneAttempt)).Images.Show(ctx, "7")
		assert.EqualError(t, err, "images.show: 200: the response was cut off: context canceled: the user left")
	})
}

// A login page says nothing of JSON: it is the key that is wrong.
func TestRedirectToALoginPageIsUnauthorized(t *testing.T) {
	t.Parallel()
	baseURL, _ := fakes.Counted(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) })
	c, err := NewClient(baseURL, fakes.Key)
	require.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7")
	assert.ErrorIs(t, err, ErrUnauthorized)
	assert.False(t, Retryable(err), "a key that is not accepted stays so")
	assert.NotContains(t, err.Error(), "decod")
	assert.NotContains(t, err.Error(), "cannot read")
	assert.ErrorContains(t, err, "images.show: 302: the API key is not accepted: the service redirects to http://")
}

// Slog prints the text of an error: with what the on-call needs, on one line, without a body or a query.
func TestErrorsInTheLogAreOneLineWithoutBodyAndQuery(t *testing.T) {
	t.Parallel()
	for _, respond := range []func(*http.Request) (*http.Response, error){
		fakes.Respond(422, `{"errors":{"name":["is taken"]},"debug":"hidden"}`), fakes.Lose, fakes.Respond(201, `{"debug":"hidden"}`),
	} {
		_, err := over(t, &fakes.Script{Responses: fakes.Responses{respond}}, WithRetryPolicy(oneAttempt)).Images.Store(t.Context(), aStore, WithQuery("q", "hidden"))
		require.Error(t, err)
		for _, handler := range []func(io.Writer) slog.Handler{
			func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
			func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
		} {
			var out bytes.Buffer
			slog.New(handler(&out)).Info("failed", "error", err)
			assert.Contains(t, out.String(), strings.Trim(strconv.Quote(err.Error()), `"`))
			assert.NotContains(t, out.String(), "hidden")
		}
	}
}

// Programs ask for net.Error to learn whether something passes.
func TestCallErrorsAreNetErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, row := range map[string]struct {
			respond            func(*http.Request) (*http.Response, error)
			timeout, retryable bool
		}{
			"a timeout":             {fakes.Hang, true, true},
			"lost":                  {fakes.Lose, false, true},
			"a refused certificate": {fails(x509.UnknownAuthorityError{}), false, false},
		} {
			s := &fakes.Script{Responses: fakes.Responses{row.respond}}
			c := over(t, s, WithRetryPolicy(oneAttempt))
			_, err := c.Images.Store(t.Context(), aStore)
			assert.False(t, Retryable(err), "%s: a Store call that may have been executed", name)
			_, err = c.Images.Show(t.Context(), "7")
			var lost net.Error
			require.ErrorAs(t, err, &lost, name)
			assert.Equal(t, row.timeout, lost.Timeout(), name)
			//lint:ignore SA1019 Programs still call it.
			assert.Equal(t, row.retryable, lost.Temporary(), name)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := over(t, &fakes.Script{}).Images.Show(ctx, "7")
	var lost net.Error
	require.ErrorAs(t, err, &lost)
	assert.False(t, lost.Timeout())
	assert.True(t, errors.Is(err, context.Canceled))
}

// net/http has more than one error for a client's Timeout. The SDK's is the same for all of them.
func TestErrorsNameTheTimeoutOfTheHTTPClient(t *testing.T) {
	t.Parallel()
	ended := func(err error) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, err
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Script{Responses: fakes.Responses{ended(os.ErrDeadlineExceeded), ended(fmt.Errorf("net/http: request canceled: %w", os.ErrDeadlineExceeded))}}
		c, err := NewClient("https://content.example.com", fakes.Key, WithRetryPolicy(quick), WithStoreTimeout(time.Second), WithHTTPClient(&http.Client{Transport: s, Timeout: time.Second}))
		require.NoError(t, err)
		_, err = c.Images.Show(t.Context(), "7")
		// Whether http.Client adds its own error is a race within net/http.
		var lost net.Error
		require.ErrorAs(t, err, &lost)
		assert.True(t, lost.Timeout())
		assert.ErrorContains(t, err, "images.show: the http.Client's Timeout of 1s ended the attempt (WithHTTPClient): net/http: request canceled: ")
		assert.ErrorContains(t, err, "(attempt 3 of 3")
	})
}

// Whoever is on call must not look for a limit that did not end the attempt: the transport has limits too.
func TestErrorsNameTheLimitThatEndedTheAttempt(t *testing.T) {
	t.Parallel()
	silent := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			_, _ = io.Copy(io.Discard, far)
		}()
		return near, nil
	}
	deaf := func(context.Context, string, string) (net.Conn, error) {
		time.Sleep(30 * time.Second)
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	// A Store timeout that is as long as the client's Timeout ends first, unless an attempt dials or uploads.
	both := []string{"images.show", "images.store"}
	for name, row := range map[string]struct {
		transport *http.Transport
		timeout   time.Duration
		base, err string
		took      time.Duration
		calls     []string
		clients   bool // the http.Client's Timeout ended it
	}{
		"response header":       {&http.Transport{DialContext: silent, ResponseHeaderTimeout: time.Second}, time.Hour, "http://localhost", "timeout awaiting response headers", time.Second, both, false},
		"TLS handshake":         {&http.Transport{DialContext: silent, TLSHandshakeTimeout: time.Second}, time.Hour, "https://localhost", "TLS handshake timeout", time.Second, both, false},
		"dialer":                {&http.Transport{DialContext: deaf}, time.Hour, "https://localhost", "i/o timeout", 30 * time.Second, both, false},
		"client":                {&http.Transport{DialContext: silent, ResponseHeaderTimeout: time.Hour}, time.Second, "http://localhost", "the http.Client's Timeout of 1s", time.Second, both[:1], true},
		"client, while dialing": {&http.Transport{DialContext: deaf}, time.Second, "http://localhost", "the http.Client's Timeout of 1s", time.Second, both, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hc := &http.Client{Transport: row.transport, Timeout: row.timeout}
				c, err := NewClient(row.base, fakes.Key, WithHTTPClient(hc), WithRetryPolicy(oneAttempt), WithStoreTimeout(row.timeout))
				require.NoError(t, err)
				for _, call := range row.calls {
					start := time.Now()
					err := allTen(c)[call](t.Context())
					assert.ErrorContains(t, err, row.err, call)
					assert.Equal(t, row.clients, strings.Contains(err.Error(), "the http.Client's Timeout of"), "%s: %v", call, err)
					assert.Equal(t, row.took, time.Since(start), call)
				}
				c.CloseIdleConnections()
				time.Sleep(time.Minute)
			})
		})
	}
}

// Search terms may be personal: no error text shows a query.
func TestErrorsDoNotShowTheQuery(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]func(*http.Request) (*http.Response, error){
		"lost": fakes.Lose, "refused": fakes.Respond(500, `no`), "redirected": fakes.Respond(302, ``, "Location", "https://elsewhere.example.com/?search=private"),
		"unreadable": fakes.OK(`<html>`),
	} {
		s := &fakes.Script{Responses: fakes.Responses{handler}}
		_, err := over(t, s, WithRetryPolicy(quick)).Images.List(t.Context(), ImageListParams{Search: "private"})
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "private", name)
	}
}

// The errors of a middleware may hold URLs, whose queries may be personal or signed.
func TestErrorsOfAMiddlewareDoNotShowTheQuery(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	address := "https://content.example.com/tenant/api/v1/images?search=private"
	inner := &url.Error{Op: "Get", URL: address, Err: boom}
	for name, lost := range map[string]error{
		"one":            inner,
		"nested":         &url.Error{Op: "Get", URL: address, Err: &url.Error{Op: "Get", URL: address, Err: inner}},
		"wrapped nested": fmt.Errorf("signing %s: %w", address, &url.Error{Op: "Get", URL: address, Err: fmt.Errorf("again: %w", inner)}),
	} {
		var log bytes.Buffer
		fail := fakes.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, lost })
		c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithRetryPolicy(quick), WithHTTPClient(&http.Client{Transport: fail}),
			WithMiddleware(func(http.RoundTripper) http.RoundTripper { return fail }),
			WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		require.NoError(t, err)
		_, err = c.Images.List(t.Context(), ImageListParams{Search: "private"})
		_, lost := c.Images.Download(t.Context(), at(address), io.Discard)
		for _, err := range []error{err, lost} {
			assert.ErrorIs(t, err, boom, name)
			for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), log.String()} {
				assert.Contains(t, text, "boom", name)
				assert.NotContains(t, text, "private", name)
			}
		}
	}
}

// A timeout whose text quoted the key is a timeout all the same.
func TestMaskedTimeoutsAreTimeouts(t *testing.T) {
	t.Parallel()
	rt := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("sending %v: %w", r.Header, os.ErrDeadlineExceeded)
	})
	_, err := over(t, rt, WithRetryPolicy(oneAttempt)).Images.Show(t.Context(), "7")
	var lost net.Error
	require.ErrorAs(t, err, &lost)
	assert.True(t, lost.Timeout(), "%v", err)
	assert.NotContains(t, err.Error(), fakes.Key)
}

// What went wrong in the caller's own code is what the caller has to read, and to find by errors.Is.
func TestErrorsOfTheCallersCodeAreFound(t *testing.T) {
	t.Parallel()
	errSigner := errors.New("the signer is sealed")
	tokens := &url.Error{Op: "Post", URL: "https://tokens.example.com/v1?client=4711", Err: errors.New("no route to host")}
	sign := WithMiddleware(func(http.RoundTripper) http.RoundTripper {
		return fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("%w: fetching token: %w", errSigner, tokens)
		})
	})
	_, err := over(t, fakes.RoundTripper(fakes.Lose), sign, WithRetryPolicy(oneAttempt)).Images.Show(t.Context(), "7")
	require.ErrorIs(t, err, errSigner)
	require.ErrorIs(t, err, tokens.Err)
	assert.EqualError(t, err, `images.show: the signer is sealed: fetching token: Post "https://tokens.example.com/v1": no route to host`+
		" (host content.example.com)")

	errSpent, errClosed := errors.New("the day's limit is spent"), errors.New("the ledger is closed")
	refuse := WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) {
		return nil, errors.Join(errSpent, errClosed)
	})
	_, err = over(t, fakes.RoundTripper(fakes.Lose), refuse).Images.Store(t.Context(), aStore)
	require.ErrorIs(t, err, errClosed)
	assert.EqualError(t, err, "images.store: the day's limit is spent; the ledger is closed")

	inner := over(t, fakes.RoundTripper(fakes.Respond(422, `{"message":"no"}`)))
	nested := WithAttemptHook(func(ctx context.Context, _ Attempt) (func(AttemptResult), error) {
		_, err := inner.Images.Store(ctx, aStore)
		return nil, err
	})
	_, err = over(t, fakes.RoundTripper(fakes.Lose), nested).Images.Store(t.Context(), aStore)
	assert.NotErrorIs(t, err, ErrInvalid, "the service did not refuse this call")
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
	assert.EqualError(t, err, "images.store: 422: no")
}

// PHP behind Apache's proxy sees an empty form where an upload is chunked: only the SDK knows that it was.
func TestChunkedUploadsThatAreRefusedSaySo(t *testing.T) {
	t.Parallel()
	refuse := fakes.RoundTripper(fakes.Respond(422, `{"message":"invalid","errors":{"file":["The file field is required."]}}`))
	store := func(file File) error {
		_, err := over(t, refuse).Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: file})
		return err
	}
	file := func() File {
		return FileFromReader("a.wav", io.MultiReader(strings.NewReader(strings.Repeat("a", 1000))))
	}
	assert.ErrorContains(t, store(file()), "the upload was chunked, which some services do not accept: set File.Size")
	sized := file()
	sized.Size = 1000
	assert.NotContains(t, store(sized).Error(), "chunked")
}

// A key that is wrong is mended where it comes from, and a host that is wrong in the base URL.
func TestErrorOfARefusedKeySaysWhereItComesFrom(t *testing.T) {
	refuse := WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(fakes.Respond(401, `{"message":"Unauthenticated."}`))})
	t.Setenv("AICONTENT_BASE_URL", "https://content.example.com")
	t.Setenv("AICONTENT_API_KEY", fakes.Key)
	source := WithAPIKeySource(func(context.Context) (string, error) { return fakes.Key, nil })
	given, err := NewClient("https://content.example.com", fakes.Key, refuse)
	require.NoError(t, err)
	fromEnv, err := NewClientFromEnv(refuse)
	require.NoError(t, err)
	rotating, err := NewClientFromEnv(refuse, source)
	require.NoError(t, err)
	for from, c := range map[string]*Client{"given to NewClient": given, "in AICONTENT_API_KEY": fromEnv, "of WithAPIKeySource": rotating} {
		_, err := c.Images.Show(t.Context(), "7")
		assert.EqualError(t, err, "images.show: 401: Unauthenticated. (content.example.com did not accept the key "+from+")")
	}
}

// Another attempt speaks to the same port.
func TestPortThatSpeaksHTTPIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(fakes.RespondToAll))
	defer srv.Close()
	c, err := NewClient(strings.Replace(srv.URL, "http:", "https:", 1), fakes.Key, WithRetryPolicy(quick))
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	for name, call := range allTen(c) {
		err := call(t.Context())
		require.ErrorIs(t, err, http.ErrSchemeMismatch, name)
		assert.ErrorContains(t, err, "the port speaks http, not https: is the base URL right?", name)
		lost, ok := errors.AsType[*CallError](err)
		require.True(t, ok)
		assert.Equal(t, 1, lost.Attempts, name)
		assert.False(t, Retryable(err), name)
		assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), name)
	}
}

// twoKeys is a key source whose first key the service refuses.
func twoKeys() Option {
	asked := 0
	return WithAPIKeySource(func(context.Context) (string, error) {
		asked++
		return fmt.Sprint("key-number-", asked), nil
	})
}

// A service that logs or repeats a refused key in its responses must not bring it into the program's log.
func TestRefusedKeyIsMaskedAfterARenewal(t *testing.T) {
	t.Parallel()
	const both = "key-number-1 became key-number-2"
	refused := fakes.Respond(401, `{"message":"no"}`)
	answered := func(status int, body string) func(*http.Request) (*http.Response, error) {
		return fakes.Respond(status, body, "X-Request-Id", both, "X-Echo", both)
	}
	record := fmt.Sprintf(`{"id":"%s","name":"n"}`, both)
	fullPage := `{"data":[` + strings.TrimSuffix(strings.Repeat(record+",", 10), ",") + `]}`
	list := func(ctx context.Context, c *Client, opts ...CallOption) error {
		page, err := c.Images.List(ctx, ImageListParams{}, opts...)
		if err == nil {
			_, err = page.Next(ctx)
		}
		return err
	}
	show := func(ctx context.Context, c *Client, opts ...CallOption) error {
		_, err := c.Images.Show(ctx, "key-number-1", opts...)
		return err
	}
	find := func(ctx context.Context, c *Client, opts ...CallOption) error {
		_, err := c.Images.FindByName(ctx, "n", opts...)
		return err
	}
	for name, row := range map[string]struct {
		response func(*http.Request) (*http.Response, error)
		call     func(context.Context, *Client, ...CallOption) error
	}{
		"an error":                   {answered(422, `{"message":"`+both+`","errors":{"`+both+`":["`+both+`"]}}`), show},
		"text":                       {answered(500, both), show},
		"a redirect":                 {fakes.Respond(302, both, "Location", "https://sso.example.com/key-number-1"), show},
		"a success without a record": {answered(200, `{"status":"error","message":"`+both+`"}`), show},
		"a success that is no JSON":  {answered(200, both), show},
		"a lost connection":          {fails(errors.New(both)), show},
		"a page that says no next":   {answered(200, fullPage), list},
		"records of the same name":   {answered(200, `{"data":[`+record+`,{"id":"key-number-2","name":"n"}]}`), find},
		"a search that is refused":   {answered(403, `{"message":"`+both+`"}`), find},
	} {
		var log bytes.Buffer
		o := &observer{}
		var resp *Response
		s := &fakes.Script{Responses: fakes.Responses{refused, row.response}}
		c := over(t, s, twoKeys(), WithRetryPolicy(oneAttempt), WithAttemptHook(o.hook), debugging(&log))
		err := row.call(t.Context(), c, WithResponse(&resp))
		require.Error(t, err, name)
		for _, key := range []string{"key-number-1", "key-number-2"} {
			fakes.AssertNoKey(t, err, key)
			fakes.AssertNoKey(t, resp, key)
			fakes.AssertNoKey(t, o.results[len(o.results)-1], key)
			assert.NotContains(t, err.Error(), key, name)
			assert.NotContains(t, strings.ReplaceAll(log.String(), "images/key-number-1", ""), key, name)
		}
		assert.NotContains(t, err.Error(), "\n")
	}
}

// A hook that refuses the attempt with the new key may name both.
func TestBothKeysAreMaskedInARefusalAfterARenewal(t *testing.T) {
	t.Parallel()
	refuse := WithAttemptHook(func(_ context.Context, a Attempt) (func(AttemptResult), error) {
		if a.Number == 1 {
			return nil, nil
		}
		return nil, errors.New("key-number-2 has no more credit than key-number-1")
	})
	err := showSeven(t.Context(), over(t, fakes.RoundTripper(fakes.Respond(401, `{}`)), twoKeys(), refuse))
	assert.ErrorContains(t, err, "not retried: [API key] has no more credit than [API key]")
	fakes.AssertNoKey(t, err, "key-number-1")
	fakes.AssertNoKey(t, err, "key-number-2")
}

// A log is read line by line, and a terminal obeys control characters.
func TestForeignTextsInErrorsAreOneCleanLine(t *testing.T) {
	t.Parallel()
	const dirty = "first\r\nsecond\x1b[31m\u202e" + fakes.Key
	id := `"a\u001b[31m\u202e` + fakes.Key + `"`
	record := `{"id":` + id + `,"name":"n"}`
	cause, end := context.WithCancelCause(t.Context())
	end(errors.New(dirty))
	fail := errors.New(dirty)
	wav := []byte("RIFF\x04\x00\x00\x00WAVE")
	for name, row := range map[string]struct {
		ctx  context.Context
		rt   fakes.RoundTripper
		opts []Option
		call func(context.Context, *Client) error
	}{
		"a context's cause":                  {cause, fakes.OK(fakes.StoredImage), nil, showSeven},
		"a context's cause after a response": {nil, fakes.Respond(503, ``), []Option{ending(dirty)}, showSeven},
		"a hook": {nil, fakes.Lose, []Option{WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) {
			return nil, fail
		})}, showSeven},
		"a limiter":        {nil, fakes.Lose, []Option{WithRateLimiter(fakes.Limiter(func(context.Context) error { return fail }))}, showSeven},
		"a transport":      {nil, fails(fail), nil, showSeven},
		"a request ID":     {nil, fakes.Respond(500, ``, "X-Request-Id", "a\x1b[31m\u202e"+fakes.Key), nil, showSeven},
		"a message":        {nil, fakes.Respond(500, `{"message":`+id+`}`), nil, showSeven},
		"IDs of a search":  {nil, fakes.OK(`{"data":[` + record + `,{"id":"b\u001b","name":"n"}]}`), nil, findN},
		"an ID and a Show": {nil, listThen(record, 404), nil, findN},
		"a reader": {nil, fakes.Lose, nil, func(ctx context.Context, c *Client) error {
			file := FileFromReader("a.wav", iotest.ErrReader(fail))
			_, err := c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: "n", File: file})
			return err
		}},
		"a reader that fails later": {nil, reading, nil, func(ctx context.Context, c *Client) error {
			file := FileFromReader("a.wav", io.MultiReader(bytes.NewReader(wav), bytes.NewReader(make([]byte, 1<<20)), iotest.ErrReader(fail)))
			_, err := c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: "n", File: file})
			return err
		}},
		"a writer": {nil, fakes.OK("BMpicture"), nil, func(ctx context.Context, c *Client) error {
			_, err := c.Images.Download(ctx, at("https://cdn.example.com/a.png"), full(0, fail))
			return err
		}},
	} {
		ctx := row.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		o := &observer{}
		c := over(t, row.rt, append([]Option{WithRetryPolicy(oneAttempt), WithAttemptHook(o.hook)}, row.opts...)...)
		err := row.call(ctx, c)
		require.Error(t, err, name)
		texts := []string{err.Error(), Reason(err)}
		for _, r := range o.results {
			texts = append(texts, fmt.Sprint(r.Err), r.RequestID)
		}
		for _, text := range texts {
			assert.NotRegexp(t, `[\x00-\x1f\x{202e}]`, text, name)
			assert.NotContains(t, text, fakes.Key, name)
		}
	}
}

// reading is a transport that reads the request and gets no response.
func reading(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return fakes.Lose(r)
}

func showSeven(ctx context.Context, c *Client) error {
	_, err := c.Images.Show(ctx, "7")
	return err
}

func findN(ctx context.Context, c *Client) error {
	_, err := c.Images.FindByName(ctx, "n")
	return err
}

// listThen responds to a search with one record, and to anything else with a status and JSON.
func listThen(record string, status int) fakes.RoundTripper {
	return func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/images") {
			return fakes.OK(`{"data":[` + record + `]}`)(r)
		}
		return fakes.Respond(status, `{}`)(r)
	}
}

// ending is a limiter that refuses the second attempt with the text.
func ending(text string) Option {
	calls := 0
	return WithRateLimiter(fakes.Limiter(func(context.Context) error {
		if calls++; calls > 1 {
			return errors.New(text)
		}
		return nil
	}))
}

// An error that blames the policy where it allows the wait sends its reader to the wrong place.
func TestErrorNamesThePolicyOnlyIfItForbidsTheWait(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{"60": false, "61": true} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ``, "Retry-After", header)}}
		_, err := over(t, s, WithRetryPolicy(oneAttempt)).Images.Show(t.Context(), "7")
		require.ErrorIs(t, err, ErrRateLimited)
		assert.Equal(t, want, strings.Contains(err.Error(), "the retry policy allows 1m0s (MaxRetryAfter)"), "%v", err)
	}
}

// A user who left is named, even if no pause was due.
func TestErrorNamesAContextThatEndedWithoutAPause(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	hook := func(context.Context, Attempt) (func(AttemptResult), error) {
		return func(AttemptResult) { cancel(errUserLeft) }, nil
	}
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(500, ``)}}
	none := WithRetryPolicy(RetryPolicy{MinBackoff: -1, MaxBackoff: -1})
	_, err := over(t, s, none, WithAttemptHook(hook)).Images.Show(ctx, "7")
	require.ErrorIs(t, err, errUserLeft)
	require.ErrorIs(t, err, ErrServer)
	assert.Len(t, s.Sent, 1)
}

// An errgroup ends a context with the error of another call as its cause. That error says nothing about this call.
func TestErrorsOfOtherCodeAreNotTakenForAnAnswer(t *testing.T) {
	t.Parallel()
	// A real error of each kind, from other calls.
	notFound := showSeven(t.Context(), over(t, fakes.RoundTripper(fakes.Respond(404, `{}`))))
	conflict := showSeven(t.Context(), over(t, fakes.RoundTripper(fakes.Respond(409, `{}`))))
	//lint:ignore SA1012 A nil context is an argument that is refused.
	invalid := showSeven(nil, over(t, fakes.RoundTripper(fakes.Lose)))
	unread := showSeven(t.Context(), over(t, fakes.RoundTripper(fakes.OK(``)), WithRetryPolicy(oneAttempt)))
	lost := showSeven(t.Context(), over(t, fakes.RoundTripper(fakes.Lose), WithRetryPolicy(oneAttempt)))
	missing := findN(t.Context(), over(t, fakes.RoundTripper(fakes.OK(`{"data":[]}`))))
	twice := findN(t.Context(), over(t, fakes.RoundTripper(fakes.OK(`{"data":[{"id":1,"name":"n"},{"id":2,"name":"n"}]}`))))
	foreign := map[string]error{
		"404": notFound, "409": conflict, "bad arguments": invalid, "an unreadable response": unread, "a lost call": lost,
		"no such name": missing, "two such names": twice, "the sentinels": errors.Join(sentinels...),
	}
	mine := &fs.PathError{Op: "read", Path: "/mine", Err: errors.New("gone")}
	sentinel := errors.New("the user's sentinel")
	wav := FileFromBytes("a.wav", []byte("RIFF\x04\x00\x00\x00WAVE"))
	store := func(ctx context.Context, c *Client, file File) error {
		_, err := c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: "n", File: file})
		return err
	}
	type place struct {
		opts []Option
		rt   fakes.RoundTripper
		call func(context.Context, *Client) error
		own  []error // sentinels that the call itself earns
	}
	for kind, other := range foreign {
		require.Error(t, other, kind)
		err := fmt.Errorf("%w: %w: %w", other, mine, sentinel)
		ended, end := context.WithCancelCause(t.Context())
		end(err)
		during, endDuring := context.WithCancelCause(t.Context())
		within, endWithin := context.WithCancelCause(t.Context())
		storing := func(ctx context.Context, c *Client) error { return store(ctx, c, wav) }
		calls := 0
		later := func() error {
			if calls++; calls%2 == 0 {
				return err
			}
			return nil
		}
		for name, p := range map[string]place{
			"the cause of a context": {nil, fakes.OK(fakes.StoredImage), func(_ context.Context, c *Client) error {
				return storing(ended, c)
			}, nil},
			"the cause, during the attempt": {nil, func(r *http.Request) (*http.Response, error) {
				endDuring(err)
				return fakes.Hang(r)
			}, func(_ context.Context, c *Client) error { return storing(during, c) }, nil},
			"the cause, within the response": {nil, func(r *http.Request) (*http.Response, error) {
				endWithin(err)
				return stalling(r)
			}, func(_ context.Context, c *Client) error { return showSeven(within, c) }, nil},
			"a hook": {[]Option{WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) {
				return nil, err
			})}, fakes.Lose, storing, nil},
			"a limiter": {[]Option{WithRateLimiter(fakes.Limiter(func(context.Context) error { return err }))}, fakes.Lose, storing, nil},
			"a limiter after a response": {[]Option{WithRateLimiter(fakes.Limiter(func(context.Context) error {
				return later()
			}))}, fakes.Respond(502, ``), showSeven, []error{ErrServer}},
			"a key source": {[]Option{WithAPIKeySource(func(context.Context) (string, error) { return "", err })}, fakes.Lose, storing, nil},
			"a middleware": {[]Option{WithMiddleware(func(http.RoundTripper) http.RoundTripper {
				return fakes.RoundTripper(fails(err))
			})}, fakes.Lose, storing, nil},
			"a transport": {nil, fails(err), showSeven, nil},
			"a body": {nil, func(r *http.Request) (*http.Response, error) {
				body := io.NopCloser(io.MultiReader(strings.NewReader(`{"id`), iotest.ErrReader(err)))
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, ContentLength: -1}, nil
			}, showSeven, nil},
			"a reader": {nil, reading, func(ctx context.Context, c *Client) error {
				return store(ctx, c, FileFromReader("a.wav", iotest.ErrReader(err)))
			}, []error{ErrFile, ErrInvalid}},
			"a reader, later": {nil, reading, func(ctx context.Context, c *Client) error {
				return store(ctx, c, FileFromReader("a.wav", io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), iotest.ErrReader(err))))
			}, []error{ErrFile}},
			"a writer": {nil, fakes.OK("BMpicture"), func(ctx context.Context, c *Client) error {
				_, err := c.Images.Download(ctx, at("https://cdn.example.com/a.png"), full(0, err))
				return err
			}, nil},
			"a picture's body": {nil, func(r *http.Request) (*http.Response, error) {
				body := io.NopCloser(io.MultiReader(strings.NewReader("BMpicture"), iotest.ErrReader(err)))
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, ContentLength: -1}, nil
			}, func(ctx context.Context, c *Client) error {
				_, err := c.Images.Download(ctx, at("https://cdn.example.com/a.png"), io.Discard)
				return err
			}, nil},
		} {
			c := over(t, p.rt, append([]Option{WithRetryPolicy(quick)}, p.opts...)...)
			got := p.call(t.Context(), c)
			what := fmt.Sprintf("%s of %s", kind, name)
			require.Error(t, got, what)
			for _, own := range sentinels {
				assert.Equal(t, slices.Contains(p.own, own), errors.Is(got, own), "%s: %v: %v", what, own, got)
			}
			assert.ErrorIs(t, got, sentinel, what)
			assert.ErrorIs(t, got, mine, what)
			found, ok := errors.AsType[*fs.PathError](got)
			assert.True(t, ok && found == mine, what)
			for _, target := range []any{
				new(*APIError), new(*DecodeError), new(*CallError), new(*ConflictError), new(*ValidationError),
			} {
				if reflect.TypeOf(target).Elem() == reflect.TypeOf(got) {
					continue
				}
				assert.False(t, errors.As(got, target), "%s: %T", what, target)
			}
		}
	}
}

// One error of each type, with its reason, and whether and when the call may be made again.
func TestReasonIsTheCauseForThePeopleWhoUseAProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call := func(rt fakes.RoundTripper, opts ...Option) error {
			return showSeven(t.Context(), over(t, rt, append([]Option{WithRetryPolicy(oneAttempt)}, opts...)...))
		}
		bad := func() error {
			_, err := over(t, fakes.RoundTripper(fakes.Lose)).Images.Store(t.Context(), ImageStoreParams{
				Name: "", Description: "d", Resolution: "7",
			})
			return err
		}()
		cancelled, cancel := context.WithCancelCause(t.Context())
		cancel(errUserLeft)
		expired, done := context.WithTimeout(t.Context(), 0)
		defer done()
		refusal := errors.New("the day's limit is spent\nfor team 7")
		refuse := WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) { return nil, refusal })
		limited := WithRateLimiter(fakes.Limiter(func(context.Context) error { return errors.New("too busy") }))
		sealed := WithAPIKeySource(func(context.Context) (string, error) { return "", errors.New("the vault is sealed") })
		dial := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		_, unwritten := over(t, fakes.RoundTripper(fakes.OK("BMpicture"))).Images.Download(
			t.Context(), at("https://cdn.example.com/a.png"), full(0, errors.New("no space left")))
		_, unread := over(t, fakes.RoundTripper(reading)).Transcriptions.Store(t.Context(), TranscriptionStoreParams{
			Name: "n", File: FileFromReader("a.wav", io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), iotest.ErrReader(refusal))),
		})
		later := time.Now().Add(90 * time.Second)
		busy := fakes.RoundTripper(fakes.Respond(429, `{"message":"Too Many Attempts."}`, "Retry-After", "90"))
		gateway := fakes.RoundTripper(fakes.Respond(504, ``))
		taken := call(fakes.Respond(422, `{"message":"The name is taken.","errors":{"name":["The name is taken."]}}`))
		for name, row := range map[string]struct {
			err       error
			reason    string
			retryable bool
			at        time.Time
		}{
			"nil":                            {nil, "", false, time.Time{}},
			"a nil pointer":                  {(*APIError)(nil), "", false, time.Time{}},
			"ValidationError":                {bad, "name: is required; resolution: must be one of 256x256, 512x512, 1024x1024", false, time.Time{}},
			"APIError":                       {call(fakes.Respond(402, `{"message":"No credit left."}`)), "No credit left.", false, time.Time{}},
			"APIError with fields":           {taken, "name: The name is taken.", false, time.Time{}},
			"APIError without a message":     {call(gateway), "gateway timeout", true, time.Time{}},
			"APIError of an unknown status":  {call(fakes.Respond(599, ``)), "status 599", true, time.Time{}},
			"APIError with a Retry-After":    {call(busy), "Too Many Attempts.", true, later},
			"APIError of a login page":       {call(fakes.Respond(302, ``, "Location", "/login")), "the API key is not accepted: the service redirects to https://content.example.com/login", false, time.Time{}},
			"APIError with the key":          {call(fakes.Respond(403, `{"message":"key `+fakes.Key+` is blocked"}`)), "key [API key] is blocked", false, time.Time{}},
			"APIError of a program":          {&APIError{StatusCode: 429}, "too many requests", true, time.Time{}},
			"DecodeError":                    {call(fakes.OK(`{"a":1}`)), "the response could not be read", false, time.Time{}},
			"DecodeError of an empty body":   {call(fakes.OK(``)), "the response could not be read", true, time.Time{}},
			"CallError without a connection": {call(fails(dial)), "no connection to the service", true, time.Time{}},
			"CallError that broke":           {call(fails(io.EOF)), "the connection to the service broke", true, time.Time{}},
			"CallError of a timeout":         {call(fakes.Hang), "timed out", true, time.Time{}},
			"CallError of a deadline":        {showSeven(expired, over(t, fakes.RoundTripper(fakes.Lose))), "timed out", true, time.Time{}},
			"CallError of a context":         {showSeven(cancelled, over(t, fakes.RoundTripper(fakes.Lose))), "stopped", true, time.Time{}},
			"CallError of a hook":            {call(fakes.Lose, refuse), "refused: the day's limit is spent; for team 7", true, time.Time{}},
			"CallError of a limiter":         {call(fakes.Lose, limited), "refused: rate limiter: too busy", true, time.Time{}},
			"CallError of a key source":      {call(fakes.Lose, sealed), "refused: API key source: the vault is sealed", true, time.Time{}},
			"CallError of a file":            {unread, "the file could not be read", false, time.Time{}},
			"CallError of a writer":          {unwritten, "the picture could not be written", false, time.Time{}},
			"ConflictError":                  {&ConflictError{Name: "n", IDs: []ID{"1", "2"}, Reason: "more than one record has the name"}, "more than one record has the name", false, time.Time{}},
			"a name that no record has":      {findN(t.Context(), over(t, fakes.RoundTripper(fakes.OK(`{"data":[]}`)))), `images.findByName: no image has the name "n"`, false, time.Time{}},
			"a wrapped error":                {fmt.Errorf("job 7: %w", busyError(t)), "Too Many Attempts.", true, time.Time{}},
			"joined errors":                  {errors.Join(bad, fmt.Errorf("job 7: %w", taken)), "name: is required; resolution: must be one of 256x256, 512x512, 1024x1024; name: The name is taken.", false, time.Time{}},
			"any other error":                {errors.New("first\nsecond\x1b[31m"), "first; second [31m", false, time.Time{}},
		} {
			assert.Equal(t, row.reason, Reason(row.err), name)
			assert.Equal(t, row.retryable, Retryable(row.err), name)
			assert.True(t, row.at.Equal(RetryAt(row.err)), "%s: %v", name, RetryAt(row.err))
			assert.NotContains(t, Reason(row.err), fakes.Key)
		}
	})
}

func busyError(t *testing.T) error {
	return showSeven(t.Context(), over(t, fakes.RoundTripper(fakes.Respond(429, `{"message":"Too Many Attempts."}`)), WithRetryPolicy(oneAttempt)))
}

// A fake of a program's tests may forget the status.
func TestResponseWithoutAStatusIsAnErrorWithAText(t *testing.T) {
	t.Parallel()
	c := over(t, fakes.RoundTripper(func(*http.Request) (*http.Response, error) { return &http.Response{}, nil }))
	_, err := c.Images.Store(t.Context(), aStore)
	assert.EqualError(t, err, "images.store: the RoundTripper returned a response without a status"+
		" (it may have been created; host content.example.com)")
}

// Both limits end an attempt at the same time: the caller's own is the one to read.
func TestErrorOfAContextDoesNotNameTheHTTPClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deaf := fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
			time.Sleep(2 * time.Hour)
			return nil, os.ErrDeadlineExceeded
		})
		c, err := NewClient("https://content.example.com", fakes.Key,
			WithHTTPClient(&http.Client{Transport: deaf, Timeout: time.Hour}), WithRetryPolicy(oneAttempt))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = c.Images.Show(ctx, "7")
		assert.EqualError(t, err, "images.show: context deadline exceeded (host content.example.com)")
	})
}

// A service may have sent the URL or the ID that a call refuses.
func TestKeyIsMaskedInRefusedArguments(t *testing.T) {
	t.Parallel()
	c := over(t, fakes.RoundTripper(fakes.Lose))
	_, err := c.Images.Download(t.Context(), at("ftp://cdn.example.com/"+fakes.Key), io.Discard)
	require.ErrorContains(t, err, `url "ftp://cdn.example.com/[API key]"`)
	fakes.AssertNoKey(t, err, fakes.Key)
	_, err = c.Images.Show(t.Context(), "a/"+fakes.Key)
	require.ErrorContains(t, err, `id "a/[API key]"`)
	fakes.AssertNoKey(t, err, fakes.Key)
}

// The response after a renewal may repeat the refused key, and end within it.
func TestBeginningOfARefusedKeyIsMaskedAfterARenewal(t *testing.T) {
	t.Parallel()
	const refused, begun = "refused-key-0123456789", 16
	keys := []string{refused, fakes.Key}
	source := WithAPIKeySource(func(context.Context) (string, error) {
		key := keys[0]
		keys = keys[1:]
		return key, nil
	})
	long := strings.Repeat("x", maxErrorBody-begun) + refused
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(401, `{}`), fakes.Respond(403, long)}}
	var resp *Response
	_, err := over(t, s, source).Images.Show(t.Context(), "7", WithResponse(&resp))
	require.ErrorIs(t, err, ErrForbidden)
	api, _ := errors.AsType[*APIError](err)
	assert.False(t, strings.Contains(err.Error()+string(resp.Body)+string(api.Body), refused[:begun]))
}

// A nil pointer in an error is a common mistake. It must not make a Store call panic that may have been billed.
func TestErrorsThatAreNilPointersDoNotPanic(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]error{
		"a nil *url.Error":          (*url.Error)(nil),
		"a nil *aicontent.APIError": (*APIError)(nil),
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancels := func(r *http.Request) (*http.Response, error) {
			cancel(wrong)
			return nil, r.Context().Err()
		}
		for where, row := range map[string]struct {
			ctx context.Context
			rt  fakes.RoundTripper
			opt Option
		}{
			"cause":      {ctx, cancels, WithoutValidation()},
			"middleware": {t.Context(), fails(wrong), WithoutValidation()},
			"limiter":    {t.Context(), fakes.Lose, WithRateLimiter(fakes.Limiter(func(context.Context) error { return wrong }))},
			"key source": {t.Context(), fakes.Lose, WithAPIKeySource(func(context.Context) (string, error) { return "", wrong })},
			"hook": {t.Context(), fakes.Lose, WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) {
				return nil, wrong
			})},
		} {
			_, err := over(t, row.rt, row.opt).Images.Store(row.ctx, aStore)
			require.ErrorContains(t, err, name, where)
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, where)
			assert.NotEmpty(t, Reason(err), where)
		}
	}
}

func TestReasonOfANilPointerInsideAnErrorDoesNotPanic(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "read: <nil>", Reason(fmt.Errorf("read: %w", (*APIError)(nil))))
	assert.Equal(t, "read: <nil>", Reason(fmt.Errorf("read: %w", (*ConflictError)(nil))))
	assert.Equal(t, "forbidden", Reason(errors.Join((*APIError)(nil), &APIError{StatusCode: 403})))
}
