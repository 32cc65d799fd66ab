package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oddKey has every character that one escape or another treats in its own way.
const oddKey = `sk/Live+01&"<23>'\4567%2F=|~9`

// echoes are the ways in which a service writes what it was sent.
var echoes = map[string]func(string) string{
	"raw": func(key string) string { return key },
	"json": func(key string) string {
		text, _ := json.Marshal(key)
		return string(text[1 : len(text)-1])
	},
	"json of php": func(key string) string {
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "/", `\/`).Replace(key)
	},
	"query": url.QueryEscape,
	"path":  url.PathEscape,
	"query, small letters": func(key string) string {
		return strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3C", "%3c", "%3E", "%3e", "%5C", "%5c", "%3D", "%3d", "%7C", "%7c").
			Replace(url.QueryEscape(key))
	},
	"html": html.EscapeString,
	"html of php": func(key string) string {
		return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&#039;", "<", "&lt;", ">", "&gt;").Replace(key)
	},
}

// echoing are answers with the text x in them, as they go over the wire.
var echoing = map[string]func(x string) string{
	"400 message":      func(x string) string { return wireAnswer(400, "", `{"message":"bad key `+x+`"}`) },
	"401 error":        func(x string) string { return wireAnswer(401, "", `{"error":{"message":"`+x+`","code":1}}`) },
	"403 list":         func(x string) string { return wireAnswer(403, "", `{"errors":["`+x+`",{"detail":"`+x+`"}]}`) },
	"404 text":         func(x string) string { return wireAnswer(404, "", "no such "+x) },
	"413 html":         func(x string) string { return wireAnswer(413, "", "<html><title>"+x+"</title>"+x) },
	"422 fields":       func(x string) string { return wireAnswer(422, "", `{"errors":{"`+x+`":["`+x+`"],"b":"`+x+`"}}`) },
	"429 broken json":  func(x string) string { return wireAnswer(429, "Retry-After: 9999", `{"message":"`+x) },
	"500 trace":        func(x string) string { return wireAnswer(500, "", `{"trace":[{"args":["Bearer `+x+`"]}]}`) },
	"502 header":       func(x string) string { return wireAnswer(502, "X-Debug: "+x+"\r\nX-Request-Id: "+x, "") },
	"503 long page":    func(x string) string { return wireAnswer(503, "", "<p>"+strings.Repeat("é ", 96)+x+"</p>") },
	"500 long message": func(x string) string { return wireAnswer(500, "", strings.Repeat("a", 985)+" "+x) },
	"500 padded":       func(x string) string { return wireAnswer(500, "", `{"message":"`+strings.Repeat(" ", 7990)+x+`"}`) },
	"500 deep title":   func(x string) string { return wireAnswer(500, "", "<h1>"+strings.Repeat(" ", 16<<10-12)+x+"</h1>") },
	"302 path":         func(x string) string { return wireAnswer(302, "Location: https://other.example/"+x, x) },
	"302 query":        func(x string) string { return wireAnswer(307, "Location: https://other.example/login?k="+x, x) },
	"302 user":         func(x string) string { return wireAnswer(303, "Location: https://"+x+":"+x+"@other.example/", x) },
	"302 host":         func(x string) string { return wireAnswer(301, "Location: https://"+x+".example/", x) },
	"302 no URL":       func(x string) string { return wireAnswer(308, "Location: https://[::1/%zz"+x, x) },
	"302 here":         func(x string) string { return wireAnswer(302, "Location: /login?k="+x, "<title>"+x+"</title>") },
	"200 page":         func(x string) string { return wireAnswer(200, "", "<title>"+x+"</title>") },
	"200 text":         func(x string) string { return wireAnswer(200, "", x) },
	"200 no record":    func(x string) string { return wireAnswer(200, "X-Debug: "+x, `{"token":"`+x+`"}`) },
	"200 cut off":      func(x string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n{\"id\":\"" + x },
	"101": func(x string) string {
		return "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: " + x + "\r\n\r\n" + x
	},
	"broken status": func(x string) string { return "HTTP/1.1 " + x + "\r\n\r\n" },
	"no http":       func(x string) string { return x + "\r\n\r\n" },
	"broken header": func(x string) string { return "HTTP/1.1 200 OK\r\n" + x + "\r\n\r\n{}" },
	"header name":   func(x string) string { return "HTTP/1.1 404 No\r\nContent-Length: 0\r\n" + x + ": 1\r\n\r\n" },
	"bad length":    func(x string) string { return "HTTP/1.1 200 OK\r\nContent-Length: " + x + "\r\n\r\n{}" },
	"bad coding":    func(x string) string { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + x + "\r\n\r\n{}" },
	"broken chunk": func(x string) string {
		return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + x + "\r\n{}\r\n0\r\n\r\n"
	},
	"broken trailer": func(x string) string {
		return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + x + "\r\n\r\n"
	},
	"unknown coding": func(x string) string { return wireAnswer(200, "Content-Encoding: gzip", x) },
	"informational": func(x string) string {
		return "HTTP/1.1 103 Early Hints\r\nLink: " + x + "\r\n\r\n" + wireAnswer(500, "", x)
	},
	"list, other shape": func(x string) string { return wireAnswer(200, "", `{"data":["`+x+`"],"links":{"next":"/?k=`+x+`"}}`) },
}

func wireAnswer(status int, header, body string) string {
	if header != "" {
		header += "\r\n"
	}
	return fmt.Sprintf("HTTP/1.1 %d Status\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body)
}

// rawService answers every request with what answer gives, byte for byte, and closes.
func rawService(t *testing.T, answer func(*http.Request) string) (baseURL string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var group sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		group.Wait()
	})
	group.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer nc.Close()
				req, err := http.ReadRequest(bufio.NewReader(nc))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(nc, answer(req))
			})
		}
	})
	return "http://" + l.Addr().String() + "/tenant"
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

