package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/aicontent/aicontent-go"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/aicontent/aicontent-go/examples/observe"

// terminalAlone sends nothing that the variables do not ask for: exporters would look for a collector on this machine.
func terminalAlone() {
	for _, signal := range []string{"TRACES", "METRICS", "LOGS"} {
		exporter, endpoint := "OTEL_"+signal+"_EXPORTER", "OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"
		if cmp.Or(os.Getenv(exporter), os.Getenv(endpoint), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) == "" {
			os.Setenv(exporter, "none")
		}
	}
}

// observed makes a client whose spans and log lines appear on the terminal, and with its metrics wherever the OTEL_
// variables say. End sends what is left: a collector that is down costs three seconds at most, and fails nothing.
func observed(ctx context.Context, base, key string, out io.Writer) (
	client *aicontent.Client, end func(context.Context), err error,
) {
	process, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("aicontent-observe")),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // OTEL_SERVICE_NAME wins
	toSpans, errSpans := autoexport.NewSpanExporter(ctx)
	toMetrics, errMetrics := autoexport.NewMetricReader(ctx)
	toLogs, errLogs := autoexport.NewLogExporter(ctx)
	if err := errors.Join(err, errSpans, errMetrics, errLogs); err != nil {
		return nil, nil, err
	}
	spans := sdktrace.NewTracerProvider(sdktrace.WithResource(process), sdktrace.WithBatcher(toSpans),
		sdktrace.WithSyncer(&view{out, map[trace.SpanID][]sdktrace.ReadOnlySpan{}}))
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithResource(process), sdkmetric.WithReader(toMetrics))
	logs := sdklog.NewLoggerProvider(sdklog.WithResource(process),
		sdklog.WithProcessor(sdklog.NewBatchProcessor(toLogs)))
	otel.SetTracerProvider(spans)
	attempts, err := newAttempts(metrics.Meter(scope), base)
	if err != nil {
		return nil, nil, err
	}
	terminal := traced{slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})}
	collector := otelslog.NewHandler(scope, otelslog.WithLoggerProvider(logs))
	client, err = aicontent.NewClient(base, key,
		aicontent.WithAttemptHook(attempts.hook),
		aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return propagate{next} }),
		aicontent.WithLogger(slog.New(slog.NewMultiHandler(terminal, collector))))
	return client, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if err := errors.Join(spans.Shutdown(ctx), metrics.Shutdown(ctx), logs.Shutdown(ctx)); err != nil {
			otel.Handle(err)
		}
	}, err
}

// propagate sends the call's span in the header traceparent, so that the service can join the trace.
type propagate struct{ next http.RoundTripper }

func (p propagate) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	propagation.TraceContext{}.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	return p.next.RoundTrip(r)
}

// call runs an SDK call in a span. The spans of its attempts are its children.
func call(ctx context.Context, op string, f func(context.Context) error) error {
	ctx, span := otel.Tracer(scope).Start(ctx, op)
	defer span.End()
	err := f(ctx)
	span.SetAttributes(came(span, aicontent.OutcomeOf(err), err)...)
	return err
}

// came is what came of a call or an attempt. The text of an error may quote a response, so only its kind is exported.
func came(span trace.Span, outcome aicontent.Outcome, err error) []attribute.KeyValue {
	result := []attribute.KeyValue{attribute.String("aicontent.outcome", outcome.String())}
	if err != nil {
		span.SetStatus(codes.Error, "")
		kind := fmt.Sprintf("%T", err)
		if api, ok := errors.AsType[*aicontent.APIError](err); ok {
			kind = strconv.Itoa(api.StatusCode)
		}
		result = append(result, semconv.ErrorTypeKey.String(kind))
	}
	return result
}

// attempts measures the attempts of a client.
type attempts struct {
	origin   string
	server   []attribute.KeyValue
	duration metric.Float64Histogram
	sent     metric.Int64Counter
	budget   metric.Int64Gauge
}

func newAttempts(meter metric.Meter, base string) (*attempts, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("AICONTENT_BASE_URL is not a URL") // the error would quote a password
	}
	port, _ := strconv.Atoi(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	a := &attempts{
		origin: u.Scheme + "://" + u.Host,
		server: []attribute.KeyValue{semconv.ServerAddress(u.Hostname()), semconv.ServerPort(port)},
	}
	var errs [3]error
	a.duration, errs[0] = meter.Float64Histogram("http.client.request.duration", metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600))
	a.sent, errs[1] = meter.Int64Counter("aicontent.sent", metric.WithUnit("By"))
	a.budget, errs[2] = meter.Int64Gauge("aicontent.retry_budget") // -1 is no limit
	return a, errors.Join(errs[:]...)
}

// hook is an attempt hook for [aicontent.WithAttemptHook]. It makes a span for the attempt, below the call's.
func (m *attempts) hook(ctx context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
	op := attribute.String("aicontent.operation", string(a.Operation))
	request := append([]attribute.KeyValue{op, semconv.HTTPRequestMethodKey.String(a.Method)}, m.server...)
	_, span := otel.Tracer(scope).Start(ctx, a.Method, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(request...), trace.WithAttributes(semconv.URLFull(m.origin+a.Path)))
	if a.Number > 1 {
		span.SetAttributes(semconv.HTTPRequestResendCount(a.Number - 1))
	}
	return func(res aicontent.AttemptResult) {
		defer span.End()
		result := came(span, res.Outcome, res.Err)
		if res.StatusCode != 0 {
			result = append(result, semconv.HTTPResponseStatusCode(res.StatusCode))
		}
		span.SetAttributes(append(result, semconv.HTTPRequestSize(int(res.BytesSent)))...)
		if res.WillRetry {
			span.SetAttributes(attribute.String("aicontent.pause", res.Pause.Round(time.Millisecond).String()))
		}
		m.duration.Record(ctx, res.Duration.Seconds(), metric.WithAttributes(slices.Concat(request, result)...))
		m.sent.Add(ctx, res.BytesSent, metric.WithAttributes(op))
		m.budget.Record(ctx, int64(res.Budget))
	}, nil
}
