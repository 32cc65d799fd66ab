package main

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

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
