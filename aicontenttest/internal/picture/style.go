package picture

import "math"

// styleLens maps a position to the one it shows, for styles made of blocks or facets.
func styleLens(style string, u, v float64) (float64, float64) {
	switch style {
	case "pixel_art":
		const blocks = 48
		return (math.Floor(u*blocks) + 0.5) / blocks, (math.Floor(v*blocks) + 0.5) / blocks
	case "origami":
		// Each cell is folded once along its diagonal.
		const folds = 11
		cu, cv := math.Floor(u*folds), math.Floor(v*folds)
		fu, fv := u*folds-cu, v*folds-cv
		if math.Mod(cu+cv, 2) == 0 {
			fu = 1 - fu
		}
		third := 1.0 / 3
		if fu+fv > 1 {
			third = 2.0 / 3
		}
		return (cu + third) / folds, (cv + third) / folds
	}
	return u, v
}

// styled applies the style to the color of a position in layer n.
func (s *scene) styled(c rgb, u, v float64, n int) rgb {
	sky := n == 0
	distance := math.Hypot(u-s.sunU, v-s.sunV) / s.sunSize
	switch s.style {
	case "3d_render":
		if distance < 1 && sky {
			// A sphere, lit from the upper left.
			lit := 1 - math.Hypot(u-s.sunU+0.3*s.sunSize, v-s.sunV+0.3*s.sunSize)/s.sunSize
			return s.sun.scale(0.35 + 0.75*math.Max(0, lit))
		}
		return c.scale(1.12 - 0.25*s.depthInLayer(u, v, n))
	case "abstract":
		for i := range 7 {
			x, y := rough(i, 2, s.seed), rough(i, 3, s.seed)
			if math.Hypot(u-x, v-y) < 0.08+0.16*rough(i, 4, s.seed) {
				c = c.mix([]rgb{s.sun, s.sky[0], s.sky[1], s.ground[1]}[i%4], 0.55)
			}
		}
		return c
	case "anime":
		if sky && smooth(u*4, v*9, s.seed)+0.3*smooth(u*12, v*20, s.seed) > 0.85 {
			return rgb{1, 1, 1}
		}
		return posterize(c, 7)
	case "art_deco":
		angle := math.Atan2(v-s.sunV, u-s.sunU)
		if sky && math.Mod(angle+math.Pi, math.Pi/10) < math.Pi/20 {
			c = c.mix(s.sun, 0.4)
		}
		return s.outlined(c, u, v, n, 0.004, web(0xd9a441))
	case "cartoon":
		return s.outlined(posterize(c, 5), u, v, n, 0.006, web(0x101820))
	case "digital_art":
		return c.mix(web(0x00e5ff), 0.35*math.Pow(smooth(u*6, v*3, s.seed), 3)).scale(1.1)
	case "illustration":
		return posterize(c, 10).mix(web(0xfff1d6), 0.1)
	case "origami":
		// Each facet catches the light differently.
		return c.scale(0.86 + 0.24*rough(int(u*1000), int(v*1000), s.seed))
	case "pixel_art":
		return posterize(c, 6)
	case "photography":
		return c.scale(1.1 - 0.7*math.Pow(math.Hypot(u-0.5, v-0.5), 2))
	case "pop_art":
		const dots = 46
		fu, fv := math.Mod(u*dots, 1)-0.5, math.Mod(v*dots, 1)-0.5
		c = posterize(c, 3)
		if math.Hypot(fu, fv) < 0.42*(1-c.luma())+0.12 {
			c = c.scale(0.72)
		}
		return s.outlined(c, u, v, n, 0.005, rgb{})
	case "retro":
		if sky && math.Mod(distance, 1.6) < 0.8 {
			return c.mix(s.sun, 0.28)
		}
		return posterize(c, 8)
	case "sketch":
		hatch := math.Sin((u+v)*260) + math.Sin((u-v)*260)*float64(n%2)
		if !sky && hatch > 1.5-0.5*float64(n) {
			c = c.scale(0.62)
		}
		return s.outlined(c, u, v, n, 0.004, web(0x30302e))
	case "vaporwave":
		if sky && distance < 1 {
			if v > s.sunV && math.Mod((v-s.sunV)*60, 1) < 0.35 {
				return s.sky[1]
			}
			return s.sun.mix(s.sky[1], max(0, (v-s.sunV)/s.sunSize))
		}
		if n == len(s.layers) {
			// A grid that runs to the horizon.
			deep := v - 0.8
			across := math.Abs(math.Mod((u-0.5)/(0.2+deep)*6+60, 1) - 0.5)
			along := math.Mod(0.5/(0.05+max(0, deep)), 1)
			if across > 0.46 || along < 0.12 {
				return web(0x00f0ff)
			}
		}
	}
	return c
}

// depthInLayer is how far a position is below the ridge of its layer, from 0 to 1.
func (s *scene) depthInLayer(u, v float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return min(1, 4*(v-s.ridge(&s.layers[n-1], u)))
}

// outlined draws a line along the edges of layers and of the sun.
func (s *scene) outlined(c rgb, u, v float64, n int, width float64, line rgb) rgb {
	if s.layerAt(u+width, v) != n || s.layerAt(u, v+width) != n {
		return line
	}
	if edge := math.Abs(math.Hypot(u-s.sunU, v-s.sunV) - s.sunSize); n == 0 && edge < width/2 {
		return line
	}
	return c
}

// posterize rounds each component to the given number of steps.
func posterize(c rgb, steps float64) rgb {
	step := func(x float64) float64 { return math.Round(min(max(x, 0), 1)*steps) / steps }
	return rgb{step(c.r), step(c.g), step(c.b)}
}
