package recipes

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// spansOf returns the spans that are made while test runs.
func spansOf(t *testing.T, test func()) tracetest.SpanStubs {
	spans := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	otel.SetTracerProvider(provider)
	test()
	made := spans.GetSpans()
	require.NoError(t, provider.Shutdown(t.Context()))
	return made
}

func TestTracingSeesEachAttempt(t *testing.T) {
	spans := spansOf(t, func() {
		inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
			srv.Fault(aicontenttest.Status(429, "busy").WithRetryAfter("1"))
			_, err := srv.Client(tracing()).Images.Store(t.Context(), image)
			require.NoError(t, err)
		})
	})
	assert.Len(t, spans, 2)
}

// The name of a record may be the secret of a visitor, as in passOn. Whoever sees the traces must not learn it.
func TestTracingExportsNoQuery(t *testing.T) {
	for _, conventions := range []string{"", "http/dup"} { // the second has the URL twice
		t.Setenv("OTEL_SEMCONV_STABILITY_OPT_IN", conventions)
		spans := spansOf(t, func() {
			srv := aicontenttest.NewServer(t)
			names, err := once.New(srv.Client(tracing()), once.InMemory())
			require.NoError(t, err)
			_, _, err = names.Images.Store(t.Context(), image)
			require.NoError(t, err)
			require.Equal(t, "Lighthouse", srv.Requests()[0].Query.Get("search"), "the service gets it")
		})
		addresses := 0
		for _, span := range spans {
			for _, a := range span.Attributes {
				assert.NotContains(t, a.Value.String(), "Lighthouse", a.Key)
				if strings.Contains(a.Value.String(), "/api/v1/images") {
					addresses++
				}
			}
		}
		assert.GreaterOrEqual(t, addresses, 2, "the path is of use, and no secret")
	}
}

// traced calls test for both ways to trace requests, and for Store calls without and with a file.
func traced(t *testing.T, test func(t *testing.T, way aicontent.Option, op aicontent.Operation)) {
	client := &http.Client{Transport: otelhttp.NewTransport(http.DefaultTransport)}
	t.Cleanup(client.CloseIdleConnections)
	for name, way := range map[string]aicontent.Option{
		"WithHTTPClient": aicontent.WithHTTPClient(client),
		"WithMiddleware": tracing(),
	} {
		for _, op := range []aicontent.Operation{aicontent.ImagesStore, aicontent.TranscriptionsStore} {
			t.Run(name+"/"+string(op), func(t *testing.T) { test(t, way, op) })
		}
	}
}

func store(ctx context.Context, c *aicontent.Client, op aicontent.Operation) (err error) {
	if op == aicontent.ImagesStore {
		_, err = c.Images.Store(ctx, image)
		return err
	}
	wav := aicontent.FileFromBytes("interview.wav", []byte("RIFF\x04\x00\x00\x00WAVE"))
	_, err = c.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{Name: "Interview", File: wav})
	return err
}

var quick = aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 3, MinBackoff: 1, MaxBackoff: 1})

// A service that is down has created nothing, and may be up a moment later. Below another RoundTripper the SDK sees no
// connections, so a Store of an image is Unknown there.
func TestTracingKnowsWhatWasNotSent(t *testing.T) {
	traced(t, func(t *testing.T, way aicontent.Option, op aicontent.Operation) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, l.Close())
		c, err := aicontent.NewClient("http://"+l.Addr().String(), "test-key", way, quick)
		require.NoError(t, err)

		err = store(t.Context(), c, op)
		var lost *aicontent.CallError
		require.ErrorAs(t, err, &lost)
		outcome, attempts := aicontent.OutcomeNotExecuted, 3
		if strings.Contains(t.Name(), "WithHTTPClient/images") {
			outcome, attempts = aicontent.OutcomeUnknown, 1
		}
		assert.Equal(t, outcome, aicontent.OutcomeOf(err), "%v", err)
		assert.Equal(t, attempts, lost.Attempts)
	})
}

// A record whose response was lost must not be created a second time.
func TestTracingKnowsWhatMayBeThere(t *testing.T) {
	traced(t, func(t *testing.T, way aicontent.Option, op aicontent.Operation) {
		srv := aicontenttest.NewServer(t)
		srv.Fault(aicontenttest.LoseResponse())
		c := srv.Client(way, quick)
		err := store(t.Context(), c, op)
		assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
		assert.Len(t, srv.Requests(), 1)
		assert.Len(t, srv.Records(), 1)
	})
}
