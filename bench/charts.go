package main

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/bench/clients"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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
	"create.svg": barChart{
		"Time of a create request over loopback\nThis SDK opens a connection for each,\n" +
			"the others reuse one. Shorter is better.",
		"time, µs", "not measured", 1e-3,
		[]series{
			{"without TLS", "create, loopback", nanoseconds},
			{"with TLS", "create, loopback with TLS", nanoseconds},
		},
	},
	"faults.svg": barChart{
		"Records made once, and told, under faults\n" +
			"Of 66 operations that create a record each,\nand meet a fault, or two. Longer is better.",
		"operations", notOffered, 1,
		[]series{{asItComes, defaultRetries, doneOnce}, {asDocumented, documentedRetries, doneOnce}},
	},
	"outage.svg": barChart{
		fmt.Sprintf("Requests in an outage\nWhat %d calls at once become while a gateway\n"+
			"responds with 502 to each. Shorter is better.", outageCalls),
		"requests sent", notOffered, 1,
		[]series{
			{asItComes, outageWork(badGateway), requests},
			{asDocumented, outageWork(badGateway), requestsDocumented},
		},
	},
	"walk.svg": barChart{
		fmt.Sprintf("Time of a walk over %d pages\nEach response takes %d ms. Shorter is better.",
			latencyPages, latency.Milliseconds()),
		"time, s", notOffered, 1,
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
	notOffered   = "not offered"
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
