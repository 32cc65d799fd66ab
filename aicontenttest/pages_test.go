package aicontenttest

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// fetch gets the picture of a record, without a key, as a browser would.
func fetch(t *testing.T, s *Server, i Image) (picture []byte, decoded image.Image) {
	t.Helper()
	resp, err := s.HTTPClient().Get(s.URL + "/pictures/" + s.AddImage(i).ID + ".png")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "image/png", resp.Header.Get("Content-Type"))
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	require.NoError(t, err)
	decoded, err = png.Decode(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	return b.Bytes(), decoded
}

func TestPicturesHaveTheResolutionAskedFor(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	for resolution, size := range map[string]image.Point{
		"256x256": {X: 256, Y: 256}, "512x512": {X: 512, Y: 512}, "64x96": {X: 64, Y: 96},
		"": {X: 512, Y: 512}, "99999x1": {X: 512, Y: 512},
	} {
		_, picture := fetch(t, s, Image{Description: "d", Resolution: resolution})
		assert.Equal(t, size, picture.Bounds().Size(), resolution)
	}
}

func TestPicturesDependOnTheirParametersAlone(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	seen := make(map[string]Image)
	draw := func(i Image) {
		i.Resolution = "96x96"
		picture, _ := fetch(t, s, i)
		again, _ := fetch(t, s, i)
		assert.Equal(t, picture, again)
		if other, ok := seen[string(picture)]; ok {
			t.Errorf("%+v looks like %+v", i, other)
		}
		seen[string(picture)] = i
	}
	draw(Image{})
	draw(Image{Description: "a lighthouse"})
	for _, style := range contract.Styles {
		draw(Image{Style: style})
	}
	for _, medium := range contract.Mediums {
		draw(Image{Medium: medium})
	}
	for _, filter := range contract.Filters {
		draw(Image{Filter: filter})
	}
}

func TestFiltersAreAppliedToThePixels(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	i := Image{Description: "a harbor", Style: "pop_art", Resolution: "256x256"}
	_, plain := fetch(t, s, i)
	i.Filter = "grayscale"
	_, gray := fetch(t, s, i)
	i.Filter = "invert"
	_, inverted := fetch(t, s, i)
	i.Filter = "sepia"
	_, sepia := fetch(t, s, i)
	for y := 0; y < 256; y += 5 {
		for x := 0; x < 256; x += 5 {
			r, g, b, _ := plain.At(x, y).RGBA()
			ir, ig, ib, _ := inverted.At(x, y).RGBA()
			require.InDeltaSlice(t, []uint32{0xffff - r, 0xffff - g, 0xffff - b}, []uint32{ir, ig, ib}, 0x101)
			gr, gg, gb, _ := gray.At(x, y).RGBA()
			require.True(t, gr == gg && gg == gb)
			sr, sg, sb, _ := sepia.At(x, y).RGBA()
			require.True(t, sr >= sg && sg >= sb)
		}
	}
}

func TestMissingPictures(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	gone := s.AddImage(Image{Name: "n"})
	send(t, s, request{method: "DELETE", path: "/api/v1/images/" + gone.ID})
	for _, path := range []string{"/pictures/1.png", "/pictures/1", "/pictures/%zz.png", "/pictures/"} {
		resp, err := http.Get(s.URL + path)
		if err != nil {
			continue // not a valid URL
		}
		resp.Body.Close()
		assert.Equal(t, 404, resp.StatusCode, path)
	}
	assert.Len(t, s.Requests(), 1, "pictures are no part of the API")
}
