package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

// oddKey has every character that the escape of a URL, or that of PHP, treats in its own way.
const oddKey = `sk/Live+01&"<23>'\4567%2F=|~9`

// echoes are the ways in which a service writes what it was sent.
var echoes = map[string]func(string) string{
	"plain":       func(key string) string { return key },
	"JSON of PHP": strings.NewReplacer("/", `\/`).Replace,
	"query":       url.QueryEscape,
	"path":        url.PathEscape,
}

// An echo is a response that has the key where it says KEY. Without a status, its body is all that goes over the wire.
type echo struct {
	status       int
	header, body string
}

func (e echo) of(key string) string {
	header, body := strings.ReplaceAll(e.header, "KEY", key), strings.ReplaceAll(e.body, "KEY", key)
	if e.status == 0 {
		return body
	}
	return fakes.OnTheWire(e.status, header, body)
}

var echoing = map[string]echo{
	"400 message":       {400, "", `{"message":"bad key KEY"}`},
	"401 error":         {401, "", `{"error":{"message":"KEY","code":1}}`},
	"403 list":          {403, "", `{"errors":["KEY",{"detail":"KEY"}]}`},
	"404 text":          {404, "", "no such KEY"},
	"413 html":          {413, "", "<html><title>KEY</title>KEY"},
	"422 fields":        {422, "", `{"errors":{"KEY":["KEY"],"b":"KEY"}}`},
	"429 broken json":   {429, "Retry-After: 9999", `{"message":"KEY`},
	"500 trace":         {500, "", `{"trace":[{"args":["Bearer KEY"]}]}`},
	"502 header":        {502, "X-Debug: KEY\r\nX-Request-Id: KEY", ""},
	"503 long page":     {503, "", "<p>" + strings.Repeat("é ", 96) + "KEY</p>"},
	"500 long message":  {500, "", strings.Repeat("a", 985) + " KEY"},
	"500 padded":        {500, "", `{"message":"` + strings.Repeat(" ", 7990) + `KEY"}`},
	"500 deep title":    {500, "", "<h1>" + strings.Repeat(" ", 16<<10-12) + "KEY</h1>"},
	"302 path":          {302, "Location: https://other.example/KEY", "KEY"},
	"302 query":         {307, "Location: https://other.example/login?k=KEY", "KEY"},
	"302 user":          {303, "Location: https://KEY:KEY@other.example/", "KEY"},
	"302 host":          {301, "Location: https://KEY.example/", "KEY"},
	"302 no URL":        {308, "Location: https://[::1/%zzKEY", "KEY"},
	"302 here":          {302, "Location: /login?k=KEY", "<title>KEY</title>"},
	"200 page":          {200, "", "<title>KEY</title>"},
	"200 text":          {200, "", "KEY"},
	"200 no record":     {200, "X-Debug: KEY", `{"token":"KEY"}`},
	"list, other shape": {200, "", `{"data":["KEY"],"links":{"next":"/?k=KEY"}}`},
	"unknown coding":    {200, "Content-Encoding: gzip", "KEY"},
	"200 cut off":       {body: ofLength + "99999\r\n\r\n{\"id\":\"KEY"},
	"101": {
		body: "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: KEY\r\n\r\nKEY",
	},
	"broken status":  {body: "HTTP/1.1 KEY\r\n\r\n"},
	"no http":        {body: "KEY\r\n\r\n"},
	"broken header":  {body: ok + "KEY\r\n\r\n{}"},
	"header name":    {body: notFound + "Content-Length: 0\r\nKEY: 1\r\n\r\n"},
	"bad length":     {body: ofLength + "KEY\r\n\r\n{}"},
	"bad coding":     {body: ok + "Transfer-Encoding: KEY\r\n\r\n{}"},
	"broken chunk":   {body: chunked + "KEY\r\n{}\r\n0\r\n\r\n"},
	"broken trailer": {body: chunked + "2\r\n{}\r\n0\r\nKEY\r\n\r\n"},
	"informational": {
		body: "HTTP/1.1 103 Early Hints\r\nLink: KEY\r\n\r\n" + failed + "Connection: close\r\n\r\nKEY",
	},
}

