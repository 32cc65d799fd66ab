package picture

import "math"

// rgb is a color with components from 0 to 1.
type rgb struct{ r, g, b float64 }

// web converts a color written as in CSS: 0xff8800.
func web(code uint32) rgb {
	return rgb{float64(code>>16) / 255, float64(code>>8&0xff) / 255, float64(code&0xff) / 255}
}

func (c rgb) mix(d rgb, share float64) rgb {
	return rgb{c.r + (d.r-c.r)*share, c.g + (d.g-c.g)*share, c.b + (d.b-c.b)*share}
}

func (c rgb) scale(f float64) rgb { return rgb{c.r * f, c.g * f, c.b * f} }

func (c rgb) luma() float64 { return 0.299*c.r + 0.587*c.g + 0.114*c.b }

func (c rgb) clamp() rgb {
	limit := func(x float64) float64 { return min(max(x, 0), 1) }
	return rgb{limit(c.r), limit(c.g), limit(c.b)}
}

func (c rgb) bytes() (r, g, b byte) {
	return byte(c.r*255 + 0.5), byte(c.g*255 + 0.5), byte(c.b*255 + 0.5)
}

// rough is noise from 0 to 1 without correlation between neighbors.
func rough(x, y int, seed uint32) float64 {
	h := uint32(x)*0x9e3779b1 ^ uint32(y)*0x85ebca77 ^ seed*0xc2b2ae3d
	h ^= h >> 15
	h *= 0x2c1b3c6d
	h ^= h >> 12
	h *= 0x297a2d39
	h ^= h >> 15
	return float64(h) / math.MaxUint32
}

// smooth is noise from 0 to 1 whose features are about one unit wide.
func smooth(x, y float64, seed uint32) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	ix, iy := int(fx), int(fy)
	ease := func(t float64) float64 { return t * t * (3 - 2*t) }
	tx, ty := ease(x-fx), ease(y-fy)
	top := rough(ix, iy, seed)*(1-tx) + rough(ix+1, iy, seed)*tx
	bottom := rough(ix, iy+1, seed)*(1-tx) + rough(ix+1, iy+1, seed)*tx
	return top*(1-ty) + bottom*ty
}
