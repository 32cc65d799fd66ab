package aicontent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// allTen are the ten operations and both iterators.
func allTen(c *Client) map[string]func(context.Context, ...CallOption) error {
	wav := FileFromBytes("a.wav", []byte("RIFF\x04\x00\x00\x00WAVE"))
	calls := fakes.Calls("images", c.Images, aStore, ImageUpdateParams{Favorite: new(true)})
	maps.Copy(calls, fakes.Calls("transcriptions", c.Transcriptions,
		TranscriptionStoreParams{Name: "n", File: wav}, TranscriptionUpdateParams{Result: new("r")}))
	return calls
}

// A prefix that is lost, or doubled, sends every call to the wrong application.
func TestBaseURLsAreSentAsGiven(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://content.example.com":      "https://content.example.com",
		"HTTPS://content.example.com":      "https://content.example.com",
		"https://example.com/ai":           "https://example.com/ai",
		"https://example.com/a%2Fb/c%20d/": "https://example.com/a%2Fb/c%20d",
		"https://example.com/bücher":       "https://example.com/b%C3%BCcher",
		"https://[2001:db8::1]:8443/ai":    "https://[2001:db8::1]:8443/ai",
		"http://[::1]:8080":                "http://[::1]:8080",
		"https://api/v1":                   "https://api/v1",
	} {
		t.Run(raw, func(t *testing.T) {
			s := script(fakes.Respond(404, `{}`))
			c, err := NewClient(raw, fakes.Key, WithHTTPClient(&http.Client{Transport: s}))
			require.NoError(t, err)
			assert.Equal(t, want, c.BaseURL())
			_, err = c.Images.Show(t.Context(), "a?b")
			assert.Equal(t, want+"/api/v1/images/a%3Fb", s.Sent[0].URL.String())
			assert.Equal(t, s.Sent[0].URL.Host, s.Sent[0].Host)
			var api *APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, s.Sent[0].URL.RequestURI(), api.Path)
			assert.Equal(t, "GET", api.Method)
		})
	}
	assert.Empty(t, (*Client)(nil).BaseURL())
	assert.Empty(t, (&Client{}).BaseURL())
}

// A call to any of these would fail for a reason that does not name the base URL, or not at all.
func TestOtherBaseURLsAreRefusedWithAnExample(t *testing.T) {
	t.Parallel()
	const text = "aicontent.NewClient: base_url: must be like https://content.example.com, " +
		"with a path before /api/v1 or none"
	for _, raw := range []string{
		"", " ", "content.example.com", "//content.example.com", "/ai", "localhost:8080", "ftp://content.example.com",
		"https:content.example.com", "https://", "https:///ai", "https://:8443", "https://content.example.com:http",
		"https://[::1", "https://%zz/", "https://content.example.com?x=1", "https://content.example.com/?",
		"https://content.example.com/#top", "https://user:pass@h.example.com", "https://bücher.example.com/ai",
		// The API's own path, and another one.
		"https://content.example.com/api/v1", "https://example.com/ai/api/v1//",
		"https://example.com/ai/api/v1/images/7", "https://example.com/api/v2", "https://example.com/%61pi/v1",
		"https://example.com/a/../b", "https://example.com/a%2F%2e%2E",
		// A copy from a page, a file or a shell.
		"https://content.example.com\r\n", "https://content.example\n.com", "https://content.example.com/ai ",
		" https://content.example.com", "https://a b/", "\ufeffhttps://content.example.com",
		"https://content.example.com/ai\u00ad", "https://content.example.com/\x00",
		"'https://content.example.com'", `https://content.example.com"`, "<https://content.example.com>",
		`https:\\content.example.com`, "https://${HOST}/ai",
	} {
		c, err := NewClient(raw, fakes.Key)
		assert.Nil(t, c)
		assert.EqualError(t, err, text, "%q", raw)
		assert.Equal(t, []string{"base_url"}, fieldsOf(t, err))
	}
	for _, raw := range []string{
		"http://content.example.com", "http://127.0.0.1.example.com", "http://localhost.example.com",
		"http://0.0.0.0:8080", "http://10.0.0.1",
	} {
		_, err := NewClient(raw, fakes.Key)
		assert.EqualError(t, err, text+" (http:// would show the key to the network: WithInsecureHTTP allows it)", raw)
		_, err = NewClient(raw, fakes.Key, WithInsecureHTTP())
		assert.NoError(t, err, raw)
	}
}

