package service

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A format whose records were smaller, or had fewer members, would make its client look fast.
func TestRecordsAreOfOneSizeInEveryFormat(t *testing.T) {
	for w := range wireCount {
		for _, id := range []int{1, 7, 99_999} {
			text := record(nil, w, id)
			assert.Len(t, text, recordSize, "format %d, record %d", w, id)
			var members map[string]any
			require.NoError(t, json.Unmarshal(text, &members))
			assert.Len(t, members, 11, "format %d", w)
			for name, value := range members {
				assert.Contains(t, []string{"string", "float64", "bool"}, fmt.Sprintf("%T", value), name)
			}
		}
	}
}
