package main

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/aicontent/aicontent-go/bench/clients"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// memoryChart shows the peak memory of an upload over the size of the file, both logarithmic.
type memoryChart struct{}

// The smallest peak that the scale has, in MiB; less, and none at all, is drawn there.
const leastPeak = 1.0 / 16

func (memoryChart) draw(r *Results) ([]byte, error) {
	p := newPlot("Peak memory of an upload, MiB\n"+
		"Over the memory at the start. Lower is better.\nLogarithmic scales. Above 512 MiB, only those\n"+
		"that do not hold the file in memory.", "size of the file, MiB", 0)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = powers(0, 12), powers(-4, 12)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 1, 1<<12, leastPeak, 1<<12
	lines := plotter.NewGrid()
	lines.Vertical.Color, lines.Horizontal.Color = grid.light, grid.light
	p.Add(lines)
	names := &endLabels{style: p.Legend.TextStyle}
	for i, sdk := range clients.All() {
		points := memoryPoints(r, sdk.Name)
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		colour := curves[i].light
		line.Color, line.Width, dots.Shape, dots.Color = colour, 1.25, plotutil.Shape(i), colour
		if sdk.Name == clients.Ours {
			line.Width = 2.5
		}
		p.Add(line, dots)
		names.list = append(names.list, endLabel{points[len(points)-1], sdk.Name, colour})
	}
	if len(names.list) == 0 {
		return nil, nil
	}
	p.Add(names)
	return render(p, 330)
}

// memoryPoints are the sizes of the uploads and their peaks, in MiB, from the smallest.
func memoryPoints(r *Results, sdk string) (points plotter.XYs) {
	for _, f := range r.Figures {
		var size float64
		if f.SDK != sdk || f.Measure != peak {
			continue
		}
		if n, _ := fmt.Sscanf(f.Work, "upload %f MiB", &size); n == 1 {
			points = append(points, plotter.XY{X: size, Y: max(f.Value.Median/mib, leastPeak)})
		}
	}
	slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
	return points
}

// powers are the ticks at every second power of 2.
func powers(from, to int) (ticks plot.ConstantTicks) {
	for exponent := from; exponent <= to; exponent += 2 {
		v := math.Pow(2, float64(exponent))
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	return ticks
}

// endLabel is the name of a curve, which stands where it ends.
type endLabel struct {
	at     plotter.XY
	text   string
	colour color.Color
}

// endLabels writes names to the right of the curves' ends, one below the other where these are close.
type endLabels struct {
	list  []endLabel
	style text.Style
}

// What lies between the end of a curve and its name, and between the lines of two names.
const (
	labelGap  = 6
	labelLine = fontSize + 2
)

// Plot implements [plot.Plotter].
func (l *endLabels) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	slices.SortStableFunc(l.list, func(a, b endLabel) int {
		return cmp.Or(cmp.Compare(a.at.X, b.at.X), cmp.Compare(a.at.Y, b.at.Y))
	})
	for _, group := range chunked(l.list) {
		for i, y := range spreadOut(group, toY) {
			style := l.style
			style.Color, style.YAlign = group[i].colour, draw.YCenter
			c.FillText(style, vg.Point{X: toX(group[i].at.X) + labelGap, Y: y}, group[i].text)
		}
	}
}

// chunked are the labels of curves that end at the same place from left to right.
func chunked(list []endLabel) (groups [][]endLabel) {
	for i, label := range list {
		if i == 0 || label.at.X != list[i-1].at.X {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], label)
	}
	return groups
}

// spreadOut returns where labels stand, from the lowest, so that none lies over another. Those that are too close move
// apart by as little as it takes, up and down alike.
func spreadOut(labels []endLabel, toY func(float64) vg.Length) []vg.Length {
	at := make([]vg.Length, len(labels))
	for i, label := range labels {
		at[i] = toY(label.at.Y)
	}
	for range labels {
		for i := 1; i < len(at); i++ {
			if short := labelLine - (at[i] - at[i-1]); short > 0 {
				at[i-1], at[i] = at[i-1]-short/2, at[i]+short/2
			}
		}
	}
	// What is still too close goes up, above the axis.
	for i := range at {
		least := toY(leastPeak)
		if i > 0 {
			least = at[i-1] + labelLine
		}
		at[i] = max(at[i], least)
	}
	return at
}

// GlyphBoxes implements [plot.GlyphBoxer]: names need room to the right of the data.
func (l *endLabels) GlyphBoxes(p *plot.Plot) (boxes []plot.GlyphBox) {
	for _, label := range l.list {
		box := plot.GlyphBox{X: p.X.Norm(label.at.X), Y: p.Y.Norm(label.at.Y)}
		box.Max = vg.Point{X: labelGap + l.style.Width(label.text), Y: 1}
		boxes = append(boxes, box)
	}
	return boxes
}
