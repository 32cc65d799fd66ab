package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// submit presses the button of the form that changes or creates a record.
var submit = chromedp.Click(css("form.stack button"))

// fillPicture opens the form of a picture at the path, and fills it in.
func (p *tab) fillPicture(f *fixture, path, name, description string) {
	p.t.Helper()
	p.do(chromedp.Navigate(f.srv.URL+path), chromedp.SendKeys(css("#name"), name),
		chromedp.SendKeys(css("#description"), description))
}

// fillUpload opens the form of a recording, and fills it in with a file of the size.
func (p *tab) fillUpload(url string, size int) {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "opera.wav")
	require.NoError(p.t, os.WriteFile(file, recording(size), 0o600))
	p.do(chromedp.Navigate(url), chromedp.SendKeys(css("#name"), "Opera"),
		chromedp.SetUploadFiles(css("#file"), []string{file}))
}

// eachWay runs test with a mouse and scripts, and on a phone without scripts.
func eachWay(t *testing.T, test func(t *testing.T, f *fixture, p *tab)) {
	t.Run("wide", func(t *testing.T) { test(t, newFixture(t), openTab(t, wide)) })
	t.Run("phone without scripts", func(t *testing.T) {
		p := openTab(t, phone)
		p.withoutScripts()
		test(t, newFixture(t), p)
	})
}

func TestRecordingIsUploadedCorrectedFoundAndDeletedInTheBrowser(t *testing.T) {
	eachWay(t, func(t *testing.T, f *fixture, p *tab) {
		p.do(chromedp.Navigate(f.srv.URL+"/recordings"), chromedp.Click(css("a.button")))
		p.says("Audio file")
		p.fillUpload(f.srv.URL+"/new-recording", 3<<20)
		p.do(chromedp.SendKeys(css("#language"), "gb"), submit)
		p.says("Here it is.")
		require.Len(t, f.service.Transcriptions(), 1)
		assert.Equal(t, "opera.wav", f.service.Created()[0].File.Name)
		assert.Contains(t, p.text(".text"), "3145728 bytes")

		p.open("Correct the text")
		p.do(chromedp.SetValue(css("#result"), "I came here in the autumn."), submit)
		p.says("Saved.")
		assert.Equal(t, "I came here in the autumn.", p.text(".text"))
		assert.Equal(t, "I came here in the autumn.", f.service.Transcriptions()[0].Result)
		p.do(chromedp.Click(css(".top nav a:last-child")), chromedp.WaitVisible(css(".texts")),
			chromedp.Click(css("summary")), chromedp.SetValue(css("[name=search_by]"), "result"),
			chromedp.SendKeys(css("[name=search]"), "autumn"+kb.Enter))
		p.waitFor(`location.search.includes("autumn")`) // the list without the search has one record, too
		p.says("1 found")
		p.do(chromedp.Click(css(".texts a")), chromedp.WaitVisible(css(".danger")),
			chromedp.Click(css(".danger summary")), chromedp.Click(css(".danger button")))
		p.says("Deleted.")
		assert.Empty(t, f.service.Transcriptions())
	})
}

// A visitor who goes back after creating has the same form. A screen reader is led to the problem of an edited one.
func TestFormAfterGoingBackShowsItsRecordAndAsksIfItIsEdited(t *testing.T) {
	eachWay(t, func(t *testing.T, f *fixture, p *tab) {
		p.fillPicture(f, "/new-picture", "Opera", "An opera")
		p.do(submit)
		p.says(created)
		back := func(description, says string) {
			t.Helper()
			p.do(chromedp.NavigateBack())
			p.says("New picture")
			p.do(chromedp.SetValue(css("#name"), "Opera"), chromedp.SetValue(css("#description"), description), submit)
			p.says(says)
		}
		back("An opera", found)
		back("Another", alreadySent)
		p.waitFor(`document.activeElement.matches(".problem")`)
		assert.Equal(t, "Another", get[string](p, `document.querySelector("#description").value`))
		assert.Len(t, f.service.Records(), 1)
		p.do(submit)
		p.says(created)
		assert.Len(t, f.service.Records(), 2)
	})
}

