package aicontent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// Concurrent calls would race for one response.
func TestWithResponseIsRefusedForAClient(t *testing.T) {
	t.Parallel()
	var resp *Response
	_, err := NewClient("https://content.example.com", fakes.Key, WithResponse(&resp))
	require.ErrorIs(t, err, ErrInvalid)
	assert.ErrorContains(t, err, `option "WithResponse": must be given to a call`)
}

// An option that is wrong is found before anything is sent, given to the client or to a call.
func TestInvalidOptionsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	type row struct {
		option      Option
		field, text string
	}
	rows := map[string]row{
		"nil http client":         {WithHTTPClient(nil), "http_client", "must not be nil"},
		"nil key source":          {WithAPIKeySource(nil), "api_key_source", "must not be nil"},
		"user agent of two lines": {WithUserAgent("gallery\r\nX-Evil: 1"), "user_agent", "must be one line"},
		"update by POST":          {WithUpdateMethod(http.MethodPost), "update_method", "PATCH or PUT"},
		"update by nothing":       {WithUpdateMethod(""), "update_method", "PATCH or PUT"},
		"negative timeout":        {WithResponseTimeout(-time.Second), "response_timeout", "at least 1ms"},
		"negative stall timeout":  {WithStallTimeout(-1), "stall_timeout", "at least 1ms"},
		"negative attempts":       {WithRetryPolicy(RetryPolicy{MaxAttempts: -1}), "max_attempts", "negative"},
		"negative budget":         {WithRetryBudget(-1), "retry_budget", "negative"},
		"seconds without a unit":  {WithResponseTimeout(30), "response_timeout", "write 30*time.Second"},
		"a stall without a unit":  {WithStallTimeout(30), "stall_timeout", "write 30*time.Second"},
		"nil attempt hook":        {WithAttemptHook(nil), "attempt_hook", "must not be nil"},
		"no middleware":           {WithMiddleware(nil), "middleware", "nil"},
		"a middleware to nothing": {WithMiddleware(func(http.RoundTripper) http.RoundTripper { return nil }),
			"middleware", "nil"},
		"a query without name":     {WithQuery("", "v"), "query", "name"},
		"a form name of two lines": {WithFormField("a\r\nb", "v"), "form_field", "line breaks"},
		"a header without name":    {WithHeader("", "v"), "header", "HTTP header name"},
		"a header with a break":    {WithHeader("X\r\nY", "v"), "header", "HTTP header name"},
		"a header with an umlaut":  {WithHeader("X-Ü", "v"), "header", "HTTP header name"},
		"a value with a NUL":       {WithHeader("X-Token", "hunter2\x00"), "X-Token", "must be one line"},
		"a value of two lines":     {WithHeader("X-Token", "hunter2\r\nX-Evil: 1"), "X-Token", "must be one line"},
	}
	for _, name := range []string{
		"Authorization", "authorization", "Host", "Content-Type", "content-length", "Transfer-Encoding", "Trailer",
		"Connection", "Upgrade", "expect", "TE", "Proxy-Authorization", "proxy-connection", "Keep-Alive",
	} {
		rows[name] = row{WithHeader(name, "x"), "header", "set by the SDK"}
	}
	for name, tt := range rows {
		t.Run(name, func(t *testing.T) {
			check := func(err error) {
				var invalid *ValidationError
				require.ErrorAs(t, err, &invalid)
				require.Len(t, invalid.Problems, 1)
				assert.Equal(t, tt.field, invalid.Problems[0].Field)
				assert.Contains(t, err.Error(), tt.text)
				assert.NotContains(t, err.Error(), "hunter2", "the value of a header may be a secret")
				assert.NotContains(t, err.Error(), "\n")
				assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
			}
			c, err := NewClient("https://content.example.com", fakes.Key, tt.option)
			assert.Nil(t, c)
			check(err)
			option, ok := tt.option.(CallOption)
			if !ok {
				return
			}
			c, requests := capturing(t)
			for name, call := range allTen(c) {
				err := call(t.Context(), option)
				check(err)
				assert.True(t, strings.HasPrefix(err.Error(), strings.Replace(name, ".all", ".list", 1)+": "), err)
			}
			assert.Empty(t, *requests)
		})
	}
}

