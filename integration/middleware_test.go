package integration

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

// others are the hosts that a middleware asks besides the service: one responds, and one refuses connections.
type others struct{ tokens, audit http.RoundTripper }

func newOthers(t *testing.T) others {
	tokens := fakes.Piped(t, func(nc net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(nc))
		_, _ = io.WriteString(nc, fakes.OnTheWire(http.StatusOK, "", "token"))
	})
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	return others{tokens, &http.Transport{DialContext: dial}}
}

// ask makes a request of the middleware's own.
func ask(ctx context.Context, rt http.RoundTripper) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://other.example.com/", nil)
	if err != nil {
		return err
	}
	resp, err := rt.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// audited sends a request, whatever comes of it, and returns the error of the audit.
func audited(ctx context.Context, o others, r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if resp, err := next.RoundTrip(r); err == nil {
		resp.Body.Close()
	}
	return nil, ask(ctx, o.audit)
}

func detached(r *http.Request) *http.Request { return r.WithContext(context.Background()) }

// aMiddleware is what a program puts around a create request.
type aMiddleware struct {
	trip  func(o others, r *http.Request, next http.RoundTripper) (*http.Response, error)
	sends bool // it calls next
	fails bool // it returns an error even if next has succeeded
	seen  bool // the SDK's transport below it knows of a request without a connection that nothing was sent
}

var middlewares = map[string]aMiddleware{
	"a token": {
		trip: func(o others, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if err := ask(r.Context(), o.tokens); err != nil {
				return nil, err
			}
			return next.RoundTrip(r)
		},
		sends: true, seen: true,
	},
	"an audit": {
		trip: func(o others, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			return audited(r.Context(), o, r, next)
		},
		sends: true, fails: true, seen: true,
	},
	"an audit with its own context": {
		trip: func(o others, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			return audited(context.Background(), o, r, next)
		},
		sends: true, fails: true, seen: true,
	},
	"a detached request": {
		trip: func(_ others, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			return next.RoundTrip(detached(r))
		},
		sends: true,
	},
	"a detached request and an audit": {
		trip: func(o others, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			return audited(r.Context(), o, detached(r), next)
		},
		sends: true, fails: true,
	},
	"no request": {
		trip: func(o others, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			return nil, ask(r.Context(), o.audit)
		},
		fails: true,
	},
}

// around calls test in a bubble: for each middleware, as one and as the transport of the caller's client; for a service
// that is well, one whose response to a create request is lost, and one that refuses the connections of two; and for
// both collections.
func around(t *testing.T, test func(t *testing.T, w *wrapped)) {
	t.Parallel()
	for name, m := range middlewares {
		for _, option := range []string{"WithMiddleware", "WithHTTPClient"} {
			for _, state := range []string{"well", "lost", "refused"} {
				for collection, job := range jobs {
					t.Run(name+"/"+option+"/"+state+"/"+collection, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { test(t, newWrapped(t, m, option, state, job)) })
					})
				}
			}
		}
	}
}

// wrapped is a client with a middleware.
type wrapped struct {
	aMiddleware
	customer
	attempts int // to create a record
	state    string
	hasFile  bool
	known    bool // of a request without a connection: that nothing was sent
}

func newWrapped(t *testing.T, m aMiddleware, option, state string, j job) *wrapped {
	srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(), aicontenttest.BasePath("/tenant"),
		aicontenttest.UnusedFaults()) // a middleware that sends no request meets none
	w := &wrapped{aMiddleware: m, state: state, hasFile: j.file.Name != ""}
	others := newOthers(t)
	wrap := func(next http.RoundTripper) http.RoundTripper {
		return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPost {
				return next.RoundTrip(r)
			}
			if w.attempts++; w.attempts <= 2 && state == "refused" && m.sends {
				srv.RefuseConnections(1)
			}
			return m.trip(others, r, next)
		})
	}
	through := aicontent.WithMiddleware(wrap)
	// A file whose end was not handed out is not there, whoever was to send it.
	w.known = w.hasFile || m.seen
	if option == "WithHTTPClient" {
		w.known = w.hasFile // because a foreign RoundTripper proves nothing
		transport := srv.HTTPClient().Transport.(*http.Transport)
		transport.DisableKeepAlives = true // each request needs a connection
		through = over(wrap(transport))
	}
	if state == "lost" {
		store := func(r *aicontenttest.Request) bool { return r.Method == http.MethodPost }
		srv.FaultWhen(store, 1, aicontenttest.LoseResponse())
	}
	w.customer = newCustomer(t, srv, j, through, quick)
	return w
}

// assertUnsent asserts what comes of attempts that never call next.
func (w *wrapped) assertUnsent(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	want := aicontent.OutcomeUnknown
	if w.hasFile {
		want = aicontent.OutcomeNotExecuted
	}
	assert.Equal(t, want, aicontent.OutcomeOf(err), "%v", err)
	w.assertCreated(t, 0)
}

// What a middleware does besides is no evidence of what became of the request. Whoever takes it for that creates again
// what may be there, or gives up what was not sent.
func TestMiddlewareDoesNotMakeTheOutcomeOfAStoreFalse(t *testing.T) {
	around(t, func(t *testing.T, w *wrapped) {
		err := w.store(t.Context())
		switch {
		case !w.sends:
			w.assertUnsent(t, err)
			if !w.hasFile {
				assert.Equal(t, 1, w.attempts, "attempts")
			}
		case w.state == "refused" && !w.known:
			assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
			assert.Equal(t, 1, w.attempts, "attempts")
			w.assertCreated(t, 0)
		case w.fails || w.state == "lost":
			assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
			w.assertCreated(t, 1)
		default:
			require.NoError(t, err)
			w.assertCreated(t, 1)
		}
	})
}

// Package once finds the record, or sends again what the service never got.
func TestOnceThroughMiddlewareStoresOneRecord(t *testing.T) {
	around(t, func(t *testing.T, w *wrapped) {
		_, err := w.storeOnce(t.Context())
		if !w.sends {
			require.Error(t, err)
			w.assertCreated(t, 0)
			return
		}
		for calls := 1; calls < 3 && aicontent.Retryable(err); calls++ {
			_, err = w.storeOnce(t.Context())
		}
		require.NoError(t, err)
		w.assertCreated(t, 1)
	})
}

// A middleware may be refused with the request's context, and fail over with one of its own: the first refusal says
// nothing of the second request.
func TestStoreIsUnknownAfterAMiddlewareFailedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
		failOver := func(next http.RoundTripper) http.RoundTripper {
			return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(r.Body)
				first, second := r.Clone(r.Context()), r.Clone(context.Background())
				first.Body, second.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
				srv.RefuseConnections(1)
				resp, err := next.RoundTrip(first)
				if err != nil {
					_, _ = next.RoundTrip(second)
				}
				return resp, err
			})
		}
		srv.FaultN(4, aicontenttest.LoseResponse())
		_, err := srv.Client(aicontent.WithMiddleware(failOver)).Images.Store(t.Context(), aStore)
		assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
		assert.Len(t, srv.Records(), 1)
	})
}
