// Package picture draws a landscape from the parameters of an image: a sky, a sun and hills.
package picture

import (
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"slices"
)

// Params say what is drawn: description and medium where sun and hills are, style and filter in which colors. Unknown
// values are ignored.
type Params struct{ Description, Resolution, Style, Medium, Filter string }

// The picture's palette has ramps of colors: the sky, the edge of the sun and then the sun, and for each hill its edge,
// of which a pixel has parts, and its shades.
const (
	skies, hills, shades, parts = 128, 4, 24, 4
	sun, hill, each             = skies, skies + parts, parts + shades
	depth                       = 1.4 // how much of the sky's ramp is above the bottom
)

// palettes are the colors of each style: sky at the top and at the horizon, sun, farthest and nearest hill.
var palettes = map[string][5]rgb{
	"":             {{91, 143, 214}, {249, 217, 176}, {255, 243, 201}, {141, 168, 196}, {47, 74, 74}},
	"3d_render":    {{35, 57, 93}, {143, 179, 232}, {255, 233, 168}, {154, 143, 208}, {59, 47, 99}},
	"abstract":     {{242, 84, 91}, {249, 200, 14}, {46, 196, 182}, {169, 63, 85}, {25, 50, 60}},
	"anime":        {{47, 128, 237}, {191, 233, 255}, {255, 255, 255}, {102, 193, 140}, {31, 122, 90}},
	"art_deco":     {{16, 33, 43}, {31, 78, 77}, {217, 164, 65}, {184, 138, 47}, {11, 20, 24}},
	"cartoon":      {{62, 193, 243}, {201, 242, 255}, {255, 217, 59}, {139, 212, 80}, {47, 158, 68}},
	"digital_art":  {{27, 10, 60}, {194, 56, 143}, {255, 184, 107}, {90, 42, 131}, {11, 6, 32}},
	"illustration": {{132, 182, 165}, {245, 230, 196}, {228, 112, 58}, {107, 144, 128}, {36, 71, 74}},
	"origami":      {{207, 232, 243}, {253, 241, 220}, {231, 111, 81}, {127, 183, 190}, {38, 70, 83}},
	"pixel_art":    {{41, 54, 111}, {65, 166, 246}, {255, 205, 117}, {56, 183, 100}, {26, 58, 58}},
	"photography":  {{74, 106, 138}, {232, 201, 165}, {255, 245, 224}, {148, 163, 173}, {32, 40, 44}},
	"pop_art":      {{255, 222, 0}, {255, 95, 162}, {228, 0, 43}, {0, 163, 224}, {20, 33, 61}},
	"retro":        {{244, 162, 89}, {244, 228, 186}, {188, 75, 81}, {140, 179, 105}, {61, 90, 76}},
	"sketch":       {{247, 245, 239}, {239, 236, 226}, {255, 255, 255}, {213, 209, 198}, {141, 138, 131}},
	"vaporwave":    {{43, 15, 84}, {255, 79, 154}, {255, 211, 25}, {123, 44, 191}, {18, 0, 47}},
}

// Draw writes the picture as PNG. The same parameters give the same bytes.
func Draw(w io.Writer, p Params) error {
	var width, height int
	_, err := fmt.Sscanf(p.Resolution, "%dx%d", &width, &height)
	if err != nil || min(width, height) < 1 || max(width, height) > 4096 {
		width, height = 512, 512
	}
	part := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(p.Description + "\n" + p.Medium)))).Float64
	sunX, sunY, radius := 0.2+0.6*part(), 0.18+0.25*part(), 0.07+0.06*part()
	img := image.NewPaletted(image.Rect(0, 0, width, height), colors(p, sunY))
	drawHills(img, part)
	drawSun(img, sunX*float64(width), sunY*float64(height), radius*float64(min(width, height)))
	return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, img)
}