// lineBuffer is what loggers write to.
type lineBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lineBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lineBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// The key of a production deployment must not stand in a log, a ticket or a test's output, whatever a service does
// with it.
func TestTheKeyAppearsNowhere(t *testing.T) {
	var standard lineBuffer
	log.SetOutput(&standard)
	defer log.SetOutput(os.Stderr)
	everything := &slog.HandlerOptions{Level: slog.Level(-100), AddSource: true}
	for _, key := range []string{fakes.Key, oddKey} {
		for spelling, escape := range echoes {
			t.Run(key[:5]+" "+spelling, func(t *testing.T) {
				var lines lineBuffer
				var now string
				baseURL := fakes.RawServer(t, func(*http.Request) string { return now })
				var progress []aicontent.Progress
				opts := []aicontent.Option{
					aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1}),
					aicontent.WithResponseTimeout(20 * time.Second), aicontent.WithStoreTimeout(20 * time.Second),
					aicontent.WithProgress(func(p aicontent.Progress) { progress = append(progress, p) }),
				}
				text := aicontent.WithLogger(slog.New(slog.NewTextHandler(&lines, everything)))
				json := aicontent.WithLogger(slog.New(slog.NewJSONHandler(&lines, everything)))
				source := aicontent.WithAPIKeySource(func(context.Context) (string, error) { return key, nil })
				fixed := newClient(t, baseURL, key, append(opts, text)...)
				sourced := newClient(t, baseURL, "", append(opts, json, source)...)
				for kind, respond := range echoing {
					now = respond.of(escape(key))
					for op, c := range map[string]*aicontent.Client{
						"images.list": fixed, "images.delete": sourced, "transcriptions.store": sourced,
					} {
						var resp *aicontent.Response
						err := allTen(c)[op](t.Context(), aicontent.WithResponse(&resp))
						if err == nil {
							// A delete is done when the response is no page.
							require.Equal(t, "images.delete", op, kind)
						}
						fakes.AssertNoKey(t, []any{err, resp}, key)
						if t.Failed() {
							t.Fatalf("%s of %s", kind, op)
						}
					}
				}
				fakes.AssertNoKey(t, []any{fixed, sourced, *fixed, fixed.Images, fixed.Transcriptions, progress}, key)
				assert.NotEmpty(t, lines.String())
				assert.NotEmpty(t, progress)
				fakes.AssertNoKey(t, lines.String(), key)
			})
		}
		fakes.AssertNoKey(t, standard.String(), key)
	}
}

// What is left of the error must still be of use.
func TestMaskedErrorsStillSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	baseURL := fakes.RawServer(t, func(r *http.Request) string {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		body := `{"message":"The key ` + strings.ReplaceAll(key, "/", `\/`) + ` has expired.",` +
			`"errors":{"key":["` + url.QueryEscape(key) + `!"]}}`
		return fakes.OnTheWire(401, "X-Debug: key="+key+";", body)
	})
	c := newClient(t, baseURL, "sk/live/0123456789")
	var resp *aicontent.Response
	_, err := c.Images.Show(t.Context(), "7", aicontent.WithResponse(&resp))
	host := strings.TrimPrefix(baseURL, "http://")
	host, _, _ = strings.Cut(host, "/")
	const text = "images.show: 401: The key [API key] has expired; key: [API key]! " +
		"(%s did not accept the key given to NewClient)"
	assert.EqualError(t, err, fmt.Sprintf(text, host))
	var refused *aicontent.APIError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "key=[API key];", refused.Header.Get("X-Debug"))
	assert.Equal(t, map[string][]string{"key": {"[API key]!"}}, refused.Fields)
	assert.JSONEq(t, `{"message":"The key [API key] has expired.","errors":{"key":["[API key]!"]}}`,
		string(refused.Body))
	assert.Equal(t, refused.Body, resp.Body)
	assert.Equal(t, refused.Header, resp.Header)
}

// An error of a transport that quotes the request is still one to compare with, and a short key breaks no error's
// chain.
func TestErrorsOfTransportsAreMasked(t *testing.T) {
	t.Parallel()
	cause := errors.New("the sidecar is down")
	transport := through(func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("sending %v: %w", r.Header, cause)
	})
	for _, key := range []string{fakes.Key, oddKey} {
		c := newClient(t, nowhere, key, transport, quick)
		for op, call := range allTen(c) {
			err := call(t.Context())
			assert.ErrorIs(t, err, cause, op)
			assert.ErrorContains(t, err, "Authorization:[Bearer [API key]]", op)
			fakes.AssertNoKey(t, err, key)
		}
	}
}

// A log line is for finding a call again: what was sent and said stays out of it.
func TestLogLinesHoldNoContent(t *testing.T) {
	t.Parallel()
	var lines lineBuffer
	baseURL := fakes.RawServer(t, func(*http.Request) string {
		return fakes.OnTheWire(422, "X-Secret: header-secret", `{"message":"body-secret"}`)
	})
	everything := &slog.HandlerOptions{Level: slog.Level(-100)}
	c := newClient(t, baseURL, fakes.Key, aicontent.WithLogger(slog.New(slog.NewTextHandler(&lines, everything))))
	for _, call := range allTen(c) {
		require.Error(t, call(t.Context(), aicontent.WithQuery("q", "query-secret"),
			aicontent.WithFormField("f", "form-secret"), aicontent.WithHeader("X-Token", "token-secret")))
	}
	assert.Equal(t, 12, strings.Count(lines.String(), "\n"))
	assert.NotContains(t, lines.String(), "secret")
	assert.Contains(t, lines.String(),
		"op=transcriptions.store method=POST path=/tenant/api/v1/transcriptions attempt=1")
}
