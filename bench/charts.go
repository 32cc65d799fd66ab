package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"

	"github.com/aicontent/aicontent-go/bench/clients"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// charts are the drawings of a run, by file name.
var charts = map[string]func(string, *Results) error{
	"memory.svg": drawMemory,
	"list.svg": barChart{
		"Time of a list of 100 records. Shorter is better.\nMedian of one call.", "time, µs", "not measured", 1e-3,
		[]series{
			{"transport in memory: the client's work alone", "list, stub", nanoseconds},
			{"over loopback, to a server in another process", "list, loopback", nanoseconds},
		},
	}.draw,
	"twice.svg": barChart{
		"Records made twice under faults. Shorter is better.\nEach operation creates one record and meets a fault, or two.",
		"operations that made more than one record", "no retries", 1,
		[]series{{asItComes, defaultRetries, madeTwice}, {asDocumented, documentedRetries, madeTwice}},
	}.draw,
	"outage.svg": barChart{
		fmt.Sprintf("Requests in an outage. Shorter is better.\n"+
			"What %d calls at once become while a gateway answers each request with 502.", outageCalls),
		"requests sent", "no retries", 1,
		[]series{
			{asItComes, outageWork(badGateway), requests},
			{asDocumented, outageWork(badGateway), requestsDocumented},
		},
	}.draw,
	"walk.svg": barChart{
		fmt.Sprintf("Time of a walk over %d pages. Shorter is better.\nEach response takes %d ms.",
			latencyPages, latency.Milliseconds()),
		"time, s", "", 1,
		[]series{
			{"a page at a time", latencyWork, seconds},
			{fmt.Sprintf("%d pages ahead", pagesAhead), aheadWork, seconds},
		},
	}.draw,
}

const (
	asItComes    = "as it comes"
	asDocumented = "retries as documented"
)

// The colours of the first and the second series.
var (
	ourColours   = []color.Color{color.RGBA{0xbc, 0x4c, 0, 0xff}, color.RGBA{0xf3, 0xa2, 0x69, 0xff}}
	otherColours = []color.Color{color.Gray{0x77}, color.Gray{0xbb}}
)

// newPlot is an empty picture.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.Legend.TextStyle,
		&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		style.Font.Variant, style.Font.Size = "Sans", 9
	}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, 2
	return p
}

// save paints the ground, as a page may be dark, and leaves a margin. The height is in points.
func save(p *plot.Plot, height vg.Length, path string) error {
	const margin = 10
	picture := vgsvg.New(570, height)
	canvas := draw.New(picture)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	p.Draw(draw.Crop(canvas, margin, -2*margin, margin, -margin))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = picture.WriteTo(f)
	return errors.Join(err, f.Close())
}

// barChart has a row for each SDK, with a bar for each series.
type barChart struct {
	title, axis string
	missing     string  // stands where there is no figure
	scale       float64 // of the figures
	series      []series
}

// series is a bar for each SDK: the median of a measure.
type series struct {
	name    string
	work    string
	measure measure
}

const barWidth = 11

// draw draws the bars from left to right, the first SDK at the top.
func (c barChart) draw(path string, r *Results) error {
	p := newPlot(c.title, c.axis, "")
	p.Title.Padding, p.Legend.YOffs = 42, 34 // the legend stands above the bars
	sdks := clients.All()
	names := make([]string, len(sdks))
	for i, sdk := range sdks {
		names[len(sdks)-1-i] = sdk.Name
	}
	for i := range c.series {
		if err := c.add(p, i, names, r); err != nil {
			return err
		}
	}
	p.NominalY(names...)
	p.X.Min, p.X.Tick.Marker = 0, plot.DefaultTicks{}
	return save(p, vg.Length(130+len(names)*(len(c.series)*barWidth+8)), path)
}

