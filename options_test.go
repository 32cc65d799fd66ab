package aicontent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/cookiejar"
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

// sent is a request as it was sent.
type sent struct {
	method, path, body string
	query              url.Values
	header             http.Header
}

// capturing is a client whose requests are kept; the responses are a record or a list.
func capturing(t *testing.T, opts ...Option) (*Client, *[]sent) {
	t.Helper()
	var mu sync.Mutex
	list := new([]sent)
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, append([]Option{
		WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			s := sent{method: r.Method, path: r.URL.Path, query: r.URL.Query(), header: r.Header.Clone()}
			if r.Body != nil {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				s.body = string(body)
			}
			mu.Lock()
			defer mu.Unlock()
			*list = append(*list, s)
			if r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "/7") {
				return fakes.OK(`{"data":[]}`)(r)
			}
			return fakes.OK(`{"id":7}`)(r)
		})}),
	}, opts...)...)
	require.NoError(t, err)
	return c, list
}

// Concurrent calls would race for one response.
func TestOptionsOfOneCall(t *testing.T) {
	t.Parallel()
	var resp *Response
	_, err := NewClient("https://content.example.com", "test-key", WithResponse(&resp))
	require.ErrorIs(t, err, ErrInvalid)
	assert.ErrorContains(t, err, `option "WithResponse": must be given to a call`)
}

// tokens is a limiter of a test, whose methods need its fields as those of rate.Limiter do.
type tokens struct{ left int }

func (l *tokens) Wait(context.Context) error { l.left--; return nil }

// An option that is wrong is found before anything is sent, given to the client or to a call.
func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		option Option
		field  string
		text   string
	}{
		"nil http client":          {WithHTTPClient(nil), "http_client", "must not be nil"},
		"nil key source":           {WithAPIKeySource(nil), "api_key_source", "must not be nil"},
		"user agent of two lines":  {WithUserAgent("gallery\r\nX-Evil: 1"), "user_agent", "must not contain a line break (at byte 7)"},
		"update by POST":           {WithUpdateMethod(http.MethodPost), "update_method", "PATCH or PUT"},
		"update in lower case":     {WithUpdateMethod("patch"), "update_method", "PATCH or PUT"},
		"update by nothing":        {WithUpdateMethod(""), "update_method", "PATCH or PUT"},
		"no response at all":       {WithMaxResponseSize(0), "max_response_size", "above 0"},
		"less than nothing":        {WithMaxResponseSize(-1), "max_response_size", "above 0"},
		"negative timeout":         {WithResponseTimeout(-time.Second), "response_timeout", "negative"},
		"negative stall timeout":   {WithStallTimeout(-1), "stall_timeout", "negative"},
		"negative attempts":        {WithRetryPolicy(RetryPolicy{MaxAttempts: -1}), "max_attempts", "negative"},
		"backoffs the wrong way":   {WithRetryPolicy(RetryPolicy{MinBackoff: 2, MaxBackoff: 1}), "min_backoff", "max_backoff"},
		"negative budget":          {WithRetryBudget(-1), "retry_budget", "negative"},
		"seconds without a unit":   {WithResponseTimeout(30), "response_timeout", "write 30*time.Second"},
		"a stall without a unit":   {WithStallTimeout(30), "stall_timeout", "write 30*time.Second"},
		"nil transport inside":     {WithHTTPClient(&http.Client{Transport: (*closingRoundTripper)(nil)}), "http_client_transport", "must not be a nil *aicontent.closingRoundTripper"},
		"nil func for transport":   {WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(nil)}), "http_client_transport", "must not be a nil fakes.RoundTripper"},
		"nil jar inside":           {WithHTTPClient(&http.Client{Jar: (*cookiejar.Jar)(nil)}), "http_client_jar", "must not be a nil *cookiejar.Jar"},
		"nil limiter inside":       {WithRateLimiter((*tokens)(nil)), "rate_limiter", "must not be a nil *aicontent.tokens (give nil itself for no limit)"},
		"nil func for limiter":     {WithRateLimiter(fakes.Limiter(nil)), "rate_limiter", "must not be a nil fakes.Limiter"},
		"logger without handler":   {WithLogger(&slog.Logger{}), "logger", "must have a handler (make it with slog.New)"},
		"nil handler inside":       {WithLogger(slog.New((*slog.TextHandler)(nil))), "logger", "must have a handler"},
		"middleware to nil inside": {WithMiddleware(func(http.RoundTripper) http.RoundTripper { return (*closingRoundTripper)(nil) }), "middleware", "must return a RoundTripper, not nil"},
		"nil attempt hook":         {WithAttemptHook(nil), "attempt_hook", "must not be nil"},
		"no middleware":            {WithMiddleware(nil), "middleware", "nil"},
		"middleware to nothing":    {WithMiddleware(func(http.RoundTripper) http.RoundTripper { return nil }), "middleware", "nil"},
		"a query without name":     {WithQuery("", "v"), "query", "name"},
		"a form without name":      {WithFormField("", "v"), "form_field", "name"},
		"a form name of two lines": {WithFormField("a\r\nb", "v"), "form_field", "line breaks"},
		"a form name with a NUL":   {WithFormField("a\x00", "v"), "form_field", "control"},
		"Authorization":            {WithHeader("Authorization", "Bearer other"), "header", "set by the SDK"},
		"authorization":            {WithHeader("authorization", "Bearer other"), "header", "set by the SDK"},
		"AUTHORIZATION":            {WithHeader("AUTHORIZATION", "Bearer other"), "header", "set by the SDK"},
		"Host":                     {WithHeader("Host", "other"), "header", "set by the SDK"},
		"Content-Type":             {WithHeader("Content-Type", "text/plain"), "header", "set by the SDK"},
		"content-length":           {WithHeader("content-length", "1"), "header", "set by the SDK"},
		"Transfer-Encoding":        {WithHeader("Transfer-Encoding", "chunked"), "header", "set by the SDK"},
		"Trailer":                  {WithHeader("Trailer", "X"), "header", "set by the SDK"},
		"Connection":               {WithHeader("Connection", "upgrade"), "header", "set by the SDK"},
		"Upgrade":                  {WithHeader("Upgrade", "websocket"), "header", "set by the SDK"},
		"Expect":                   {WithHeader("expect", "100-continue"), "header", "set by the SDK"},
		"TE":                       {WithHeader("TE", "trailers"), "header", "set by the SDK"},
		"Proxy-Authorization":      {WithHeader("Proxy-Authorization", "Basic x"), "header", "set by the SDK"},
		"Proxy-Connection":         {WithHeader("proxy-connection", "close"), "header", "set by the SDK"},
		"Keep-Alive":               {WithHeader("Keep-Alive", "timeout=5"), "header", "set by the SDK"},
		"a header without name":    {WithHeader("", "v"), "header", "HTTP header name"},
		"a header with a space":    {WithHeader("X Y", "v"), "header", "HTTP header name"},
		"a header with a colon":    {WithHeader("X-Y:", "v"), "header", "HTTP header name"},
		"a header with a break":    {WithHeader("X\r\nY", "v"), "header", "HTTP header name"},
		"a header with an umlaut":  {WithHeader("X-Ü", "v"), "header", "HTTP header name"},
		"a value of two lines":     {WithHeader("X-Token", "hunter2\r\nX-Evil: 1"), "X-Token", "must not contain a line break (at byte 7)"},
		"a value with a newline":   {WithHeader("x-token", "hunter2\n"), "X-Token", "must not contain a line break (at byte 7)"},
		"a value with a NUL":       {WithHeader("X-Token", "hunter2\x00"), "X-Token", "control"},
		"a value with a DEL":       {WithHeader("X-Token", "hunter2\x7f"), "X-Token", "control"},
		"a value behind a space":   {WithHeader("X-Token", " hunter2"), "X-Token", "space"},
		"a value before a tab":     {WithHeader("X-Token", "hunter2\t"), "X-Token", "space"},
	} {
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

func TestNilCallOption(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	for name, call := range allTen(c) {
		assert.ErrorContains(t, call(t.Context(), nil), "option: must not be nil", name)
	}
	assert.Empty(t, *requests)
}

// What may be nil says so, and does nothing.
func TestOptionsThatMayBeNil(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t, WithLogger(nil), WithRateLimiter(nil), WithProgress(nil), WithUserAgent(""), WithUserAgent("  "), WithResponseTimeout(0), WithStallTimeout(0))
	for name, call := range allTen(c) {
		assert.NoError(t, call(t.Context(), WithProgress(nil)), name)
	}
	for _, r := range *requests {
		assert.True(t, strings.HasPrefix(r.header.Get("User-Agent"), "aicontent-go/"))
	}
}

