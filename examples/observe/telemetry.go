package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aicontent/aicontent-go"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/aicontent/aicontent-go/examples/observe"

// telemetry returns options for a client whose spans are printed, and sent with its metrics wherever the OTEL_
// variables say. The function end sends the rest. A collector that is down delays it by three seconds at most, and
// fails nothing.
func telemetry(ctx context.Context, out io.Writer) (opts []aicontent.Option, end func(context.Context), err error) {
	setDefault("OTEL_SERVICE_NAME", "aicontent-observe")
	for _, signal := range []string{"TRACES", "METRICS"} {
		endpoint := os.Getenv("OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT")
		if cmp.Or(endpoint, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) == "" {
			setDefault("OTEL_"+signal+"_EXPORTER", "none") // or autoexport would look for a collector on this machine
		}
	}
	toTerminal, errTerminal := stdouttrace.New(stdouttrace.WithWriter(out))
	toCollector, errSpans := autoexport.NewSpanExporter(ctx)
	toMetrics, errMetrics := autoexport.NewMetricReader(ctx)
	if err := errors.Join(errTerminal, errSpans, errMetrics); err != nil {
		return nil, nil, err
	}
	spans := sdktrace.NewTracerProvider(sdktrace.WithSyncer(toTerminal), sdktrace.WithBatcher(toCollector))
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(toMetrics))
	otel.SetTracerProvider(spans)
	otel.SetMeterProvider(metrics)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	count, err := counted(metrics.Meter(scope))
	return []aicontent.Option{aicontent.WithMiddleware(traced), count}, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if err := errors.Join(spans.Shutdown(ctx), metrics.Shutdown(ctx)); err != nil {
			otel.Handle(err)
		}
	}, err
}

func setDefault(variable, value string) { os.Setenv(variable, cmp.Or(os.Getenv(variable), value)) }

// call runs an SDK call in a span. The spans of its attempts are its children.
func call(ctx context.Context, op string, f func(context.Context) error) error {
	ctx, span := otel.Tracer(scope).Start(ctx, op)
	defer span.End()
	err := f(ctx)
	span.SetAttributes(attribute.String("aicontent.outcome", aicontent.OutcomeOf(err).String()))
	if err != nil {
		span.SetStatus(codes.Error, "") // The text of the error may quote a response.
		span.SetAttributes(semconv.ErrorTypeKey.String(fmt.Sprintf("%T", err)))
	}
	return err
}

// counted counts the attempts by outcome, and adds each as an event to the span of its call.
func counted(meter metric.Meter) (aicontent.CallOption, error) {
	counter, errCounter := meter.Int64Counter("aicontent.attempts")
	budget, errBudget := meter.Int64Gauge("aicontent.retry_budget") // -1 means no limit.
	hook := func(ctx context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
		return func(res aicontent.AttemptResult) {
			result := attribute.NewSet(attribute.String("aicontent.operation", string(a.Operation)),
				attribute.String("aicontent.outcome", res.Outcome.String()),
				semconv.HTTPResponseStatusCode(res.StatusCode)) // 0 means that no response came.
			counter.Add(ctx, 1, metric.WithAttributeSet(result))
			budget.Record(ctx, int64(res.Budget))
			trace.SpanFromContext(ctx).AddEvent("attempt", trace.WithAttributes(result.ToSlice()...),
				trace.WithAttributes(attribute.Int64("aicontent.sent", res.BytesSent),
					attribute.String("aicontent.pause", res.Pause.Round(time.Millisecond).String())))
		}, nil
	}
	return aicontent.WithAttemptHook(hook), errors.Join(errCounter, errBudget)
}

// traced is a middleware that makes a span and metrics of each attempt with otelhttp, which also sends the header
// traceparent. It hides the query and the texts of errors from otelhttp, as both may hold secrets.
func traced(next http.RoundTripper) http.RoundTripper {
	type query struct{}
	instrumented := otelhttp.NewTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		r.URL.RawQuery = r.Context().Value(query{}).(string)
		resp, err := next.RoundTrip(r)
		if err != nil {
			err = hidden{err}
		}
		return resp, err
	}))
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		visible := r.Clone(context.WithValue(r.Context(), query{}, r.URL.RawQuery))
		visible.URL.RawQuery = ""
		resp, err := instrumented.RoundTrip(visible)
		if h, ok := err.(hidden); ok {
			err = h.err
		}
		return resp, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hidden is an error without its text.
type hidden struct{ err error }

func (h hidden) Error() string { return fmt.Sprintf("%T", h.err) }
