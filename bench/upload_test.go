package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The SDK would refuse a file that is no audio, and a sparse one must be as long as the figure says.
func TestFilesAreAudioOfTheirSize(t *testing.T) {
	r := &runner{scratch: t.TempDir()}
	for _, sparse := range []bool{false, true} {
		path, err := r.file(2*mib, sparse)
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Len(t, text, 2*mib)
		assert.Equal(t, "WAVE", string(text[8:12]))
	}
}

func TestTypicalIsTheMedianOfEachFigure(t *testing.T) {
	list := []cost{{1, 30, 100, 7}, {2, 10, 300, 8}, {3, 20, 200, 9}}
	assert.Equal(t, cost{2, 20, 200, 8}, typical(list))
}