// drawHills draws the sky and the hills before it.
func drawHills(img *image.Paletted, part func() float64) {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	var ridges [hills + 2][]int // where the sky, each hill, and what is below them begin, in parts of a pixel
	ridges[0] = make([]int, width)
	ridges[hills+1] = slices.Repeat([]int{parts * height}, width)
	for n := hills; n > 0; n-- {
		base, rise, wide, shift := 0.43+0.12*float64(n), 0.03+0.06*part(), 4+5*part(), 20*part()
		ridges[n] = slices.Clone(ridges[n+1]) // a nearer hill hides it
		for x := range width {
			u := wide*float64(x)/float64(width) + shift
			v := base - rise*(math.Sin(u)+0.5*math.Sin(2.3*u+shift)+0.2*math.Sin(5.7*u))
			ridges[n][x] = min(int(parts*v*float64(height)), ridges[n][x])
		}
	}
	nearest := make([]int, width) // what has begun in each column
	for y := range height {
		v, line := float64(y)/float64(height), img.Pix[y*img.Stride:][:width]
		shade := [hills + 1]uint8{uint8(min(skies*v*depth, skies-1))}
		for n := range hills {
			mist := 2.5*v - 1 - 0.3*float64(n)
			shade[n+1] = uint8(hill + each*n + parts + int(shades*min(max(0, mist), 0.99)))
		}
		for x, n := range nearest {
			for ridges[n+1][x] < parts*(y+1) {
				n++
			}
			nearest[x], line[x] = n, shade[n]
			if covered := parts*(y+1) - ridges[n][x]; covered < parts {
				line[x] = uint8(hill + each*(n-1) + covered - 1)
			}
		}
	}
}

// drawSun draws the sun where nothing but sky is.
func drawSun(img *image.Paletted, centerX, centerY, radius float64) {
	reach := image.Rect(int(centerX-radius), int(centerY-radius), int(centerX+radius)+2, int(centerY+radius)+2)
	reach = reach.Intersect(img.Rect)
	for y := reach.Min.Y; y < reach.Max.Y; y++ {
		for x := reach.Min.X; x < reach.Max.X; x++ {
			covered := radius - math.Hypot(float64(x)-centerX, float64(y)-centerY)
			if pixel := &img.Pix[y*img.Stride+x]; *pixel < skies && covered > 0 {
				*pixel = uint8(sun + min(int(parts*covered), parts-1))
			}
		}
	}
}

type rgb [3]float64

func (c rgb) mix(d rgb, share float64) rgb {
	return rgb{c[0] + (d[0]-c[0])*share, c[1] + (d[1]-c[1])*share, c[2] + (d[2]-c[2])*share}
}

func colors(p Params, sunY float64) (list color.Palette) {
	style, known := palettes[p.Style]
	if !known {
		style = palettes[""]
	}
	ramp := func(from, to rgb, steps int) {
		for i := range steps {
			list = append(list, filtered(p.Filter, from.mix(to, float64(i+1)/float64(steps))))
		}
	}
	ramp(style[0], style[1], skies)
	ramp(style[0].mix(style[1], sunY*depth), style[2], parts)
	behind := style[1]
	for n := range hills {
		ridge := style[3].mix(style[4], float64(n)/(hills-1))
		ramp(behind, ridge, parts)
		behind = ridge.mix(style[1], 0.35)
		ramp(ridge, behind, shades)
	}
	return list
}

func filtered(filter string, c rgb) color.Color {
	luma := 0.299*c[0] + 0.587*c[1] + 0.114*c[2]
	switch filter {
	case "grayscale":
		c = rgb{luma, luma, luma}
	case "sepia":
		c = rgb{min(1.07*luma, 255), 0.84 * luma, 0.62 * luma}
	case "invert":
		c = rgb{255 - c[0], 255 - c[1], 255 - c[2]}
	}
	return color.NRGBA{uint8(c[0] + 0.5), uint8(c[1] + 0.5), uint8(c[2] + 0.5), 0xff}
}
