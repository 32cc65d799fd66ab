package aicontent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
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
)

func TestSentinelsFollowTheStatus(t *testing.T) {
	t.Parallel()
	sentinels := map[string]error{
		"bad request": ErrBadRequest, "unauthorized": ErrUnauthorized, "forbidden": ErrForbidden,
		"not found": ErrNotFound, "conflict": ErrConflict, "too large": ErrTooLarge, "invalid": ErrInvalid,
		"too many requests": ErrRateLimited, "server error": ErrServer,
	}
	matches := map[int]string{
		400: "bad request", 401: "unauthorized", 403: "forbidden", 404: "not found", 409: "conflict", 412: "conflict",
		413: "too large", 422: "invalid", 429: "too many requests",
		500: "server error", 502: "server error", 599: "server error",
		405: "", 418: "", 302: "", 600: "",
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

// A log must stay readable whatever a service writes into its errors.
func TestErrorTextIsBounded(t *testing.T) {
	t.Parallel()
	err := &APIError{
		StatusCode: 500, Message: strings.Repeat("ü", 2000),
		Fields: map[string][]string{"name": {strings.Repeat("x", 2000)}},
	}
	assert.Less(t, len(err.Error()), 600)
	assert.True(t, utf8.ValidString(err.Error()))
	bad := &ValidationError{Problems: []FieldProblem{
		{Field: "name", Value: strings.Repeat("\n", 2000), Reason: "is bad"},
	}}
	assert.Less(t, len(bad.Error()), 300)
	assert.NotContains(t, bad.Error(), "\n")
}

// A mirror that removes the file of a record that is gone must not believe a proxy during a deploy.
func TestNotFoundIsTheServicesOwnWord(t *testing.T) {
	t.Parallel()
	verbs := map[string]struct{ repeatable, ofRecord bool }{
		"list":   {repeatable: true},
		"all":    {repeatable: true},
		"show":   {repeatable: true, ofRecord: true},
		"store":  {},
		"update": {repeatable: true, ofRecord: true},
		"delete": {repeatable: true, ofRecord: true},
	}
	for body, own := range map[string]bool{
		`{"message":"Resource not found.","status":404}`: true, `{}`: true, `[]`: true, `{"error":"gone"}`: true,
		`<html><h1>404 Not Found</h1></html>`: false, `404 page not found`: false, `default backend - 404`: false,
		``: false, `404`: false, `"not found"`: false, `null`: false, `{"message":"Res`: false,
	} {
		c := over(t, fakes.RoundTripper(fakes.Respond(404, body)), WithRetryPolicy(quick))
		for name, call := range allTen(c) {
			err := call(t.Context())
			require.ErrorAs(t, err, new(*APIError), name)
			assert.Equal(t, own, errors.Is(err, ErrNotFound), "%s: %s", name, body)
			_, last, _ := strings.Cut(name, ".")
			verb, known := verbs[last]
			require.True(t, known, name)
			assert.Equal(t, !own && verb.repeatable, Retryable(err), "%s: %s", name, body)
			assert.Equal(t, !own || !verb.ofRecord, strings.Contains(err.Error(), "https://content.example.com/tenant"),
				"%s: %v", name, err)
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

// The person on call must read what happened, what became of the record, and whom to ask. Attempts before the last one
// are counted, not told.
func TestErrorsSayWhatHappened(t *testing.T) {
	t.Parallel()
	const (
		page  = "<html><title>Not Found</title></html>"
		maybe = " (it may have been created: look for it before you store again"
		host  = "; host content.example.com)"
		right = "is the base URL https://content.example.com/tenant right?"
	)
	refused := fails(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 443}, Err: syscall.ECONNREFUSED})
	reset := fails(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
	redirect := func(status int, to string) func(*http.Request) (*http.Response, error) {
		return fakes.Respond(status, ``, "Location", to)
	}
	taken := fakes.Respond(422, `{"message":"The given data was invalid.","errors":{"name":["The name is taken."]}}`)
	once := oneAttempt
	for name, row := range map[string]struct {
		op        string
		policy    RetryPolicy
		responses fakes.Responses
		text      string
	}{
		"a store lost its response": {"images.store", once, fakes.Responses{fails(io.EOF)},
			"images.store: EOF" + maybe + host},
		"a delete lost its response": {"images.delete", once, fakes.Responses{fails(io.ErrUnexpectedEOF)},
			"images.delete: unexpected EOF (it may have been deleted" + host},
		"a RoundTripper says that it was never reached": {"images.store", once, fakes.Responses{refused},
			"images.store: dial tcp :443: " + syscall.ECONNREFUSED.Error() + maybe + host},
		"the request id": {"images.show", once,
			fakes.Responses{fakes.Respond(500, `{"message":"no"}`, "X-Request-Id", "req-7")},
			"images.show: 500: no (request req-7)"},
		"all at once, and each once": {"images.store", once,
			fakes.Responses{fakes.Respond(504, `504 Gateway Timeout`, "X-Request-Id", "req-7")},
			"images.store: 504: Gateway Timeout" + maybe + "; request req-7)"},
		"a 2xx that cannot be read": {"images.store", once, fakes.Responses{fakes.Respond(201, ``)},
			"images.store: 201: the response is empty (it was created)"},
		"the same every time": {"images.show", quick, fakes.Responses{fakes.Respond(502, ``)},
			"images.show: 502: bad gateway (attempt 3 of 3)"},
		"something else before": {"images.show", RetryPolicy{MaxAttempts: 9, MinBackoff: -1}, fakes.Responses{
			fakes.Respond(502, ``), fakes.Lose, reset, refused, fakes.OK(`{"id":7,"na`), fakes.Respond(404, `{}`)},
			"images.show: 404: not found (attempt 6 of 9)"},
		"no API there, in JSON": {"transcriptions.store", once, fakes.Responses{fakes.Respond(404, `{"message":""}`)},
			"transcriptions.store: 404: {\"message\":\"\"} (" + right + ")"},
		"a record is missing, or the API": {"images.show", once, fakes.Responses{fakes.Respond(404, page)},
			"images.show: 404: Not Found (" + right + ")"},
		"too long a wait": {"images.show", RetryPolicy{},
			fakes.Responses{fakes.Respond(429, `{"message":"Busy."}`, "Retry-After", "90")},
			"images.show: 429: Busy. (the service asks to wait 1m30s, the retry policy allows 1m0s (MaxRetryAfter))"},
		"no wait at all": {"images.store", RetryPolicy{MaxRetryAfter: -1},
			fakes.Responses{fakes.Respond(429, `{"message":"Busy."}`, "Retry-After", "1")},
			"images.store: 429: Busy. (the service asks to wait 1s, the retry policy allows 0s (MaxRetryAfter))"},
		"no double punctuation": {"images.store", once, fakes.Responses{taken},
			"images.store: 422: The given data was invalid; name: The name is taken."},
		"a message that is an object": {"images.store", once,
			fakes.Responses{fakes.Respond(422, `{"message":{"name":["It is required."]}}`)},
			"images.store: 422: name: It is required."},
		"a login page elsewhere": {"images.show", once, fakes.Responses{redirect(302, "https://sso.example.com/login")},
			"images.show: 302: the API key is not accepted: the service redirects to https://sso.example.com/login" +
				" (" + right + ")"},
		"a store that is redirected": {"images.store", once, fakes.Responses{redirect(301, "/moved")},
			"images.store: 301: the service redirects to https://content.example.com/moved" + maybe + "; " +
				right + ")"},
		"a redirect to nowhere": {"images.show", once, fakes.Responses{fakes.Respond(302, ``)},
			"images.show: 302: found (" + right + ")"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := script(row.responses...)
				// A RoundTripper need not set the response's request.
				c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
					resp, err := s.RoundTrip(r)
					if resp != nil {
						resp.Request = nil
					}
					return resp, err
				}), WithRetryPolicy(row.policy))
				assert.EqualError(t, allTen(c)[row.op](t.Context()), row.text)
			})
		})
	}
}

