package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// row is an SDK's place in a bar chart, with a bar for each series.
type barRow struct {
	name string
	bars []bar
}

// bar has a length, and the text after it. Without a figure there is only the text.
type bar struct {
	value float64
	text  string
}

// barChart has a row for each SDK.
type barChart struct {
	title, subtitle string
	axis            string   // its title, with the unit
	series          []string // what the first and the second bar of a row are; none where there is one
	mark            float64  // a line across all rows; 0 for none
	markText        string
	rows            []barRow
}

const (
	nameWidth  = 160 // of the rows' names
	labelWidth = 100 // of the text after the longest bar
	barHeight  = 15
	rowGap     = 9
)

// draw draws the bars from left to right, so that every name and figure has its place beside them.
func (c *barChart) draw(path string) error {
	top, longest := 72.0, c.mark
	if len(c.series) > 0 {
		top += 24
	}
	if c.mark > 0 {
		top += 14
	}
	height := top + 62
	for _, row := range c.rows {
		height += float64(len(row.bars)*barHeight + rowGap)
		for _, b := range row.bars {
			longest = max(longest, b.value)
		}
	}
	d := newDrawing(c.title, c.subtitle, height)
	bottom := height - 54
	ticks := roundTicks(longest)
	scale := (drawingWidth - nameWidth - labelWidth) / ticks[len(ticks)-1]
	for _, tick := range ticks {
		x := nameWidth + tick*scale
		d.line("grid", x, top-4, x, bottom)
		d.text(x, bottom+17, "muted", "middle", tickText(tick))
	}
	d.text(nameWidth+ticks[len(ticks)-1]*scale/2, bottom+38, "muted", "middle", c.axis)
	if c.mark > 0 {
		x := nameWidth + c.mark*scale
		d.line("mark", x, top-4, x, bottom)
		d.text(x, top-9, "", "middle", c.markText)
	}
	x := 20.0
	for i, name := range c.series {
		d.rect([]string{"other bar", "other bar second"}[i], x, 67, 12, 12)
		d.text(x+18, 77, "", "start", name)
		x += 40 + 6.5*float64(len(name))
	}
	y := top
	for _, row := range c.rows {
		class, nameClass := "other bar", ""
		if strings.HasPrefix(row.name, clients.Ours) {
			class, nameClass = "ours bar", "strong"
		}
		d.text(nameWidth-10, y+float64(len(row.bars)*barHeight)/2+4, nameClass, "end", row.name)
		for i, b := range row.bars {
			if i > 0 {
				class = strings.TrimSuffix(class, " second") + " second"
			}
			d.rect(class, nameWidth, y+1, b.value*scale, barHeight-2)
			text := cmp.Or(nameClass, "muted")
			if b.value > 0 {
				text = nameClass
			}
			d.text(nameWidth+b.value*scale+6, y+12, text, "start", b.text)
			y += barHeight
		}
		y += rowGap
	}
	d.line("axis", nameWidth, top-4, nameWidth, bottom)
	return d.save(path)
}

// roundTicks are up to seven round values from 0 to at least greatest.
func roundTicks(greatest float64) []float64 {
	if !(greatest > 0) {
		return []float64{0, 1}
	}
	step := math.Pow(10, math.Floor(math.Log10(greatest)))
	for _, factor := range []float64{0.2, 0.5, 1, 2} {
		if greatest <= 6*factor*step {
			step *= factor
			break
		}
	}
	var ticks []float64
	for i := 0; ; i++ {
		ticks = append(ticks, math.Round(float64(i)*step*1000)/1000)
		if ticks[i] >= greatest {
			return ticks
		}
	}
}

func tickText(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%g", v)
	}
	return thousands(v)
}

// thousands writes a number with commas.
func thousands(v float64) string {
	if v < 1000 {
		return number(v)
	}
	return fmt.Sprintf("%d,%03d", int(math.Round(v))/1000, int(math.Round(v))%1000)
}
