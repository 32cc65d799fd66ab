package main

import (
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The advice of a page after a failed create request.
const (
	nothing   = "Nothing was created, and nothing was billed. "
	tryAgain  = nothing + "You can try again."
	useless   = nothing + "The same request would fail again."
	lookFirst = "It may have been created and billed. This form creates no second one."
)

// The button of an error page belongs to the form that failed. Its record may have been created and billed, so another
// token would bill a second one.
func TestErrorPageSaysWhetherItWasBilledAndItsButtonBillsNoSecondRecord(t *testing.T) {
	for name, test := range map[string]struct {
		fault         aicontenttest.Fault
		status        int
		title, advice string
		last          string // said by the page of the record
	}{
		"no key": {aicontenttest.Status(401, `{"message":"Unauthenticated."}`), 502,
			"Unauthenticated.", useless, created},
		"refused form": {aicontenttest.Status(422, `{"message":"Invalid.","errors":{"name":["Too long."]}}`), 422,
			"Too long.", useless, created},
		"another language": {aicontenttest.Status(409, `{"message":"été"}`), 502, "Été", useless, created},
		"too large": {aicontenttest.Status(413, "<html><title>413 Request Entity Too Large</title></html>"), 502,
			"Request Entity Too Large", useless, created},
		"too often": {aicontenttest.Status(429, `{"message":"Too Many Attempts."}`).WithRetryAfter("600"), 503,
			"Too Many Attempts.", nothing + "Try again ", created},
		"server error":       {aicontenttest.Status(500, `{"message":"Server Error"}`), 503, "", lookFirst, created},
		"proxy that gave up": {aicontenttest.ActThenStatus(504), 503, "", lookFirst, found},
		"unreadable": {aicontenttest.InvalidJSON(), 503, "",
			"It was created and billed. This form creates no second one.", found},
	} {
		t.Run(name, func(t *testing.T) {
			var hiding atomic.Bool
			hiding.Store(true)
			bubble(t, func(f *fixture) {
				f.service.FaultOn(aicontent.ImagesStore, 1, test.fault)
				form := newPicture()
				press := func() (status int, page string) {
					began := time.Now()
					status, page = f.send(form, with(fox, "style", "retro"))
					assert.LessOrEqual(f.t, time.Since(began), maxPause+time.Second)
					return status, page
				}
				status, page := press()
				assert.Equal(f.t, test.status, status)
				says(f.t, page, test.title)
				says(f.t, page, test.advice)
				says(f.t, page, "A fox")
				assert.Contains(f.t, page, `<option value="retro" selected>`)
				mayExist := !strings.HasPrefix(test.advice, nothing)
				assert.Equal(f.t, mayExist, regexpMatch(page, `href="/pictures\?search=[a-z2-7]{12}"`))
				assert.Equal(f.t, mayExist, isFixed(page))
				hiding.Store(false)
				for began := time.Now(); !strings.Contains(page, "Fox · Gallery"); _, page = press() {
					require.Less(f.t, time.Since(began), time.Hour)
					require.Equal(f.t, form, formOf(f.t, page))
					time.Sleep(time.Second)
				}
				says(f.t, page, test.last)
				assert.Len(f.t, f.service.Images(), 1)
			}, hidden(&hiding))
		})
	}
}

func TestInvalidFormNamesItsFieldsAndIsNotSent(t *testing.T) {
	f := newFixture(t)
	for _, title := range []string{
		"", " ", "\u200b", "\u00a0\u2060", "\u00ad", "\u3164", "\u2800", "\U0001D159", "\ufe0f", "\x00",
	} {
		page := f.post(newPicture(), with(with(fox, "name", title), "resolution", "8x8"))
		says(t, page, "Please check what you entered Name: is required; resolution: must be")
	}
	song := map[string]string{"name": "Song", "language": "xx"}
	says(t, f.upload(newRecording(), song, "song.wav", recording(100)), "Language: must be")
	song["language"] = ""
	document := []byte("%PDF-1.7 this is no song")
	says(t, f.upload(newRecording(), song, "song.wav", document), "File: must be an audio file")
	says(t, f.upload(newRecording(), song, "", nil), "File: is required")
	assert.False(t, f.asked(aicontent.ImagesStore) || f.asked(aicontent.TranscriptionsStore))
}

func TestFailedChangeKeepsATypedText(t *testing.T) {
	f := newFixture(t)
	id := f.service.AddTranscription(aicontent.Transcription{Name: "Song", Result: "La la"}).ID
	f.service.Fault(aicontenttest.Status(500, "down"))
	page := f.post("/recordings/"+string(id), url.Values{"name": {"Song"}, "result": {"Fa la la la la"}})
	says(t, page, "The change may have been saved. You can try again.")
	says(t, page, "Fa la la la la")
	f.service.Fault(aicontenttest.Status(429, "slow down"))
	page = f.post("/recordings/"+string(id), url.Values{"favorite": {"1"}})
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