// An operator compares the texts of the documents with those of a log.
func TestTextsOfTheDocumentsAreReal(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("docs/errors.md")
	require.NoError(t, err)
	c := over(t, fakes.RoundTripper(fakes.Respond(504, ``, "X-Request-Id", "8f3a")))
	_, stored := c.Images.Store(t.Context(), aStore)
	c = over(t, fakes.RoundTripper(fails(io.EOF)), WithRetryPolicy(RetryPolicy{MinBackoff: -1}))
	_, listed := c.Images.List(t.Context(), ImageListParams{})
	for _, err := range []error{stored, listed} {
		assert.Contains(t, string(document), "\n\t"+err.Error()+"\n")
	}
}

// A cause that is told twice makes a reader look for two faults.
func TestErrorsSayTheirCauseOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := over(t, fakes.RoundTripper(stalling), WithRetryPolicy(oneAttempt))
		const cutOff = "images.show: 200: the response was cut off: "
		assert.EqualError(t, showSeven(t.Context(), c), cutOff+"no complete response within 30s (WithResponseTimeout)")
		ctx, cancel := contextAfter(t, time.Second)
		defer cancel()
		assert.EqualError(t, showSeven(ctx, c), cutOff+"context canceled: the user left")

		ctx, end := context.WithCancelCause(t.Context())
		end(fmt.Errorf("stop: %w: %w", errUserLeft, context.Canceled))
		_, err := c.Images.Store(ctx, aStore)
		assert.EqualError(t, err, "images.store: stop: the user left: context canceled")
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, errUserLeft)
		assert.Equal(t, "stopped", Reason(err))
	})
}

