package main

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// handler returns an slog.Handler that measures the attempts that the SDK logs and adds them as events to the call's span. It
// passes all lines on to next, with the ids of trace and span.
func (t *telemetry) handler(next slog.Handler) (slog.Handler, error) {
	meter := t.metrics.Meter(scope)
	h := &logHandler{next: next, instruments: new(instruments)}
	var errs [4]error
	h.attempts, errs[0] = meter.Int64Counter("aicontent.attempts",
		metric.WithDescription("attempts by operation, status and outcome; status 0 is no response"))
	h.duration, errs[1] = meter.Float64Histogram("aicontent.attempt.duration", metric.WithUnit("s"),
		metric.WithDescription("time from the start of an attempt to its end"),
		metric.WithExplicitBucketBoundaries(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600))
	h.sent, errs[2] = meter.Int64Counter("aicontent.sent", metric.WithUnit("By"),
		metric.WithDescription("bytes of requests sent, failed attempts included"))
	h.budget, errs[3] = meter.Int64Gauge("aicontent.retry_budget",
		metric.WithDescription("retries left in the client's budget; 0 means that failures are no longer retried"))
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return h, nil
}

type logHandler struct {
	next slog.Handler
	*instruments
}

type instruments struct {
	attempts metric.Int64Counter
	duration metric.Float64Histogram
	sent     metric.Int64Counter
	budget   metric.Int64Gauge
}

// Enabled is always true, as the metrics come from debug lines.
func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.count(ctx, r)
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.next.Handle(ctx, r)
}

// count measures an attempt. Other lines have no attribute "attempt".
func (h *logHandler) count(ctx context.Context, r slog.Record) {
	line := make(map[string]slog.Value)
	r.Attrs(func(a slog.Attr) bool {
		line[a.Key] = a.Value.Resolve()
		return true
	})
	if _, found := line["attempt"]; !found {
		return
	}
	op := attribute.String("op", line["op"].String())
	status := attribute.Int64("status", number(line["status"]))
	outcome := attribute.String("outcome", line["outcome"].String())
	h.attempts.Add(ctx, 1, metric.WithAttributes(op, status, outcome))
	h.sent.Add(ctx, number(line["sent"]), metric.WithAttributes(op))
	h.budget.Record(ctx, number(line["budget"]))
	event := []attribute.KeyValue{
		attribute.Int64("attempt", number(line["attempt"])), status, outcome, attribute.Int64("sent", number(line["sent"])),
	}
	if took := line["took"]; took.Kind() == slog.KindDuration {
		h.duration.Record(ctx, took.Duration().Seconds(), metric.WithAttributes(op, status))
	}
	if pause := line["pause"]; pause.Kind() == slog.KindDuration {
		event = append(event, attribute.String("pause", pause.Duration().Round(time.Millisecond).String()))
	}
	trace.SpanFromContext(ctx).AddEvent("attempt", trace.WithAttributes(event...))
}

// number returns an integer, or 0 if v is none.
func number(v slog.Value) int64 {
	if v.Kind() != slog.KindInt64 {
		return 0
	}
	return v.Int64()
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.next.WithAttrs(attrs), h.instruments}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.next.WithGroup(name), h.instruments}
}
