package main

import (
	"encoding/xml"
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
)

// drawings are the charts of the results, by file name.
func drawings(r *Results) map[string]string {
	drawn := map[string]string{}
	for file, of := range charts {
		if c := of(r); c != nil {
			drawn[file] = c.svg()
		}
	}
	return drawn
}

// A chart that a browser cannot parse is an empty place in the README. A subtitle that repeats its title says nothing.
func TestChartsAreWholeDrawings(t *testing.T) {
	for file, of := range charts {
		c := of(sampleResults())
		require.NotNil(t, c, file)
		assert.NotEmpty(t, c.subtitle, file)
		assert.NotEqual(t, c.title, c.subtitle, file)
		decoder := xml.NewDecoder(strings.NewReader(c.svg()))
		var err error
		for err == nil {
			_, err = decoder.Token()
		}
		assert.ErrorIs(t, err, io.EOF, file)
	}
}

func TestWhatWasNotMeasuredIsNotDrawn(t *testing.T) {
	assert.Empty(t, drawings(&Results{}))

	r := sampleResults()
	r.Figures = slices.DeleteFunc(r.Figures, func(f Figure) bool { return !strings.HasPrefix(f.Work, "upload") })
	drawn := drawings(r)
	assert.Len(t, drawn, 1)
	assert.Contains(t, drawn, "memory.svg")
}

// A client that is left out, a second record that is not shown, or a settle time that nobody is told of looks like a
// better figure.
func TestTheChartOfFaultsHidesNothing(t *testing.T) {
	c := faultsChart(sampleResults())
	var rows [][2]string
	for _, row := range c.rows {
		rows = append(rows, [2]string{row.name, row.text})
	}
	assert.Equal(t, [][2]string{
		{"resty", "34 once, 25 twice"}, {"package once, 1 s", "65 once"},
		{"package once, 15 min", "34 once, 27 waiting"},
		{"net/http, as it comes", "0 once"}, {"openai-go, as it comes", "1 once, 1 twice"},
		{"go-openai, as it comes", "0 once"}, {"go-github, as it comes", "1 once, 1 twice"},
		{"hcloud-go, as it comes", "1 once, 1 twice"}, {"aicontent, as it comes", "0 once"},
	}, rows)
	assert.Equal(t, 66.0, c.most, "a bar is as long as the part of the operations that it shows")
	// 336 are the points of a full bar.
	assert.Contains(t, c.svg(), `<rect class="part1" x="185.1" y="144" width="127.3" height="12"/>`)
}

// Charts of an earlier run in the same directory are not those of this one.
func TestChartsWithoutFiguresAreRemoved(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, drawAll(dir, sampleResults()))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.svg"), nil, 0o600))
	require.NoError(t, drawAll(dir, &Results{}))
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "notes.svg")}, left)
}

// The tables and charts that README shows are those of the results beside them.
func TestTheCommittedReportShowsTheCommittedResults(t *testing.T) {
	r, err := readJSON("results/results.json")
	require.NoError(t, err)
	want := drawings(r)
	want["results.md"] = markdown(r)
	for file, text := range want {
		committed, err := os.ReadFile(filepath.Join("results", file))
		require.NoError(t, err)
		assert.Equal(t, text, string(committed), "%s: go run . -draw", file)
	}
}

var textElement = regexp.MustCompile(`<text class="(\w+)" x="(\d+)" y="(\d+)">([^<]*)</text>`)

// label is a text of a chart, with its left and right ends, in a wide font. Y grows from the top.
type label struct {
	from, to, y float64
	text        string
}

func labels(t *testing.T, svg string) (list []label) {
	t.Helper()
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return v
	}
	for _, found := range textElement.FindAllStringSubmatch(svg, -1) {
		wide := 14 * 0.55 * float64(utf8.RuneCountInString(found[4]))
		l := label{from: number(found[2]), y: number(found[3]), text: found[4]}
		if found[1] == "figures" {
			l.from -= wide
		}
		l.to = l.from + wide
		list = append(list, l)
	}
	require.Equal(t, strings.Count(svg, "<text"), len(list))
	require.Greater(t, len(list), 10)
	return list
}

// Texts that run out of the picture, or over each other, cannot be read. A phone shows the picture 330 pixels wide.
func TestTextsOfChartsCanBeReadOnAPhone(t *testing.T) {
	assert.GreaterOrEqual(t, 14*330.0/chartWidth, 10.0)
	committed, err := readJSON("results/results.json")
	require.NoError(t, err)
	for _, r := range []*Results{sampleResults(), committed} {
		for file, svg := range drawings(r) {
			texts := labels(t, svg)
			for i, a := range texts {
				assert.GreaterOrEqual(t, a.from, 0.0, "%s: %s", file, a.text)
				assert.LessOrEqual(t, a.to, float64(chartWidth), "%s: %s", file, a.text)
				for _, b := range texts[:i] {
					apart := a.to < b.from || b.to < a.from || math.Abs(a.y-b.y) >= 14
					assert.True(t, apart, "%s: %q over %q", file, a.text, b.text)
				}
			}
		}
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

// Each part of a chart can be seen on a light page and on a dark one. Readers take two colors for two quantities, so a
// quantity has one color in every bar.
func TestColorsContrastInLightAndInDark(t *testing.T) {
	assert.NotContains(t, faultsChart(sampleResults()).svg(), "style=")
	light, dark, found := strings.Cut(chartStyle, "@media (prefers-color-scheme: dark)")
	require.True(t, found)
	rule := regexp.MustCompile(`([\w. ]+) \{[^{}]*fill: #([0-9a-f]{6}) \}`)
	for name, style := range map[string]string{"light": light, "dark": dark} {
		colors := map[string]color.RGBA{}
		for _, found := range rule.FindAllStringSubmatch(style, -1) {
			v, err := strconv.ParseUint(found[2], 16, 32)
			require.NoError(t, err)
			colors[strings.TrimSpace(found[1])] = color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff}
		}
		require.Contains(t, colors, ".ground", name)
		for part, least := range map[string]float64{"text": 7, ".part0": 3, ".part1": 3, ".part2": 3} {
			require.Contains(t, colors, part, name)
			assert.GreaterOrEqual(t, contrast(colors[part], colors[".ground"]), least, "%s: %s", name, part)
			if part != "text" {
				assert.Equal(t, 1, strings.Count(style, part+" {"), "%s: %s", name, part)
			}
		}
	}
}
