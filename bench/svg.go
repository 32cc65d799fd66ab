package main

import (
	"fmt"
	"os"
	"strings"
)

// A drawing is this wide; its height is its content's.
const drawingWidth = 760

// style colours a drawing for a light page and a dark one. The ground is painted, as a page may not follow the reader's theme.
// Text has a rim in the ground's colour, which keeps it readable on grid lines.
const style = `
.ground { fill: #ffffff; stroke: #d1d9e0 }
text { font-family: -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; font-size: 12px; fill: #1f2328; stroke: #ffffff; stroke-width: 3px; paint-order: stroke }
.title { font-size: 16px; font-weight: 600 }
.muted { fill: #59636e }
.strong { font-weight: 600 }
.grid { stroke: #e4e8ec }
.axis { stroke: #818b98 }
.mark { stroke: #1f2328; stroke-dasharray: 4 3 }
.curve { fill: none; stroke-width: 1.75 }
.ours.curve { stroke-width: 3 }
.bar { stroke: none }
.other.bar { fill: #6e7781 } .other.second { fill: #b6bec7 }
.ours.bar { fill: #bc4c00 } .ours.second { fill: #f3a269 }
COLOURS_LIGHT
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; stroke: #3d444d }
text { fill: #f0f6fc; stroke: #0d1117 }
.muted { fill: #9198a1 }
.grid { stroke: #262c36 }
.axis { stroke: #656c76 }
.mark { stroke: #f0f6fc }
.other.bar { fill: #9198a1 } .other.second { fill: #59616b }
.ours.bar { fill: #f0883e } .ours.second { fill: #a04f14 }
COLOURS_DARK
}
`

// drawing is an SVG picture in the making. Its units are pixels, from the upper left corner.
type drawing struct {
	strings.Builder
	height float64
}

func newDrawing(title, subtitle string, height float64) *drawing {
	d := &drawing{height: height}
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %[1]d %.0[2]f" role="img">`+"\n", drawingWidth, height)
	fmt.Fprintf(d, "<title>%s</title>\n<style>%s</style>\n", escape(title), strings.NewReplacer(
		"COLOURS_LIGHT", curveStyles(0), "COLOURS_DARK", curveStyles(1)).Replace(style))
	fmt.Fprintf(d, `<rect class="ground" x="0.5" y="0.5" width="%d" height="%.0f" rx="6"/>`+"\n", drawingWidth-1, height-1)
	d.text(20, 30, "title", "start", title)
	d.text(20, 51, "muted", "start", subtitle)
	return d
}

// text writes s. Its anchor is start, middle or end.
func (d *drawing) text(x, y float64, class, anchor, s string) {
	fmt.Fprintf(d, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", class, x, y, anchor, escape(s))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", class, x1, y1, x2, y2)
}

func (d *drawing) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(d, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n", class, x, y, width, height)
}

func (d *drawing) save(path string) error {
	return os.WriteFile(path, []byte(d.String()+"</svg>\n"), 0o644)
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