// What may be nil says so, and does nothing.
func TestOptionsThatMayBeNilChangeNothing(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t, WithLogger(nil), WithRateLimiter(nil), WithProgress(nil), WithUserAgent(""),
		WithUserAgent("  "), WithResponseTimeout(0), WithStallTimeout(0))
	for name, call := range allTen(c) {
		assert.NoError(t, call(t.Context(), WithProgress(nil), WithResponse(nil)), name)
	}
	for _, r := range *requests {
		assert.True(t, strings.HasPrefix(r.header.Get("User-Agent"), "aicontent-go/"))
	}
}

// A call's option wins over the client's, and never reaches into the next call.
func TestCallOptionsWinAndStayInTheirCall(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t, WithHeader("X-Tenant", "client"), WithHeader("X-Other", "client"),
		WithQuery("team", "client"), WithFormField("quality", "client"))
	require.NoError(t, allTen(c)["images.store"](t.Context(),
		WithHeader("x-tenant", "call"), WithQuery("team", "call"), WithFormField("quality", "call")))
	require.NoError(t, allTen(c)["images.store"](t.Context()))
	for i, want := range []string{"call", "client"} {
		r := (*requests)[i]
		assert.Equal(t, []string{want}, r.header["X-Tenant"])
		assert.Equal(t, []string{"client"}, r.header["X-Other"])
		assert.Equal(t, url.Values{"team": {want}}, r.query)
		assert.Equal(t, "description=d&name=n&quality="+want+"&resolution=256x256", r.body)
	}
}

// A parameter of the caller's wins over the documented one of its name, which is then not sent, and so not checked. A
// name that ends in [] is a list, any other has one value: the last.
func TestOwnParametersWinOverDocumentedOnes(t *testing.T) {
	t.Parallel()
	client := []Option{WithQuery("ids[]", "1"), WithQuery("team", "a")}
	list := func(params ImageListParams, opts ...CallOption) func(*Client) error {
		return func(c *Client) error { return second(c.Images.List(t.Context(), params, opts...)) }
	}
	store := func(params ImageStoreParams, opts ...CallOption) func(*Client) error {
		return func(c *Client) error { return second(c.Images.Store(t.Context(), params, opts...)) }
	}
	for name, row := range map[string]struct {
		opts []Option
		call func(*Client) error
		want string // the query and the form
	}{
		"one of two parameters": {nil, list(ImageListParams{PerPage: PerPage10, Search: "a"},
			WithQuery("per_page", "500"), WithQuery("x[]", "a b&c")), "per_page=500&search=a&x%5B%5D=a+b%26c "},
		"values that are not documented": {nil, list(ImageListParams{PerPage: 7, SortBy: "size"},
			WithQuery("per_page", "200"), WithQuery("sort_by", "words")), "per_page=200&sort_by=words "},
		"a value that the client's options replace": {[]Option{WithQuery("per_page", "200")},
			list(ImageListParams{PerPage: 7}), "per_page=200 "},
		"a list, and the last of several": {client, list(ImageListParams{Search: "s"}, WithQuery("ids[]", "2"),
			WithQuery("ids[]", "2"), WithQuery("team", "b"), WithQuery("search", "x"), WithQuery("search", "y")),
			"ids%5B%5D=1&ids%5B%5D=2&ids%5B%5D=2&search=y&team=b "},
		"the same in a form": {nil, store(aStore, WithFormField("tags[]", "a"), WithFormField("tags[]", "b"),
			WithFormField("x", "1"), WithFormField("x", "2")),
			" description=d&name=n&resolution=256x256&tags%5B%5D=a&tags%5B%5D=b&x=2"},
		"a field that is not documented": {nil, store(ImageStoreParams{Name: "n", Description: "d", Resolution: "7x7"},
			WithFormField("resolution", "8x8")), " description=d&name=n&resolution=8x8"},
		"a field of an update": {nil, func(c *Client) error {
			params := ImageUpdateParams{Name: new("a")}
			return second(c.Images.Update(t.Context(), "7", params, WithFormField("name", "b"),
				WithFormField("x", "1")))
		}, " name=b&x=1"},
		"a call without a form": {nil, func(c *Client) error {
			return second(c.Images.Show(t.Context(), "7", WithFormField("x", "1")))
		}, " "},
	} {
		c, requests := capturing(t, row.opts...)
		require.NoError(t, row.call(c), name)
		assert.Equal(t, row.want, (*requests)[0].query.Encode()+" "+(*requests)[0].body, name)
	}
	c, _ := capturing(t)
	err := list(ImageListParams{PerPage: 7, Sort: "up"}, WithQuery("sort", "random"))(c)
	assert.Equal(t, []string{"per_page"}, fieldsOf(t, err))
}

