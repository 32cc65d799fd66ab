package aicontent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// A prefix with escapes of its own must reach the service as it was given.
func TestPathsBelowABaseURL(t *testing.T) {
	for base, expected := range map[string]string{
		"":              "/api/v1/images/a%2Fb",
		"/":             "/api/v1/images/a%2Fb",
		"/tenant//":     "/tenant/api/v1/images/a%2Fb",
		"/a%2Fb/c%20d/": "/a%2Fb/c%20d/api/v1/images/a%2Fb",
		"/ü":            "/%C3%BC/api/v1/images/a%2Fb",
	} {
		var uri string
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			uri = r.RequestURI
			w.WriteHeader(404)
		}))
		c, err := NewClient(srv.URL+base, "test-key")
		require.NoError(t, err)
		_, err = c.Images.Show(t.Context(), "a/b")
		var api *APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, expected, uri)
		assert.Equal(t, expected, api.Path)
		assert.Equal(t, "GET", api.Method)
		srv.Close()
	}
}

// Search terms may be personal: no error text shows a query.
func TestErrorsDoNotShowTheQuery(t *testing.T) {
	for name, handler := range map[string]func(*http.Request) (*http.Response, error){
		"lost": lose, "refused": answerWith(500, `no`), "redirected": answerWith(302, ``, "Location", "https://elsewhere.example.com/?search=private"),
		"unreadable": answer200(`<html>`),
	} {
		s := &script{answers: []func(*http.Request) (*http.Response, error){handler}}
		_, err := s.client(t, WithRetryPolicy(quick)).Images.List(t.Context(), ImageListParams{Search: "private"})
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "private", name)
	}
}

// slowBody gives some bytes and then waits for the end of the request's context.
type slowBody struct {
	io.Reader
	ctx context.Context
}

func (b slowBody) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); err == nil {
		return n, nil
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (b slowBody) Close() error { return nil }

func stalling(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Body: slowBody{strings.NewReader(`{"data":{"id":7,`), r.Context()}}, nil
}

// An answer that stops coming is cut off: a create request was executed, a show is retried.
func TestAnswerThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){stalling}}
		start := time.Now()
		_, err := s.client(t).Images.Store(t.Context(), aStore)
		var decode *DecodeError
		require.ErrorAs(t, err, &decode)
		assert.Equal(t, OutcomeDone, OutcomeOf(err))
		assert.Equal(t, 10*time.Minute, time.Since(start))
		assert.Equal(t, `{"data":{"id":7,`, string(decode.Body))
		var timeout *wire.TimeoutError
		require.ErrorAs(t, err, &timeout)

		s = &script{answers: []func(*http.Request) (*http.Response, error){stalling, answer200(storedImage)}}
		_, err = s.client(t).Images.Show(t.Context(), "7")
		require.NoError(t, err)
		assert.Len(t, s.asked, 2)
	})
}

// The caller's own end must be told from the service's slowness, and nothing is tried after it.
func TestContextThatEndsWhileTheAnswerComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextAfter(t, 2*time.Second)
		defer cancel()
		s := &script{answers: []func(*http.Request) (*http.Response, error){stalling}}
		_, err := s.client(t).Images.Show(ctx, "7")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errUserLeft)
		assert.Len(t, s.asked, 1)
	})
}

// The connection of an answer that was read must be used again, whatever the answer.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var answers atomic.Int64
	connections := map[string]bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		switch answers.Add(1) % 4 {
		case 0:
			w.WriteHeader(404)
			_, _ = io.WriteString(w, strings.Repeat("<p>no</p>", 10_000))
		case 1:
			w.WriteHeader(422)
		case 2:
			w.WriteHeader(204)
		default:
			_, _ = io.WriteString(w, storedImage)
		}
	}))
	defer srv.Close()
	c, err := NewClient(srv.URL+"/tenant", "test-key", WithRetryPolicy(quick))
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	for range 40 {
		_, _ = c.Images.Show(t.Context(), "7")
	}
	assert.Len(t, connections, 1)
}

// The errors of a middleware may hold URLs, whose queries may be personal or signed.
func TestErrorsOfAMiddlewareDoNotShowTheQuery(t *testing.T) {
	boom := errors.New("boom")
	address := "https://content.example.com/tenant/api/v1/images?search=private"
	inner := &url.Error{Op: "Get", URL: address, Err: boom}
	for name, lost := range map[string]error{
		"one":            inner,
		"nested":         &url.Error{Op: "Get", URL: address, Err: &url.Error{Op: "Get", URL: address, Err: inner}},
		"wrapped nested": fmt.Errorf("signing %s: %w", address, &url.Error{Op: "Get", URL: address, Err: fmt.Errorf("again: %w", inner)}),
	} {
		var log bytes.Buffer
		fail := roundTripper(func(*http.Request) (*http.Response, error) { return nil, lost })
		c, err := NewClient("https://content.example.com/tenant", aKey, WithRetryPolicy(quick), WithHTTPClient(&http.Client{Transport: fail}),
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
