package main

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// How a failed create request reads: what to do next.
const (
	tryAgain  = "Nothing was created and nothing was billed. You can press the button again."
	lookFirst = "It may have been created anyway, and billed. You can press the button again: " +
		"the gallery then looks for it, and creates no second one."
	keyFirst = "Retrying will not help until the gallery’s operator fixes its key."
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
	{"no key", aicontenttest.Status(401, `{"message":"Unauthenticated."}`), 502,
		"The service rejects the gallery’s key", keyFirst, false},
	{"no right", aicontenttest.Status(403, `{"message":"This action is unauthorized."}`), 502,
		"The service rejects the gallery’s key", keyFirst, false},
	{"refused form", aicontenttest.Status(422, `{"message":"Invalid.","errors":{"name":["The name is too long."]}}`),
		422, "The name is too long.",
		"Nothing was created and nothing was billed. Correct it and press the button again.", false},
	{"too large", aicontenttest.Status(413, "<html><title>413 Request Entity Too Large</title></html>"), 413,
		"The file is too large for the service", "Choose a smaller file", false},
	{"too often", aicontenttest.Status(429, `{"message":"Too Many Attempts."}`).WithRetryAfter("600"), 503,
		"The service is busy: wait 10 minutes", tryAgain, false},
	{"server error", aicontenttest.Status(500, `{"message":"Server Error"}`), 502,
		"The service says: “Server Error”", lookFirst, true},
	{"no connection", aicontenttest.Fault{}, 502, "The service cannot be reached", tryAgain, false},
	{"foreign page", aicontenttest.HTMLPage(200), 502, "The service sent a response that the gallery cannot read",
		lookFirst, true},
	{"firewall", aicontenttest.HTMLPage(403), 502, "The service rejects the gallery’s key", lookFirst, false},
	{"not implemented", aicontenttest.Status(501, "no"), 502, "The service had a problem", lookFirst, false},
}

// Each kind of failure says what happened, and whether to press the button again.
func TestFailedCreateIsExplained(t *testing.T) {
	for _, test := range append(failures, failure{
		"maintenance", aicontenttest.Status(503, "down").WithRetryAfter("120"), 502,
		"The service had a problem: wait 2 minutes", lookFirst, true,
	}) {
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
				assert.Equal(f.t, test.advice == lookFirst, regexpMatch(page, `href="/pictures\?search=Fox`))
				assert.Equal(f.t, test.advice == lookFirst, isFixed(page))
				assert.Equal(f.t, form.Get("form"), tokenOf(f.t, page), "the button can be pressed again")
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
		says(f.t, page, "Look for it first. To create another, press the button again.")
		assert.NotEqual(f.t, form.Get("form"), tokenOf(f.t, page))
		assert.Len(f.t, f.service.Images(), 1)
	}, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontenttest.ImagesList {
			r.Body = []byte(`{"data":[]}`)
		}
	}))
}

// What is missing is said beside its field, and nothing is sent.
func TestInvalidFormIsExplained(t *testing.T) {
	f := newFixture(t)
	form := fox(newToken())
	form.Set("name", " ")
	form.Set("resolution", "8x8")
	page := f.post("/new-picture", form)
	says(t, page, "Please check what you entered")
	says(t, page, "Name is required")
	says(t, page, "Resolution must be one of those in the list")
	assert.True(t, regexpMatch(page, `id="name"[^>]* aria-invalid="true" aria-describedby="name-wrong"`))
	assert.True(t, regexpMatch(page, `<p class="wrong" id="name-wrong">Name is required</p>`))
	page = f.upload(map[string]string{"name": "Song", "language": "xx"}, "song.wav", recording(100))
	says(t, page, "Language must be")
	page = f.upload(map[string]string{"name": "Song"}, "song.wav", []byte("%PDF-1.7 this is no song"))
	says(t, page, "File must be an audio file")
	assert.False(t, f.asked(aicontenttest.ImagesStore) || f.asked(aicontenttest.TranscriptionsStore))
}