// Accept is the caller's to change, for a deployment that wants a version there.
func TestHeaderMayReplaceAcceptAndUserAgent(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t,
		WithHeader("accept", "application/vnd.content.v1+json"), WithHeader("User-Agent", "mine"))
	require.NoError(t, allTen(c)["images.show"](t.Context()))
	assert.Equal(t, []string{"application/vnd.content.v1+json"}, (*requests)[0].header["Accept"])
	assert.Equal(t, []string{"mine"}, (*requests)[0].header["User-Agent"])
}

func TestMaxResponseSizeLimitsAResponseToTheByte(t *testing.T) {
	t.Parallel()
	const limit = 32 << 20 // as documented
	body := `{"id":7,"name":"` + strings.Repeat("a", 100) + `"}`
	long := body + strings.Repeat(" ", limit+1-len(body))
	for name, row := range map[string]struct {
		body string
		opts []Option
		kept int // bytes of a response that is too large
	}{
		"as long as the limit":    {body, []Option{WithMaxResponseSize(int64(len(body)))}, 0},
		"longer by a byte":        {body, []Option{WithMaxResponseSize(int64(len(body)) - 1)}, len(body) - 1},
		"the largest limit":       {body, []Option{WithMaxResponseSize(1<<63 - 1)}, 0},
		"as long as the default":  {long[:limit], nil, 0},
		"longer than the default": {long, nil, maxErrorBody},
	} {
		err := showSeven(t.Context(), over(t, fakes.RoundTripper(fakes.OK(row.body)), row.opts...))
		if row.kept == 0 {
			assert.NoError(t, err, name)
			continue
		}
		var unread *DecodeError
		require.ErrorAs(t, err, &unread, name)
		assert.ErrorContains(t, err, " bytes (WithMaxResponseSize)", name)
		assert.True(t, row.body[:row.kept] == string(unread.Body), name)
	}
}

// Tracing, signing and caching must see each attempt, in a known order, and lose nothing of what is proven.
func TestMiddlewareSeesEachAttemptOnTheCallersTransport(t *testing.T) {
	t.Parallel()
	var log []string
	calls := 0
	note := func(name string) Option {
		return WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			calls++
			return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
				log = append(log, name+" "+r.Method+" "+r.URL.Path)
				assert.Equal(t, "Bearer "+fakes.Key, r.Header.Get("Authorization"))
				return next.RoundTrip(r)
			})
		})
	}
	attempts := 0
	for name, opts := range map[string][]Option{
		"own": nil, "given": {WithHTTPClient(&http.Client{Transport: &http.Transport{}})},
	} {
		log, calls, attempts = nil, 0, 0
		c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
			if attempts++; attempts == 1 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			fakes.RespondToAll(w, r)
		}, append(opts, note("outer"), note("inner"), WithRetryPolicy(quick))...)
		require.NoError(t, showSeven(t.Context(), c))
		const show = " GET /tenant/api/v1/images/7"
		assert.Equal(t, []string{"outer" + show, "inner" + show, "outer" + show, "inner" + show}, log, name)
		require.NoError(t, allTen(c)["images.store"](t.Context()))
		assert.Equal(t, 2, calls, "once per client")
	}
}