// add adds the bars of a series, and the figures after them.
func (c barChart) add(p *plot.Plot, at int, names []string, r *Results) error {
	ours, others := make(plotter.Values, len(names)), make(plotter.Values, len(names))
	var texts plotter.XYLabels
	for y, name := range names {
		value, label := 0.0, c.missing
		if f := r.find(c.series[at].work, name, c.series[at].measure); f != nil {
			value = f.Value.Median * c.scale
			label = number(value)
		}
		texts.XYs = append(texts.XYs, plotter.XY{X: value, Y: float64(y)})
		texts.Labels = append(texts.Labels, label)
		if name == clients.Ours {
			ours[y] = value
		} else {
			others[y] = value
		}
	}
	offset := vg.Length(barWidth) * (vg.Length(len(c.series)-1)/2 - vg.Length(at))
	add := func(values plotter.Values, colour color.Color) (*plotter.BarChart, error) {
		bars, err := plotter.NewBarChart(values, barWidth)
		if err != nil {
			return nil, err
		}
		bars.Horizontal, bars.Color, bars.Offset, bars.LineStyle.Width = true, colour, offset, 0
		p.Add(bars)
		return bars, nil
	}
	_, err := add(ours, ourColours[at])
	bars, other := add(others, otherColours[at])
	if err := errors.Join(err, other); err != nil {
		return err
	}
	p.Legend.Add(c.series[at].name, bars)
	return addTexts(p, texts, offset)
}

// addTexts adds the texts after the bars with that offset.
func addTexts(p *plot.Plot, texts plotter.XYLabels, offset vg.Length) error {
	labels, err := plotter.NewLabels(texts)
	if err != nil {
		return err
	}
	labels.Offset = vg.Point{X: 4, Y: offset}
	for i := range labels.TextStyle {
		labels.TextStyle[i] = p.Legend.TextStyle
		labels.TextStyle[i].YAlign = draw.YCenter
	}
	p.Add(labels)
	return nil
}

// curves are the colours of the SDKs' curves, in the order of the SDKs.
var curves = []color.Color{
	color.RGBA{0x59, 0x63, 0x6e, 0xff}, color.RGBA{0x1a, 0x7f, 0x37, 0xff}, color.RGBA{0x9a, 0x67, 0x00, 0xff},
	color.RGBA{0x82, 0x50, 0xdf, 0xff}, color.RGBA{0x09, 0x69, 0xda, 0xff}, color.RGBA{0xbf, 0x39, 0x89, 0xff},
	ourColours[0],
}

// drawMemory draws the peak memory of an upload over the size of the file, both logarithmic.
func drawMemory(path string, r *Results) error {
	p := newPlot("Peak memory of an upload. Lower is better.\n"+
		"Over the memory at the start of the program. Both scales are logarithmic.",
		"size of the file, MiB", "peak memory over start, MiB")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = powers(0, 12), powers(-4, 12)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 1, 1<<12, 1.0/16, 1<<12
	p.Title.Padding, p.Legend.XOffs, p.Legend.YOffs = 8, 12, -4
	p.Add(plotter.NewGrid())
	for i, sdk := range clients.All() {
		points := memoryPoints(r, sdk.Name)
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, line.Width, dots.Shape, dots.Color = curves[i], 1.25, plotutil.Shape(i), curves[i]
		if sdk.Name == clients.Ours {
			line.Width = 2.5
		}
		p.Add(line, dots)
		p.Legend.Add(sdk.Name, line, dots)
	}
	return save(p, 360, path)
}

// memoryPoints are the sizes of the uploads and their peaks, in MiB.
func memoryPoints(r *Results, sdk string) (points plotter.XYs) {
	for _, f := range r.Figures {
		var size float64
		if f.SDK != sdk || f.Measure != peak || f.Value.Median <= 0 {
			continue
		}
		if n, _ := fmt.Sscanf(f.Work, "upload %f MiB", &size); n == 1 {
			points = append(points, plotter.XY{X: size, Y: max(f.Value.Median/mib, 1.0/16)})
		}
	}
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
