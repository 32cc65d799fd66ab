package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/bench/clients"
)

func TestSpreadOfReturnsMedianAndExtremes(t *testing.T) {
	tests := map[string]struct {
		values []float64
		want   Spread
	}{
		"none":             {nil, Spread{}},
		"one":              {[]float64{3}, Spread{3, 3, 3}},
		"odd, in no order": {[]float64{9, 1, 4}, Spread{4, 1, 9}},
		"even":             {[]float64{4, 1, 2, 9}, Spread{3, 1, 9}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, spreadOf(test.values)) })
	}
}

// A ratio of medians over different rounds would mix a quiet minute with a busy one.
func TestRatiosAreTakenWithinARound(t *testing.T) {
	s := &samples{}
	for round, value := range []float64{10, 100, 20} {
		s.add("show", clients.Reference, round, nanoseconds, value)
		s.add("show", clients.Ours, round, nanoseconds, value*[]float64{0.5, 0.8, 0.9}[round])
	}
	s.add("walk", clients.Ours, 0, seconds, 1)
	figures := s.figures()
	require.Len(t, figures, 3)
	assert.Equal(t, Spread{1, 1, 1}, *figures[0].Ratio)
	assert.InDelta(t, 0.8, figures[1].Ratio.Median, 1e-9)
	assert.InDelta(t, 0.5, figures[1].Ratio.Least, 1e-9)
	assert.InDelta(t, 0.9, figures[1].Ratio.Greatest, 1e-9)
	assert.Equal(t, 3, figures[1].Rounds)
	assert.Nil(t, figures[2].Ratio, "there is no reference for the walk")
}