func TestUpdateMethod(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPatch, http.MethodPut} {
		c, requests := capturing(t, WithUpdateMethod(method))
		require.NoError(t, allTen(c)["images.update"](t.Context()))
		require.NoError(t, allTen(c)["transcriptions.update"](t.Context()))
		assert.Equal(t, method, (*requests)[0].method)
		assert.Equal(t, method, (*requests)[1].method)
		assert.Equal(t, "favorite=1", (*requests)[0].body, "only what was set")
		assert.Equal(t, "result=r", (*requests)[1].body)
	}
	c, requests := capturing(t)
	require.NoError(t, allTen(c)["images.update"](t.Context()))
	assert.Equal(t, http.MethodPatch, (*requests)[0].method)
}

func TestBooleanWords(t *testing.T) {
	t.Parallel()
	for value, want := range map[bool][2]string{true: {"1", "true"}, false: {"0", "false"}} {
		for i, opts := range [][]Option{nil, {WithBooleanWords()}} {
			c, requests := capturing(t, opts...)
			_, err := c.Images.List(t.Context(), ImageListParams{Favorite: &value})
			require.NoError(t, err)
			_, err = c.Transcriptions.List(t.Context(), TranscriptionListParams{Favorite: &value})
			require.NoError(t, err)
			_, err = c.Images.Update(t.Context(), "7", ImageUpdateParams{Favorite: &value})
			require.NoError(t, err)
			_, err = c.Transcriptions.Update(t.Context(), "7", TranscriptionUpdateParams{Favorite: &value})
			require.NoError(t, err)
			assert.Equal(t, url.Values{"favorite": {want[i]}}, (*requests)[0].query)
			assert.Equal(t, url.Values{"favorite": {want[i]}}, (*requests)[1].query)
			assert.Equal(t, "favorite="+want[i], (*requests)[2].body)
			assert.Equal(t, "favorite="+want[i], (*requests)[3].body)
		}
	}
	c, requests := capturing(t, WithBooleanWords())
	_, err := c.Images.List(t.Context(), ImageListParams{})
	require.NoError(t, err)
	assert.Empty(t, (*requests)[0].query, "what is not set is not sent, as a word neither")
}