// The key of a production deployment must not stand in a log, a ticket or a test's output, whatever a service does with it.
func TestTheKeyAppearsNowhere(t *testing.T) {
	var standard lineBuffer
	log.SetOutput(&standard)
	defer log.SetOutput(os.Stderr)
	everything := &slog.HandlerOptions{Level: slog.Level(-100), AddSource: true}
	for _, key := range []string{aKey, oddKey} {
		for spelling, escape := range echoes {
			t.Run(key[:5]+" "+spelling, func(t *testing.T) {
				var lines lineBuffer
				var now string
				baseURL := rawService(t, func(*http.Request) string { return now })
				var progress []Progress
				opts := []Option{
					WithRetryPolicy(RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1}), WithTimeout(20 * time.Second),
					WithProgress(func(p Progress) { progress = append(progress, p) }),
				}
				fixed, err := NewClient(baseURL, key, append(opts, WithLogger(slog.New(slog.NewTextHandler(&lines, everything))))...)
				require.NoError(t, err)
				sourced, err := NewClient(baseURL, "", append(opts, WithLogger(slog.New(slog.NewJSONHandler(&lines, everything))),
					WithAPIKeySource(func(context.Context) (string, error) { return key, nil }))...)
				require.NoError(t, err)
				for kind, answer := range echoing {
					now = answer(escape(key))
					for op, c := range map[string]*Client{"images.list": fixed, "images.delete": sourced, "transcriptions.store": sourced} {
						var resp *Response
						err := allTen(c)[op](t.Context(), WithResponse(&resp))
						if err == nil {
							// A delete is done when the answer is no page.
							require.Equal(t, "images.delete", op, kind)
						}
						assertNoKey(t, []any{err, resp}, key)
						if t.Failed() {
							t.Fatalf("%s of %s", kind, op)
						}
					}
				}
				assertNoKey(t, []any{fixed, sourced, *fixed, fixed.Images, fixed.Transcriptions, progress}, key)
				assert.NotEmpty(t, lines.String())
				assert.NotEmpty(t, progress)
				assertNoKey(t, lines.String(), key)
			})
		}
		assertNoKey(t, standard.String(), key)
	}
}

// An answer is cut off where it gets too long, and never in the middle of a key.
func TestTheKeyAppearsInNoPart(t *testing.T) {
	for _, status := range []int{500, 200} {
		for _, before := range []int{0, 1, 10, len(oddKey) - 1, len(oddKey), 4 * len(oddKey)} {
			for spelling, escape := range echoes {
				x := escape(oddKey)
				at := 1<<20 - before*len(x)/len(oddKey)
				baseURL := rawService(t, func(*http.Request) string {
					return wireAnswer(status, "", strings.Repeat("a", at)+x+"aa")
				})
				c, err := NewClient(baseURL, oddKey)
				require.NoError(t, err)
				var resp *Response
				if status == 500 {
					var refused *APIError
					err = c.Images.Delete(t.Context(), "7", WithResponse(&resp), WithRetryPolicy(RetryPolicy{MaxAttempts: 1}))
					require.ErrorAs(t, err, &refused)
					assert.Equal(t, refused.Body, resp.Body)
				} else {
					var unread *DecodeError
					_, err = c.Images.Show(t.Context(), "7")
					require.ErrorAs(t, err, &unread)
					resp = &Response{Body: unread.Body}
				}
				left := strings.TrimLeft(string(resp.Body), "a")
				assert.True(t, strings.HasPrefix("[API key]"+"aa", left), "%d %d %s: %s", status, before, spelling, left)
			}
		}
	}
}

