package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// drawings are the charts of the results, by file name.
func drawings(t *testing.T, r *Results) map[string]string {
	t.Helper()
	drawn := map[string]string{}
	for file, c := range charts {
		svg, err := c.draw(r)
		require.NoError(t, err, file)
		if svg != nil {
			drawn[file] = string(svg)
		}
	}
	return drawn
}

// A chart that a browser cannot parse is an empty place in the README.
func TestChartsAreWholeDrawings(t *testing.T) {
	drawn := drawings(t, sampleResults())
	assert.Len(t, drawn, len(charts))
	for file, svg := range drawn {
		decoder := xml.NewDecoder(strings.NewReader(svg))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, file)
		}
		assert.Contains(t, svg, clients.Ours, file)
	}
}

// A chart of what was not measured says of every SDK that it does not offer it, or nothing at all.
func TestWhatWasNotMeasuredIsNotDrawn(t *testing.T) {
	assert.Empty(t, drawings(t, &Results{}))

	all := sampleResults()
	calls := &Results{Figures: slices.DeleteFunc(slices.Clone(all.Figures), func(f Figure) bool {
		return !strings.HasPrefix(f.Work, "show, ") && !strings.HasPrefix(f.Work, "list, ")
	})}
	drawn := drawings(t, calls)
	assert.Len(t, drawn, 1)
	assert.Contains(t, drawn, "list.svg")

	none := &Results{Figures: slices.DeleteFunc(slices.Clone(all.Figures), func(f Figure) bool {
		return f.Work == documentedRetries
	})}
	assert.NotContains(t, drawings(t, none)["faults.svg"], asDocumented)
	assert.NotContains(t, drawings(t, none)["faults.svg"], notOffered)
}

// A client that is left out of a chart, a zero without a bar or what a client does not offer looks like a good figure.
func TestEachChartComparesTheSameClients(t *testing.T) {
	r := sampleResults()
	for file, svg := range drawings(t, r) {
		texts, _ := labels(t, svg)
		for _, sdk := range clients.All() {
			named := slices.ContainsFunc(texts, func(l label) bool { return l.text == sdk.Name })
			assert.True(t, named, "%s: %s", file, sdk.Name)
		}
	}
	count := func(file, text string) (n int) {
		texts, _ := labels(t, drawings(t, r)[file])
		for _, l := range texts {
			if l.text == text {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 1+4, count("faults.svg", "0"), "the axis, and every second SDK")
	assert.Equal(t, len(clients.All())-1, count("walk.svg", notOffered), "only one fetches pages ahead")

	r.find("upload 512 MiB", clients.Ours, peak).Value.Median = 0
	points := memoryPoints(r, clients.Ours)
	require.Len(t, points, 3)
	assert.Equal(t, plotter.XY{X: 512, Y: leastPeak}, points[2], "no memory at all is a figure too")
}

// Names stand where their curves end, in their colours, and none over another.
func TestCurvesAreNamedWhereTheyEnd(t *testing.T) {
	at := []endLabel{}
	for _, y := range []float64{10, 10, 11, 10, 60} {
		at = append(at, endLabel{at: plotter.XY{X: 1, Y: y}})
	}
	places := spreadOut(at, func(y float64) vg.Length { return vg.Length(y) })
	for i, place := range places[1:] {
		assert.GreaterOrEqual(t, float64(place-places[i]), labelLine-0.01, places)
	}
	assert.InDelta(t, 60, float64(places[4]), labelLine, "one that is far from the others stays")

	svg := drawings(t, sampleResults())["memory.svg"]
	texts, wide := labels(t, svg)
	ends := map[string]label{}
	for i, sdk := range clients.All() {
		for _, l := range texts {
			if l.text == sdk.Name {
				ends[sdk.Name] = l
			}
		}
		assert.Contains(t, ends, sdk.Name)
		assert.Greater(t, ends[sdk.Name].x, wide/2, sdk.Name)
		named := regexp.MustCompile(`fill:` + code(curves[i].light) + `">` + sdk.Name + `</text>`)
		assert.Regexp(t, named, svg)
		assert.Contains(t, svg, "stroke:"+code(curves[i].light), "%s has a curve", sdk.Name)
	}
	for name, a := range ends {
		for other, b := range ends {
			if name != other {
				assert.Greater(t, math.Abs(a.y-b.y), a.size, "%s over %s", name, other)
			}
		}
	}
}

// Charts of an earlier run in the same directory are not those of this one.
func TestChartsWithoutFiguresGo(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, drawAll(dir, sampleResults()))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.svg"), nil, 0o600))
	require.NoError(t, drawAll(dir, &Results{}))
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "notes.svg")}, left)
}

// The charts that README shows are those of the results beside them.
func TestTheCommittedChartsShowTheCommittedResults(t *testing.T) {
	r, err := readJSON("results/results.json")
	require.NoError(t, err)
	for file, svg := range drawings(t, r) {
		committed, err := os.ReadFile(filepath.Join("results", file))
		require.NoError(t, err)
		assert.Equal(t, svg, string(committed), "%s: go run . -draw", file)
	}
}

