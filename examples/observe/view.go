package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A spanView prints each trace when its root has ended: the duration of each span, when it ran, and its attributes.
type spanView struct {
	mu       sync.Mutex
	out      io.Writer
	children map[trace.SpanID][]sdktrace.ReadOnlySpan // by parent
}

func newSpanView(out io.Writer) *spanView {
	return &spanView{out: out, children: make(map[trace.SpanID][]sdktrace.ReadOnlySpan)}
}

func (v *spanView) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, span := range spans {
		if parent := span.Parent().SpanID(); parent.IsValid() {
			v.children[parent] = append(v.children[parent], span)
			continue
		}
		fmt.Fprintf(v.out, "\ntrace %s\n", span.SpanContext().TraceID())
		v.print(span, span, "")
		fmt.Fprintln(v.out)
	}
	return nil
}

func (v *spanView) Shutdown(context.Context) error { return nil }

// print prints a span, its events and its children.
func (v *spanView) print(root, span sdktrace.ReadOnlySpan, indent string) {
	took := span.EndTime().Sub(span.StartTime())
	fmt.Fprintf(v.out, "%-22s %8s  %s\n", indent+span.Name(), took.Round(100*time.Microsecond), bar(root, span))
	attributes := slices.DeleteFunc(span.Attributes(), func(a attribute.KeyValue) bool {
		// The URL says enough about the server.
		return strings.HasPrefix(string(a.Key), "server.") || strings.HasPrefix(string(a.Key), "network.")
	})
	slices.SortFunc(attributes, func(a, b attribute.KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	fmt.Fprintf(v.out, "%s    %s\n", indent, list(attributes))
	for _, event := range span.Events() {
		fmt.Fprintf(v.out, "%s    +%s %s: %s\n", indent, event.Time.Sub(span.StartTime()).Round(100*time.Microsecond), event.Name, list(event.Attributes))
	}
	id := span.SpanContext().SpanID()
	for _, child := range v.children[id] {
		v.print(root, child, indent+"  ")
	}
	delete(v.children, id)
}

// bar draws when the span ran within the root.
func bar(root, span sdktrace.ReadOnlySpan) string {
	const width = 40
	whole := max(root.EndTime().Sub(root.StartTime()), 1)
	at := func(t time.Time) int { return min(width, int(width*t.Sub(root.StartTime())/whole)) }
	from := min(at(span.StartTime()), width-1)
	return strings.Repeat(" ", from) + strings.Repeat("█", max(at(span.EndTime())-from, 1))
}

func list(attributes []attribute.KeyValue) string {
	var words []string
	for _, a := range attributes {
		words = append(words, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}
	return strings.Join(words, " ")
}

// printMetrics prints the current metrics.
func printMetrics(ctx context.Context, reader *sdkmetric.ManualReader, out io.Writer) error {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nmetrics")
	var rows []string
	row := func(name string, attributes attribute.Set, value string) {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\n", name, list(attributes.ToSlice()), value))
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					row(m.Name, p.Attributes, fmt.Sprint(p.Value, " ", m.Unit))
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					row(m.Name, p.Attributes, fmt.Sprint(p.Value, " ", m.Unit))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					row(m.Name, p.Attributes, fmt.Sprintf("%d, mean %.4f %s", p.Count, p.Sum/float64(p.Count), m.Unit))
				}
			}
		}
	}
	// The points of a metric come in any order.
	slices.Sort(rows)
	fmt.Fprint(table, strings.Join(rows, ""))
	return table.Flush()
}
