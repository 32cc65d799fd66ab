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

func TestPagesSayWhatFollows(t *testing.T) {
	tests := map[string]struct {
		wire      Wire
		next, end string
	}{
		"native":  {Native, `"next":"http://localhost/tenant/api/v1/images?page=2"`, `"next":null`},
		"openai":  {OpenAI, `"has_more":true`, `"has_more":false`},
		"hetzner": {Hetzner, `"next_page":2`, `"next_page":null`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			full, _ := Page(test.wire, 1, 150)
			assert.True(t, json.Valid(full))
			assert.Contains(t, string(full), test.next)
			rest, _ := Page(test.wire, 101, 150)
			assert.True(t, json.Valid(rest))
			assert.Contains(t, string(rest), test.end)
		})
	}
	_, link := Page(GitHub, 1, 150)
	assert.Contains(t, link, `page=2&per_page=100>; rel="next"`)
	rest, link := Page(GitHub, 101, 150)
	assert.Empty(t, link)
	var list []map[string]any
	require.NoError(t, json.Unmarshal(rest, &list))
	assert.Len(t, list, 50, "the last page has what is left")
}
