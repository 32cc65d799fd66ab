package main

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inspection is what a test in another language may read of it.
type inspection struct {
	Records  []struct{ Name string }
	Requests []struct {
		Operation string
		Form      map[string][]string
	}
	text string
}

func inspected(t *testing.T, base string) (seen inspection) {
	t.Helper()
	resp, err := http.Get(base + "/inspect")
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &seen))
	seen.text = string(body)
	return seen
}

// A test in another language counts what was created, and a client with either key of a rotation is served.
func TestInspectShowsWhatWasCreatedWithEitherKey(t *testing.T) {
	url, end := served(t, "-inspect", "-base-path", "/tenant", "-key", "first-key", "-key", "second-key")
	const enough = 1001 // a server without -inspect has forgotten the first
	for i, key := range []string{"first-key", "second-key"} {
		c, params := client(t, url, key), imageParams
		params.Name = key
		_, err := c.Images.Store(t.Context(), params)
		require.NoError(t, err)
		for range i * enough {
			_, err = c.Images.Show(t.Context(), "1")
			require.NoError(t, err)
		}
	}
	seen := inspected(t, url)
	require.Len(t, seen.Records, 2)
	assert.Equal(t, "***", seen.Records[1].Name)
	require.Len(t, seen.Requests, enough+2)
	assert.Equal(t, "images.store", seen.Requests[0].Operation)
	for _, line := range append(end(), seen.text) {
		assert.NotContains(t, line, "first-key")
		assert.NotContains(t, line, "second-key")
	}
}