// A call's option wins over the client's, and never reaches into the next call.
func TestCallOptionsWinAndStayInTheirCall(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t,
		WithHeader("X-Tenant", "client"), WithHeader("X-Other", "client"), WithQuery("team", "client"), WithFormField("quality", "client"))
	ctx := t.Context()
	store := ImageStoreParams{Name: "n", Description: "d", Resolution: Resolution256x256}
	_, err := c.Images.Store(ctx, store, WithHeader("x-tenant", "call"), WithQuery("team", "call"), WithFormField("quality", "call"))
	require.NoError(t, err)
	_, err = c.Images.Store(ctx, store)
	require.NoError(t, err)
	for i, want := range []string{"call", "client"} {
		r := (*requests)[i]
		form, err := url.ParseQuery(r.body)
		require.NoError(t, err)
		assert.Equal(t, []string{want}, r.header["X-Tenant"])
		assert.Equal(t, []string{"client"}, r.header["X-Other"])
		assert.Equal(t, url.Values{"team": {want}}, r.query)
		assert.Equal(t, url.Values{"name": {"n"}, "description": {"d"}, "resolution": {"256x256"}, "quality": {want}}, form)
	}
}

func TestOwnParametersWinOverDocumentedOnes(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	_, err := c.Images.List(t.Context(), ImageListParams{PerPage: PerPage10, Search: "a"}, WithQuery("per_page", "500"), WithQuery("x[]", "a b&c"))
	require.NoError(t, err)
	assert.Equal(t, url.Values{"per_page": {"500"}, "search": {"a"}, "x[]": {"a b&c"}}, (*requests)[0].query)
	_, err = c.Images.Update(t.Context(), "7", ImageUpdateParams{Name: new("a")}, WithFormField("name", "b"), WithFormField("x", "1"))
	require.NoError(t, err)
	assert.Equal(t, "name=b&x=1", (*requests)[1].body)
	_, err = c.Images.Show(t.Context(), "7", WithFormField("x", "1"))
	require.NoError(t, err)
	assert.Empty(t, (*requests)[2].body, "what has no form sends none")
}

// Accept is the caller's to change, for a deployment that wants a version there.
func TestHeaderMayReplaceAcceptAndUserAgent(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t, WithHeader("accept", "application/vnd.content.v1+json"), WithHeader("User-Agent", "mine"))
	require.NoError(t, allTen(c)["images.show"](t.Context()))
	assert.Equal(t, []string{"application/vnd.content.v1+json"}, (*requests)[0].header["Accept"])
	assert.Equal(t, []string{"mine"}, (*requests)[0].header["User-Agent"])
}

// One option value may make several clients, and at the same time.
func TestOptionsCanBeShared(t *testing.T) {
	t.Parallel()
	opts := []Option{
		WithUserAgent(" gallery/1 "), WithHeader("X-A", "1"), WithQuery("a", "1"), WithFormField("a", "1"), WithResponseTimeout(time.Second),
		WithHTTPClient(&http.Client{}), WithLogger(slog.New(slog.DiscardHandler)),
	}
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			c, err := NewClient(fmt.Sprintf("https://host-%d.example", n), fakes.Key, opts...)
			if assert.NoError(t, err) {
				assert.True(t, strings.HasPrefix(c.userAgent, "gallery/1 aicontent-go/"), c.userAgent)
				assert.Len(t, c.defaults.moreHeader, 1)
			}
		})
	}
	group.Wait()
}

func TestAPIKeySourceWinsOverTheKey(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t, WithAPIKeySource(func(context.Context) (string, error) { return "from-the-source", nil }))
	require.NoError(t, allTen(c)["images.show"](t.Context()))
	assert.Equal(t, "Bearer from-the-source", (*requests)[0].header.Get("Authorization"))
	// What it returns is checked as the key is, each time.
	for _, key := range []string{"", " ", "a\nb", "ü"} {
		c, requests := capturing(t, WithAPIKeySource(func(context.Context) (string, error) { return key, nil }))
		for name, call := range allTen(c) {
			err := call(t.Context())
			assert.ErrorContains(t, err, "API key source: the key", name)
			assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), name)
		}
		assert.Empty(t, *requests)
	}
}

func TestResponseOption(t *testing.T) {
	t.Parallel()
	c, _ := capturing(t)
	old := &Response{StatusCode: 999}
	resp := old
	require.NoError(t, allTen(c)["images.show"](t.Context(), WithResponse(&resp)))
	require.NotNil(t, resp)
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, 1, resp.Attempts)
	assert.Equal(t, `{"id":7}`, string(resp.Body))
	_, err := c.Images.Show(t.Context(), "", WithResponse(&resp))
	assert.Error(t, err)
	assert.Nil(t, resp, "the response to the call before must not be taken for this one's")
}

