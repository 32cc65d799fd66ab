package aicontenttest

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// fetch gets the picture of a record, without a key, as a browser would.
func fetch(t *testing.T, s *Server, i aicontent.Image) (picture []byte, decoded image.Image) {
	t.Helper()
	resp, err := s.HTTPClient().Get(s.URL + "/pictures/" + string(s.AddImage(i).ID) + ".png")
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
	s := NewServer(t, BasePath("/tenant"), Allow("resolution"))
	for resolution, size := range map[string]image.Point{
		"256x256": {X: 256, Y: 256}, "512x512": {X: 512, Y: 512}, "64x96": {X: 64, Y: 96},
		"": {X: 512, Y: 512}, "99999x1": {X: 512, Y: 512},
	} {
		_, picture := fetch(t, s, aicontent.Image{Description: "d", Resolution: aicontent.Resolution(resolution)})
		assert.Equal(t, size, picture.Bounds().Size(), resolution)
	}
}

func TestPicturesDependOnTheirParametersAlone(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), Allow("resolution"))
	seen := make(map[string]aicontent.Image)
	draw := func(i aicontent.Image) {
		i.Resolution = "96x96"
		picture, _ := fetch(t, s, i)
		again, _ := fetch(t, s, i)
		assert.Equal(t, picture, again)
		if other, ok := seen[string(picture)]; ok {
			t.Errorf("%+v looks like %+v", i, other)
		}
		seen[string(picture)] = i
	}
	draw(aicontent.Image{})
	draw(aicontent.Image{Description: "a lighthouse"})
	for _, style := range aicontent.Styles() {
		draw(aicontent.Image{Style: style})
	}
	for _, medium := range aicontent.Mediums() {
		draw(aicontent.Image{Medium: medium})
	}
	for _, filter := range aicontent.Filters() {
		draw(aicontent.Image{Filter: filter})
	}
}

// A test that fetches pictures sees these requests too, and whether they carried the key.
func TestDownloadsOfPicturesAreRecorded(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	image := s.AddImage(aicontent.Image{ID: "a/b", Name: "n", Resolution: "256x256"})
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		req, err := http.NewRequest(method, s.URL+"/pictures/a%2Fb.png", nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, 200, resp.StatusCode)
	}
	require.Len(t, s.Requests(), 2)
	for i, r := range s.Requests() {
		assert.Equal(t, i+1, r.Number)
		assert.Equal(t, aicontent.ImagesDownload, r.Operation)
		assert.Equal(t, "/tenant/pictures/a%2Fb.png", r.Path)
		assert.Equal(t, image.ID, r.RecordID)
		assert.True(t, r.Acted)
		assert.Equal(t, 200, r.Status)
		assert.Empty(t, r.Header.Get("Authorization"))
	}
	assert.Len(t, s.Records(), 1, "no record was created by it")
}

func TestFaultsStrikeDownloadsOfPictures(t *testing.T) {
	for _, c := range []struct {
		fault  Fault
		status int // that the client sees; 0 for none
		broken bool
	}{
		{HTMLPage(503), 503, false},
		{CloseBeforeRead(), 0, true},
		{CloseMidResponse(), 200, true},
		{TruncatedJSON(), 200, false},
	} {
		t.Run(c.fault.Name, func(t *testing.T) {
			overEveryNetwork(t, func(t *testing.T, s *Server) {
				s.AddImage(aicontent.Image{Description: "d", Resolution: "256x256"})
				picture := send(t, s, get("/pictures/1.png"))
				s.FaultOn(aicontent.ImagesDownload, 1, c.fault)
				e, err := trySend(s, get("/pictures/1.png"))
				assert.Equal(t, c.broken, err != nil, "%v", err)
				assert.Equal(t, c.status, e.status)
				assert.NotEqual(t, picture.body, e.body)
				assert.Equal(t, picture.body, send(t, s, get("/pictures/1.png")).body)
				assert.Equal(t, c.fault.Name, s.Requests()[1].Fault)
			})
		})
	}
}

func TestLatencyOnCountsBeforeLatencyInAnyOrder(t *testing.T) {
	for name, c := range map[string]struct {
		opts           []Option
		list, download time.Duration
	}{
		"alone":          {[]Option{LatencyOn(aicontent.ImagesDownload, 9)}, 0, 9},
		"before Latency": {[]Option{LatencyOn(aicontent.ImagesDownload, 9), Latency(1)}, 1, 9},
		"after Latency":  {[]Option{Latency(1), LatencyOn(aicontent.ImagesDownload, 0)}, 1, 0},
		"of several operations": {
			[]Option{LatencyOn(aicontent.ImagesDownload, 2), LatencyOn(aicontent.ImagesList, 3)}, 3, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *Server) {
				s.AddImage(aicontent.Image{Name: "n", Resolution: "256x256"})
				paths := map[string]time.Duration{"/api/v1/images": c.list, "/pictures/1.png": c.download}
				for path, want := range paths {
					start := time.Now()
					assert.Equal(t, 200, send(t, s, get(path)).status)
					assert.Equal(t, want, time.Since(start), path)
				}
			}, c.opts...)
		})
	}
}
