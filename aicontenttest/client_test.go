package aicontenttest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

func TestClientReachesTheServerOverEveryNetwork(t *testing.T) {
	for name, opts := range map[string][]Option{
		"loopback":         nil,
		"TLS":              {TLS()},
		"HTTP/2":           {HTTP2()},
		"memory":           {InMemoryNetwork()},
		"TLS in memory":    {InMemoryNetwork(), TLS()},
		"HTTP/2 in memory": {InMemoryNetwork(), HTTP2()},
		"words":            {BooleanWords()},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewServer(t, append(opts, BasePath("/tenant"))...)
			s.AddImage(Image{Name: "One", Favorite: true})
			s.AddImage(Image{Name: "Two"})
			c := s.Client()
			page, err := c.Images.List(t.Context(), aicontent.ImageListParams{Favorite: new(true)})
			require.NoError(t, err)
			require.Len(t, page.Items, 1)
			assert.Equal(t, "One", page.Items[0].Name)
			_, err = c.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
				Name: "Talk", File: aicontent.FileFromBytes("talk.wav", make([]byte, 300<<10)),
			})
			require.NoError(t, err)
			assert.Equal(t, int64(300<<10), s.Transcriptions()[0].Upload.Size)
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

func TestClientThatCannotBeMade(t *testing.T) {
	assert.Panics(t, func() { started(t, APIKey("line\nbreak")).Client() })
	test := new(recorder)
	s := NewServer(test, APIKey("line\nbreak"))
	defer test.end()
	assert.Panics(t, func() { s.Client() })
	assert.Len(t, test.errors, 1)
}
