package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// How a failed create request reads: what to do next.
const (
	nothing   = "Nothing was created, and nothing was billed. "
	tryAgain  = nothing + "You can try again."
	useless   = nothing + "The same request would fail again."
	lookFirst = "It may have been created and billed. This form creates no second one."
)

// failure is a kind of failed create request.
type failure struct {
	name          string
	fault         aicontenttest.Fault // the zero fault is a service that is not there
	status        int
	title, advice string
	settled       bool // whether a search tells that nothing came of it, where nobody waits for the settle time
}

func (failure failure) strike(f *fixture) {
	if failure.fault.Name == "" {
		f.service.Close()
		return
	}
	f.service.FaultOn(aicontenttest.ImagesStore, 1, failure.fault)
}

var failures = []failure{
	{"no key", aicontenttest.Status(401, `{"message":"Unauthenticated."}`), 502, "Unauthenticated.", useless, false},
	{"refused form", aicontenttest.Status(422, `{"message":"Invalid.","errors":{"name":["The name is too long."]}}`),
		422, "The name is too long.", tryAgain, false},
	{"another language", aicontenttest.Status(409, `{"message":"été"}`), 503, "Été", tryAgain, false},
	{"too large", aicontenttest.Status(413, "<html><title>413 Request Entity Too Large</title></html>"), 502,
		"Request Entity Too Large", useless, false},
	{"too often", aicontenttest.Status(429, `{"message":"Too Many Attempts."}`).WithRetryAfter("600"), 503,
		"Too Many Attempts.", nothing + "Try again ", false},
	{"server error", aicontenttest.Status(500, `{"message":"Server Error"}`), 503, "", lookFirst, true},
	{"no connection", aicontenttest.Fault{}, 503, "No connection to the service", tryAgain, false},
	{"foreign page", aicontenttest.HTMLPage(200), 503, "", lookFirst, true},
	{"firewall", aicontenttest.HTMLPage(403), 503, "", lookFirst, false},
	{"not implemented", aicontenttest.Status(501, "no"), 502, "", lookFirst, false},
}

// Each kind of failure says what happened, and whether to press the button again.
func TestFailedCreateIsExplained(t *testing.T) {
	for _, test := range failures {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				test.strike(f)
				form := fox(newToken())
				form.Set("style", "retro")
				status, page := f.send("/new-picture", form)
				assert.Equal(f.t, test.status, status)
				says(f.t, page, test.title)
				says(f.t, page, test.advice)
				says(f.t, page, "A fox")
				assert.Contains(f.t, page, `<option value="retro" selected>`)
				assert.Empty(f.t, f.service.Images())
				assert.Equal(f.t, test.advice == lookFirst, regexpMatch(page, `href="/pictures\?search=[a-z2-7]{12}"`))
				assert.Equal(f.t, test.advice == lookFirst, isFixed(page))
				assert.Equal(f.t, form.Get("form"), formOf(f.t, page), "the button can be pressed again")
			})
		})
	}
}

// What was created is found, even if the service's response did not arrive.
func TestLostResponses(t *testing.T) {
	for name, fault := range map[string]aicontenttest.Fault{
		"lost": aicontenttest.LoseResponse(), "proxy gave up": aicontenttest.ActThenStatus(504),
		"unreadable": aicontenttest.InvalidJSON(),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.service.FaultOn(aicontenttest.ImagesStore, 1, fault)
			says(t, f.post("/new-picture", fox(newToken())), "Here it is.")
			assert.Len(t, f.service.Records(), 1)
		})
	}
}

// What was created and cannot be found is never created again by the same form, which says so.
func TestCreatedAndNeverListed(t *testing.T) {
	bubble(t, func(f *fixture) {
		f.service.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.InvalidJSON())
		form := fox(newToken())
		var page string
		for range 60 {
			_, page = f.send("/new-picture", form)
			says(f.t, page, "It was created and billed.")
		}
		assert.Equal(f.t, form.Get("form"), formOf(f.t, page))
		assert.Len(f.t, f.service.Images(), 1)
	}, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontenttest.ImagesList {
			r.Body = []byte(`{"data":[]}`)
		}
	}))
}

// A form that misses something names it, and nothing is sent.
func TestInvalidFormIsExplained(t *testing.T) {
	f := newFixture(t)
	form := fox(newToken())
	form.Set("name", " ")
	form.Set("resolution", "8x8")
	page := f.post("/new-picture", form)
	says(t, page, "Please check what you entered Name: is required; resolution: must be")
	page = f.upload(map[string]string{"name": "Song", "language": "xx"}, "song.wav", recording(100))
	says(t, page, "Language: must be")
	page = f.upload(map[string]string{"name": "Song"}, "song.wav", []byte("%PDF-1.7 this is no song"))
	says(t, page, "File: must be an audio file")
	assert.False(t, f.asked(aicontenttest.ImagesStore) || f.asked(aicontenttest.TranscriptionsStore))
}

// A text that was corrected for an hour is not lost to an error.
func TestFailedChangeKeepsWhatWasTyped(t *testing.T) {
	f := newFixture(t)
	id := f.service.AddTranscription(aicontenttest.Transcription{Name: "Song", Result: "La la"}).ID
	f.service.Fault(aicontenttest.Status(500, "down"))
	page := f.post("/recordings/"+id, url.Values{"name": {"Song"}, "result": {"Fa la la la la"}})
	says(t, page, "The change may have been saved. You can try again.")
	says(t, page, "Fa la la la la")
	f.service.Fault(aicontenttest.Status(429, "slow down"))
	page = f.post("/recordings/"+id, url.Values{"favorite": {"1"}})
	says(t, page, "Nothing was changed. You can try again.")
	assert.Equal(t, "La la", f.service.Transcriptions()[0].Result)
}

func TestFailedReadIsExplained(t *testing.T) {
	f := newFixture(t)
	says(t, f.get("/pictures/4711"), "Not found")
	says(t, f.post("/recordings/4711/delete", nil), "Nothing was changed.")
	page := f.get("/pictures?style=baroque&search=fox")
	says(t, page, "Style: must be one of")
	assert.Contains(t, page, `name="search" value="fox"`, "the search is still there")
	f.service.Fault(aicontenttest.Status(503, "down"))
	says(t, f.get("/recordings"), "You can try again.")
	assert.Empty(t, f.service.Violations())
}

// The log says why, for whoever runs the gallery, and holds no key.
func TestFailureIsLogged(t *testing.T) {
	f := newFixture(t)
	f.service.Fault(aicontenttest.Status(500, `{"message":"disk full, key `+testKey+`"}`))
	f.get("/pictures")
	require.Contains(t, f.logged(), "disk full")
	assert.NotContains(t, f.logged(), testKey)
	before := len(f.logged())
	f.get("/pictures/" + strings.Repeat("x", 10_000))
	assert.Less(t, len(f.logged())-before, 4000, "what visitors send does not fill the log")
}