// Credentials in a base URL, or the key in its place, must not end in a log by way of the error.
func TestBaseURLErrorsShowNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-" + fakes.Key
	for _, raw := range []string{
		"https://user:" + secret + "@content.example.com",
		"https://" + secret + "@content.example.com",
		"https:user:" + secret + "@content.example.com",
		"user:" + secret + "@content.example.com",
		"https://user:" + secret + "@content.example.com:port",
		"https://content.example.com/?api_key=" + secret,
		"https://content.example.com/#" + secret,
		"https://content.example.com/\x7f" + secret,
		"http://" + secret,
		secret,
	} {
		_, err := NewClient(raw, fakes.Key)
		require.Error(t, err, raw)
		assert.NotContains(t, err.Error(), "hunter2", raw)
		fakes.AssertNoKey(t, err, secret)
	}
}

func TestBaseURLAndKeyInTheWrongOrderAreTold(t *testing.T) {
	const hint = "are the base URL and the key in the wrong order?"
	_, err := NewClient(fakes.Key, "https://content.example.com")
	assert.ErrorContains(t, err, hint)
	fakes.AssertNoKey(t, err, fakes.Key)
	t.Setenv("AICONTENT_BASE_URL", fakes.Key)
	t.Setenv("AICONTENT_API_KEY", "https://content.example.com")
	_, err = NewClientFromEnv()
	assert.ErrorContains(t, err, hint)
	_, err = NewClient("http://content.example.com", "https://key")
	assert.NotContains(t, err.Error(), hint, "the first argument is a URL")
	_, err = NewClient("https://content.example.com", "https://key")
	assert.NoError(t, err)
}

func TestAPIKeysThatCannotBeSentOrMaskedAreRefused(t *testing.T) {
	t.Parallel()
	const (
		reason = "must be at least 8 ASCII characters without spaces and line breaks, such as sk-live-0123456789"
		bearer = " (give the key alone: the SDK adds Bearer)"
	)
	for key, hint := range map[string]string{
		"": "", "\n": "", " ": "", "k-12345": "", fakes.Key + "\n": "", fakes.Key + "\r\n": "", "\n" + fakes.Key: "",
		" " + fakes.Key: "", fakes.Key + " ": "", "sk-live 0123456789abcdef": "", fakes.Key + "\t" + fakes.Key: "",
		fakes.Key + "\u0085": "", "\ufeff" + fakes.Key: "", fakes.Key + "\u200b": "", fakes.Key + "\x00": "",
		fakes.Key + "\x1b[31m": "", fakes.Key + "\x7f": "", fakes.Key + "é": "", fakes.Key + "\xff": "",
		"“" + fakes.Key + "”": "", "Bearer " + fakes.Key: bearer, "bearer " + fakes.Key: bearer,
		"Authorization: Bearer abc": bearer,
	} {
		_, err := NewClient("https://content.example.com", key)
		assert.EqualError(t, err, "aicontent.NewClient: api_key: "+reason+hint, "%q", key)
		var invalid *ValidationError
		require.ErrorAs(t, err, &invalid)
		assert.Nil(t, invalid.Problems[0].Value)
		fakes.AssertNoKey(t, err, fakes.Key)

		c, requests := capturing(t, keys(func(int) (string, error) { return key, nil }))
		err = showSeven(t.Context(), c)
		assert.ErrorContains(t, err, "API key source: the key "+reason)
		fakes.AssertNoKey(t, err, fakes.Key)
		assert.Empty(t, *requests)
	}
	// All that can stand in a header is the deployment's to choose.
	printable := `!"#$%&'()*+,-./:;<=>?@[\]^_` + "`{|}~"
	for _, key := range []string{"k-123456", "00000000", "7|Xy+z/==", printable, strings.Repeat("k", 4000)} {
		s := script(fakes.OK(`{"id":7}`))
		c, err := NewClient("https://content.example.com", key, WithHTTPClient(&http.Client{Transport: s}))
		require.NoError(t, err, key)
		require.NoError(t, showSeven(t.Context(), c))
		assert.Equal(t, "Bearer "+key, s.Sent[0].Header.Get("Authorization"))
	}
}