func TestMaxResponseSize(t *testing.T) {
	t.Parallel()
	body := `{"id":7,"name":"` + strings.Repeat("a", 100) + `"}`
	for limit, ok := range map[int64]bool{int64(len(body)): true, int64(len(body)) - 1: false, 1: false, 1<<63 - 1: true} {
		c, err := NewClient("https://content.example.com", fakes.Key, WithMaxResponseSize(limit), WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(fakes.OK(body))}))
		require.NoError(t, err)
		_, err = c.Images.Show(t.Context(), "7")
		if ok {
			assert.NoError(t, err)
			continue
		}
		var unread *DecodeError
		require.ErrorAs(t, err, &unread)
		assert.ErrorContains(t, err, "WithMaxResponseSize")
		assert.Equal(t, body[:limit], string(unread.Body))
	}
}

// Tracing, signing and caching must see each attempt, in a known order, and lose nothing of what is
// proven.
func TestMiddleware(t *testing.T) {
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
	baseURL, _ := fakes.Counted(t, func(w http.ResponseWriter, r *http.Request) {
		switch attempts++; {
		case attempts == 1:
			w.WriteHeader(http.StatusBadGateway)
		default:
			fakes.RespondToAll(w, r)
		}
	})
	for name, opts := range map[string][]Option{"own": nil, "given": {WithHTTPClient(&http.Client{Transport: &http.Transport{}})}} {
		log, calls, attempts = nil, 0, 0
		c, err := NewClient(baseURL, fakes.Key, append(opts, note("outer"), note("inner"), WithRetryPolicy(quick))...)
		require.NoError(t, err)
		_, err = c.Images.Show(t.Context(), "7")
		require.NoError(t, err)
		const show = " GET /tenant/api/v1/images/7"
		assert.Equal(t, []string{"outer" + show, "inner" + show, "outer" + show, "inner" + show}, log, name)
		require.NoError(t, allTen(c)["images.store"](t.Context()))
		assert.Equal(t, 2, calls, "once per client")
		c.CloseIdleConnections()
	}
}

// What was written is known through a middleware too: a connection that never was is NotExecuted, and a store is retried.
func TestMiddlewareKeepsOutcomes(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nil)
	srv.Close()
	attempts := 0
	c, err := NewClient(srv.URL+"/tenant", fakes.Key, WithRetryPolicy(quick), WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			attempts++
			resp, err := next.RoundTrip(r)
			if err != nil {
				// Some middleware loses the chain of an error.
				err = fmt.Errorf("traced: %v", err)
			}
			return resp, err
		})
	}))
	require.NoError(t, err)
	_, err = c.Images.Store(t.Context(), aStore)
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), "%v", err)
	assert.Equal(t, 3, attempts)
}

// A middleware that does not pass it on must not keep connections open.
func TestCloseIdleConnectionsThroughMiddleware(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 10)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(fakes.RespondToAll))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- struct{}{}
		}
	}
	srv.Start()
	defer srv.Close()
	c, err := NewClient(srv.URL, fakes.Key, WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return fakes.RoundTripper(next.RoundTrip) }))
	require.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7")
	require.NoError(t, err)
	c.CloseIdleConnections()
	<-closed
}

// A client and a service that NewClient did not make say so, instead of a bare nil dereference.
func TestZeroClients(t *testing.T) {
	t.Parallel()
	assert.NotPanics(t, func() { _ = (&Client{}).String() })
	assert.NotPanics(t, (&Client{}).CloseIdleConnections)
	for name, c := range map[string]*Client{
		"a zero client": {},
		"zero services": {Images: &ImagesService{}, Transcriptions: &TranscriptionsService{}},
	} {
		for op, call := range allTen(c) {
			err := call(t.Context())
			var invalid *ValidationError
			require.ErrorAs(t, err, &invalid, "%s: %s", name, op)
			assert.ErrorContains(t, err, ": client: was not created with NewClient")
			assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
		}
		n, err := c.Images.Download(t.Context(), at("https://example.com/a.png"), io.Discard)
		assert.Zero(t, n)
		assert.EqualError(t, err, "images.download: client: was not created with NewClient", name)
	}
}

// A name that ends in [] is a list, any other has one value: the last.
func TestRepeatedParameters(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t, WithQuery("ids[]", "1"), WithQuery("team", "a"))
	_, err := c.Images.List(t.Context(), ImageListParams{Search: "s"},
		WithQuery("ids[]", "2"), WithQuery("ids[]", "2"), WithQuery("team", "b"), WithQuery("search", "x"), WithQuery("search", "y"))
	require.NoError(t, err)
	assert.Equal(t, url.Values{"ids[]": {"1", "2", "2"}, "team": {"b"}, "search": {"y"}}, (*requests)[0].query)
	_, err = c.Images.Store(t.Context(), aStore, WithFormField("tags[]", "a"), WithFormField("tags[]", "b"), WithFormField("x", "1"), WithFormField("x", "2"))
	require.NoError(t, err)
	form, err := url.ParseQuery((*requests)[1].body)
	require.NoError(t, err)
	assert.Equal(t, url.Values{"name": {"n"}, "description": {"d"}, "resolution": {"256x256"}, "tags[]": {"a", "b"}, "x": {"2"}}, form)
}