// Programs ask for net.Error to learn whether something passes.
func TestCallErrorsAreNetErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, row := range map[string]struct {
			ctx                context.Context
			rt                 fakes.RoundTripper
			timeout, retryable bool
		}{
			"a timeout": {t.Context(), fakes.Hang, true, true},
			"a timeout whose text is masked": {t.Context(), func(r *http.Request) (*http.Response, error) {
				return nil, fmt.Errorf("sending %v: %w", r.Header, os.ErrDeadlineExceeded)
			}, true, true},
			"lost":                  {t.Context(), fakes.Lose, false, true},
			"a refused certificate": {t.Context(), fails(&tls.CertificateVerificationError{Err: io.EOF}), false, false},
			"a user who left":       {cancelledContext(t), fakes.Lose, false, true},
		} {
			err := showSeven(row.ctx, over(t, row.rt, WithRetryPolicy(oneAttempt)))
			var lost net.Error
			require.ErrorAs(t, err, &lost, name)
			assert.Equal(t, row.timeout, lost.Timeout(), name)
			//lint:ignore SA1019 Programs still call it.
			assert.Equal(t, row.retryable, lost.Temporary(), name)
			assert.Equal(t, row.ctx.Err() != nil, errors.Is(err, context.Canceled), name)
			assert.NotContains(t, err.Error(), fakes.Key, name)
		}
	})
}

// Whoever is on call must not look for a limit that did not end the attempt: the transport has limits, too, and
// net/http has more than one error for a client's Timeout.
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
	slowly := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		time.Sleep(time.Second / 2)
		_, _ = io.Copy(io.Discard, r.Body)
		return fakes.Hang(r)
	})
	hang := fakes.RoundTripper(fakes.Hang)
	const (
		s        = time.Second
		timeout  = "the http.Client's Timeout of 1s ended the attempt (WithHTTPClient)"
		deadline = "context deadline exceeded ("
		store    = "no complete response within 1s (WithStoreTimeout) (it may have been created: look for it before "
	)
	// A Store timeout that is as long as the client's Timeout ends first, unless an attempt dials or uploads.
	const show, image, audio = "images.show", "images.store", "transcriptions.store"
	for name, row := range map[string]struct {
		rt      http.RoundTripper
		hc, ctx time.Duration // the limits of the http.Client and of the context
		text    string
		took    time.Duration
		calls   []string
		opts    []CallOption
	}{
		"response header": {&http.Transport{DialTLSContext: silent, ResponseHeaderTimeout: s}, time.Hour, 0,
			"net/http: timeout awaiting response headers", s, []string{show, image}, nil},
		"TLS handshake": {&http.Transport{DialContext: silent, TLSHandshakeTimeout: s}, time.Hour, 0,
			"net/http: TLS handshake timeout", s, []string{show, image}, nil},
		"dialer": {&http.Transport{DialContext: deaf}, time.Hour, 0,
			"dial tcp: i/o timeout", 30 * s, []string{show, image}, nil},
		"client": {&http.Transport{DialTLSContext: silent, ResponseHeaderTimeout: time.Hour}, s, 0,
			timeout, s, []string{show}, nil},
		"client, while dialing":  {&http.Transport{DialContext: deaf}, s, 0, timeout, s, []string{show, image}, nil},
		"client, during uploads": {slowly, s, 0, timeout, s, []string{audio}, nil},
		"store": {hang, 3 * s, 0, store, s, []string{image},
			[]CallOption{WithStoreTimeout(s), WithResponseTimeout(s / 2)}},
		"context": {hang, 3 * s, s, deadline, s, []string{show, image}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hc := &http.Client{Transport: row.rt, Timeout: row.hc}
				c := using(t, hc, WithRetryPolicy(oneAttempt), WithStoreTimeout(row.hc))
				for _, call := range row.calls {
					ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(row.ctx, 24*time.Hour))
					start := time.Now()
					err := allTen(c)[call](ctx, row.opts...)
					cancel()
					assert.ErrorContains(t, err, row.text)
					assert.Equal(t, row.took, time.Since(start), call)
					var lost net.Error
					require.ErrorAs(t, err, &lost)
					assert.True(t, lost.Timeout())
				}
				c.CloseIdleConnections()
				time.Sleep(time.Minute)
			})
		})
	}
}

