// Package picture draws a landscape from the parameters of an image.
package picture

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
)

// Draw returns a PNG: a sun above hills. Their shapes and colors come from a hash of the parameters, which are the
// texts of an image by name. Unknown values are accepted.
func Draw(text map[string]string) []byte {
	var width, height int
	_, err := fmt.Sscanf(text["resolution"], "%dx%d", &width, &height)
	if err != nil || min(width, height) < 1 || max(width, height) > 4096 {
		width, height = 512, 512
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%q", []string{text["description"], text["style"], text["medium"]}))
	part := func(i int) float64 { return 7 * float64(hash[i]) / 256 } // of a circle
	img := image.NewPaletted(image.Rect(0, 0, width, height), colors(part, text["filter"]))
	var ridges [4]float64
	for x := range width {
		u := float64(x) / float64(width)
		for n := range ridges {
			ridges[n] = 0.45 + 0.14*float64(n) + 0.06*math.Sin((4+part(n+4))*u+part(n+8))
		}
		for y := range height {
			v := float64(y) / float64(height)
			shade := max(0, 60-110*v)
			if math.Hypot(u-0.2-part(3)/12, v-0.25) < 0.08 {
				shade = 0
			}
			for n, ridge := range ridges {
				if v > ridge {
					shade = 55*float64(n+1) - 90*(v-ridge)
				}
			}
			img.Pix[y*img.Stride+x] = uint8(shade)
		}
	}
	var file bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	_ = encoder.Encode(&file, img) // a buffer takes everything
	return file.Bytes()
}

// colors returns the colors from the horizon, which is bright, to the nearest hill.
func colors(part func(int) float64, filter string) color.Palette {
	list := make(color.Palette, 256)
	for i := range list {
		t := float64(i) / 256
		wave := func(k int) float64 { return (1 - 0.7*t) * (145 + 90*math.Sin(part(k)+3*t)) }
		r, g, b := wave(0), wave(1), wave(2)
		luma := 0.299*r + 0.587*g + 0.114*b
		switch filter {
		case "grayscale":
			r, g, b = luma, luma, luma
		case "sepia":
			r, g, b = 1.07*luma, 0.84*luma, 0.62*luma
		case "invert":
			r, g, b = 255-r, 255-g, 255-b
		}
		list[i] = color.NRGBA{uint8(r), uint8(g), uint8(b), 0xff}
	}
	return list
}
