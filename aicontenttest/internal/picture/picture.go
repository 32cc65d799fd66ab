// Package picture draws a landscape from the parameters of an image.
package picture

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"
)

// Params say what is drawn. Unknown values are ignored.
type Params struct{ Description, Resolution, Style, Medium, Filter string }

// maxCanvas is how many points a picture is drawn with in each direction. Larger pictures have larger points: drawing
// takes milliseconds at any resolution.
const maxCanvas = 160

// Draw writes the picture as PNG. It depends on the parameters alone: the same parameters give the
// same bytes.
func Draw(w io.Writer, p Params) error {
	width, height := size(p.Resolution)
	point := (max(width, height) + maxCanvas - 1) / maxCanvas
	columns, rows := (width+point-1)/point, (height+point-1)/point
	palette, indexes := reduce(paint(p, columns, rows))
	img := image.NewPaletted(image.Rect(0, 0, width, height), make(color.Palette, len(palette)))
	filter := filterOf(p.Filter)
	for i, c := range palette {
		red, green, blue := filter(c).bytes()
		img.Palette[i] = color.NRGBA{red, green, blue, 0xff}
	}
	for y := range height {
		line := img.Pix[y*img.Stride:][:width]
		if y%point > 0 {
			copy(line, img.Pix[(y-1)*img.Stride:])
			continue
		}
		from := indexes[y/point*columns:]
		for x := range line {
			line[x] = from[x/point]
		}
	}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	return encoder.Encode(w, img)
}

// paint returns the colors of the picture's points, row by row.
func paint(p Params, columns, rows int) []rgb {
	s := newScene(p.Description, p.Style)
	aspect := float64(columns) / float64(rows)
	colors := make([]rgb, 0, columns*rows)
	for y := range rows {
		for x := range columns {
			u, v := float64(x)/float64(columns)*aspect, float64(y)/float64(rows)
			u, v = mediumLens(p.Medium, u, v, s.seed)
			colors = append(colors, mediumTexture(p.Medium, s.at(u, v), x, y, s.seed).clamp())
		}
	}
	return colors
}

// reduce finds at most 256 colors that are close to the given ones, and their indexes.
func reduce(colors []rgb) (palette []rgb, indexes []uint8) {
	// With the last of these there cannot be more.
	for _, steps := range []float64{63, 31, 23, 15, 11, 7, 5} {
		if palette, indexes = round(colors, steps); len(palette) <= math.MaxUint8+1 {
			break
		}
	}
	return palette, indexes
}

// round gives all colors that are the same in so many steps the color of the first of them. It ends early if there are
// too many.
func round(colors []rgb, steps float64) (palette []rgb, indexes []uint8) {
	known := make(map[uint32]uint8)
	indexes = make([]uint8, 0, len(colors))
	level := func(x float64) uint32 { return uint32(x*steps + 0.5) }
	for _, c := range colors {
		key := level(c.r)<<16 | level(c.g)<<8 | level(c.b)
		index, found := known[key]
		if !found {
			index = uint8(len(palette))
			known[key] = index
			palette = append(palette, c)
		}
		if len(palette) > math.MaxUint8+1 {
			break
		}
		indexes = append(indexes, index)
	}
	return palette, indexes
}

// size reads a resolution; it is 512x512 where that is missing or no size.
func size(resolution string) (width, height int) {
	w, h, _ := strings.Cut(resolution, "x")
	width, errW := strconv.Atoi(w)
	height, errH := strconv.Atoi(h)
	if errW != nil || errH != nil || min(width, height) < 1 || max(width, height) > 4096 {
		return 512, 512
	}
	return width, height
}

// filterOf returns the function that applies the filter to a color.
func filterOf(name string) func(rgb) rgb {
	switch name {
	case "grayscale":
		return func(c rgb) rgb { l := c.luma(); return rgb{l, l, l} }
	case "sepia":
		return func(c rgb) rgb {
			l := c.luma()
			return rgb{1.07 * l, 0.84 * l, 0.62 * l}.clamp()
		}
	case "invert":
		return func(c rgb) rgb { return rgb{1 - c.r, 1 - c.g, 1 - c.b} }
	}
	return func(c rgb) rgb { return c }
}

// mediumLens distorts a position as the medium does.
func mediumLens(medium string, u, v float64, seed uint32) (float64, float64) {
	bend := func(size, amount float64) (float64, float64) {
		return u + amount*(smooth(u*size, v*size, seed)-0.5), v + amount*(smooth(u*size, v*size, seed+1)-0.5)
	}
	switch medium {
	case "glass":
		// Each pane magnifies its part a little.
		const panes = 12
		fu, fv := math.Mod(u*panes, 1)-0.5, math.Mod(v*panes, 1)-0.5
		return u - 0.5*fu/panes, v - 0.5*fv/panes
	case "watercolor":
		return bend(14, 0.045)
	case "acrylic":
		return bend(40, 0.03)
	case "crayon", "chalk":
		return bend(90, 0.012)
	}
	return u, v
}

// mediumTexture adds the grain of the medium to a color.
func mediumTexture(medium string, c rgb, x, y int, seed uint32) rgb {
	grain := rough(x, y, seed)
	fx, fy := float64(x), float64(y)
	white := rgb{0.97, 0.96, 0.93}
	switch medium {
	case "acrylic":
		return c.scale(0.88 + 0.24*smooth(fx/3, fy/22, seed))
	case "canvas":
		weave := math.Abs(math.Sin(fx*0.8)) + math.Abs(math.Sin(fy*0.8))
		return c.scale(0.78 + 0.17*weave)
	case "chalk":
		if grain > 0.35+0.5*c.luma() {
			return rgb{0.16, 0.19, 0.18}
		}
		return c.mix(white, 0.25)
	case "charcoal":
		l := 0.15 + 0.85*c.luma()
		return rgb{l, l, l}.scale(0.72+0.4*grain).mix(c, 0.12)
	case "crayon":
		if smooth((fx+fy)/2.2, (fx-fy)/19, seed) > 0.62 {
			return c.mix(white, 0.7)
		}
		return c
	case "glass":
		return c.mix(white, 0.12).scale(0.9 + 0.18*smooth(fx/60, fy/9, seed))
	case "ink":
		if c.luma() < 0.25+0.5*smooth((fx+fy)/2.5, (fx-fy)/30, seed) {
			return rgb{0.08, 0.09, 0.16}.mix(c, 0.2)
		}
		return white.mix(c, 0.15)
	case "pastel":
		return c.mix(white, 0.45).scale(0.95 + 0.08*grain)
	case "pencil":
		stroke := math.Sin((fx+fy)*0.9+4*smooth(fx/25, fy/25, seed)) * 0.5
		l := 0.35 + 0.65*c.luma() + 0.22*stroke*(1-c.luma())
		return rgb{l, l, l}.mix(c, 0.3).scale(0.94 + 0.1*grain)
	case "spray_paint":
		if grain > 0.93 {
			return c.mix(white, 0.5)
		}
		return c.scale(0.8 + 0.3*grain*grain)
	case "watercolor":
		return c.mix(white, 0.15+0.4*smooth(fx/70, fy/70, seed)).scale(0.97 + 0.04*grain)
	}
	return c
}
