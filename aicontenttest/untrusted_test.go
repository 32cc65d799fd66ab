package aicontenttest

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// must is what the suite finds on deployments that do not do what the documented API says, and nothing else.
var must = map[Personality][]string{
	LaggingList: {
		"images/delete", "images/list by filter", "images/list by medium", "images/list by name",
		"images/list by resolution", "images/list by style", "images/list in order", "images/pages",
		"images/update by PATCH", "images/update by PUT",
		"transcriptions/delete", "transcriptions/list by name", "transcriptions/list in order",
		"transcriptions/pages", "transcriptions/update by PATCH", "transcriptions/update by PUT",
	},
	Rewritten: {
		"images/show", "images/store", "images/update by PATCH", "images/update by PUT",
		"transcriptions/show", "transcriptions/store", "transcriptions/update by PATCH", "transcriptions/update by PUT",
	},
	SaysNo: {
		"images/delete", "images/list by filter", "images/list by medium", "images/list by name",
		"images/list by resolution", "images/list by style", "images/list in order", "images/pages", "images/show",
		"images/store", "images/update by PATCH", "images/update by PUT",
		"transcriptions/delete", "transcriptions/list by name", "transcriptions/list in order",
		"transcriptions/pages", "transcriptions/show", "transcriptions/store",
		"transcriptions/update by PATCH", "transcriptions/update by PUT",
	},
}

func TestDeploymentsThatDoNotConformFailTheirScenarios(t *testing.T) {
	for personality, scenarios := range must {
		inBubble(t, func(t *testing.T, s *Server) {
			test := newSuite()
			TestService(test, s.Client)
			assert.Equal(t, scenarios, slices.Sorted(maps.Keys(test.failures)), personality)
			test.end()
			assert.Empty(t, s.Images(), personality)
			assert.Empty(t, s.Transcriptions(), personality)
		}, personality, BasePath("/tenant"))
	}
}

func TestLateResultShowsResultsAfterItsDelay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		seeded := s.AddImage(aicontent.Image{Name: "seeded"}).ID
		c := s.Client()
		image, err := c.Images.Store(t.Context(), imageParams)
		require.NoError(t, err)
		talkParams := aicontent.TranscriptionStoreParams{Name: "n", File: aicontent.FileFromBytes("talk.wav", silence)}
		talk, err := c.Transcriptions.Store(t.Context(), talkParams)
		require.NoError(t, err)
		assert.Empty(t, image.URL+image.Result+talk.Result)
		assert.Zero(t, talk.Words)
		assert.Equal(t, 404, send(t, s, get("/pictures/"+string(image.ID)+".png")).status)
		assert.Equal(t, 200, send(t, s, get("/pictures/"+string(seeded)+".png")).status)
		time.Sleep(delay - time.Nanosecond)
		assert.Contains(t, send(t, s, get("/api/v1/images")).body, `"result":null,"url":null`)
		time.Sleep(time.Nanosecond)
		image, err = c.Images.Show(t.Context(), image.ID)
		require.NoError(t, err)
		assert.Equal(t, "2.png", image.Result)
		assert.Equal(t, s.URL+"/pictures/2.png", image.URL)
		talk, err = c.Transcriptions.Show(t.Context(), talk.ID)
		require.NoError(t, err)
		assert.Contains(t, talk.Result, "No transcript")
		assert.NotZero(t, talk.Words)
		assert.Equal(t, 200, send(t, s, get("/pictures/2.png")).status)
	}, LateResult)
}

// silence is a file that is a recording to the service.
var silence = []byte("RIFF\x24\x00\x00\x00WAVEfmt ")

