package picture

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// A scene is a landscape derived from the hash of a description: a sky with a sun or moon, and in
// front of it layers of one motif.
type scene struct {
	style   string
	seed    uint32
	motif   int // of the layers
	sky     [2]rgb
	sun     rgb
	ground  [2]rgb // far and near
	sunU    float64
	sunV    float64
	sunSize float64
	layers  [4]layer
}

type layer struct{ base, height, width, phase float64 }

const (
	hills = iota
	waves
	towers
	firs
	motifs
)

// palettes are the colors of each style: sky at the top and at the horizon, sun, far layer, near layer.
var palettes = map[string][5]uint32{
	"":             {0x5b8fd6, 0xf9d9b0, 0xfff3c9, 0x8da8c4, 0x2f4a4a},
	"3d_render":    {0x23395d, 0x8fb3e8, 0xffe9a8, 0x9a8fd0, 0x3b2f63},
	"abstract":     {0xf2545b, 0xf9c80e, 0x2ec4b6, 0xa93f55, 0x19323c},
	"anime":        {0x2f80ed, 0xbfe9ff, 0xffffff, 0x66c18c, 0x1f7a5a},
	"art_deco":     {0x10212b, 0x1f4e4d, 0xd9a441, 0xb88a2f, 0x0b1418},
	"cartoon":      {0x3ec1f3, 0xc9f2ff, 0xffd93b, 0x8bd450, 0x2f9e44},
	"digital_art":  {0x1b0a3c, 0xc2388f, 0xffb86b, 0x5a2a83, 0x0b0620},
	"illustration": {0x84b6a5, 0xf5e6c4, 0xe4703a, 0x6b9080, 0x24474a},
	"origami":      {0xcfe8f3, 0xfdf1dc, 0xe76f51, 0x7fb7be, 0x264653},
	"pixel_art":    {0x29366f, 0x41a6f6, 0xffcd75, 0x38b764, 0x1a3a3a},
	"photography":  {0x4a6a8a, 0xe8c9a5, 0xfff5e0, 0x94a3ad, 0x20282c},
	"pop_art":      {0xffde00, 0xff5fa2, 0xe4002b, 0x00a3e0, 0x14213d},
	"retro":        {0xf4a259, 0xf4e4ba, 0xbc4b51, 0x8cb369, 0x3d5a4c},
	"sketch":       {0xf7f5ef, 0xefece2, 0xffffff, 0xd5d1c6, 0x8d8a83},
	"vaporwave":    {0x2b0f54, 0xff4f9a, 0xffd319, 0x7b2cbf, 0x12002f},
}

func newScene(description, style string) *scene {
	sum := sha256.Sum256([]byte(description))
	part := rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:]))).Float64
	palette, ok := palettes[style]
	if !ok {
		palette = palettes[""]
	}
	s := &scene{
		style: style,
		seed:  binary.BigEndian.Uint32(sum[28:]),
		motif: int(sum[27]) % motifs,
		sky:   [2]rgb{web(palette[0]), web(palette[1])},
		sun:   web(palette[2]), ground: [2]rgb{web(palette[3]), web(palette[4])},
		sunU: 0.2 + 0.6*part(), sunV: 0.18 + 0.3*part(), sunSize: 0.07 + 0.09*part(),
	}
	// A slight tint tells descriptions apart; the style still dominates.
	tint := rgb{part(), part(), part()}
	for _, c := range []*rgb{&s.sky[0], &s.sky[1], &s.ground[0]} {
		*c = c.mix(tint, 0.14)
	}
	for i := range s.layers {
		s.layers[i] = layer{
			base: 0.5 + 0.13*float64(i), height: 0.05 + 0.1*part(),
			width: 2 + 5*part(), phase: 20 * part(),
		}
	}
	return s
}

// ridge is the height at which a layer begins.
func (s *scene) ridge(l *layer, u float64) float64 {
	x := u*l.width + l.phase
	switch s.motif {
	case waves:
		return l.base + 0.25*l.height*math.Sin(3*x) + 0.08
	case towers:
		return l.base + 0.06 - 1.6*l.height*rough(int(math.Floor(x*4)), 0, s.seed)
	case firs:
		_, t := math.Modf(x * 3)
		return l.base - l.height*(1-2*math.Abs(t-0.5))*(0.5+0.5*rough(int(x*3), 1, s.seed)) + 0.05
	}
	return l.base - l.height*(smooth(x, l.phase, s.seed)+0.35*smooth(3*x, l.phase, s.seed)-0.6)
}

// layerAt is the number of the nearest layer at a position; 0 is the sky.
func (s *scene) layerAt(u, v float64) int {
	for i := len(s.layers) - 1; i >= 0; i-- {
		if v > s.ridge(&s.layers[i], u) {
			return i + 1
		}
	}
	return 0
}

// at is the color at a position; u runs from left to right, v from top to bottom.
func (s *scene) at(u, v float64) rgb {
	u, v = styleLens(s.style, u, v)
	n := s.layerAt(u, v)
	return s.styled(s.plain(u, v, n), u, v, n)
}

func (s *scene) plain(u, v float64, n int) rgb {
	if n > 0 {
		depth := float64(n-1) / float64(len(s.layers)-1)
		l := &s.layers[n-1]
		mist := 0.35 * (1 - depth) * min(1, max(0, (v-l.base)*4))
		return s.ground[0].mix(s.ground[1], depth).mix(s.sky[1], mist)
	}
	c := s.sky[0].mix(s.sky[1], min(1, v*1.5))
	distance := math.Hypot(u-s.sunU, v-s.sunV) / s.sunSize
	if distance < 1 {
		return s.sun
	}
	return c.mix(s.sun, 0.6*math.Exp(-1.3*(distance-1)))
}