// Search terms may be personal, and the errors of a middleware may hold URLs whose queries are personal or signed.
func TestErrorsDoNotShowTheQuery(t *testing.T) {
	t.Parallel()
	const address = "https://content.example.com/tenant/api/v1/images?search=private"
	inner := &url.Error{Op: "Get", URL: address, Err: errors.New("boom")}
	again := &url.Error{Op: "Get", URL: address, Err: fmt.Errorf("again: %w", inner)}
	for name, rt := range map[string]fakes.RoundTripper{
		"refused":        fakes.Respond(500, `no`),
		"redirected":     fakes.Respond(302, ``, "Location", "https://elsewhere.example.com/?search=private"),
		"misled":         fakes.Respond(302, ``, "Location", "https://[::1/%zz?search=private"),
		"unreadable":     fakes.OK(`<html>`),
		"one URL":        fails(inner),
		"nested URLs":    fails(again),
		"a text and all": fails(fmt.Errorf("signing %s: %w", address, again)),
	} {
		var log bytes.Buffer
		c := over(t, rt, WithRetryPolicy(quick), debugging(&log))
		_, listed := c.Images.List(t.Context(), ImageListParams{Search: "private"})
		_, loaded := c.Images.Download(t.Context(), at(address), io.Discard)
		for _, err := range []error{listed, loaded} {
			require.Error(t, err, name)
			assert.NotContains(t, fmt.Sprintf("%v %+v", err, err)+log.String(), "private", name)
		}
	}
}

// PHP behind Apache's proxy sees an empty form where an upload is chunked: only the SDK knows that it was.
func TestChunkedUploadsThatAreRefusedSaySo(t *testing.T) {
	t.Parallel()
	const hint = "the upload was chunked, which some services do not accept: set File.Size"
	refuse := fakes.RoundTripper(fakes.Respond(422, `{"errors":{"file":["The file field is required."]}}`))
	for size, chunked := range map[int64]bool{0: true, 1000: false} {
		file := FileFromReader("a.wav", io.MultiReader(strings.NewReader(strings.Repeat("a", 1000))))
		file.Size = size
		err := transcribe(t.Context(), over(t, refuse), file)
		require.ErrorIs(t, err, ErrInvalid)
		assert.Equal(t, chunked, strings.Contains(err.Error(), hint), err)
	}
}

// A key that is wrong is mended where it comes from, and a host that is wrong in the base URL.
func TestErrorOfARefusedKeySaysWhereItComesFrom(t *testing.T) {
	refused := fakes.RoundTripper(fakes.Respond(401, `{"message":"Unauthenticated."}`))
	refuse := WithHTTPClient(&http.Client{Transport: refused})
	t.Setenv("AICONTENT_BASE_URL", "https://content.example.com")
	t.Setenv("AICONTENT_API_KEY", fakes.Key)
	fromEnv, err := NewClientFromEnv(refuse)
	require.NoError(t, err)
	source := keys(func(int) (string, error) { return fakes.Key, nil })
	ofSource, err := NewClientFromEnv(refuse, source)
	require.NoError(t, err)
	for from, c := range map[string]*Client{
		"given to NewClient": over(t, refused), "in AICONTENT_API_KEY": fromEnv, "of WithAPIKeySource": ofSource,
	} {
		const text = "images.show: 401: Unauthenticated. (content.example.com did not accept the key %s)"
		assert.EqualError(t, showSeven(t.Context(), c), fmt.Sprintf(text, from))
	}
}