func TestLaggingListHidesANewRecordForItsDelay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		s.AddImage(aicontent.Image{Name: "seeded"})
		assert.Equal(t, 201, send(t, s, post("/api/v1/images", storeForm)).status)
		_, err := s.Client().Images.FindByName(t.Context(), "n")
		assert.ErrorIs(t, err, aicontent.ErrNotFound)
		assert.Equal(t, 200, send(t, s, patch("/api/v1/images/2", "favorite=1")).status, "the record is there")
		time.Sleep(delay - time.Nanosecond)
		assert.Contains(t, send(t, s, get("/api/v1/images")).body, `"total":1}`)
		time.Sleep(time.Nanosecond)
		assert.Contains(t, send(t, s, get("/api/v1/images")).body, `"total":2}`)
		_, err = s.Client().Images.FindByName(t.Context(), "n")
		assert.NoError(t, err)
	}, LaggingList)
}

func TestRewrittenChangesWhatItStores(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), Rewritten)
	c := s.Client()
	image, err := c.Images.Store(t.Context(), aicontent.ImageStoreParams{
		Name: `Fish & "chips"`, Description: "A harbor <at dawn>, seen from the sea",
		Resolution: aicontent.Resolution256x256, Style: aicontent.StylePixelArt,
		Medium: aicontent.MediumInk, Filter: aicontent.FilterSepia,
	})
	require.NoError(t, err)
	assert.Equal(t, `Fish &amp; &quot;chips&quot; (AI)`, image.Name)
	assert.Equal(t, "A harbor &lt;at dawn&gt;, seen", image.Description)
	assert.Equal(t, aicontent.Style("Pixel art"), image.Style)
	assert.Equal(t, aicontent.Medium("Ink"), image.Medium)
	assert.Equal(t, aicontent.Filter("Sepia"), image.Filter)

	listed, err := c.Images.List(t.Context(), aicontent.ImageListParams{Style: aicontent.StylePixelArt})
	require.NoError(t, err)
	assert.Len(t, listed.Items, 1, "lists are filtered by what is documented")
	_, err = c.Images.FindByName(t.Context(), `Fish & "chips"`)
	assert.ErrorIs(t, err, aicontent.ErrNotFound)

	renamed, err := c.Images.Update(t.Context(), image.ID, aicontent.ImageUpdateParams{Name: new("Lunch")})
	require.NoError(t, err)
	assert.Equal(t, "Lunch (AI)", renamed.Name)
	assert.Equal(t, image.Description, renamed.Description)

	e := send(t, s, upload(namePart, filePart))
	assert.Contains(t, e.body, `"name":"Meeting (AI)"`)
	assert.Contains(t, send(t, s, patch("/api/v1/transcriptions/1", "result=it's")).body, `"result":"it&#039;s"`)
}

// What refuses with status 200 has done nothing, says so in every way that was seen, and says the rest as it is.
func TestSaysNoRefusesEachChangeWithStatus200(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), SaysNo)
	s.AddImage(aicontent.Image{Name: "kept"})
	for op, r := range changes() {
		bodies := make(map[string]bool)
		for range 13 {
			e := send(t, s, r)
			assert.Equal(t, 200, e.status, op)
			assert.Equal(t, "application/json", e.header.Get("Content-Type"))
			assert.True(t, json.Valid([]byte(e.body)), e.body)
			bodies[e.body] = true
			r = changes()[op]
		}
		if op == aicontent.ImagesDelete {
			assert.Len(t, bodies, 6, op)
			assert.NotContains(t, bodies, "{}", "a client takes that for a success")
		} else {
			assert.Len(t, bodies, 13, op)
		}
	}
	for _, r := range s.Requests() {
		assert.False(t, r.Acted)
	}
	require.Len(t, s.Images(), 1)
	assert.Equal(t, "kept", s.Images()[0].Name)
	assert.Empty(t, s.Transcriptions())

	for status, r := range map[int]request{
		200: get("/api/v1/images/1"),
		404: remove("/api/v1/images/99"),
		422: post("/api/v1/images", "name=n"),
	} {
		assert.Equal(t, status, send(t, s, r).status)
	}
	assert.Contains(t, send(t, s, get("/api/v1/images")).body, `"name":"kept"`)
	assert.Equal(t, 200, send(t, s, get("/pictures/1.png")).status)
}
