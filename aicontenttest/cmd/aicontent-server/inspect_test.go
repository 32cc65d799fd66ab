package main

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
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
	lines, end := served(t, "-inspect", "-base-path", "/tenant", "-key", "first-key", "-key", "second-key")
	require.True(t, lines.Scan())
	base := lines.Text()
	log := make(chan []string)
	go func() {
		var list []string
		for lines.Scan() {
			list = append(list, lines.Text())
		}
		log <- list
	}()
	const enough = 1001 // a server without -inspect has forgotten the first
	for i, key := range []string{"first-key", "second-key"} {
		c, err := aicontent.NewClient(base, key)
		require.NoError(t, err)
		_, err = c.Images.Store(t.Context(), aicontent.ImageStoreParams{Name: key, Description: "d", Resolution: "256x256"})
		require.NoError(t, err)
		for range i * enough {
			_, err = c.Images.Show(t.Context(), "1")
			require.NoError(t, err)
		}
	}
	seen := inspected(t, base)
	require.Len(t, seen.Records, 2)
	assert.Equal(t, "***", seen.Records[1].Name)
	require.Len(t, seen.Requests, enough+2)
	assert.Equal(t, "images.store", seen.Requests[0].Operation)
	assert.Equal(t, 0, end())
	for _, line := range append(<-log, seen.text) {
		assert.NotContains(t, line, "first-key")
		assert.NotContains(t, line, "second-key")
	}
}
