package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// telemetry exports spans and metrics: to the terminal, and by OTLP if OTEL_EXPORTER_OTLP_ENDPOINT is set.
type telemetry struct {
	spans   *sdktrace.TracerProvider
	metrics *sdkmetric.MeterProvider
	local   *sdkmetric.ManualReader
	out     io.Writer
}

// newTelemetry sets the global providers. The exporters read further OTEL_ variables.
func newTelemetry(ctx context.Context, out io.Writer) (*telemetry, error) {
	local := sdkmetric.NewManualReader()
	readers := []sdkmetric.Option{sdkmetric.WithReader(local)}
	exporters := []sdktrace.TracerProviderOption{sdktrace.WithSyncer(discreet{newSpanView(out)})}
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" {
		spans, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, err
		}
		metrics, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, err
		}
		exporters = append(exporters, sdktrace.WithBatcher(discreet{spans}))
		readers = append(readers, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	}
	t := &telemetry{
		spans: sdktrace.NewTracerProvider(exporters...), metrics: sdkmetric.NewMeterProvider(readers...), local: local, out: out,
	}
	otel.SetTracerProvider(t.spans)
	otel.SetMeterProvider(t.metrics)
	return t, nil
}

// transport is a middleware for the SDK that traces each attempt and sends the header traceparent. The metrics of otelhttp are
// off, as those from the log lines say more.
func (t *telemetry) transport(next http.RoundTripper) http.RoundTripper {
	return otelhttp.NewTransport(next,
		otelhttp.WithTracerProvider(t.spans),
		otelhttp.WithMeterProvider(noop.NewMeterProvider()),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method }),
	)
}

// close prints the metrics and flushes the exporters.
func (t *telemetry) close(ctx context.Context) error {
	return errors.Join(printMetrics(ctx, t.local, t.out), t.spans.Shutdown(ctx), t.metrics.Shutdown(ctx))
}

// discreet removes what must not be exported: the query, which otelhttp includes in url.full, and the texts of errors, which may
// quote a response.
type discreet struct{ sdktrace.SpanExporter }

func (d discreet) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	for i, span := range spans {
		spans[i] = discreetSpan{span}
	}
	return d.SpanExporter.ExportSpans(ctx, spans)
}

type discreetSpan struct{ sdktrace.ReadOnlySpan }

func (s discreetSpan) Attributes() []attribute.KeyValue {
	attributes := append([]attribute.KeyValue(nil), s.ReadOnlySpan.Attributes()...)
	for i, a := range attributes {
		if a.Key == "url.full" {
			attributes[i].Value = attribute.StringValue(withoutQuery(a.Value.AsString()))
		}
	}
	return attributes
}

func (s discreetSpan) Status() sdktrace.Status {
	return sdktrace.Status{Code: s.ReadOnlySpan.Status().Code}
}

func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}