// Hosts are compared, and shown, in lower case: a key with capitals must be masked there too.
func TestTheKeyAppearsInNoHost(t *testing.T) {
	const key = "Live-Key-0123456789-ABCDEF"
	baseURL := rawService(t, func(*http.Request) string {
		return wireAnswer(302, "Location: https://"+key+".example/login\r\n"+key+": 1", "")
	})
	c, err := NewClient(baseURL, key)
	require.NoError(t, err)
	var resp *Response
	_, err = c.Images.Show(t.Context(), "7", WithResponse(&resp))
	require.ErrorContains(t, err, "to https://[API key].example:443 refused")
	assertNoKey(t, []any{err, resp}, key)
	assert.Equal(t, "1", resp.Header["[API key]"][0], "a name is written in another case, too")
}

// A response may break off within the key, too.
func TestTheKeyAppearsInNoResponseThatBreaksOff(t *testing.T) {
	for _, status := range []int{500, 200} {
		for spelling, escape := range echoes {
			x := escape(oddKey)
			for n := 1; n <= len(x); n++ {
				s := &script{answers: answers{func(*http.Request) (*http.Response, error) {
					resp, err := answerWith(status, "")(nil)
					resp.Body = io.NopCloser(io.MultiReader(strings.NewReader("aaaa"+x[:n]), iotest.ErrReader(io.ErrUnexpectedEOF)))
					return resp, err
				}}}
				c, err := NewClient("https://content.example.com", oddKey, WithHTTPClient(&http.Client{Transport: s}), WithRetryPolicy(oneAttempt))
				require.NoError(t, err)
				var resp *Response
				_, err = c.Images.Show(t.Context(), "7", WithResponse(&resp))
				require.Error(t, err)
				bodies := []string{string(resp.Body)}
				if unread := (*DecodeError)(nil); errors.As(err, &unread) {
					bodies = append(bodies, string(unread.Body))
				} else if refused := (*APIError)(nil); assert.ErrorAs(t, err, &refused) {
					bodies = append(bodies, string(refused.Body))
				}
				for _, body := range bodies {
					assert.True(t, strings.HasPrefix("[API key]", strings.TrimLeft(body, "a")), "%d %s %d: %s", status, spelling, n, body)
				}
			}
		}
	}
}

// What is left must still be of use.
func TestMaskedErrorsStillSayWhatIsWrong(t *testing.T) {
	baseURL := rawService(t, func(r *http.Request) string {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		return wireAnswer(401, "X-Debug: key="+key+";", `{"message":"The key `+strings.ReplaceAll(key, "/", `\/`)+` has expired.","errors":{"key":["`+url.QueryEscape(key)+`!"]}}`)
	})
	c, err := NewClient(baseURL, "sk/live/0123456789")
	require.NoError(t, err)
	var resp *Response
	_, err = c.Images.Show(t.Context(), "7", WithResponse(&resp))
	assert.EqualError(t, err, "images.show: 401: The key [API key] has expired; key: [API key]!")
	var refused *APIError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "key=[API key];", refused.Header.Get("X-Debug"))
	assert.Equal(t, map[string][]string{"key": {"[API key]!"}}, refused.Fields)
	assert.JSONEq(t, `{"message":"The key [API key] has expired.","errors":{"key":["[API key]!"]}}`, string(refused.Body))
	assert.Equal(t, refused.Body, resp.Body)
	assert.Equal(t, refused.Header, resp.Header)
}