// What was written is known through a middleware too: a connection that never was is NotExecuted, and every call is
// retried.
func TestMiddlewareKeepsOutcomes(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nil)
	srv.Close()
	// Some middleware loses the chain of an error.
	traced := WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			_, err := next.RoundTrip(r)
			return nil, fmt.Errorf("traced: %v", err)
		})
	})
	for name, row := range map[string]struct {
		opts  []Option
		chain bool // the cause is there for errors.As
	}{
		"none":   {nil, true},
		"traced": {[]Option{traced}, false},
	} {
		c, err := NewClient(srv.URL+"/tenant", fakes.Key, append(row.opts, WithRetryPolicy(quick))...)
		require.NoError(t, err)
		for op, call := range allTen(c) {
			err := call(t.Context())
			var lost *CallError
			require.ErrorAs(t, err, &lost, "%s %s", name, op)
			assert.Equal(t, 3, lost.Attempts, "%s %s", name, op)
			assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), "%s %s", name, op)
			assert.Equal(t, row.chain, errors.As(err, new(*net.OpError)), "%s %s", name, op)
		}
	}
}

// A field of the caller's counts as given, except for the file, of which there would be two.
func TestFormFieldReplacesARequiredOneButTheFile(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	store := func(params ImageStoreParams, opts ...CallOption) error {
		return second(c.Images.Store(t.Context(), params, opts...))
	}
	require.NoError(t, store(ImageStoreParams{Name: "n", Description: "d"}, WithFormField("resolution", "1536x1024")))
	require.NoError(t, store(ImageStoreParams{Name: "n", Resolution: "256x256"}, WithFormField("description", "")))
	require.NoError(t, store(aStore, WithFormField("file", "x")), "an image has no file")
	assert.Equal(t, "description=d&name=n&resolution=1536x1024", (*requests)[0].body)
	assert.Equal(t, "description=&name=n&resolution=256x256", (*requests)[1].body,
		"an empty field that was given is sent")
	*requests = nil
	odd := ImageStoreParams{Name: "n", Description: "d", Resolution: "7x7", Style: "odd"}
	assert.Equal(t, []string{"style"}, fieldsOf(t, store(odd, WithFormField("resolution", ""))))
	unnamed := ImageStoreParams{Description: "d", Resolution: Resolution256x256}
	assert.EqualError(t, store(unnamed, WithFormField("description", "x")), "images.store: name: is required")
	for _, file := range []File{FileFromBytes("a.wav", []byte(wavHead)), {}} {
		err := transcribe(t.Context(), c, file, WithFormField("file", "x"), WithoutValidation())
		assert.EqualError(t, err, `transcriptions.store: file "x": must be given as TranscriptionStoreParams.File, `+
			`not as a form field`)
	}
	assert.Empty(t, *requests)
}

// Bytes that are no UTF-8 are a 500 of the service: they are refused before the network, whatever is waived.
func TestTextThatIsNoUTF8IsRefusedEvenWithoutValidation(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t, WithoutValidation())
	ctx := t.Context()
	const bad = "a\xff"
	named := FileFromBytes(bad, []byte(wavHead))
	for name, row := range map[string]struct {
		err   error
		field string
	}{
		"name": {second(c.Images.Store(ctx, ImageStoreParams{bad, "d", "256x256", "", "", ""})), "name"},
		"description": {second(c.Images.Store(ctx, ImageStoreParams{"n", bad, "256x256", "", "", ""})),
			"description"},
		"search": {second(c.Images.List(ctx, ImageListParams{Search: bad})), "search"},
		"result": {second(c.Transcriptions.Update(ctx, "7",
			TranscriptionUpdateParams{Result: new(bad)})), "result"},
		"file name":       {transcribe(ctx, c, named), "file"},
		"query":           {second(c.Images.Show(ctx, "7", WithQuery("q", bad))), "q"},
		"name of a query": {second(c.Images.Show(ctx, "7", WithQuery(bad, "q"))), "a\uFFFD"},
		"form field":      {second(c.Images.Update(ctx, "7", ImageUpdateParams{}, WithFormField("f", bad))), "f"},
		"name of a form field": {second(c.Images.Update(ctx, "7", ImageUpdateParams{}, WithFormField(bad, "f"))),
			"a\uFFFD"},
	} {
		assert.Equal(t, []string{row.field}, fieldsOf(t, row.err), name)
		assert.ErrorContains(t, row.err, "UTF-8", name)
	}
	assert.Empty(t, *requests)
}

