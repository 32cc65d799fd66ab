package main

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// colours tell the SDKs apart, this one and the reference most of all.
var colours = map[string]color.Color{
	clients.Reference: color.RGBA{0x55, 0x55, 0x55, 0xff},
	"openai-go":       color.RGBA{0x4c, 0x9f, 0x70, 0xff},
	"go-openai":       color.RGBA{0xc9, 0x9a, 0x2e, 0xff},
	"go-github":       color.RGBA{0x7a, 0x5f, 0xb5, 0xff},
	"resty":           color.RGBA{0x2e, 0x8b, 0xa8, 0xff},
	"hcloud-go":       color.RGBA{0xb5, 0x5f, 0x8e, 0xff},
	clients.Ours:      color.RGBA{0xd6, 0x3a, 0x2f, 0xff},
}

const (
	chartWidth  = 7.5 * vg.Inch
	chartHeight = 4 * vg.Inch
)

// newChart has a white ground, as a page may be dark.
func newChart(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding = vg.Points(8)
	p.BackgroundColor = color.White
	p.Legend.Padding = vg.Points(2)
	return p
}

// drawMemory draws the peak memory of an upload over the size of the file, both logarithmic.
func drawMemory(path string, r *Results) error {
	p := newChart("Peak memory over start while a file is uploaded")
	p.X.Label.Text, p.Y.Label.Text = "size of the file, MiB", "MiB"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = powersOfTwo{}, powersOfTwo{}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	drawn := false
	for _, sdk := range clients.All() {
		var points plotter.XYs
		for _, f := range r.Figures {
			var size float64
			if f.SDK != sdk.Name || f.Measure != peak {
				continue
			}
			if n, _ := fmt.Sscanf(f.Work, "upload %f MiB", &size); n == 1 && f.Value.Median > 0 {
				points = append(points, plotter.XY{X: size, Y: f.Value.Median / mib})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, dots.Color = colours[sdk.Name], colours[sdk.Name]
		line.Width = vg.Points(1.2)
		if sdk.Name == clients.Ours {
			line.Width = vg.Points(3)
		}
		p.Add(line, dots)
		p.Legend.Add(sdk.Name, line, dots)
		drawn = true
	}
	if !drawn {
		// A logarithmic axis needs something to show.
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 1, 2, 1, 2
	}
	return p.Save(chartWidth, chartHeight, path)
}

// powersOfTwo marks a logarithmic axis at every fourth power.
type powersOfTwo struct{}

func (powersOfTwo) Ticks(least, greatest float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log2(least)); e <= math.Log2(greatest)+1; e++ {
		tick := plot.Tick{Value: math.Pow(2, e)}
		if int(e)%2 == 0 {
			tick.Label = fmt.Sprintf("%g", tick.Value)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// wholeNumbers marks an axis at a few round values.
type wholeNumbers struct{}

func (wholeNumbers) Ticks(_, greatest float64) []plot.Tick {
	step := 1.0
	for _, factor := range []float64{2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2} {
		if greatest/step <= 6 {
			break
		}
		step *= factor
	}
	var ticks []plot.Tick
	for v := 0.0; v <= greatest; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: number(v)})
	}
	return ticks
}

// drawList draws the time of a list of 100 records, with the stub and over loopback.
func drawList(path string, r *Results) error {
	return drawBars(path, r, "A list of 100 records", "µs", 1e-3, nanoseconds, []string{"list, stub", "list, loopback"})
}

// drawTwice draws how many records were made twice.
func drawTwice(path string, r *Results) error {
	operated := 0.0
	if f := r.find(defaultRetries, clients.Ours, operations); f != nil {
		operated = f.Value.Median
	}
	title := fmt.Sprintf("Records made twice, of %.0f operations that met faults", operated)
	return drawBars(path, r, title, "records", 1, madeTwice, []string{defaultRetries, documentedRetries})
}

// drawBars draws a group of bars for each SDK, one for each work.
func drawBars(path string, r *Results, title, unit string, scale float64, m measure, works []string) error {
	p := newChart(title)
	p.Y.Label.Text = unit
	p.Y.Min = 0
	p.Y.Tick.Marker = wholeNumbers{}
	p.Legend.Top = true
	var names []string
	for _, sdk := range clients.All() {
		names = append(names, sdk.Name)
	}
	width := vg.Points(18)
	greatest := 0.0
	for i, work := range works {
		values := make(plotter.Values, len(names))
		texts := make([]string, len(names))
		for k, name := range names {
			// Not measured is not 0.
			texts[k] = "–"
			if f := r.find(work, name, m); f != nil {
				values[k] = f.Value.Median * scale
				texts[k] = number(math.Round(values[k]))
				greatest = max(greatest, values[k])
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.LineStyle.Width = 0
		bars.Color = []color.Color{colours[clients.Ours], colours["resty"]}[i]
		bars.Offset = width * vg.Length(float64(i)-float64(len(works)-1)/2)
		labels, err := barLabels(values, texts, bars.Offset)
		if err != nil {
			return err
		}
		p.Add(bars, labels)
		p.Legend.Add(work, bars)
	}
	// Room for the legend above the bars, and at both sides.
	p.Y.Max = max(greatest, 1) * 1.3
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
	return p.Save(chartWidth, chartHeight, path)
}

// barLabels writes a text above each bar: a bar of nothing must be seen to be 0.
func barLabels(values plotter.Values, texts []string, offset vg.Length) (*plotter.Labels, error) {
	data := plotter.XYLabels{XYs: make(plotter.XYs, len(values)), Labels: texts}
	for i, v := range values {
		data.XYs[i] = plotter.XY{X: float64(i), Y: v}
	}
	labels, err := plotter.NewLabels(data)
	if err != nil {
		return nil, err
	}
	labels.Offset.X, labels.Offset.Y = offset, vg.Points(2)
	for i := range labels.TextStyle {
		labels.TextStyle[i].XAlign = draw.XCenter
	}
	return labels, nil
}
