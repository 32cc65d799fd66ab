package recipes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

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