// What a program shows its users has no Go in it: the hint for its programmer is a field of its own.
func TestReasonsOfProblemsDoNotHoldTheirHints(t *testing.T) {
	t.Parallel()
	c, _ := capturing(t)
	_, err := c.Images.List(t.Context(), ImageListParams{PerPage: 7}, WithResponseTimeout(30))
	var invalid *ValidationError
	require.ErrorAs(t, err, &invalid)
	text, err := json.Marshal(invalid.Problems)
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"field":"response_timeout","value":30,"reason":"must be 0 or at least 1ms",
			"hint":"write 30*time.Second for 30 seconds"},
		{"field":"per_page","value":7,"reason":"must be one of 10, 25, 50, 100",
			"hint":"WithoutValidation sends it anyway"}
	]`, string(text))
	assert.ErrorContains(t, invalid, `response_timeout "30ns": must be 0`)
	for _, d := range []time.Duration{0, time.Millisecond, time.Hour} {
		_, err := c.Images.Show(t.Context(), "7", WithResponseTimeout(d), WithStallTimeout(d))
		assert.NoError(t, err, d)
	}
}

// What is stored under another name than the call's is never found again.
func TestNameOfAStoreIsGivenOnce(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	file := FileFromBytes("a.wav", []byte(wavHead))
	for _, name := range []string{"mine", aStore.Name, ""} {
		field := WithFormField("name", name)
		for _, opts := range [][]CallOption{{field}, {field, WithoutValidation()}} {
			_, err := c.Images.Store(t.Context(), aStore, opts...)
			for _, err := range []error{err, transcribe(t.Context(), c, file, opts...)} {
				require.ErrorAs(t, err, new(*ValidationError))
				assert.ErrorContains(t, err, "must be given once: as Name of the params, or as a form field")
			}
		}
	}
	assert.Empty(t, *requests)
	unnamed := aStore
	unnamed.Name = ""
	_, err := c.Images.Store(t.Context(), unnamed, WithFormField("name", "mine"))
	assert.NoError(t, err)
}

// A limit for a client's lists must not end its Store calls, which are billed and take minutes.
func TestStoreTimeoutLimitsStoreCallsAlone(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		opts  []Option
		store time.Duration
		show  time.Duration
	}{
		"defaults": {nil, 10 * time.Minute, 30 * time.Second},
		"of lists": {[]Option{WithResponseTimeout(5 * time.Second)}, 10 * time.Minute, 5 * time.Second},
		"of Store": {[]Option{WithStoreTimeout(time.Hour)}, time.Hour, 30 * time.Second},
		"none":     {[]Option{WithStoreTimeout(0), WithResponseTimeout(0)}, 24 * time.Hour, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := over(t, fakes.RoundTripper(fakes.Hang), append(row.opts, WithRetryPolicy(oneAttempt))...)
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				start := time.Now()
				_, err := c.Images.Store(ctx, aStore)
				assert.Equal(t, row.store, time.Since(start), err)
				assert.Equal(t, row.store < 24*time.Hour, strings.Contains(err.Error(), "(WithStoreTimeout)"), err)
				start = time.Now()
				ctx, cancel = context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				_, err = c.Images.Show(ctx, "7")
				assert.Equal(t, row.show, time.Since(start), err)
				assert.Equal(t, row.show < 24*time.Hour, strings.Contains(err.Error(), "(WithResponseTimeout)"), err)
			})
		})
	}
	_, err := NewClient("http://localhost", fakes.Key, WithStoreTimeout(30), WithResponseTimeout(-1))
	assert.ErrorContains(t, err,
		`store_timeout "30ns": must be 0 or at least 1ms; response_timeout "-1ns": must be 0 or at least 1ms `+
			`(write 30*time.Second for 30 seconds)`)
}

// A Timeout of the http.Client counts from the start of an attempt. It must not end a Store call that its own limit
// would let go on: the call is billed all the same.
func TestHTTPClientTimeoutsBelowTheStoreTimeoutAreRefused(t *testing.T) {
	t.Parallel()
	const text = ": must be 0, or at least the store timeout: it counts the upload too, and would end Store calls " +
		"that are billed (leave it 0: "
	for name, row := range map[string]struct {
		timeout time.Duration
		opts    []Option
		refused string // the timeout as the error shows it; empty if there is a client
	}{
		"none":                       {0, nil, ""},
		"the default":                {10 * time.Minute, nil, ""},
		"below the default":          {30 * time.Second, nil, "30s"},
		"above an option":            {time.Minute, []Option{WithStoreTimeout(time.Minute)}, ""},
		"below an option":            {time.Hour, []Option{WithStoreTimeout(2 * time.Hour)}, "1h0m0s"},
		"negative":                   {-1, nil, "-1ns"},
		"the last of several limits": {time.Minute, []Option{WithStoreTimeout(0), WithStoreTimeout(time.Second)}, ""},
	} {
		hc := WithHTTPClient(&http.Client{Timeout: row.timeout})
		for _, opts := range [][]Option{append([]Option{hc}, row.opts...), append(slices.Clip(row.opts), hc)} {
			_, err := NewClient("https://content.example.com", fakes.Key, opts...)
			if row.refused == "" {
				assert.NoError(t, err, name)
				continue
			}
			assert.Equal(t, []string{"http_client_timeout"}, fieldsOf(t, err), name)
			assert.ErrorContains(t, err, fmt.Sprintf("http_client_timeout %q", row.refused)+text, name)
		}
	}
}

// The same for the limit of one Store call. Other calls have limits of their own, so they may be given one.
func TestStoreTimeoutsAboveTheHTTPClientTimeoutAreRefused(t *testing.T) {
	t.Parallel()
	s := script(fakes.OK(fakes.StoredImage))
	c := using(t, &http.Client{Transport: s, Timeout: 10 * time.Minute})
	transcription := TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.wav", []byte(wavHead))}
	for _, limit := range []time.Duration{0, 10*time.Minute + 1} {
		opt := WithStoreTimeout(limit)
		_, image := c.Images.Store(t.Context(), aStore, opt)
		_, audio := c.Transcriptions.Store(t.Context(), transcription, opt)
		for _, err := range []error{
			image, audio, c.Images.Validate(aStore, opt), c.Transcriptions.Validate(transcription, opt),
		} {
			assert.Equal(t, []string{"http_client_timeout"}, fieldsOf(t, err))
		}
	}
	assert.Empty(t, s.Sent)
	assert.NoError(t, allTen(c)["images.store"](t.Context(), WithStoreTimeout(10*time.Minute)))
	assert.NoError(t, allTen(c)["images.show"](t.Context(), WithStoreTimeout(0)))
	assert.NoError(t, allTen(c)["images.update"](t.Context(), WithStoreTimeout(0)))
}

// A program that wants no limit gives 0, or the largest number it knows, even if it is counted in fractions of a token.
func TestHugeRetryBudgetsAreNoLimit(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{0, math.MaxInt, math.MaxInt/5 + 1, math.MaxInt / 10, maxBudget + 1} {
		s := script(fakes.Respond(500, ``))
		c := over(t, s, WithRetryBudget(budget), WithRetryPolicy(quick))
		for range 100 {
			require.ErrorIs(t, showSeven(t.Context(), c), ErrServer)
		}
		assert.Len(t, s.Asked, 300, budget)
	}
}

func TestLimiterAndKeySourceAreAskedBeforeEachAttempt(t *testing.T) {
	t.Parallel()
	var asked []string
	s := script(fakes.Respond(502, ``), fakes.Respond(502, ``), fakes.OK(fakes.StoredImage))
	c := over(t, s, WithRetryPolicy(quick),
		limited(func(int) error { asked = append(asked, "limiter"); return nil }),
		keys(func(n int) (string, error) { asked = append(asked, "key"); return fmt.Sprint("api-key-", n), nil }))
	require.NoError(t, showSeven(t.Context(), c))
	assert.Equal(t, []string{"limiter", "key", "limiter", "key", "limiter", "key"}, asked)
	for i, key := range []string{"api-key-1", "api-key-2", "api-key-3"} {
		assert.Equal(t, "Bearer "+key, s.Sent[i].Header.Get("Authorization"), "it wins over the key of the client")
	}
}

// An outage must not be multiplied by the clients that suffer from it.
func TestRetriesShareABudgetInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			requests.Add(1)
			return fakes.Respond(500, ``)(r)
		}))
		var group sync.WaitGroup
		for range 32 {
			group.Go(func() {
				for range 100 {
					assert.ErrorIs(t, showSeven(t.Context(), c), ErrServer)
				}
			})
		}
		group.Wait()
		assert.LessOrEqual(t, requests.Load(), int64(3300))
		start := time.Now()
		assert.EqualError(t, showSeven(t.Context(), c), "images.show: 500: internal server error "+
			"(not retried: the client's retry budget is used up (WithRetryBudget))")
		assert.Zero(t, time.Since(start))
		assert.Zero(t, retriesLeft(c))
	})
}

// Ten calls that succeed at once pay for one retry, a call that succeeds in the end pays for its own.
func TestRetryBudgetIsGivenBack(t *testing.T) {
	t.Parallel()
	up, down := fakes.OK(fakes.StoredImage), fakes.Respond(500, ``)
	s := script()
	c := over(t, s, WithRetryBudget(3), WithRetryPolicy(quick))
	show := func(next ...func(*http.Request) (*http.Response, error)) error {
		s.Asked, s.Responses = nil, next
		return showSeven(t.Context(), c)
	}
	require.Error(t, show(down))
	require.Equal(t, 1, retriesLeft(c))
	for range 10 {
		require.NoError(t, show(up))
	}
	require.Equal(t, 2, retriesLeft(c))
	require.NoError(t, show(down, down, up))
	require.Equal(t, 2, retriesLeft(c), "what it took is back")
	require.Error(t, show(fakes.Respond(404, ``)))
	require.Equal(t, 2, retriesLeft(c), "an error is no sign that the service is well")
	for range 100 {
		require.NoError(t, show(up))
	}
	require.Equal(t, 3, retriesLeft(c), "never more than at first")
}

// retriesLeft returns what the retry budget of a client has left.
func retriesLeft(c *Client) int { return c.sender().Budget.Retries() }

// A policy that sets one field must not turn the others off.
func TestZeroFieldsOfARetryPolicyHaveTheDefaults(t *testing.T) {
	t.Parallel()
	d := DefaultRetryPolicy()
	assert.Equal(t, RetryPolicy{4, 500 * time.Millisecond, 30 * time.Second, time.Minute}, d, "as documented")
	for name, row := range map[string]struct{ given, want RetryPolicy }{
		"the zero policy":    {RetryPolicy{}, d},
		"the default policy": {d, d},
		"more attempts": {
			RetryPolicy{MaxAttempts: 5}, RetryPolicy{5, d.MinBackoff, d.MaxBackoff, d.MaxRetryAfter},
		},
		"a longer first pause": {
			RetryPolicy{MinBackoff: time.Minute}, RetryPolicy{4, time.Minute, time.Minute, d.MaxRetryAfter},
		},
		"a limit below the first pause": {
			RetryPolicy{MaxBackoff: 1}, RetryPolicy{4, d.MinBackoff, 1, d.MaxRetryAfter},
		},
		"negative durations, which are off": {RetryPolicy{0, -1, -1, -1}, RetryPolicy{MaxAttempts: 4}},
	} {
		assert.Equal(t, row.want, row.given.withDefaults(), name)
	}
}
