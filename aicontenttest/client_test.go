package aicontenttest

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

var imageParams = aicontent.ImageStoreParams{
	Name: "n", Description: "d", Resolution: aicontent.Resolution256x256,
}

func TestClientReachesTheServerOverEveryNetwork(t *testing.T) {
	networks := map[string][]Option{"TLS in memory": {InMemoryNetwork(), TLS()}, "words": {BooleanWords()}}
	maps.Copy(networks, everyNetwork)
	for name, opts := range networks {
		t.Run(name, func(t *testing.T) {
			s := NewServer(t, opts...)
			s.AddImage(aicontent.Image{Name: "One", Favorite: true})
			s.AddImage(aicontent.Image{Name: "Two"})
			c := s.Client()
			page, err := c.Images.List(t.Context(), aicontent.ImageListParams{Favorite: new(true)})
			require.NoError(t, err)
			require.Len(t, page.Items, 1)
			assert.Equal(t, "One", page.Items[0].Name)
			_, err = c.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
				Name: "Talk", File: aicontent.FileFromBytes("talk.wav", make([]byte, 300<<10)),
			})
			require.NoError(t, err)
			assert.Equal(t, int64(300<<10), s.Requests()[1].File.Size)
		})
	}
}

func TestClientTakesTheCallersOptionsLast(t *testing.T) {
	s := started(t, BooleanWords())
	c := s.Client(aicontent.WithHTTPClient(s.HTTPClient()), aicontent.WithUserAgent("job/1"))
	_, err := c.Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)
	assert.Contains(t, s.Requests()[0].Header.Get("User-Agent"), "job/1")
}

func TestClientPanicsIfItCannotBeMade(t *testing.T) {
	assert.Panics(t, func() { started(t, APIKey("line\nbreak")).Client() })
	test := new(recorder)
	s := NewServer(test, APIKey("line\nbreak"))
	defer test.end()
	assert.Panics(t, func() { s.Client() })
	assert.Len(t, test.errors, 1)
}