// An error of a transport that quotes the request is still one to compare with, and a short key breaks no error's chain.
func TestErrorsOfTransportsAreMasked(t *testing.T) {
	cause := errors.New("the sidecar is down")
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("sending %v: %w", r.Header, cause)
	})
	for _, key := range []string{aKey, oddKey} {
		c, err := NewClient("https://content.example.com", key, WithHTTPClient(&http.Client{Transport: rt}), WithRetryPolicy(quick))
		require.NoError(t, err)
		for op, call := range allTen(c) {
			err := call(t.Context())
			assert.ErrorIs(t, err, cause, op)
			assert.ErrorContains(t, err, "Authorization:[Bearer [API key]]", op)
			assertNoKey(t, err, key)
		}
	}
	c, err := NewClient("https://content.example.com", "e", WithHTTPClient(&http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: cause}
	})}), WithRetryPolicy(quick))
	require.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7")
	var op *net.OpError
	assert.ErrorAs(t, err, &op, "an error with the letter e in it is no leak")
	assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
}

// An error's text is one line, whatever a transport or a hostile peer puts into it; the cause is found.
func TestTransportErrorsAreOneLine(t *testing.T) {
	cause := errors.New("first\r\nsecond\x1b[31m" + strings.Repeat("x", 10_000))
	c, err := NewClient("https://content.example.com", aKey, WithRetryPolicy(RetryPolicy{MaxAttempts: 1}), WithHTTPClient(&http.Client{
		Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, cause }),
	}))
	require.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7")
	assert.ErrorIs(t, err, cause)
	assert.True(t, strings.HasPrefix(err.Error(), "images.show: first second [31mxxx"), err.Error()[:60])
	assert.Less(t, len(err.Error()), 1100)
}

// A panic of the caller's own code passes through, and its trace shows no key.
func TestPanicsOfCallbacksShowNoKey(t *testing.T) {
	baseURL, _ := counted(t, answerAll)
	blow := func() { panic("the callback is at fault") }
	for name, opts := range map[string][]Option{
		"key source": {WithAPIKeySource(func(context.Context) (string, error) { blow(); return aKey, nil })},
		"limiter":    {WithRateLimiter(limiterFunc(func(context.Context) error { blow(); return nil }))},
		"logger":     {WithLogger(slog.New(panicking{slog.DiscardHandler}))},
		"transport":  {WithHTTPClient(&http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { blow(); return nil, nil })})},
	} {
		c, err := NewClient(baseURL, aKey, opts...)
		require.NoError(t, err)
		for op, call := range allTen(c) {
			func() {
				defer func() {
					r := recover()
					assert.Equal(t, "the callback is at fault", r, "%s %s", name, op)
					assertNoKey(t, []any{r, string(debug.Stack())}, aKey)
				}()
				_ = call(t.Context())
			}()
		}
	}
}

type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool  { return true }
func (panicking) Handle(context.Context, slog.Record) error { panic("the callback is at fault") }

// A log line is for finding a call again: what was sent and said stays out of it.
func TestLogLinesHoldNoContent(t *testing.T) {
	var lines lineBuffer
	baseURL := rawService(t, func(*http.Request) string {
		return wireAnswer(422, "X-Secret: header-secret", `{"message":"body-secret"}`)
	})
	c, err := NewClient(baseURL, aKey, WithLogger(slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.Level(-100)}))))
	require.NoError(t, err)
	for _, call := range allTen(c) {
		require.Error(t, call(t.Context(), WithQuery("q", "query-secret"), WithFormField("f", "form-secret"), WithHeader("X-Token", "token-secret")))
	}
	assert.Equal(t, 12, strings.Count(lines.String(), "\n"))
	assert.NotContains(t, lines.String(), "secret")
	assert.Contains(t, lines.String(), "op=transcriptions.store method=POST path=/tenant/api/v1/transcriptions attempt=1")
}

// A second record with the name of a store is told by its id, which the service chooses.
func TestDuplicateErrorsAreMasked(t *testing.T) {
	baseURL := rawService(t, func(*http.Request) string {
		return wireAnswer(200, "", `{"data":[{"id":"`+aKey+`","name":"n"},{"id":"8\n9","name":"n"}],"links":{"next":null}}`)
	})
	c, err := NewClient(baseURL, aKey)
	require.NoError(t, err)
	_, err = c.Images.Store(t.Context(), ImageStoreParams{Name: "n", Description: "d", Resolution: Resolution256x256}, WithOnce())
	require.ErrorIs(t, err, ErrConflict)
	assert.ErrorContains(t, err, "(id [API key], 8 9)")
	assertNoKey(t, err, aKey)
}