// A field of the caller's counts as given, except for the file, of which there would be two.
func TestFormFieldsForRequiredOnes(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	_, err := c.Images.Store(t.Context(), ImageStoreParams{Name: "n", Description: "d"}, WithFormField("resolution", "1536x1024"))
	require.NoError(t, err)
	assert.Equal(t, "description=d&name=n&resolution=1536x1024", (*requests)[0].body)
	_, err = c.Images.Store(t.Context(), ImageStoreParams{Name: "n", Description: "d", Resolution: "7x7", Style: "odd"}, WithFormField("resolution", ""))
	assert.ErrorContains(t, err, `style "odd"`)
	assert.NotContains(t, err.Error(), "7x7", "what is not sent is not checked")
	_, err = c.Images.Store(t.Context(), ImageStoreParams{Description: "d", Resolution: Resolution256x256}, WithFormField("description", "x"))
	assert.EqualError(t, err, "images.store: name: is required")
	wav := FileFromBytes("a.wav", []byte(wavHead))
	for _, file := range []File{wav, {}} {
		_, err = c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: file}, WithFormField("file", "x"), WithoutValidation())
		assert.EqualError(t, err, `transcriptions.store: file "x": must be given as TranscriptionStoreParams.File, not as a form field`)
	}
	assert.Len(t, *requests, 1)
	_, err = c.Images.Store(t.Context(), aStore, WithFormField("file", "x"))
	assert.NoError(t, err, "an image has no file")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Images.Store(ended, ImageStoreParams{Name: "n", Resolution: Resolution256x256}, WithFormField("description", ""))
	assert.ErrorIs(t, err, context.Canceled, "an empty description that was given is sent")
}

// Bytes that are no UTF-8 are a 500 of the service: they are refused before the network, whatever is waived.
func TestTextThatIsNoUTF8(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	ctx := t.Context()
	const bad = "a\xff"
	wav := FileFromBytes("a.wav", []byte(wavHead))
	for name, row := range map[string]struct {
		err   error
		field string
	}{
		"name":                 {second(c.Images.Store(ctx, ImageStoreParams{Name: bad, Description: "d", Resolution: Resolution256x256}, WithoutValidation())), "name"},
		"description":          {second(c.Images.Store(ctx, ImageStoreParams{Name: "n", Description: bad, Resolution: Resolution256x256}, WithoutValidation())), "description"},
		"of a transcription":   {second(c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: bad, File: wav}, WithoutValidation())), "name"},
		"search":               {second(c.Images.List(ctx, ImageListParams{Search: bad}, WithoutValidation())), "search"},
		"result":               {second(c.Transcriptions.Update(ctx, "7", TranscriptionUpdateParams{Result: new(bad)}, WithoutValidation())), "result"},
		"file name":            {second(c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: "n", File: FileFromBytes(bad, []byte(wavHead))}, WithoutValidation())), "file"},
		"query":                {second(c.Images.Show(ctx, "7", WithQuery("q", bad))), "q"},
		"name of a query":      {second(c.Images.Show(ctx, "7", WithQuery(bad, "q"))), "a\uFFFD"},
		"form field":           {second(c.Images.Update(ctx, "7", ImageUpdateParams{}, WithFormField("f", bad))), "f"},
		"name of a form field": {second(c.Images.Update(ctx, "7", ImageUpdateParams{}, WithFormField(bad, "f"))), "a\uFFFD"},
	} {
		assert.Equal(t, []string{row.field}, fieldsOf(t, row.err), name)
		assert.ErrorContains(t, row.err, "UTF-8", name)
	}
	assert.Empty(t, *requests)
}

