package picture

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// BenchmarkDraw draws each style, medium and filter.
func BenchmarkDraw(b *testing.B) {
	for _, resolution := range contract.Resolutions {
		b.Run(resolution, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				require.NoError(b, Draw(io.Discard, Params{
					Description: "A lighthouse on a cliff", Resolution: resolution,
					Style:  contract.Styles[i%len(contract.Styles)],
					Medium: contract.Mediums[i%len(contract.Mediums)],
					Filter: contract.Filters[i%len(contract.Filters)],
				}))
			}
		})
	}
}

// A picture that is drawn small and blown up has steps.
func TestHillsHaveNoSteps(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Draw(&b, Params{Description: "A lighthouse", Resolution: "1024x1024"}))
	decoded, err := png.Decode(&b)
	require.NoError(t, err)
	picture := decoded.(*image.Paletted)
	ridge := func(x int) (y int) {
		for picture.ColorIndexAt(x, y) < hill {
			y++
		}
		return y
	}
	const steepest = 3
	for x := range 1023 {
		require.InDelta(t, ridge(x), ridge(x+1), steepest, "beside column %d", x)
	}
	highest, lowest := 1024, 0
	for x := range 1024 {
		highest, lowest = min(highest, ridge(x)), max(lowest, ridge(x))
	}
	assert.Greater(t, lowest-highest, 20, "a plain")
}
