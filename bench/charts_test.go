package main

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawings are the charts of the results, by file name.
func drawings(r *Results) map[string]string {
	drawn := map[string]string{}
	for file, of := range charts {
		if c := of(r); c != nil {
			drawn[file] = c.svg()
		}
	}
	return drawn
}

// A chart that a browser cannot parse is an empty place in the README.
func TestChartsAreWholeDrawings(t *testing.T) {
	for file, of := range charts {
		c := of(sampleResults())
		require.NotNil(t, c, file)
		decoder := xml.NewDecoder(strings.NewReader(c.svg()))
		var err error
		for err == nil {
			_, err = decoder.Token()
		}
		assert.ErrorIs(t, err, io.EOF, file)
	}
}

func TestWhatWasNotMeasuredIsNotDrawn(t *testing.T) {
	assert.Empty(t, drawings(&Results{}))

	r := sampleResults()
	r.Figures = slices.DeleteFunc(r.Figures, func(f Figure) bool { return !strings.HasPrefix(f.Work, "upload") })
	drawn := drawings(r)
	assert.Len(t, drawn, 1)
	assert.Contains(t, drawn, "memory.svg")
}
