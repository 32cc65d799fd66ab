package picture

import (
	"io"
	"testing"

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