// A service that logs or repeats a refused key in its responses must not bring it into the program's log. A hook, or a
// source that cannot renew a key, may name both.
func TestRefusedKeyIsMaskedAfterARenewal(t *testing.T) {
	t.Parallel()
	const both = "key-number-1 became key-number-2"
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
		return second(c.Images.Show(ctx, "key-number-1", opts...))
	}
	find := func(ctx context.Context, c *Client, opts ...CallOption) error {
		return second(c.Images.FindByName(ctx, "n", opts...))
	}
	exhausted := keys(func(n int) (string, error) {
		if n == 1 {
			return "key-number-1", nil
		}
		return "", errors.New("cannot renew key-number-1")
	})
	refuse := WithAttemptHook(func(_ context.Context, a Attempt) (func(AttemptResult), error) {
		if a.Number == 1 {
			return nil, nil
		}
		return nil, errors.New(both)
	})
	for name, row := range map[string]struct {
		response func(*http.Request) (*http.Response, error)
		call     func(context.Context, *Client, ...CallOption) error
		opts     []Option
	}{
		"an error": {answered(422, `{"message":"`+both+`","errors":{"`+both+`":["`+both+`"]}}`),
			show, nil},
		"text": {answered(500, both), show, nil},
		"a redirect": {fakes.Respond(302, both, "Location", "https://example.com/key-number-1"), show,
			nil},
		"a success without a record": {answered(200, `{"status":"error","message":"`+both+`"}`), show, nil},
		"a success that is no JSON":  {answered(200, both), show, nil},
		"a lost connection":          {fails(errors.New(both)), show, nil},
		"a page that says no next":   {answered(200, fullPage), list, nil},
		"records of the same name":   {answered(200, `{"data":[`+record+`,{"id":8,"name":"n"}]}`), find, nil},
		"a search that is refused":   {answered(403, `{"message":"`+both+`"}`), find, nil},
		"a key source that fails":    {fakes.Lose, show, []Option{exhausted}},
		"a hook that refuses":        {fakes.Lose, show, []Option{refuse}},
	} {
		var log bytes.Buffer
		o := &observer{}
		var resp *Response
		s := script(fakes.Respond(401, `{"message":"no"}`), row.response)
		opts := []Option{rotating(), WithRetryPolicy(oneAttempt), WithAttemptHook(o.hook), debugging(&log)}
		err := row.call(t.Context(), over(t, s, append(row.opts, opts...)...), WithResponse(&resp))
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

// A place is where code other than the SDK's returns an error.
type place struct {
	ctx  context.Context // nil for the test's
	rt   fakes.RoundTripper
	opts []Option
	call func(context.Context, *Client) error
	own  []error // sentinels that the call itself earns
}

// placesOf are the places, all of which return err.
func placesOf(t *testing.T, err error) map[string]place {
	ended, end := context.WithCancelCause(t.Context())
	end(err)
	during, endDuring := context.WithCancelCause(t.Context())
	within, endWithin := context.WithCancelCause(t.Context())
	store := func(file File) func(context.Context, *Client) error {
		return func(ctx context.Context, c *Client) error { return transcribe(ctx, c, file) }
	}
	read := func(readers ...io.Reader) func(context.Context, *Client) error {
		return store(FileFromReader("a.wav", io.MultiReader(append(readers, iotest.ErrReader(err))...)))
	}
	storing := store(FileFromBytes("a.wav", []byte(wavHead)))
	download := func(w io.Writer) func(context.Context, *Client) error {
		return func(ctx context.Context, c *Client) error { return second(c.Images.Download(ctx, aPicture, w)) }
	}
	always := func(int) error { return err }
	later := func(n int) error {
		if n == 1 {
			return nil
		}
		return err
	}
	sign := WithMiddleware(func(http.RoundTripper) http.RoundTripper { return fakes.RoundTripper(fails(err)) })
	source := keys(func(int) (string, error) { return fakes.Key, err })
	fsys := fakes.FS(func(string) (fs.File, error) { return nil, err })
	return map[string]place{
		"the cause of a context": {ended, fakes.OK(fakes.StoredImage), nil, storing, nil},
		"the cause, during the attempt": {during, func(r *http.Request) (*http.Response, error) {
			endDuring(err)
			return fakes.Hang(r)
		}, nil, storing, nil},
		"the cause, within the response": {within, func(r *http.Request) (*http.Response, error) {
			endWithin(err)
			return stalling(r)
		}, nil, showSeven, nil},
		"a hook":    {nil, fakes.Lose, []Option{refusing(err)}, storing, nil},
		"a limiter": {nil, fakes.Lose, []Option{limited(always)}, storing, nil},
		"a limiter after a response": {nil, fakes.Respond(502, ``), []Option{limited(later)}, showSeven,
			[]error{ErrServer}},
		"a key source":     {nil, fakes.Lose, []Option{source}, storing, nil},
		"a middleware":     {nil, fakes.Lose, []Option{sign}, storing, nil},
		"a transport":      {nil, fails(err), nil, showSeven, nil},
		"a body":           {nil, cutOff(`{"id`, err), nil, showSeven, nil},
		"a reader":         {nil, reading, nil, read(), []error{ErrFile, ErrInvalid}},
		"a reader, later":  {nil, reading, nil, read(bytes.NewReader(make([]byte, 1<<20))), []error{ErrFile}},
		"a file system":    {nil, reading, nil, store(FileFromFS(fsys, "a.wav")), []error{ErrFile, ErrInvalid}},
		"a writer":         {nil, fakes.OK("BMpicture"), nil, download(full(0, err)), nil},
		"a picture's body": {nil, cutOff("BMpicture", err), nil, download(io.Discard), nil},
	}
}

// run makes the call at a place.
func (p place) run(t *testing.T, opts ...Option) error {
	t.Helper()
	ctx := p.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	return p.call(ctx, over(t, p.rt, append(append([]Option{WithRetryPolicy(quick)}, opts...), p.opts...)...))
}

// A log is read line by line, and a terminal obeys control characters.
func TestForeignTextsInErrorsAreOneCleanLine(t *testing.T) {
	t.Parallel()
	dirty := errors.Join(errors.New("first"), errors.New("second\r\nthird\x1b[31m\u202e"+fakes.Key))
	id := `"a\u001b[31m\u202e` + fakes.Key + `"`
	record := `{"id":` + id + `,"name":"n"}`
	check := func(name string, p place) error {
		o := &observer{}
		err := p.run(t, WithAttemptHook(o.hook))
		require.Error(t, err, name)
		texts := []string{err.Error(), Reason(err)}
		for _, r := range o.results {
			texts = append(texts, fmt.Sprint(r.Err), r.RequestID)
		}
		for _, text := range texts {
			assert.NotRegexp(t, `[\x00-\x1f\x{202e}]`, text, name)
			assert.NotContains(t, text, fakes.Key, name)
		}
		return err
	}
	for name, p := range placesOf(t, dirty) {
		assert.ErrorContains(t, check(name, p), "first; second; third", name)
	}
	check("a request ID",
		place{rt: fakes.Respond(500, ``, "X-Request-Id", "a\x1b[31m\u202e"+fakes.Key), call: showSeven})
	check("a message", place{rt: fakes.Respond(500, `{"message":`+id+`}`), call: showSeven})
	check("two IDs", place{rt: fakes.OK(`{"data":[` + record + `,{"id":"b\u001b","name":"n"}]}`), call: findN})
	check("an ID and a Show", place{rt: listThen(record, 404), call: findN})
}

// reading is a transport that reads the request and gets no response.
func reading(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return fakes.Lose(r)
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

// An errgroup ends a context with the error of another call as its cause. That error says nothing about this call.
func TestErrorsOfOtherCodeAreNotTakenForAnAnswer(t *testing.T) {
	t.Parallel()
	show := func(ctx context.Context, rt fakes.RoundTripper) error {
		return showSeven(ctx, over(t, rt, WithRetryPolicy(oneAttempt)))
	}
	find := func(list string) error { return findN(t.Context(), over(t, fakes.RoundTripper(fakes.OK(list)))) }
	mine := &fs.PathError{Op: "read", Path: "/mine", Err: errors.New("gone")}
	sentinel := errors.New("the user's sentinel")
	// A real error of each kind, from other calls.
	for kind, other := range map[string]error{
		"404":                    show(t.Context(), fakes.Respond(404, `{}`)),
		"409":                    show(t.Context(), fakes.Respond(409, `{}`)),
		"bad arguments":          second(over(t, script()).Images.Show(t.Context(), "")),
		"an unreadable response": show(t.Context(), fakes.OK(``)),
		"a lost call":            show(t.Context(), fakes.Lose),
		"no such name":           find(`{"data":[]}`),
		"two such names":         find(`{"data":[{"id":1,"name":"n"},{"id":2,"name":"n"}]}`),
		"the sentinels":          errors.Join(sentinels...),
	} {
		require.Error(t, other, kind)
		for name, p := range placesOf(t, fmt.Errorf("%w: %w: %w", other, mine, sentinel)) {
			got := p.run(t)
			where := fmt.Sprintf("%s of %s", kind, name)
			require.Error(t, got, where)
			for _, own := range sentinels {
				assert.Equal(t, slices.Contains(p.own, own), errors.Is(got, own), "%s: %v: %v", where, own, got)
			}
			assert.ErrorIs(t, got, sentinel, where)
			found, ok := errors.AsType[*fs.PathError](got)
			assert.True(t, ok && found == mine, where)
			for _, target := range []any{
				new(*APIError), new(*DecodeError), new(*CallError), new(*ConflictError), new(*ValidationError),
			} {
				if reflect.TypeOf(target).Elem() != reflect.TypeOf(got) {
					assert.False(t, errors.As(got, target), "%s: %T", where, target)
				}
			}
		}
	}
}

// One error of each type: a user reads its reason, and a program asks whether and when it may call again.
func TestEachErrorAnswersOutcomeOfRetryableRetryAtAndReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call := func(rt fakes.RoundTripper, opts ...Option) error {
			return showSeven(t.Context(), over(t, rt, append([]Option{WithRetryPolicy(oneAttempt)}, opts...)...))
		}
		lost := over(t, fakes.RoundTripper(fakes.Lose))
		_, bad := lost.Images.Store(t.Context(), ImageStoreParams{Name: "", Description: "d", Resolution: "7"})
		const badly = "name: is required; resolution: must be one of 256x256, 512x512, 1024x1024"
		expired, done := context.WithTimeout(t.Context(), 0)
		defer done()
		refusal := errors.New("the day's limit is spent\nfor team 7")
		limit := limited(func(int) error { return errors.New("too busy") })
		sealed := keys(func(int) (string, error) { return "", errors.New("the vault is sealed") })
		unreachable := WithHTTPClient(&http.Client{Transport: &http.Transport{DialContext: refuseDial}})
		_, unwritten := over(t, fakes.RoundTripper(fakes.OK("BMpicture"))).
			Images.Download(t.Context(), aPicture, full(0, errors.New("no space left")))
		gone := FileFromReader("a.wav", io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), iotest.ErrReader(refusal)))
		unread := transcribe(t.Context(), over(t, fakes.RoundTripper(reading)), gone)
		later := time.Now().Add(90 * time.Second)
		waiting := call(fakes.Respond(429, `{"message":"Too Many Attempts."}`, "Retry-After", "90"))
		taken := call(fakes.Respond(422, `{"message":"The name is taken.","errors":{"name":["The name is taken."]}}`))
		login := call(fakes.Respond(302, ``, "Location", "/login"))
		require.ErrorIs(t, login, ErrUnauthorized)
		const notAccepted = "the API key is not accepted: the service redirects to https://content.example.com/login"
		spent := over(t, fakes.RoundTripper(fakes.Respond(500, ``)), WithRetryBudget(1),
			WithRetryPolicy(RetryPolicy{MinBackoff: -1}))
		usedUp := showSeven(t.Context(), spent)
		conflict := &ConflictError{Name: "n", IDs: []ID{"1", "2"}, Problem: "more than one record has the name"}
		none := findN(t.Context(), over(t, fakes.RoundTripper(fakes.OK(`{"data":[]}`))))
		const no, yes, maybe = OutcomeNotExecuted, OutcomeExecuted, OutcomeUnknown
		var never time.Time
		for name, row := range map[string]struct {
			err       error
			reason    string
			outcome   Outcome
			retryable bool
			at        time.Time
		}{
			"nil":             {nil, "", yes, false, never},
			"ValidationError": {bad, badly, no, false, never},
			"APIError": {call(fakes.Respond(402, `{"message":"No credit left."}`)),
				"No credit left.", no, false, never},
			"APIError with fields":          {taken, "name: The name is taken.", no, false, never},
			"APIError without a message":    {call(fakes.Respond(504, ``)), "gateway timeout", maybe, true, never},
			"APIError of an unknown status": {call(fakes.Respond(599, ``)), "status 599", maybe, true, never},
			"APIError with a Retry-After":   {waiting, "Too Many Attempts.", no, true, later},
			"APIError without a budget":     {usedUp, "internal server error", maybe, true, never},
			"APIError of a login page":      {login, notAccepted, no, false, never},
			"APIError with the key": {call(fakes.Respond(403, `{"message":"key `+fakes.Key+` is blocked"}`)),
				"key [API key] is blocked", no, false, never},
			"APIError of a program": {&APIError{StatusCode: 429}, "too many requests", no, true, never},
			"DecodeError": {call(fakes.OK(`{"a":1}`)),
				"the response could not be read", maybe, false, never},
			"DecodeError of an empty body": {call(fakes.OK(``)),
				"the response could not be read", maybe, true, never},
			"CallError without a connection": {call(fakes.Lose, unreachable),
				"no connection to the service", no, true, never},
			"CallError that broke": {call(fails(io.EOF)),
				"the connection to the service broke", maybe, true, never},
			"CallError of a timeout":  {call(fakes.Hang), "timed out", maybe, true, never},
			"CallError of a deadline": {showSeven(expired, lost), "timed out", no, true, never},
			"CallError of a context":  {showSeven(cancelledContext(t), lost), "stopped", no, true, never},
			"CallError of a hook": {call(fakes.Lose, refusing(refusal)),
				"refused: the day's limit is spent; for team 7", no, true, never},
			"CallError of a limiter": {call(fakes.Lose, limit), "refused: rate limiter: too busy", no, true, never},
			"CallError of a key source": {call(fakes.Lose, sealed),
				"refused: API key source: the vault is sealed", no, true, never},
			"CallError of a file":       {unread, "the file could not be read", no, false, never},
			"CallError of a writer":     {unwritten, "the picture could not be written", maybe, false, never},
			"ConflictError":             {conflict, "more than one record has the name", maybe, false, never},
			"a name that no record has": {none, `no image has the name "n"`, maybe, false, never},
			"a wrapped error":           {fmt.Errorf("job 7: %w", waiting), "Too Many Attempts.", no, true, later},
			"joined errors": {errors.Join(bad, fmt.Errorf("job 7: %w", taken)),
				badly + "; name: The name is taken.", no, false, never},
			"any other error": {errors.New("first\nsecond\x1b[31m"), "first; second [31m", maybe, false, never},
		} {
			assert.Equal(t, row.reason, Reason(row.err), name)
			assert.Equal(t, row.outcome, OutcomeOf(row.err), name)
			assert.Equal(t, row.retryable, Retryable(row.err), name)
			assert.True(t, row.at.Equal(RetryAt(row.err)), "%s: %v", name, RetryAt(row.err))
			assert.NotContains(t, Reason(row.err), fakes.Key)
		}
	})
}

