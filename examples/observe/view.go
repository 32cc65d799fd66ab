package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// A view prints each call when it has ended, with its attempts: when each began, how long it took, and what it was.
type view struct {
	out      io.Writer
	attempts map[trace.SpanID][]sdktrace.ReadOnlySpan // by call
}

func (v *view) Shutdown(context.Context) error { return nil }

func (v *view) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	var text strings.Builder
	for _, span := range spans {
		if parent := span.Parent(); parent.IsValid() {
			v.attempts[parent.SpanID()] = append(v.attempts[parent.SpanID()], span)
			continue
		}
		id := span.SpanContext().SpanID()
		fmt.Fprintf(&text, "\ntrace %s\n", span.SpanContext().TraceID())
		for i, s := range append([]sdktrace.ReadOnlySpan{span}, v.attempts[id]...) {
			const unit = 100 * time.Microsecond
			at := s.StartTime().Sub(span.StartTime()).Round(unit)
			took := s.EndTime().Sub(s.StartTime()).Round(unit)
			name := strings.Repeat("  ", min(i, 1)) + s.Name()
			set, _ := attribute.NewSetWithFiltered(s.Attributes(), attribute.NewDenyKeysFilter(
				semconv.HTTPRequestMethodKey, semconv.ServerAddressKey, semconv.ServerPortKey)) // said elsewhere
			rest := set.Encoded(attribute.DefaultEncoder())
			fmt.Fprintf(&text, "%-22s %8v %8v  %s\n", name, "+"+at.String(), took, rest)
		}
		text.WriteString("\n")
		delete(v.attempts, id)
	}
	_, err := io.WriteString(v.out, text.String())
	return err
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
