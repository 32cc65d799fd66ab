package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/aicontent/aicontent-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// telemetry exports spans and metrics: to the terminal, and by OTLP if OTEL_EXPORTER_OTLP_ENDPOINT is set.
type telemetry struct {
	spans    *sdktrace.TracerProvider
	metrics  *sdkmetric.MeterProvider
	local    *sdkmetric.ManualReader
	attempts *attempts
	out      io.Writer
}

// newTelemetry sets the global tracer provider. The exporters read further OTEL_ variables.
func newTelemetry(ctx context.Context, out io.Writer) (*telemetry, error) {
	t := &telemetry{local: sdkmetric.NewManualReader(), out: out}
	readers := []sdkmetric.Option{sdkmetric.WithReader(t.local)}
	exporters := []sdktrace.TracerProviderOption{sdktrace.WithSyncer(newSpanView(out))}
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" {
		spans, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, err
		}
		metrics, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, err
		}
		exporters = append(exporters, sdktrace.WithBatcher(spans))
		readers = append(readers, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	}
	t.spans, t.metrics = sdktrace.NewTracerProvider(exporters...), sdkmetric.NewMeterProvider(readers...)
	otel.SetTracerProvider(t.spans)
	var err error
	t.attempts, err = newAttempts(t.metrics.Meter(scope))
	return t, err
}

// options are those of a client that is observed. The log lines are only for reading.
func (t *telemetry) options() []aicontent.Option {
	lines := slog.NewTextHandler(t.out, &slog.HandlerOptions{Level: slog.LevelDebug})
	return []aicontent.Option{
		aicontent.WithAttemptHook(t.attempts.hook),
		aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return propagate{next} }),
		aicontent.WithLogger(slog.New(traced{lines})),
	}
}

// close prints the metrics and flushes the exporters.
func (t *telemetry) close(ctx context.Context) error {
	return errors.Join(printMetrics(ctx, t.local, t.out), t.spans.Shutdown(ctx), t.metrics.Shutdown(ctx))
}

// propagate sends the call's span in the header traceparent, so that the service can join the trace.
type propagate struct{ next http.RoundTripper }

func (p propagate) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	propagation.TraceContext{}.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	return p.next.RoundTrip(r)
}

// traced adds the id of the trace to each log line.
type traced struct{ slog.Handler }

func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }
