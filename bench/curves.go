package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// curves are the colours of the SDKs' curves, on light ground and on dark.
var curves = map[string][2]string{
	clients.Reference: {"#59636e", "#9198a1"},
	"openai-go":       {"#1a7f37", "#3fb950"},
	"go-openai":       {"#9a6700", "#d29922"},
	"go-github":       {"#8250df", "#ab7df8"},
	"resty":           {"#0969da", "#4493f8"},
	"hcloud-go":       {"#bf3989", "#db61a2"},
	clients.Ours:      {"#bc4c00", "#f0883e"},
}

// curveClass is an SDK's class in a drawing.
func curveClass(sdk string) string { return "sdk-" + strings.NewReplacer("/", "-").Replace(sdk) }

func curveStyles(theme int) string {
	var b strings.Builder
	for _, sdk := range clients.All() {
		colour := curves[sdk.Name][theme]
		fmt.Fprintf(&b, ".%[1]s.curve { stroke: %[2]s } .%[1]s.dot, text.%[1]s { fill: %[2]s }\n", curveClass(sdk.Name), colour)
	}
	return strings.TrimSpace(b.String())
}

// drawMemory draws the peak memory of an upload over the size of the file, both logarithmic.
func drawMemory(path string, r *Results) error {
	const left, right, top, bottom = 96.0, drawingWidth - 110.0, 76.0, 400.0
	d := newDrawing("Peak memory of an upload", "Over the memory at the start of the program. Lower is better. Both scales are logarithmic.", bottom+56)
	x := func(size float64) float64 { return left + 20 + math.Log2(size)/12*(right-left-20) }
	y := func(size float64) float64 { return bottom - (math.Log2(max(size, 1.0/16))+4)/16*(bottom-top) }
	for exponent := -4; exponent <= 12; exponent += 2 {
		size := math.Pow(2, float64(exponent))
		d.line("grid", left, y(size), right, y(size))
		d.text(left-8, y(size)+4, "muted", "end", sizeText(size))
	}
	for exponent := 0; exponent <= 12; exponent += 2 {
		size := math.Pow(2, float64(exponent))
		d.line("grid", x(size), top, x(size), bottom)
		d.text(x(size), bottom+18, "muted", "middle", sizeText(size))
	}
	d.line("axis", left, bottom, right, bottom)
	d.line("axis", left, top, left, bottom)
	d.text((left+right)/2, bottom+40, "muted", "middle", "size of the file")
	fmt.Fprintf(d, `<text class="muted" x="%.1f" y="%.1f" text-anchor="middle" transform="rotate(-90 20 %[2]g)">peak memory over start</text>`+"\n", 20.0, (top+bottom)/2)
	var labels []label
	for _, sdk := range clients.All() {
		points := memoryPoints(r, sdk.Name)
		if len(points) == 0 {
			continue
		}
		class, path := curveClass(sdk.Name), ""
		if sdk.Name == clients.Ours {
			class += " ours"
		}
		for i, p := range points {
			path += fmt.Sprintf("%s%.1f %.1f", []string{"M", "L"}[min(i, 1)], x(p[0]), y(p[1]))
			fmt.Fprintf(d, `<circle class="%s dot" cx="%.1f" cy="%.1f" r="3.5"/>`+"\n", class, x(p[0]), y(p[1]))
		}
		fmt.Fprintf(d, `<path class="%s curve" d="%s"/>`+"\n", class, path)
		last := points[len(points)-1]
		labels = append(labels, label{x: x(last[0]), y: y(last[1]), at: y(last[1]), class: class, text: sdk.Name})
	}
	for _, l := range spread(labels, 15) {
		d.line("axis", l.x+5, l.at, l.x+14, l.y)
		d.text(l.x+18, l.y+4, l.class+" strong", "start", l.text)
	}
	return d.save(path)
}

// memoryPoints are the sizes of the uploads and their peaks, in MiB.
func memoryPoints(r *Results, sdk string) (points [][2]float64) {
	for _, f := range r.Figures {
		var size float64
		if f.SDK != sdk || f.Measure != peak || f.Value.Median <= 0 {
			continue
		}
		if n, _ := fmt.Sscanf(f.Work, "upload %f MiB", &size); n == 1 {
			points = append(points, [2]float64{size, f.Value.Median / mib})
		}
	}
	return points
}

func sizeText(size float64) string {
	switch {
	case size >= 1024:
		return fmt.Sprintf("%g GiB", size/1024)
	case size >= 1:
		return fmt.Sprintf("%g MiB", size)
	}
	return fmt.Sprintf("%g KiB", size*1024)
}

// label is the name at the end of a curve, at the height y; the curve ends at the height at.
type label struct {
	x, y, at    float64
	class, text string
}

// spread moves labels at the same x apart, so that none covers another.
func spread(labels []label, gap float64) []label {
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	for range len(labels) * 10 {
		for i := 1; i < len(labels); i++ {
			a, b := &labels[i-1], &labels[i]
			if overlap := gap - (b.y - a.y); a.x == b.x && overlap > 0.01 {
				a.y -= overlap / 2
				b.y += overlap / 2
			}
		}
	}
	return labels
}