// What the gallery finds wrong comes in the order of the form's fields, and each text once.
func TestProblemsAreInTheOrderOfTheForm(t *testing.T) {
	f := newFixture(t)
	invalid := url.Values{"form": {newToken()}, "name": {" "}, "resolution": {"8x8"}, "style": {"x"}, "filter": {"x"},
		"medium": {"x"}}
	assert.Regexp(t, "Name .*Description .*Resolution .*Style .*Medium .*Filter ",
		shown(f.post("/new-picture", invalid)))
	f.service.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.Status(422,
		`{"errors":{"account":["1"],"zone":["2"],"language":["3"],"name":["4"]}}`))
	page := f.upload(map[string]string{"name": "Song", "language": "gb"}, "song.wav", recording(100))
	assert.Regexp(t, "#account.*#language.*#name.*#zone", strings.ReplaceAll(page, "\n", " "))
	for _, path := range []string{"/elsewhere", "/pictures/4711", "/pictures?style=baroque"} {
		page := f.get(path)
		title := regexp.MustCompile("<h1>(.*)</h1>").FindStringSubmatch(page)
		require.NotNil(t, title, path)
		assert.Equal(t, 1, strings.Count(shown(page), title[1]), "%s: the title is there once", path)
	}
}

// A text that was corrected for an hour is not lost to an error.
func TestFailedChangeKeepsWhatWasTyped(t *testing.T) {
	f := newFixture(t)
	id := f.service.AddTranscription(aicontenttest.Transcription{Name: "Song", Result: "La la"}).ID
	f.service.Fault(aicontenttest.Status(500, "down"))
	page := f.post("/recordings/"+id, url.Values{"name": {"Song"}, "result": {"Fa la la la la"}})
	says(t, page, "The change may have been saved anyway. It is safe to press the button again.")
	says(t, page, "Fa la la la la")
	f.service.Fault(aicontenttest.Status(429, "slow down"))
	page = f.post("/recordings/"+id, url.Values{"favorite": {"1"}})
	says(t, page, "Nothing was changed. You can press the button again.")
	assert.Equal(t, "La la", f.service.Transcriptions()[0].Result)
}

func TestFailedReadIsExplained(t *testing.T) {
	f := newFixture(t)
	says(t, f.get("/pictures/4711"), "Not found It may have been deleted, or the address is wrong.")
	says(t, f.post("/recordings/4711/delete", nil), "Not found Nothing was changed.")
	page := f.get("/pictures?style=baroque&search=fox")
	says(t, page, "Style must be one of those in the list Choose other filters.")
	assert.Contains(t, page, `name="search" value="fox"`, "what was typed is still there")
	assert.Contains(t, page, `href="#style"`)
	assert.Contains(t, page, `<select id="style" name="style" aria-invalid="true">`)
	page = f.get("/recordings?search_by=4711")
	says(t, page, "Search by must be one of those in the list Choose other filters.")
	assert.Contains(t, page, `<select id="search_by"`)
	says(t, f.get("/elsewhere"), "Page not found")
	// These are sent as browsers do not send them: no record can have such an ID.
	for _, id := range []string{"..", ".", " ", "\x00"} {
		path := "/pictures/" + strings.ReplaceAll(url.PathEscape(id), ".", "%2e")
		resp, err := http.Get(f.url + path)
		says(t, f.page(resp, err), "Not found It may have been deleted, or the address is wrong.")
		assert.Equal(t, http.StatusNotFound, resp.StatusCode, path)
		says(t, f.post(path, url.Values{"favorite": {"1"}}), "Not found Nothing was changed.")
	}
	assert.Empty(t, f.service.Violations())
	f.service.Fault(aicontenttest.Status(503, "down"))
	says(t, f.get("/recordings"), "The service had a problem The service says: “down” Reload the page in a moment.")
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