// What a program shows its users has no Go in it: the hint for its programmer is a field of its own.
func TestHintsAreApart(t *testing.T) {
	t.Parallel()
	c, _ := capturing(t)
	_, err := c.Images.List(t.Context(), ImageListParams{PerPage: 7}, WithResponseTimeout(30))
	var invalid *ValidationError
	require.ErrorAs(t, err, &invalid)
	text, err := json.Marshal(invalid.Problems)
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"field":"response_timeout","value":30,"reason":"must be 0 or at least 1ms","hint":"write 30*time.Second for 30 seconds"},
		{"field":"per_page","value":7,"reason":"must be one of 10, 25, 50, 100","hint":"WithoutValidation sends it anyway"}
	]`, string(text))
	assert.ErrorContains(t, invalid, `response_timeout "30ns": must be 0`)
	for _, d := range []time.Duration{0, time.Millisecond, time.Hour} {
		_, err := c.Images.Show(t.Context(), "7", WithResponseTimeout(d), WithStallTimeout(d))
		assert.NoError(t, err, d)
	}
}

// What WithQuery or WithFormField replaces is not sent, and so not checked.
func TestReplacedValuesAreNotChecked(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	_, err := c.Images.List(t.Context(), ImageListParams{PerPage: 7, SortBy: "size"}, WithQuery("per_page", "200"), WithQuery("sort_by", "words"))
	require.NoError(t, err)
	assert.Equal(t, url.Values{"per_page": {"200"}, "sort_by": {"words"}}, (*requests)[0].query)
	_, err = c.Images.List(t.Context(), ImageListParams{PerPage: 7, Sort: "up"}, WithQuery("sort", "random"))
	assert.EqualError(t, err, `images.list: per_page "7": must be one of 10, 25, 50, 100 (WithoutValidation sends it anyway)`)
	_, err = c.Images.Store(t.Context(), ImageStoreParams{Name: "n", Description: "d", Resolution: "7x7"}, WithFormField("resolution", "8x8"))
	require.NoError(t, err)
	assert.Equal(t, "description=d&name=n&resolution=8x8", (*requests)[1].body)
	c, _ = capturing(t, WithQuery("per_page", "200"))
	_, err = c.Images.List(t.Context(), ImageListParams{PerPage: 7})
	assert.NoError(t, err, "also where the client's options replace it")
}

func TestNowhereForAResponse(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	_, err := c.Images.Show(t.Context(), "7", WithResponse(nil))
	require.ErrorIs(t, err, ErrInvalid)
	assert.ErrorContains(t, err, "response: must not be nil")
	assert.Empty(t, *requests)
}

// What is stored under another name than the call's is never found again.
func TestNameOfAStoreIsGivenOnce(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	upload := TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.wav", []byte(wavHead))}
	for _, name := range []string{"mine", aStore.Name, ""} {
		for _, opts := range [][]CallOption{{WithFormField("name", name)}, {WithFormField("name", name), WithoutValidation()}} {
			_, err := c.Images.Store(t.Context(), aStore, opts...)
			require.ErrorContains(t, err, "must be given once: as Name of the params, or as a form field")
			_, err = c.Transcriptions.Store(t.Context(), upload, opts...)
			require.ErrorAs(t, err, new(*ValidationError))
		}
	}
	assert.Empty(t, *requests)
	unnamed := aStore
	unnamed.Name = ""
	_, err := c.Images.Store(t.Context(), unnamed, WithFormField("name", "mine"))
	require.NoError(t, err)
	_, err = c.Images.Update(t.Context(), "7", ImageUpdateParams{Name: new("a")}, WithFormField("name", "mine"))
	assert.NoError(t, err)
}

// A limit for a client's lists must not end its Store calls, which are billed and take minutes.
func TestStoreTimeout(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		opts  []Option
		store time.Duration
		show  time.Duration
	}{
		"defaults":        {nil, 10 * time.Minute, 30 * time.Second},
		"of lists":        {[]Option{WithResponseTimeout(5 * time.Second)}, 10 * time.Minute, 5 * time.Second},
		"of Store":        {[]Option{WithStoreTimeout(time.Hour)}, time.Hour, 30 * time.Second},
		"none":            {[]Option{WithStoreTimeout(0), WithResponseTimeout(0)}, 24 * time.Hour, 24 * time.Hour},
		"given to a call": {[]Option{WithStoreTimeout(time.Second), WithStoreTimeout(time.Minute)}, time.Minute, 30 * time.Second},
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
	assert.ErrorContains(t, err, `store_timeout "30ns": must be 0 or at least 1ms (write 30*time.Second for 30 seconds); response_timeout "-1ns": `)
}

// A Timeout of the http.Client counts from the start of an attempt. It must not end a Store call that its own limit
// would let go on: the call is billed all the same.
func TestHTTPClientTimeoutsBelowTheStoreTimeoutAreRefused(t *testing.T) {
	t.Parallel()
	const advice = ": it counts the upload too, and would end Store calls that are billed (leave it 0: "
	for name, row := range map[string]struct {
		timeout time.Duration
		opts    []Option
		text    string // empty if there is a client
	}{
		"none":                       {0, nil, ""},
		"none, and no limit":         {0, []Option{WithStoreTimeout(0)}, ""},
		"the default":                {10 * time.Minute, nil, ""},
		"below the default":          {30 * time.Second, nil, `"30s": must be 0, or at least the store timeout of 10m0s`},
		"just below the default":     {10*time.Minute - 1, nil, `"9m59.999999999s": must be 0, or at least the store timeout of 10m0s`},
		"above an option":            {time.Minute, []Option{WithStoreTimeout(time.Minute)}, ""},
		"below an option":            {time.Hour, []Option{WithStoreTimeout(2 * time.Hour)}, `"1h0m0s": must be 0, or at least the store timeout of 2h0m0s`},
		"any, and no limit":          {100 * time.Hour, []Option{WithStoreTimeout(0)}, `"100h0m0s": must be 0 if the store timeout is infinite`},
		"negative":                   {-1, nil, `"-1ns": must be 0, or at least the store timeout of 10m0s`},
		"the last of several limits": {time.Minute, []Option{WithStoreTimeout(0), WithStoreTimeout(time.Second)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			hc := WithHTTPClient(&http.Client{Timeout: row.timeout})
			for _, opts := range [][]Option{append([]Option{hc}, row.opts...), append(slices.Clip(row.opts), hc)} {
				_, err := NewClient("https://content.example.com", fakes.Key, opts...)
				if row.text == "" {
					assert.NoError(t, err)
					continue
				}
				assert.Equal(t, []string{"http_client_timeout"}, fieldsOf(t, err))
				assert.ErrorContains(t, err, "aicontent.NewClient: http_client_timeout "+row.text+advice)
			}
		})
	}
}

// The same for the limit of one Store call. Other calls have limits of their own, so they may be given one.
func TestStoreTimeoutsAboveTheHTTPClientTimeoutAreRefused(t *testing.T) {
	t.Parallel()
	requests := 0
	c, err := NewClient("https://content.example.com", fakes.Key, WithHTTPClient(&http.Client{
		Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			requests++
			return fakes.OK(fakes.StoredImage)(r)
		}),
		Timeout: 10 * time.Minute,
	}))
	require.NoError(t, err)
	transcription := TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.wav", []byte(wavHead))}
	for _, limit := range []time.Duration{0, 10*time.Minute + 1} {
		opt := WithStoreTimeout(limit)
		_, image := c.Images.Store(t.Context(), aStore, opt)
		_, audio := c.Transcriptions.Store(t.Context(), transcription, opt)
		for _, err := range []error{image, audio, c.Images.Validate(aStore, opt), c.Transcriptions.Validate(transcription, opt)} {
			assert.Equal(t, []string{"http_client_timeout"}, fieldsOf(t, err))
		}
	}
	assert.Zero(t, requests)
	_, err = c.Images.Store(t.Context(), aStore, WithStoreTimeout(10*time.Minute))
	assert.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7", WithStoreTimeout(0))
	assert.NoError(t, err)
	_, err = c.Images.Update(t.Context(), "7", ImageUpdateParams{}, WithStoreTimeout(0))
	assert.NoError(t, err)
	assert.Equal(t, 3, requests)
}

// A program that wants no limit gives the largest number it knows. Counted in fractions of a token, that was none.
func TestHugeRetryBudgetsAreNoLimit(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{math.MaxInt, math.MaxInt/5 + 1, math.MaxInt / 10, maxBudget + 1} {
		failing := fakes.Responses{fakes.Respond(500, "no"), fakes.Respond(500, "no"), fakes.OK(fakes.StoredImage)}
		s := &fakes.Script{Responses: slices.Repeat(failing, 3)}
		c := over(t, s, WithRetryBudget(budget), WithRetryPolicy(quick))
		for range 3 {
			_, err := c.Images.Show(t.Context(), "7")
			assert.NoError(t, err, budget)
		}
	}
}

// Without WithMaxResponseSize the documented limit holds.
func TestResponsesOf32MiBAreReadByDefault(t *testing.T) {
	t.Parallel()
	const limit = 32 << 20
	body := `{"id":7}` + strings.Repeat(" ", limit+1-len(`{"id":7}`))
	for size, text := range map[int]string{limit: "", limit + 1: "the response is larger than 33554432 bytes (WithMaxResponseSize)"} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.OK(body[:size])}}
		_, err := over(t, s).Images.Show(t.Context(), "7")
		if text == "" {
			require.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, text)
		}
	}
}

// The headers of a request are a middleware's to add to, one without touching another.
func TestMiddlewareMayAddToOneHeaderWithoutAnother(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.OK(`{"id":7}`)}}
	_, err := over(t, s, WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			for _, name := range []string{"User-Agent", "Accept", "Authorization"} {
				r.Header.Add(name, "added")
			}
			return next.RoundTrip(r)
		})
	})).Images.Show(t.Context(), "7")
	require.NoError(t, err)
	header := s.Sent[0].Header
	assert.Equal(t, []string{"application/json", "added"}, header["Accept"])
	assert.Equal(t, []string{"Bearer " + fakes.Key, "added"}, header["Authorization"])
	assert.Len(t, header["User-Agent"], 2)
}

func TestLimiterAndKeySourceAreAskedBeforeEachAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, ``), fakes.Respond(502, ``), fakes.OK(fakes.StoredImage)}}
		c := over(t, s,
			WithRateLimiter(fakes.Limiter(func(context.Context) error { asked = append(asked, "limiter"); return nil })),
			WithAPIKeySource(func(context.Context) (string, error) {
				asked = append(asked, "key")
				return fmt.Sprint("api-key-", len(asked)), nil
			}))
		_, err := c.Images.Show(t.Context(), "7")
		require.NoError(t, err)
		assert.Equal(t, []string{"limiter", "key", "limiter", "key", "limiter", "key"}, asked)
		for i, key := range []string{"api-key-2", "api-key-4", "api-key-6"} {
			assert.Equal(t, "Bearer "+key, s.Sent[i].Header.Get("Authorization"))
		}
	})
}

func TestOneAttemptByPolicy(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, ``)}}
	_, err := over(t, s).Images.Show(t.Context(), "7", WithRetryPolicy(oneAttempt))
	require.ErrorIs(t, err, ErrServer)
	assert.Len(t, s.Asked, 1)
	assert.Equal(t, "images.show: 502: bad gateway", err.Error(), "no word of attempts where there was one")
}

// An outage must not be multiplied by the clients that suffer from it.
func TestRetryBudgetLimitsRequestsInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		c, err := NewClient("https://content.example.com", fakes.Key, WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			requests.Add(1)
			return fakes.Respond(500, ``)(r)
		})}))
		require.NoError(t, err)
		var group sync.WaitGroup
		for range 32 {
			group.Go(func() {
				for range 100 {
					_, err := c.Images.Show(t.Context(), "7")
					assert.ErrorIs(t, err, ErrServer)
				}
			})
		}
		group.Wait()
		assert.LessOrEqual(t, requests.Load(), int64(3300))
		start := time.Now()
		_, err = c.Images.Show(t.Context(), "7")
		assert.EqualError(t, err, "images.show: 500: internal server error (not retried: the client's retry budget is used up (WithRetryBudget))")
		assert.Zero(t, time.Since(start))
		assert.Zero(t, retriesLeft(c))
	})
}

// Ten calls that succeed at once pay for one retry, a call that succeeds in the end pays for its own.
func TestRetryBudgetIsGivenBack(t *testing.T) {
	t.Parallel()
	up := fakes.OK(fakes.StoredImage)
	down := fakes.Respond(500, ``)
	s := &fakes.Script{Responses: fakes.Responses{down}}
	c := over(t, s, WithRetryBudget(3), WithRetryPolicy(RetryPolicy{MaxAttempts: 3, MinBackoff: -1}))
	show := func(next ...func(*http.Request) (*http.Response, error)) error {
		s.Asked, s.Responses = nil, next
		_, err := c.Images.Show(t.Context(), "7")
		return err
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
	require.NoError(t, over(t, s, WithRetryBudget(0)).Images.Delete(t.Context(), "7"))
}

// Without a limit each call has its attempts.
func TestRetryBudgetOfZeroHasNoLimit(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(500, ``)}}
	c := over(t, s, WithRetryBudget(0), WithRetryPolicy(quick))
	for range 300 {
		_, err := c.Images.Show(t.Context(), "7")
		require.ErrorIs(t, err, ErrServer)
	}
	assert.Len(t, s.Asked, 900)
}

// A wait that the service asked for, and another key after a 401, are no outage.
func TestRetryAfterAndRenewalCostNoBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(503, ``, "Retry-After", "1")}}
		c := over(t, s)
		_, err := c.Images.Show(t.Context(), "7")
		require.ErrorIs(t, err, ErrServer)
		assert.Len(t, s.Asked, 4)
		assert.Equal(t, 100, retriesLeft(c))
	})
	asked := 0
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(401, ``)}}
	c := over(t, s, WithAPIKeySource(func(context.Context) (string, error) { asked++; return fmt.Sprint("api-key-", asked), nil }))
	_, err := c.Images.Show(t.Context(), "7")
	require.ErrorIs(t, err, ErrUnauthorized)
	assert.Len(t, s.Asked, 2)
	assert.Equal(t, 100, retriesLeft(c))
}

// retriesLeft returns what the retry budget of a client has left.
func retriesLeft(c *Client) int { return c.sender().Budget.Retries() }

// The file of a call that cannot be made is not waited for.
func TestStoreOfNoClientDoesNotTouchTheFile(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := FileFromReader("a.wav", readerFunc(func([]byte) (int, error) { t.Error("it was read"); return 0, io.EOF }))
	for _, service := range []*TranscriptionsService{nil, {}, new(Client).Transcriptions} {
		_, err := service.Store(ctx, TranscriptionStoreParams{Name: "n", File: file})
		assert.EqualError(t, err, "transcriptions.store: client: was not created with NewClient")
	}
}

// A policy that sets one field must not turn the others off.
func TestZeroFieldsOfARetryPolicyHaveTheDefaults(t *testing.T) {
	t.Parallel()
	d := DefaultRetryPolicy()
	assert.Equal(t, RetryPolicy{4, 500 * time.Millisecond, 30 * time.Second, time.Minute}, d, "as documented")
	for name, row := range map[string]struct{ given, want RetryPolicy }{
		"the zero policy":                   {RetryPolicy{}, d},
		"the default policy":                {d, d},
		"more attempts":                     {RetryPolicy{MaxAttempts: 5}, RetryPolicy{5, d.MinBackoff, d.MaxBackoff, d.MaxRetryAfter}},
		"a longer first pause":              {RetryPolicy{MinBackoff: time.Hour}, RetryPolicy{4, time.Hour, time.Hour, time.Minute}},
		"a limit below the first pause":     {RetryPolicy{MaxBackoff: 1}, RetryPolicy{4, 1, 1, time.Minute}},
		"negative durations, which are off": {RetryPolicy{0, -1, -1, -1}, RetryPolicy{MaxAttempts: 4}},
	} {
		assert.Equal(t, row.want, row.given.withDefaults(), name)
	}
}

func TestRetryPolicyRefusesNonsense(t *testing.T) {
	t.Parallel()
	_, err := NewClient("https://content.example.com", "test-key", WithRetryPolicy(RetryPolicy{MinBackoff: time.Hour}))
	require.NoError(t, err, "a limit that is not set is no lower one")
	for text, policy := range map[string]RetryPolicy{
		`max_attempts "-1": must not be negative`:           {MaxAttempts: -1},
		`min_backoff "1m0s": must not be above max_backoff`: {MinBackoff: time.Minute, MaxBackoff: time.Second},
	} {
		_, err := NewClient("https://content.example.com", "test-key", WithRetryPolicy(policy))
		require.ErrorIs(t, err, ErrInvalid)
		assert.ErrorContains(t, err, text)
	}
}