// A user who has made three mistakes should not have to run the program three times.
func TestNewClientReportsAllProblems(t *testing.T) {
	t.Parallel()
	c, err := NewClient("http://content.example.com", "bad key\n",
		WithHTTPClient(nil), WithResponseTimeout(-1), WithUpdateMethod("POST"), WithMaxResponseSize(0))
	require.Nil(t, c)
	assert.ElementsMatch(t, []string{
		"http_client", "response_timeout", "update_method", "max_response_size", "base_url", "api_key",
	}, fieldsOf(t, err))
	assert.True(t, strings.HasPrefix(err.Error(), "aicontent.NewClient: "), err)
}

func TestNewClientFromEnvNamesTheVariableThatIsWrong(t *testing.T) {
	const home, base, key = "https://content.example.com", "AICONTENT_BASE_URL", "AICONTENT_API_KEY"
	source := keys(func(int) (string, error) { return "from-the-source", nil })
	for name, tt := range map[string]struct {
		baseURL, key string
		opts         []Option
		sent         string   // the key
		wants, lacks []string // of the error's text
	}{
		"both":                {home, fakes.Key, nil, fakes.Key, nil, nil},
		"neither":             {"", "", nil, "", []string{"aicontent.NewClientFromEnv: ", base, key}, nil},
		"no key":              {home, "", nil, "", []string{key + ": must be at least "}, []string{base}},
		"no key but a source": {home, "", []Option{source}, "from-the-source", nil, nil},
		"a key and a source":  {home, fakes.Key, []Option{source}, "from-the-source", nil, nil},
		"a key with a newline": {home, fakes.Key + "\n", nil, "",
			[]string{key + ": must be at least "}, []string{base, fakes.Key}},
		"a URL with /api/v1": {home + "/api/v1", fakes.Key, nil, "", []string{base}, []string{fakes.Key}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(base, tt.baseURL)
			t.Setenv(key, tt.key)
			s := script(fakes.OK(`{"id":7}`))
			c, err := NewClientFromEnv(append(tt.opts, WithHTTPClient(&http.Client{Transport: s}))...)
			if tt.wants == nil {
				require.NoError(t, err)
				require.NoError(t, showSeven(t.Context(), c))
				assert.Equal(t, "Bearer "+tt.sent, s.Sent[0].Header.Get("Authorization"))
				return
			}
			assert.ErrorIs(t, err, ErrInvalid)
			assert.Nil(t, c)
			for _, want := range tt.wants {
				assert.ErrorContains(t, err, want)
			}
			for _, lack := range tt.lacks {
				assert.NotContains(t, err.Error(), lack)
			}
		})
	}
}

// Every request says what it accepts and who sends it, or a deployment responds with its login page.
func TestEveryRequestSaysWhatItAcceptsAndWhoSendsIt(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	baseURL, _ := fakes.Counted(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Method+" "+r.URL.Path, r.Header.Clone())
		fakes.RespondToAll(w, r)
	})
	c, err := NewClient(baseURL, fakes.Key, WithUserAgent("gallery/2.1"))
	require.NoError(t, err)
	for name, call := range allTen(c) {
		require.NoError(t, call(t.Context()), name)
	}
	count := 0
	seen.Range(func(request, header any) bool {
		count++
		h := header.(http.Header)
		assert.Equal(t, []string{"application/json"}, h["Accept"], request)
		assert.Equal(t, []string{"Bearer " + fakes.Key}, h["Authorization"], request)
		assert.Regexp(t, `^gallery/2\.1 aicontent-go/\d+\.\d+\.\d+ \(go[^;]+; \w+/\w+\)$`, h.Get("User-Agent"), request)
		return true
	})
	assert.Equal(t, 10, count, "the ten operations are ten requests")
}

