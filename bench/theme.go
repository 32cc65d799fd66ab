package main

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"
)

// A shade is a colour on a light page, and what takes its place on a dark one.
type shade struct{ light, dark color.RGBA }

var (
	ground = shade{rgb(0xffffff), rgb(0x0d1117)}
	ink    = shade{rgb(0x1f2328), rgb(0xe6edf3)} // of texts
	axis   = shade{rgb(0x818b98), rgb(0x656c76)}
	grid   = shade{rgb(0xd1d9e0), rgb(0x3d444d)}

	// Bars of the first and the second series.
	ourBars   = []shade{{rgb(0xbc4c00), rgb(0xffa657)}, {rgb(0xe16f24), rgb(0xc4661f)}}
	otherBars = []shade{{rgb(0x57606a), rgb(0xb1bac4)}, {rgb(0x8b949e), rgb(0x6e7681)}}

	// Curves and their names, the last of them ours.
	curves = []shade{
		{rgb(0x59636e), rgb(0x9198a1)}, {rgb(0x1a7f37), rgb(0x3fb950)}, {rgb(0x8250df), rgb(0xbc8cff)},
		{rgb(0x0969da), rgb(0x58a6ff)}, {rgb(0xbf3989), rgb(0xf778ba)}, {rgb(0x1b7c83), rgb(0x39c5cf)},
		{rgb(0xb84a00), rgb(0xffa75a)},
	}
)

func shades() []shade {
	all := []shade{ground, axis, grid}
	for _, group := range [][]shade{ourBars, otherBars, curves} {
		all = append(all, group...)
	}
	return all
}

func rgb(v uint32) color.RGBA { return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff} }

func code(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// themed lets an SVG follow the reader's choice of light or dark. Viewers that know no styles show the light one. The
// fonts are those with the widths of Liberation Sans, by which the texts were placed.
func themed(svg []byte) []byte {
	var b strings.Builder
	b.WriteString("<style>\ntext { font-family: 'Liberation Sans', Arial, Helvetica, sans-serif !important }\n")
	fmt.Fprintf(&b, "text { fill: %s }\n@media (prefers-color-scheme: dark) {\n", code(ink.light))
	fmt.Fprintf(&b, "text { fill: %s }\n", code(ink.dark))
	for _, s := range shades() {
		for _, property := range []string{"fill", "stroke"} {
			if was := property + ":" + code(s.light); bytes.Contains(svg, []byte(was)) {
				fmt.Fprintf(&b, "[style*='%s'] { %s: %s !important }\n", was, property, code(s.dark))
			}
		}
	}
	b.WriteString("}\n</style>\n")
	at := bytes.Index(svg, []byte("<g "))
	return bytes.Join([][]byte{svg[:at], svg[at:]}, []byte(b.String()))
}
