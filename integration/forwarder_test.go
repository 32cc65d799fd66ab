package integration

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/once"
)

// forwarder is a proxy. It passes requests on, and responses back. To create requests it sends a reply of its own, once
// the service has responded or the patience is over: the service then works on, and its response is dropped.
type forwarder struct {
	service  http.RoundTripper
	patience time.Duration
	reply    reply
	healthy  atomic.Bool // it has no replies of its own any more
	passing  sync.WaitGroup
}

// reply is what a proxy says in place of the service.
type reply struct {
	status     int
	kind, body string
	retryAfter string
	final      bool // it will not change by itself, so that a call of package once does not wait for the record
}

// serve serves a connection of a client.
func (f *forwarder) serve(nc net.Conn) {
	r := bufio.NewReader(nc)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		resp := f.forward(req)
		if resp == nil || resp.Write(nc) != nil {
			return
		}
	}
}

// forward returns the response for the client, or nil if its connection is to be closed.
func (f *forwarder) forward(req *http.Request) *http.Response {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil
	}
	req.URL.Scheme, req.URL.Host, req.RequestURI = "http", req.Host, ""
	req.Body = io.NopCloser(bytes.NewReader(body))
	responses := make(chan *http.Response, 1)
	f.passing.Go(func() {
		defer close(responses)
		resp, err := f.service.RoundTrip(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(bytes.NewReader(data))
		responses <- resp
	})
	if req.Method != http.MethodPost || f.healthy.Load() {
		return <-responses
	}
	select {
	case <-responses:
	case <-time.After(f.patience):
	}
	resp, _ := fakes.Respond(f.reply.status, f.reply.body, "Content-Type", f.reply.kind)(req)
	resp.ProtoMajor, resp.ProtoMinor = 1, 1
	if f.reply.retryAfter != "" {
		resp.Header.Set("Retry-After", f.reply.retryAfter)
	}
	return resp
}

const varnishPage = `<!DOCTYPE html><html><head><title>503 Backend fetch failed</title></head>` +
	`<body><h1>Error 503 Backend fetch failed</h1><p>Guru Meditation:</p></body></html>`

// replies are those of proxies that were seen while, or after, the service had made the record.
var replies = map[string]reply{
	"503":                       {503, "text/html", varnishPage, "5", false},
	"503 as JSON":               {503, "application/json", `{"error":"Backend fetch failed"}`, "5", false},
	"503 to retry after 0":      {503, "text/html", varnishPage, "0", false},
	"503 to retry in a while":   {503, "text/html", varnishPage, "in a while", false},
	"503 without a Retry-After": {503, "text/html", varnishPage, "", false},
	"499":                       {499, "text/html", "<html><title>499</title></html>", "", false},
	"403":                       {403, "text/html", "<html><title>403 Forbidden</title></html>", "", true},
	"404":                       {404, "text/plain", "default backend - 404", "", true},
	"405":                       {405, "text/html", "<html><title>405 Not Allowed</title></html>", "", true},
}

// behind calls test in a bubble, for each reply, for a service that responds and for one that works on, and for both
// collections. It takes 30 seconds for a create request.
func behind(t *testing.T, test func(t *testing.T, p *proxied)) {
	t.Parallel()
	for name, reply := range replies {
		for when, patience := range map[string]time.Duration{"has acted": time.Hour, "works on": 10 * time.Second} {
			for _, op := range []aicontenttest.Operation{aicontent.ImagesStore, aicontent.TranscriptionsStore} {
				t.Run(name+"/"+when+"/"+string(op), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(), aicontenttest.BasePath("/tenant"),
							aicontenttest.LatencyOn(op, 30*time.Second))
						f := &forwarder{service: srv.HTTPClient().Transport, patience: patience, reply: reply}
						t.Cleanup(f.passing.Wait)
						hc := &http.Client{Transport: fakes.Piped(t, f.serve)}
						c, err := aicontent.NewClient(srv.URL, srv.APIKey, aicontent.WithHTTPClient(hc))
						require.NoError(t, err)
						t.Cleanup(c.CloseIdleConnections)
						names, err := once.New(c, once.InMemory())
						require.NoError(t, err)
						test(t, &proxied{forwarder: f, srv: srv, op: op, store: allTen(c)[string(op)], names: names})
					})
				})
			}
		}
	}
}

// proxied is a client behind a forwarder.
type proxied struct {
	*forwarder
	srv   *aicontenttest.Server
	op    aicontenttest.Operation
	store func(context.Context, ...aicontent.CallOption) error
	names *once.Client
}

// once makes a Store call of package once.
func (p *proxied) once(ctx context.Context) (found bool, err error) {
	return storeOnce(ctx, p.names, p.op)
}

// assertUnknown asserts that a call ended with the reply, which proves nothing.
func (p *proxied) assertUnknown(t *testing.T, err error) {
	t.Helper()
	var refused *aicontent.APIError
	if assert.ErrorAs(t, err, &refused) {
		assert.Equal(t, p.reply.status, refused.StatusCode)
	}
	assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
}

// assertOne asserts that one create request reached the service, and that it made one record.
func (p *proxied) assertOne(t *testing.T) {
	t.Helper()
	p.passing.Wait()
	assert.Equal(t, 1, requestsOf(p.srv, p.op), "create requests")
	assert.Len(t, p.srv.Records(), 1, "records")
}

// What a proxy says of a create request is not what the service did: whoever stores again on its word pays twice.
func TestStoreBehindProxyThatGivesUp(t *testing.T) {
	behind(t, func(t *testing.T, p *proxied) {
		p.assertUnknown(t, p.store(t.Context()))
		p.assertOne(t)
	})
}

// A job that stores once must have one record in the end, in one call or in two. A proxy's 403, 404 or 405 will not
// change by itself, so that the first call ends there, and the second one finds what the first one has made.
func TestOnceBehindProxyThatGivesUp(t *testing.T) {
	behind(t, func(t *testing.T, p *proxied) {
		found, err := p.once(t.Context())
		if p.reply.final {
			p.assertUnknown(t, err)
		} else {
			require.NoError(t, err)
			assert.False(t, found, "the call has created it")
		}

		p.healthy.Store(true)
		found, err = p.once(t.Context())
		require.NoError(t, err)
		assert.True(t, found)
		p.assertOne(t)
	})
}

// The same if the time of the first call ends before the service is done: the next one must not begin anew.
func TestOnceBehindProxyInShortCalls(t *testing.T) {
	behind(t, func(t *testing.T, p *proxied) {
		calls, found := 0, false
		for ; !found && calls < 10; calls++ {
			ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
			var err error
			found, err = p.once(ctx)
			cancel()
			if !found {
				assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
			}
		}
		assert.True(t, found)
		assert.Greater(t, calls, 1, "the first call must not be the one that finds it")
		p.assertOne(t)
	})
}