// A library that turns a knob of a shared client turns it for the whole program. A client is copied at once: later
// changes by the program do not matter either.
func TestClientsOfOthersAreNeverChanged(t *testing.T) {
	baseURL, _ := fakes.Counted(t, fakes.RespondToAll)
	standard := http.DefaultTransport.(*http.Transport)
	idle, header := standard.MaxIdleConnsPerHost, standard.MaxResponseHeaderBytes
	mine := &http.Transport{MaxIdleConnsPerHost: 3}
	hc := &http.Client{Transport: mine, Timeout: time.Hour}
	for _, used := range []*http.Client{hc, http.DefaultClient} {
		before := *used
		c, err := NewClient(baseURL, fakes.Key, WithHTTPClient(used), WithResponseTimeout(time.Minute))
		require.NoError(t, err)
		hc.Transport = fakes.RoundTripper(fails(errors.New("changed afterwards")))
		for name, call := range allTen(c) {
			require.NoError(t, call(t.Context()), name)
		}
		hc.Transport = mine
		c.CloseIdleConnections()
		assert.Equal(t, before, *used)
	}
	assert.Equal(t, []any{3, int64(0)}, []any{mine.MaxIdleConnsPerHost, mine.MaxResponseHeaderBytes})
	assert.Equal(t, []any{idle, header}, []any{standard.MaxIdleConnsPerHost, standard.MaxResponseHeaderBytes})
	assert.Same(t, standard, http.DefaultTransport)
}

// closing is a middleware with connections of its own. It does not pass a CloseIdleConnections on.
type closing struct {
	http.RoundTripper
	closed int
}

func (rt *closing) CloseIdleConnections() { rt.closed++ }

func TestCloseIdleConnectionsLeavesAUsableClient(t *testing.T) {
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
	var middleware closing
	wrap := WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		middleware.RoundTripper = next
		return &middleware
	})
	for _, opts := range [][]Option{nil, {wrap}} {
		c, err := NewClient(srv.URL+"/tenant", fakes.Key, opts...)
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, showSeven(t.Context(), c))
			c.CloseIdleConnections()
			<-closed
			_, err = c.Images.Download(t.Context(), at(srv.URL+"/a.png"), io.Discard)
			require.NoError(t, err)
			c.CloseIdleConnections()
			<-closed
		}
	}
	assert.Equal(t, 4, middleware.closed)
}

// A lock that is missing shows here, under -race: everything that calls can share is shared.
func TestClientIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	const goroutines = 64
	baseURL, requests := fakes.Counted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+fakes.Key+"-0" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fakes.RespondToAll(w, r)
	})
	var asked, waited atomic.Int64
	c, err := NewClient(baseURL, fakes.Key,
		// The first key is an old one, for whoever gets it.
		WithAPIKeySource(func(context.Context) (string, error) {
			if asked.Add(1) == 1 {
				return fakes.Key + "-0", nil
			}
			return fakes.Key + "-1", nil
		}),
		WithRateLimiter(fakes.Limiter(func(context.Context) error { waited.Add(1); return nil })),
		debugging(io.Discard), WithProgress(func(Progress) {}),
		WithHeader("X-Shared", "1"), WithQuery("shared", "1"), WithFormField("shared", "1"),
		WithRetryPolicy(quick),
	)
	require.NoError(t, err)
	var group sync.WaitGroup
	for n := range goroutines {
		group.Go(func() {
			for name, call := range allTen(c) {
				var resp *Response
				err := call(t.Context(), WithResponse(&resp),
					WithHeader("X-Mine", "1"), WithQuery("mine", "1"), WithFormField("mine", "1"))
				assert.NoError(t, err, "%s in %d", name, n)
				if assert.NotNil(t, resp) {
					assert.Equal(t, 200, resp.StatusCode)
				}
			}
			_ = c.String()
			c.CloseIdleConnections()
		})
	}
	group.Wait()
	sent := requests.Load()
	assert.EqualValues(t, goroutines*12+1, sent, "every call once, and the one with the old key once more")
	assert.Equal(t, sent, asked.Load(), "the source is asked for each attempt")
	assert.Equal(t, sent, waited.Load())
}