func refuseDial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("outside of the network")
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

// A service that refuses a call with status 200 says why, and the user who reads it can act on it.
func TestErrorWithStatus200ShowsTheServicesMessage(t *testing.T) {
	t.Parallel()
	for body, message := range map[string]string{
		`{"success":false,"message":"Insufficient credits"}`:             "Insufficient credits",
		`{"error":{"code":"quota","message":"The quota is used up."}}`:   "The quota is used up.",
		`{"status":"error","errors":{"name":["is taken"]}}`:              "name: is taken",
		`{"data":{"status":402,"message":"inner"}}`:                      `{"data":{"status":402,"message":"inner"}}`,
		`{"success":false,"message":"The key ` + fakes.Key + ` is out"}`: "The key [API key] is out",
	} {
		c := over(t, fakes.RoundTripper(fakes.OK(body)), WithRetryPolicy(oneAttempt))
		for op, err := range map[string]error{
			"images.store":  second(c.Images.Store(t.Context(), aStore)),
			"images.show":   showSeven(t.Context(), c),
			"images.delete": c.Images.Delete(t.Context(), "7"),
			"images.list":   second(c.Images.List(t.Context(), ImageListParams{})),
		} {
			if op == "images.list" && strings.Contains(body, "inner") {
				continue // no list is found in it, and no error beside one
			}
			require.ErrorAs(t, err, new(*DecodeError), body)
			assert.ErrorContains(t, err, op+": 200: the response says that it is an error: "+message)
			assert.Equal(t, message, Reason(err))
			fakes.AssertNoKey(t, err, fakes.Key)
		}
	}
}

// An errgroup cancels its calls with the error of one of them, such as a timeout, which none of the others had.
func TestCancelledCallIsNoTimeoutWhateverItsCause(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{context.DeadlineExceeded, fmt.Errorf("another call: %w", os.ErrDeadlineExceeded)} {
		ctx, cancel := context.WithCancelCause(t.Context())
		during := showSeven(ctx, over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			cancel(cause)
			return fakes.Hang(r)
		})))
		before := showSeven(ctx, over(t, fakes.RoundTripper(fakes.Lose)))
		for when, err := range map[string]error{"during the call": during, "before the call": before} {
			var ended *CallError
			require.ErrorAs(t, err, &ended, when)
			assert.False(t, ended.Timeout(), "%s: %v", when, err)
			assert.Equal(t, "stopped", Reason(err), when)
		}
	}
}
