package main

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
var charts = map[string]chart{
	"memory.svg": memoryChart{},
	"list.svg": barChart{
		"Time of a list of 100 records\nMedian of one call. Shorter is better.", "time, µs", "not measured", 1e-3,
		[]series{
			{"in memory: the client's work alone", "list, stub", nanoseconds},
			{"over loopback, to another process", "list, loopback", nanoseconds},
		},
	},
	"twice.svg": barChart{
		"Records made twice under faults\n" +
			"Each operation creates one record,\nand meets a fault, or two. Shorter is better.",
		"operations that made more than one record", "no retries", 1,
		[]series{{asItComes, defaultRetries, madeTwice}, {asDocumented, documentedRetries, madeTwice}},
	},
	"outage.svg": barChart{
		fmt.Sprintf("Requests in an outage\nWhat %d calls at once become while a gateway\n"+
			"responds with 502 to each. Shorter is better.", outageCalls),
		"requests sent", "no retries", 1,
		[]series{
			{asItComes, outageWork(badGateway), requests},
			{asDocumented, outageWork(badGateway), requestsDocumented},
		},
	},
	"walk.svg": barChart{
		fmt.Sprintf("Time of a walk over %d pages\nEach response takes %d ms. Shorter is better.",
			latencyPages, latency.Milliseconds()),
		"time, s", "", 1,
		[]series{
			{"a page at a time", latencyWork, seconds},
			{fmt.Sprintf("%d pages ahead", pagesAhead), aheadWork, seconds},
		},
	},
}

// A chart draws some of a run's figures. It returns nil if the run has none of them.
type chart interface {
	draw(*Results) ([]byte, error)
}

// drawAll draws the charts into the directory. A chart of another run that this one has no figures for goes.
func drawAll(dir string, r *Results) error {
	for name, c := range charts {
		path := filepath.Join(dir, name)
		picture, err := c.draw(r)
		switch {
		case err != nil:
		case picture != nil:
			err = replaceFile(path, picture)
		default:
			if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

const (
	asItComes    = "as it comes"
	asDocumented = "retries as documented"
)

// The measures of pictures, in points: narrow, and with large texts, for phones.
const (
	width    = 320
	fontSize = 10
	margin   = 8
	rowSize  = fontSize + 3 // of the legend
)

// newPlot is an empty picture. Its legend, of that many rows, stands between the title and the data.
func newPlot(title, x string, rows int) *plot.Plot {
	p := plot.New()
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.Legend.TextStyle,
		&p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		style.Font.Variant, style.Font.Size = "Sans", fontSize
	}
	for _, line := range []*draw.LineStyle{
		&p.X.LineStyle, &p.X.Tick.LineStyle, &p.Y.LineStyle, &p.Y.Tick.LineStyle,
	} {
		line.Color = axis.light
	}
	p.Title.Text, p.X.Label.Text = title, x
	p.Title.Padding = vg.Length(rows*rowSize + 12)
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, 2
	p.Legend.YOffs = vg.Length(rows*rowSize + 6)
	return p
}

// render paints the ground and leaves a margin. The height is in points.
func render(p *plot.Plot, height vg.Length) ([]byte, error) {
	picture := vgsvg.New(width, height)
	canvas := draw.New(picture)
	canvas.SetColor(ground.light)
	canvas.Fill(canvas.Rectangle.Path())
	p.BackgroundColor = nil
	p.Draw(draw.Crop(canvas, margin, -margin, margin, -margin))
	var b bytes.Buffer
	_, err := picture.WriteTo(&b)
	return themed(b.Bytes()), err
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
func (c barChart) draw(r *Results) ([]byte, error) {
	c.series = slices.DeleteFunc(slices.Clone(c.series), func(s series) bool { return !s.measured(r) })
	if len(c.series) == 0 {
		return nil, nil
	}
	p := newPlot(c.title, c.axis, len(c.series))
	sdks := clients.All()
	names := make([]string, len(sdks))
	for i, sdk := range sdks {
		names[len(sdks)-1-i] = sdk.Name
	}
	for i := range c.series {
		if err := c.add(p, i, names, r); err != nil {
			return nil, err
		}
	}
	p.NominalY(names...)
	p.X.Min, p.X.Tick.Marker = 0, plot.DefaultTicks{}
	lines := strings.Count(c.title, "\n") + 1
	return render(p, vg.Length(76+lines*fontSize+len(c.series)*rowSize+len(names)*(len(c.series)*barWidth+8)))
}

func (s series) measured(r *Results) bool {
	return slices.ContainsFunc(clients.All(), func(sdk clients.SDK) bool {
		return r.find(s.work, sdk.Name, s.measure) != nil
	})
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
	_, err := add(ours, ourBars[at].light)
	bars, other := add(others, otherBars[at].light)
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

// memoryChart shows the peak memory of an upload over the size of the file, both logarithmic, of the SDKs that send a
// form.
type memoryChart struct{}

func (memoryChart) draw(r *Results) ([]byte, error) {
	var names []string
	for _, sdk := range clients.All() {
		if sdk.Form && len(memoryPoints(r, sdk.Name)) > 0 {
			names = append(names, sdk.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	p := newPlot("Peak memory of an upload, MiB\n"+
		"Over the memory at the start. Lower is better.\nLogarithmic scales. SDKs that send a form.",
		"size of the file, MiB", len(names))
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = powers(0, 12), powers(-4, 12)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 1, 1<<12, 1.0/16, 1<<12
	lines := plotter.NewGrid()
	lines.Vertical.Color, lines.Horizontal.Color = grid.light, grid.light
	p.Add(lines)
	for i, name := range names {
		line, dots, err := plotter.NewLinePoints(memoryPoints(r, name))
		if err != nil {
			return nil, err
		}
		colour := curves[i].light
		line.Color, line.Width, dots.Shape, dots.Color = colour, 1.25, plotutil.Shape(i), colour
		if name == clients.Ours {
			line.Width = 2.5
		}
		p.Add(line, dots)
		p.Legend.Add(name, line, dots)
	}
	return render(p, 330)
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