// The page says how much is sent. An upload that ends in its middle creates nothing, and the form may be sent again.
func TestUploadShowsItsProgressAndEndsWhenItIsCancelledOrItsPageIsLeft(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		t.Run(fmt.Sprintf("page is left: %t", leaves), func(t *testing.T) {
			f := newFixture(t)
			p := openTab(t, wide)
			p.fillUpload(f.srv.URL+newRecording(), 4<<20)
			form := get[string](p, "location.href")
			p.throttle(1 << 18)
			p.do(submit)
			p.says("MB of 4.0 MB")
			p.waitFor(`document.querySelector("progress").value > 0.05`)
			assert.True(t, p.is(`document.querySelector("form.stack button").disabled`))
			if leaves {
				p.do(chromedp.Navigate(f.srv.URL + "/recordings"))
				p.throttle(-1)
				p.fillUpload(form, 4<<20)
			} else {
				p.do(chromedp.Click(css("#progress button")))
				p.says("Cancelled. Unless the whole file had arrived, nothing was created.")
				p.says("Press the button again: no second one is created.")
				assert.True(t, p.is(`document.querySelector("#name").readOnly`))
				p.throttle(-1)
			}
			assert.False(t, f.asked(aicontent.TranscriptionsStore))
			p.do(submit)
			p.says(created)
			assert.Len(t, f.service.Records(), 1)
			f.srv.Close() // which waits for all requests
			assert.Contains(t, f.log.String(), `outcome="not executed"`)
		})
	}
}

func TestCancelWhileTheServiceWorksLeavesARecordThatTheFormFinds(t *testing.T) {
	gate := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(gate) })
	f := newFixture(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontent.TranscriptionsStore {
			<-gate
		}
	}))
	t.Cleanup(letGo)
	p := openTab(t, wide)
	p.fillUpload(f.srv.URL+"/new-recording", 1<<20)
	p.do(submit)
	p.says("Sent. Transcribing may take a few minutes.")
	p.do(chromedp.Click(css("#progress button")))
	p.says("Press the button again: no second one is created.")
	assert.True(t, p.is(`document.querySelector("#name").readOnly`), "the button looks for a record of this title")
	p.do(submit)
	letGo()
	p.says(found)
	assert.Len(t, f.service.Records(), 1)
}

// The script refuses a file that is too large before the upload, the gallery a language, the service the rest.
func TestRefusedUploadIsExplainedAndKeepsItsFile(t *testing.T) {
	f := newFixture(t)
	f.gallery.maxUpload = 2 << 20
	p := openTab(t, wide)
	p.fillUpload(f.srv.URL+"/new-recording", 3<<20)
	p.do(submit)
	p.says("The file is 3.0 MB; the gallery accepts at most 2.0 MB. Nothing was sent.")

	p.fillUpload(f.srv.URL+"/new-recording", 1<<20)
	p.do(chromedp.SendKeys(css("#language"), "xx"), submit)
	p.says("Language: must be")
	assert.Empty(t, f.service.Requests())

	p.do(chromedp.SetValue(css("#language"), "gb"))
	for says, fault := range map[string]aicontenttest.Fault{
		"Too large":          aicontenttest.Status(413, "too large").Early(),
		"The name is taken.": aicontenttest.Status(422, `{"errors":{"name":["The name is taken."]}}`),
	} {
		f.service.FaultOn(aicontent.TranscriptionsStore, 1, fault)
		p.do(submit)
		p.says(says)
		p.waitFor(`document.activeElement.matches(".problem")`)
		assert.Equal(t, "Opera", get[string](p, `document.querySelector("#name").value`))
		assert.Equal(t, "opera.wav", get[string](p, `document.querySelector("#file").files[0].name`))
	}
	p.do(submit)
	p.says(created)
	require.Len(t, f.service.Transcriptions(), 1)
	assert.EqualValues(t, 1<<20, f.service.Created()[0].File.Size)
}

func TestNoScriptOfAStrangerRunsAndNothingForeignIsFetched(t *testing.T) {
	f := attacked(t)
	p := openTab(t, wide)
	var foreign []string
	require.NoError(t, chromedp.Listen(p.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(e.Request.URL, f.srv.URL) &&
			!strings.HasPrefix(e.Request.URL, f.service.URL+"/pictures/") {
			foreign = append(foreign, e.Request.URL)
		}
	}))
	_, err := chromedp.Call(p.ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	for _, path := range attackedPaths() {
		p.do(chromedp.Navigate(f.srv.URL+path), chromedp.WaitReady(css("main")))
		assert.False(t, p.is("window.attacked"), path)
		assert.False(t, p.is(`document.querySelector("main script, main img[onerror], main [onload]")`), path)
	}
	assert.Empty(t, foreign)
}
