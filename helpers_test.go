package aicontent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// quick is a policy whose pauses take no time to speak of.
var quick = RetryPolicy{MaxAttempts: 3, MinBackoff: time.Nanosecond, MaxBackoff: time.Nanosecond}

// oneAttempt is a policy without retries.
var oneAttempt = RetryPolicy{MaxAttempts: 1}

var (
	aStore   = ImageStoreParams{Name: "n", Description: "d", Resolution: Resolution256x256}
	aPicture = at("https://cdn.example.com/a.png")
)

const wavHead = "RIFF\x24\x00\x00\x00WAVEfmt "

func at(url string) *Image { return &Image{ID: "7", URL: url} }

// showSeven shows the record with the ID 7.
func showSeven(ctx context.Context, c *Client) error {
	_, err := c.Images.Show(ctx, "7")
	return err
}

// findN searches for the name n.
func findN(ctx context.Context, c *Client) error {
	_, err := c.Images.FindByName(ctx, "n")
	return err
}

// transcribe stores a transcription of a file.
func transcribe(ctx context.Context, c *Client, file File, opts ...CallOption) error {
	_, err := c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: "n", File: file}, opts...)
	return err
}

func second[T any](_ T, err error) error { return err }

// over is a client whose requests go to a transport.
func over(t testing.TB, rt http.RoundTripper, opts ...Option) *Client {
	t.Helper()
	return using(t, &http.Client{Transport: rt}, opts...)
}

// using is a client that sends requests through hc.
func using(t testing.TB, hc *http.Client, opts ...Option) *Client {
	t.Helper()
	opts = append([]Option{WithHTTPClient(hc)}, opts...)
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, opts...)
	require.NoError(t, err)
	return c
}

// script is a transport that sends one response after the other.
func script(responses ...func(*http.Request) (*http.Response, error)) *fakes.Script {
	return &fakes.Script{Responses: responses}
}

// fails is a transport that returns an error.
func fails(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// cutOff responds with a body that fails after the text.
func cutOff(text string, err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		body := io.NopCloser(io.MultiReader(strings.NewReader(text), iotest.ErrReader(err)))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, ContentLength: -1}, nil
	}
}

// deployment is a client of a service that has one response to everything.
func deployment(t testing.TB, handler http.HandlerFunc, opts ...Option) *Client {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	c, err := NewClient(srv.URL+"/tenant", fakes.Key, append([]Option{WithRetryPolicy(oneAttempt)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// piped is a client whose connections end in serve, within the bubble of a test.
func piped(t *testing.T, serve func(nc net.Conn), opts ...Option) *Client {
	t.Helper()
	hc := WithHTTPClient(&http.Client{Transport: fakes.Piped(t, serve)})
	opts = append([]Option{hc, WithRetryPolicy(oneAttempt)}, opts...)
	c, err := NewClient("http://127.0.0.1/tenant", fakes.Key, opts...)
	require.NoError(t, err)
	return c
}

// debugging is a log of everything.
func debugging(w io.Writer) Option {
	return WithLogger(slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

// respondingBody responds with a status and a body.
func respondingBody(status int, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}

// respondingBytes puts a response on the wire as it stands, and closes the connection.
func respondingBytes(raw []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write(raw)
	}
}

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
	return over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
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
	}), opts...), list
}

// refusing is a hook that refuses each attempt with an error.
func refusing(err error) CallOption {
	return WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) { return nil, err })
}

// limited is a limiter whose nth Wait returns wait(n), counted from 1.
func limited(wait func(n int) error) Option {
	calls := 0
	var limiter RateLimiter = fakes.Limiter(func(context.Context) error {
		calls++
		return wait(calls)
	})
	return WithRateLimiter(limiter)
}

// keys is a key source that returns keys(n) when it is asked for the nth time, counted from 1.
func keys(key func(n int) (string, error)) Option {
	asked := 0
	return WithAPIKeySource(func(context.Context) (string, error) {
		asked++
		return key(asked)
	})
}

// rotating is a key source that returns key-number-1, key-number-2 and so on.
func rotating() Option {
	return keys(func(n int) (string, error) { return fmt.Sprint("key-number-", n), nil })
}

var errUserLeft = errors.New("the user left")

// contextAfter is a context that is cancelled, without a deadline to see, after d.
func contextAfter(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(d, func() { cancel(errUserLeft) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// cancelledContext is a context that the user has left.
func cancelledContext(t *testing.T) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errUserLeft)
	return ctx
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
