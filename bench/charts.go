package main

import (
	"fmt"
	"html"
	"path/filepath"
	"strings"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// charts draw some of a run's figures, by file name. One is nil if the run has none of them.
var charts = map[string]func(*Results) *chart{"faults.svg": faultsChart, "memory.svg": memoryChart}

// drawAll draws the charts into the directory, except for charts without figures.
func drawAll(dir string, r *Results) error {
	for name, of := range charts {
		if c := of(r); c != nil {
			if err := replaceFile(filepath.Join(dir, name), []byte(c.svg())); err != nil {
				return err
			}
		}
	}
	return nil
}

// chart has a bar for each row, as long as the row's parts together.
type chart struct {
	title    string
	subtitle string
	legend   []string // of the parts; empty where there is one
	rows     []chartRow
	most     float64 // value of a bar of full length
}

// chartRow is a line of text with a bar below it.
type chartRow struct {
	name, text string
	parts      []float64
	ours       bool
}

// faultsChart shows how often each SDK made its records: with retries as its documentation sets them, or as it comes if
// it has none to set.
func faultsChart(r *Results) *chart {
	c := &chart{
		title:    "Records made once, and twice",
		subtitle: fmt.Sprintf("Create requests that meet faults, after %.0f s", patience.Seconds()),
		legend:   []string{"made once, and told", "made twice", "still waiting for the settle time"},
	}
	add := func(work, sdk, name string) {
		// Its settle time follows the name.
		row := chartRow{name: strings.Replace(name, clients.Ours+", once", "package once,", 1)}
		row.ours = strings.HasPrefix(sdk, clients.Ours)
		var texts []string
		for i, m := range []measure{doneOnce, madeTwice, waiting} {
			f := r.find(work, sdk, m)
			if f == nil {
				continue
			}
			row.parts = append(row.parts, f.Value.Median)
			if i == 0 || f.Value.Median > 0 {
				texts = append(texts, number(f.Value.Median)+[]string{" once", " twice", " waiting"}[i])
			}
		}
		row.text = strings.Join(texts, ", ")
		c.most = max(c.most, r.find(work, sdk, operations).Value.Median)
		c.rows = append(c.rows, row)
	}
	documented := r.rows(documentedRetries)
	for _, sdk := range documented {
		add(documentedRetries, sdk, sdk)
	}
	for _, sdk := range r.rows(defaultRetries) {
		if r.find(documentedRetries, sdk, doneOnce) == nil {
			add(defaultRetries, sdk, sdk+", as it comes")
		}
	}
	if len(documented) == 0 {
		return nil
	}
	return c
}

// memoryChart shows the memory that the largest upload takes which every SDK makes.
func memoryChart(r *Results) *chart {
	const work = "upload 512 MiB"
	c := &chart{title: "Peak memory of an upload of 512 MiB", subtitle: "Over the memory before it; less is better"}
	for _, sdk := range r.rows(work) {
		mebibytes := r.find(work, sdk, peak).Value.Median / mib
		c.rows = append(c.rows, chartRow{sdk, number(mebibytes) + " MiB", []float64{mebibytes}, sdk == clients.Ours})
		c.most = max(c.most, mebibytes)
	}
	if len(c.rows) == 0 {
		return nil
	}
	return c
}

// The measures of a chart. It is narrow, with large texts, for phones.
const (
	chartWidth = 360
	margin     = 12
	line       = 20 // of text
	barHeight  = 12
	rowHeight  = line + barHeight + 8
)

// The style follows the reader's choice of light or dark. Each part has one color, whatever the SDK; this SDK's names
// are bold.
const chartStyle = `<style>
text { font: 14px system-ui, 'Liberation Sans', Arial, sans-serif; fill: #1f2328 }
.title, .ours .name { font-weight: bold } .figures { text-anchor: end }
.ground { fill: #ffffff } .part0 { fill: #1a7f37 }
.part1 { fill: #cf222e } .part2 { fill: #9a6700 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.ground { fill: #0d1117 } .part0 { fill: #3fb950 }
.part1 { fill: #f85149 } .part2 { fill: #bb8009 }
}
</style>
`

func (c *chart) svg() string {
	top := margin + 2*line
	var b strings.Builder
	for i, part := range c.legend {
		fmt.Fprintf(&b, `<rect class="part%d" x="%d" y="%d" width="12" height="12"/>`+"\n", i, margin, top+4)
		text(&b, "legend", margin+20, top, part)
		top += line
	}
	top += margin
	for _, row := range c.rows {
		class := "other"
		if row.ours {
			class = "ours"
		}
		fmt.Fprintf(&b, `<g class="%s">`+"\n", class)
		text(&b, "name", margin, top, row.name)
		text(&b, "figures", chartWidth-margin, top, row.text)
		from := float64(margin)
		for i, part := range row.parts {
			wide := part / c.most * (chartWidth - 2*margin)
			fmt.Fprintf(&b, `<rect class="part%d" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n",
				i, from, top+line, wide, barHeight)
			from += wide
		}
		b.WriteString("</g>\n")
		top += rowHeight
	}
	var head strings.Builder
	fmt.Fprintf(&head,
		`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`+
			"\n<title>%s</title>\n%s",
		chartWidth, top, html.EscapeString(c.title), chartStyle)
	fmt.Fprintf(&head, `<rect class="ground" width="%d" height="%d"/>`+"\n", chartWidth, top)
	text(&head, "title", margin, margin, c.title)
	text(&head, "subtitle", margin, margin+line, c.subtitle)
	return head.String() + b.String() + "</svg>\n"
}

// text writes a text whose line begins at the height y.
func text(b *strings.Builder, class string, x, y int, s string) {
	fmt.Fprintf(b, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y+15, html.EscapeString(s))
}
