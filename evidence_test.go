package aicontent

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// bothStores are the operations that cost money.
var bothStores = []string{"images.store", "transcriptions.store"}

// around is a middleware in a function.
func around(trip func(r *http.Request, next http.RoundTripper) (*http.Response, error)) Option {
	return WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) { return trip(r, next) })
	})
}

// No parser accepts a form without its closing boundary, so the file may be sent again until the first byte of it.
func TestUploadIsSentAgainUntilAByteOfTheClosingBoundaryIsRead(t *testing.T) {
	t.Parallel()
	for extra, want := range map[int64]struct {
		outcome  Outcome
		attempts int
	}{0: {OutcomeNotExecuted, 3}, 1: {OutcomeUnknown, 1}} {
		attempts := 0
		c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			attempts++
			_, boundary, _ := strings.Cut(r.Header.Get("Content-Type"), "boundary=")
			closing := int64(len("\r\n--" + boundary + "--\r\n"))
			_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength-closing+extra)
			return nil, errors.New("broke")
		}), WithRetryPolicy(quick))
		err := transcribe(t.Context(), c, inMemory(10_000))
		assert.Equal(t, want.outcome, OutcomeOf(err), "%v", err)
		assert.Equal(t, want.attempts, attempts)
	}
}

// A RoundTripper may try another address, or send an audit, with the context of the attempt. That the SDK's trace hears
// of no connection proves nothing.
func TestStoreIsUnknownAfterAForeignRoundTripperSentAnAudit(t *testing.T) {
	t.Parallel()
	refused := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("connection refused")
	}}
	for i, store := range bothStores {
		stores := 0
		c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			stores++
			if r.Body != nil && i > 0 {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			audit, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://other.example.com/", nil)
			require.NoError(t, err)
			return refused.RoundTrip(audit)
		}), WithRetryPolicy(quick))
		err := allTen(c)[store](t.Context())
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%s: %v", store, err)
		assert.Equal(t, 1, stores, store)
	}
}

// A middleware may hold a request back and send it when the attempt has ended.
func TestRequestOfAnEndedAttemptIsNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		c := piped(t, func(nc net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(nc)); err == nil {
				requests.Add(1)
				_, _ = io.WriteString(nc, fakes.OnTheWire(201, "", fakes.StoredImage))
			}
		}, around(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			late := r.Clone(context.WithoutCancel(r.Context()))
			<-r.Context().Done()
			return next.RoundTrip(late)
		}))
		ctx, cancel := contextAfter(t, time.Second)
		defer cancel()
		_, err := c.Images.Store(ctx, aStore)
		assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), "%v", err)
		assert.Zero(t, requests.Load())
	})
}

// net/http sends a request with a GetBody again without being asked, be it above a middleware, below it, or with a
// context of the middleware's own.
func TestNoStoreHasAGetBodyAboveOrBelowAMiddleware(t *testing.T) {
	t.Parallel()
	for name, ctx := range map[string]func(*http.Request) context.Context{
		"the context of the attempt": (*http.Request).Context,
		"a context of its own":       func(*http.Request) context.Context { return context.Background() },
	} {
		s := script(fakes.OK(fakes.StoredImage))
		c := over(t, s, around(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			assert.Nil(t, r.GetBody, "above")
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			again, err := http.NewRequestWithContext(ctx(r), r.Method, r.URL.String(), strings.NewReader(string(body)))
			require.NoError(t, err)
			again.Header = r.Header
			return next.RoundTrip(again)
		}))
		for i, store := range bothStores {
			require.NoError(t, allTen(c)[store](t.Context()), name)
			assert.Nil(t, s.Sent[i].GetBody, "below, with %s", name)
		}
	}
}

// A connection that the service is about to close would make an outcome Unknown.
func TestEachStoreHasAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	connections := map[string]int{}
	c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr]++
		fakes.RespondToAll(w, r)
	})
	for range 3 {
		for _, operation := range append(bothStores, "images.show", "images.update") {
			require.NoError(t, allTen(c)[operation](t.Context()))
		}
	}
	assert.Len(t, connections, 7, "one for each of six Store calls, and one for all others: %v", connections)
}

// A queue for connections, a slow dialer or a slow handshake must not make a call fail that the service would answer.
func TestDialingCountsForNoTimeout(t *testing.T) {
	t.Parallel()
	for _, operation := range append(bothStores, "images.show") {
		t.Run(operation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := fakes.PipeDialer(t, func(nc net.Conn) {
					if req, err := http.ReadRequest(bufio.NewReader(nc)); err == nil {
						_, _ = io.Copy(io.Discard, req.Body)
						_, _ = io.WriteString(nc, fakes.OnTheWire(201, "", fakes.StoredImage))
					}
				})
				slow := &http.Transport{}
				slow.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					time.Sleep(time.Hour)
					return dial(ctx, network, address)
				}
				c, err := NewClient("http://127.0.0.1", fakes.Key, WithHTTPClient(&http.Client{Transport: slow}),
					WithRetryPolicy(oneAttempt), WithResponseTimeout(time.Minute), WithStoreTimeout(time.Minute),
					WithStallTimeout(time.Minute))
				require.NoError(t, err)
				t.Cleanup(c.CloseIdleConnections)
				assert.NoError(t, allTen(c)[operation](t.Context()))
				time.Sleep(2 * time.Hour) // for a dial that the call no longer waits for
			})
		})
	}
}

// A picture may be several redirects away.
func TestRedirectsOfADownloadShareOneResponseTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := piped(t, func(nc net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(nc)); err == nil {
				time.Sleep(25 * time.Second)
				_, _ = io.WriteString(nc, fakes.OnTheWire(302, "Location: /next.png", ""))
			}
		}, WithResponseTimeout(time.Minute))
		start := time.Now()
		_, err := c.Images.Download(t.Context(), at("http://127.0.0.1/a.png"), io.Discard)
		assert.ErrorContains(t, err, "no complete response within 1m0s (WithResponseTimeout)")
		assert.Equal(t, time.Minute, time.Since(start))
		time.Sleep(time.Minute)
	})
}

func TestHeaderLimitOfTheCallersTransportHolds(t *testing.T) {
	t.Parallel()
	for limit, works := range map[int64]bool{4 << 20: true, 64 << 10: false, 0: false} {
		for _, operation := range []string{"images.show", "images.store"} {
			c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
				for range 20 {
					w.Header().Add("X-Long", strings.Repeat("x", 100<<10))
				}
				fakes.RespondToAll(w, r)
			}, WithHTTPClient(&http.Client{Transport: &http.Transport{MaxResponseHeaderBytes: limit}}))
			err := allTen(c)[operation](t.Context())
			assert.Equal(t, works, err == nil, "a limit of %d: %v", limit, err)
		}
	}
}