var (
	pictureElement = regexp.MustCompile(`width="(\d+)pt" height="\d+pt" viewBox="0 0 (\d+) (\d+)"`)
	textElement    = regexp.MustCompile(`<text x="([-0-9.]+)" y="([-0-9.]+)" [^>]*font-size:(\d+)px[^>]*>([^<]*)</text>`)
	colourElement  = regexp.MustCompile(`(fill|stroke):(#[0-9A-F]{6})`)
)

// label is a text of a chart. Y grows from the bottom.
type label struct {
	x, y, size float64
	text       string
}

// labels are the texts of a chart, which is as wide as this.
func labels(t *testing.T, svg string) (list []label, wide float64) {
	t.Helper()
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return v
	}
	picture := pictureElement.FindStringSubmatch(svg)
	require.Len(t, picture, 4)
	require.Equal(t, picture[1], picture[2])
	for _, found := range textElement.FindAllStringSubmatch(svg, -1) {
		list = append(list, label{number(found[1]), -number(found[2]), number(found[3]), found[4]})
	}
	require.Equal(t, strings.Count(svg, "<text"), len(list))
	require.Greater(t, len(list), 15)
	return list, number(picture[1])
}

// Legends and labels that run out of the picture cannot be read. Widths are those of a wide font.
func TestChartsCutNoTextOff(t *testing.T) {
	for file, svg := range drawings(t, sampleResults()) {
		texts, wide := labels(t, svg)
		for _, text := range texts {
			assert.GreaterOrEqual(t, text.x, 0.0, "%s: %s", file, text.text)
			end := text.x + 0.55*text.size*float64(utf8.RuneCountInString(text.text))
			assert.LessOrEqual(t, end, wide, "%s: %s", file, text.text)
		}
	}
}

// A phone shows a picture 330 pixels wide. Texts of less than 10 pixels are hard to read there.
func TestChartsCanBeReadOnAPhone(t *testing.T) {
	for file, svg := range drawings(t, sampleResults()) {
		texts, wide := labels(t, svg)
		for _, text := range texts {
			assert.GreaterOrEqual(t, text.size*330/wide, 10.0, "%s: %s", file, text.text)
		}
	}
}

// A legend of more than five entries is looked up, not read; one over the data hides it.
func TestLegendsAreShortAndStandAboveTheData(t *testing.T) {
	drawn := drawings(t, sampleResults())
	entries := map[string][]string{}
	for file, c := range charts {
		if bars, ok := c.(barChart); ok {
			for _, s := range bars.series {
				entries[file] = append(entries[file], s.name)
			}
		}
	}
	delete(drawn, "memory.svg") // Its curves are named where they end.
	// Every label of an axis: a number, and in charts with bars an SDK.
	tick := regexp.MustCompile(`^[0-9.]+$`)
	for file, svg := range drawn {
		assert.LessOrEqual(t, len(entries[file]), 5, file)
		texts, _ := labels(t, svg)
		lowest, highest := math.Inf(1), 0.0
		legend := 0
		for _, text := range texts {
			switch named := slices.ContainsFunc(clients.All(), func(s clients.SDK) bool { return s.Name == text.text }); {
			case slices.Contains(entries[file], text.text):
				lowest = min(lowest, text.y)
				legend++
			case tick.MatchString(text.text) || named:
				highest = max(highest, text.y+text.size)
			}
		}
		assert.Positive(t, legend, file)
		assert.Greater(t, lowest, highest, "%s: the legend stands over the data", file)
	}
}

// luminance and contrast are those of WCAG 2.
func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

func contrast(a, b color.RGBA) float64 {
	first, second := luminance(a), luminance(b)
	return (max(first, second) + 0.05) / (min(first, second) + 0.05)
}

// What can be seen on a light page can be seen on a dark one.
func TestColoursContrastInLightAndInDark(t *testing.T) {
	assert.Greater(t, contrast(ink.light, ground.light), 7.0)
	assert.Greater(t, contrast(ink.dark, ground.dark), 7.0)
	for _, group := range [][]shade{ourBars, otherBars, curves, {axis}} {
		for _, s := range group {
			assert.GreaterOrEqual(t, contrast(s.light, ground.light), 3.0, code(s.light))
			assert.GreaterOrEqual(t, contrast(s.dark, ground.dark), 3.0, code(s.dark))
		}
	}
	for _, s := range curves {
		assert.GreaterOrEqual(t, contrast(s.light, ground.light), 4.5, "the name in %s", code(s.light))
		assert.GreaterOrEqual(t, contrast(s.dark, ground.dark), 4.5, "the name in %s", code(s.dark))
	}
}

// A colour without a dark shade stays as it is on a dark page, where it may not be seen.
func TestEveryColourHasADarkShade(t *testing.T) {
	light := map[string]bool{}
	for _, s := range shades() {
		assert.False(t, light[code(s.light)], "two shades of %s", code(s.light))
		light[code(s.light)] = true
	}
	for file, svg := range drawings(t, sampleResults()) {
		style, drawn, found := strings.Cut(svg, "</style>")
		require.True(t, found, file)
		for _, colour := range colourElement.FindAllStringSubmatch(drawn, -1) {
			assert.True(t, light[colour[2]], "%s: %s", file, colour[2])
			assert.Contains(t, style, "[style*='"+colour[0]+"']", file)
		}
	}
	assert.True(t, bytes.Contains(themed([]byte("<svg><g ></g></svg>")), []byte("prefers-color-scheme: dark")))
}
