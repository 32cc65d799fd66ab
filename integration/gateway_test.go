package integration

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

const varnishPage = `<!DOCTYPE html><html><head><title>503 Backend fetch failed</title></head>` +
	`<body><h1>Error 503 Backend fetch failed</h1><p>Guru Meditation:</p></body></html>`

// A reply is what a proxy says in place of the service.
type reply struct {
	status     int
	kind, body string
	retryAfter string
}

// replies are those of proxies that were seen while, or after, the service had made the record.
var replies = map[string]reply{
	"503":                       {503, "text/html", varnishPage, "5"},
	"503 as JSON":               {503, "application/json", `{"error":"Backend fetch failed"}`, "5"},
	"503 to retry after 0":      {503, "text/html", varnishPage, "0"},
	"503 to retry in a while":   {503, "text/html", varnishPage, "in a while"},
	"503 without a Retry-After": {503, "text/html", varnishPage, ""},
	"499":                       {499, "text/html", "<html><title>499</title></html>", ""},
	"403":                       {403, "text/html", "<html><title>403 Forbidden</title></html>", ""},
	"404":                       {404, "text/plain", "default backend - 404", ""},
	"405":                       {405, "text/html", "<html><title>405 Not Allowed</title></html>", ""},
}

// instead returns the fault that sends the reply instead of the service's response: when the service has acted, or some
// time before.
func (r reply) instead(before time.Duration) aicontenttest.Fault {
	fault := aicontenttest.Status(r.status, r.body).Acting()
	if before > 0 {
		fault = aicontenttest.LateAct(r.status, before)
		fault.Body = r.body
	}
	fault = fault.WithHeader("Content-Type", r.kind)
	if r.retryAfter != "" {
		fault = fault.WithRetryAfter(r.retryAfter)
	}
	return fault
}

// behind calls test in a bubble, for each reply, for a service that has acted by then and for one that works on, and
// for both collections. The service takes 30 seconds for a create request.
func behind(t *testing.T, test func(t *testing.T, r reply, c customer)) {
	t.Parallel()
	for name, reply := range replies {
		for when, early := range map[string]time.Duration{"has acted": 0, "works on": 20 * time.Second} {
			for collection, job := range jobs {
				t.Run(name+"/"+when+"/"+collection, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						op := aicontent.Operation(collection + ".store")
						srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(),
							aicontenttest.BasePath("/tenant"), aicontenttest.LatencyOn(op, 30*time.Second-early))
						srv.FaultOn(op, math.MaxInt, reply.instead(early))
						test(t, reply, newCustomer(t, srv, job))
					})
				})
			}
		}
	}
}

// assertUnknown asserts that a call ended with the reply, which proves nothing.
func (r reply) assertUnknown(t *testing.T, err error) {
	t.Helper()
	var refused *aicontent.APIError
	if assert.ErrorAs(t, err, &refused) {
		assert.Equal(t, r.status, refused.StatusCode)
	}
	assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
}

// assertOne asserts that one create request reached the service, and that it made one record.
func (c customer) assertOne(t *testing.T) {
	t.Helper()
	time.Sleep(time.Minute) // by then the service has acted
	c.assertCreated(t, 1)
}

// What a proxy says of a create request is not what the service did: whoever stores again on its word pays twice.
func TestStoreBehindAProxyThatGivesUpIsUnknown(t *testing.T) {
	behind(t, func(t *testing.T, r reply, c customer) {
		r.assertUnknown(t, c.store(t.Context()))
		c.assertOne(t)
	})
}

// A job that stores once must have one record in the end, whatever the proxy says, and in one call.
func TestOnceBehindAProxyThatGivesUpStoresOneRecord(t *testing.T) {
	behind(t, func(t *testing.T, _ reply, c customer) {
		found, err := c.storeOnce(t.Context())
		require.NoError(t, err)
		assert.False(t, found, "the call has created it")
		c.srv.ClearFaults()
		found, err = c.storeOnce(t.Context())
		require.NoError(t, err)
		assert.True(t, found)
		c.assertOne(t)
	})
}

// The same if the time of the first call ends before the service is done: the next one must not begin anew.
func TestOnceInShortCallsBehindAProxyStoresOneRecord(t *testing.T) {
	behind(t, func(t *testing.T, _ reply, c customer) {
		calls, found := 0, false
		for ; !found && calls < 10; calls++ {
			ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
			var err error
			found, err = c.storeOnce(ctx)
			cancel()
			if !found {
				assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
			}
		}
		assert.True(t, found)
		assert.Greater(t, calls, 1, "the first call must not be the one that finds it")
		c.assertOne(t)
	})
}
