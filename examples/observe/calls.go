package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aicontent/aicontent-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/aicontent/aicontent-go/examples/observe"

// call runs an SDK call in a span. The spans of its attempts are its children.
func call[T any](ctx context.Context, op string, f func(context.Context) (T, error)) (T, error) {
	ctx, span := otel.Tracer(scope).Start(ctx, op)
	defer span.End()
	result, err := f(ctx)
	span.SetAttributes(attribute.String("outcome", aicontent.OutcomeOf(err).String()))
	fail(span, err)
	return result, err
}

// attempts measures the attempts of a client.
type attempts struct {
	count    metric.Int64Counter
	duration metric.Float64Histogram
	sent     metric.Int64Counter
	budget   metric.Int64Gauge
}

func newAttempts(meter metric.Meter) (*attempts, error) {
	a := new(attempts)
	var errs [4]error
	a.count, errs[0] = meter.Int64Counter("aicontent.attempts", metric.WithDescription("status 0 is no response"))
	a.duration, errs[1] = meter.Float64Histogram("aicontent.attempt.duration", metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600))
	a.sent, errs[2] = meter.Int64Counter("aicontent.sent", metric.WithUnit("By"))
	a.budget, errs[3] = meter.Int64Gauge("aicontent.retry_budget",
		metric.WithDescription("retries left; at 0 failures are no longer retried, -1 is no limit"))
	return a, errors.Join(errs[:]...)
}

// hook is an attempt hook for [aicontent.WithAttemptHook]. It makes a span for the attempt, below the call's.
func (m *attempts) hook(ctx context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
	_, span := otel.Tracer(scope).Start(ctx, a.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.Int("attempt", a.Number), attribute.String("url.path", a.Path)))
	return func(res aicontent.AttemptResult) {
		defer span.End()
		op := attribute.String("op", string(a.Operation))
		status := attribute.Int("status", res.StatusCode)
		outcome := attribute.String("outcome", res.Outcome.String())
		m.count.Add(ctx, 1, metric.WithAttributes(op, status, outcome))
		m.duration.Record(ctx, res.Duration.Seconds(), metric.WithAttributes(op, status))
		m.sent.Add(ctx, res.BytesSent, metric.WithAttributes(op))
		m.budget.Record(ctx, int64(res.Budget))
		span.SetAttributes(status, outcome, attribute.Int64("sent", res.BytesSent))
		if res.WillRetry {
			span.SetAttributes(attribute.String("pause", res.Pause.Round(time.Millisecond).String()))
		}
		fail(span, res.Err)
	}, nil
}

// fail marks a span as failed if err is not nil. The error's text may quote a response, so only its kind is exported.
func fail(span trace.Span, err error) {
	if err == nil {
		return
	}
	kind := fmt.Sprintf("%T", err)
	if api, ok := errors.AsType[*aicontent.APIError](err); ok {
		kind = strconv.Itoa(api.StatusCode)
	}
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, "")
}