// Printing a client shows its deployment and nothing of its internals.
func TestClientPrintsAsItsDeployment(t *testing.T) {
	t.Parallel()
	c, err := NewClient("https://content.example.com/ai", fakes.Key)
	require.NoError(t, err)
	assert.Equal(t, "aicontent.Client(https://content.example.com/ai)", c.String())
	assert.Equal(t, c.String(), c.GoString())
	text, err := json.Marshal(c)
	require.NoError(t, err)
	assert.JSONEq(t, `{"Images":{},"Transcriptions":{}}`, string(text))
}

// Programs print the values that they have at hand. fmt also prints unexported fields, whose methods it cannot call.
func TestNoPrintedValueShowsTheKeyOrAHeader(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-0123456789"
	header := WithHeader("X-Tenant-Token", secret)
	source := keys(func(int) (string, error) { return fakes.Key, nil })
	echo := `{"message":"` + fakes.Key + `","echo":"` + fakes.Key + `"}`
	echoed := []string{"X-Request-Id", fakes.Key, "X-Echo", fakes.Key}
	for name, rt := range map[string]fakes.RoundTripper{
		"a list":      fakes.Respond(200, `{"data":[{"id":1,"name":"n"}],"next":"?page=2","total":2}`, echoed...),
		"a refusal":   fakes.Respond(422, echo, echoed...),
		"other JSON":  fakes.Respond(200, echo, echoed...),
		"a page":      fakes.Respond(200, "<title>"+fakes.Key+"</title>", echoed...),
		"a redirect":  fakes.Respond(302, "", "Location", "/"+fakes.Key+"/login"),
		"the network": fails(errors.New("no route for " + fakes.Key)),
	} {
		for _, opts := range [][]Option{{header}, {header, source}} {
			o := &observer{}
			c := over(t, rt, append(opts, WithRetryPolicy(oneAttempt), WithAttemptHook(o.hook))...)
			embedded := struct {
				*ImagesService
				*TranscriptionsService
			}{c.Images, c.Transcriptions}
			values := []any{c, *c, c.Images, *c.Images, c.Transcriptions, *c.Transcriptions, embedded, opts}
			var resp *Response
			page, err := c.Images.List(t.Context(), ImageListParams{}, WithResponse(&resp))
			if err == nil {
				values = append(values, page, *page)
			}
			values = append(values, err, resp)
			_, err = c.Images.Download(t.Context(), at("https://cdn.example.com/"+fakes.Key), io.Discard)
			values = append(values, err)
			for _, call := range allTen(c) {
				values = append(values, call(t.Context()))
			}
			values = append(values, findN(t.Context(), c), c.Images.Delete(t.Context(), "a/"+fakes.Key))
			for _, v := range append(values, o.attempts, o.results) {
				for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
					text := fmt.Sprintf(format, v)
					for _, spelling := range append(fakes.Spellings(fakes.Key), fakes.Spellings(secret)...) {
						require.NotContains(t, text, spelling, "%s: %T printed with %s", name, v, format)
					}
				}
			}
		}
	}
}

// Create requests use HTTP/1.1 only, so a transport that cannot speak it has no use.
func TestTransportsWithoutHTTP1AreRefused(t *testing.T) {
	t.Parallel()
	of := func(set ...func(*http.Protocols, bool)) *http.Transport {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		for _, allow := range set {
			allow(transport.Protocols, true)
		}
		return transport
	}
	http1, http2 := (*http.Protocols).SetHTTP1, (*http.Protocols).SetHTTP2
	made := func(transport *http.Transport) error {
		hc := &http.Client{Transport: transport}
		return second(NewClient("https://content.example.com", fakes.Key, WithHTTPClient(hc)))
	}
	for _, transport := range []*http.Transport{of(http1), of(http1, http2), {}} {
		assert.NoError(t, made(transport))
	}
	for _, transport := range []*http.Transport{of(), of(http2), of((*http.Protocols).SetUnencryptedHTTP2)} {
		err := made(transport)
		assert.EqualError(t, err, "aicontent.NewClient: http_client_transport: must have HTTP/1 in its Protocols: "+
			"create requests use no other")
	}
}
