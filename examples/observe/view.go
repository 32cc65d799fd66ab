package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A spanView prints each call when it has ended, with its attempts: when each began, how long it took, and what it was.
type spanView struct {
	out      io.Writer
	attempts map[trace.SpanID][]sdktrace.ReadOnlySpan // by call
}

func newSpanView(out io.Writer) *spanView {
	return &spanView{out: out, attempts: make(map[trace.SpanID][]sdktrace.ReadOnlySpan)}
}

func (v *spanView) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, span := range spans {
		if parent := span.Parent(); parent.IsValid() {
			v.attempts[parent.SpanID()] = append(v.attempts[parent.SpanID()], span)
			continue
		}
		id := span.SpanContext().SpanID()
		fmt.Fprintf(v.out, "\ntrace %s\n", span.SpanContext().TraceID())
		for i, s := range append([]sdktrace.ReadOnlySpan{span}, v.attempts[id]...) {
			const unit = 100 * time.Microsecond
			at := s.StartTime().Sub(span.StartTime()).Round(unit)
			took := s.EndTime().Sub(s.StartTime()).Round(unit)
			name := strings.Repeat("  ", min(i, 1)) + s.Name()
			fmt.Fprintf(v.out, "%-22s %8v %8v  %s\n", name, "+"+at.String(), took, list(s.Attributes()))
		}
		fmt.Fprintln(v.out)
		delete(v.attempts, id)
	}
	return nil
}

func (v *spanView) Shutdown(context.Context) error { return nil }

func list(attributes []attribute.KeyValue) string {
	var words []string
	for _, a := range attributes {
		words = append(words, string(a.Key)+"="+a.Value.String())
	}
	return strings.Join(words, " ")
}

// printMetrics prints the current metrics.
func printMetrics(ctx context.Context, reader *sdkmetric.ManualReader, out io.Writer) error {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		return err
	}
	var rows []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			rows = append(rows, points(m)...)
		}
	}
	// The points of a metric come in any order.
	slices.Sort(rows)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nmetrics\n%s", strings.Join(rows, ""))
	return table.Flush()
}

// points are the rows of a metric.
func points(m metricdata.Metrics) (rows []string) {
	row := func(attributes attribute.Set, format string, values ...any) {
		start := fmt.Sprintf("%s\t%s\t", m.Name, list(attributes.ToSlice()))
		rows = append(rows, start+fmt.Sprintf(format, values...)+" "+m.Unit+"\n")
	}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			row(p.Attributes, "%d", p.Value)
		}
	case metricdata.Gauge[int64]:
		for _, p := range data.DataPoints {
			row(p.Attributes, "%d", p.Value)
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			row(p.Attributes, "%d, mean %.4f", p.Count, p.Sum/float64(p.Count))
		}
	}
	return rows
}
