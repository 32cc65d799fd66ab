package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// submit presses the button of the form that changes or creates a record.
var submit = chromedp.Click(css("form.stack button"))

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
		p.do(chromedp.SetValue(css("#result"), "I came here\nin the autumn."), submit)
		p.says("Saved.")
		assert.Equal(t, "I came here\nin the autumn.", p.text(".text"))
		got := f.service.Transcriptions()[0]
		assert.Equal(t, "I came here\nin the autumn.", got.Result, "line breaks are those of texts")
		assert.EqualValues(t, "GB", got.Language)
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

// The page says how much is sent. An upload that ends in its middle creates nothing, and the form may be sent again.
func TestUploadShowsItsProgressAndEndsWhenItIsCancelled(t *testing.T) {
	f := newFixture(t)
	read, log := io.Pipe()
	f.gallery.log = slog.New(slog.NewTextHandler(log, nil))
	p := openTab(t, wide)
	context.AfterFunc(p.ctx, func() { read.Close() })
	p.fillUpload(f.srv.URL+newRecording(), 4<<20)
	p.throttle(1 << 18)
	p.do(submit)
	p.says("MB of 4.0 MB")
	p.waitFor(`document.querySelector("progress").value > 0.05`)
	assert.True(t, p.is(`document.querySelector("form.stack button").disabled`))
	p.do(chromedp.Click(css("#progress button")))
	p.says("Cancelled. Unless the whole file had arrived, nothing was created.")
	p.says("Press the button again: no second one is created.")
	assert.True(t, p.is(`document.querySelector("#name").readOnly`))
	// Not before the gallery has seen the end: a browser that is slow to cancel would now send the rest at once.
	ended, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, ended, `outcome="not executed"`)
	go io.Copy(io.Discard, read)
	p.throttle(-1)
	assert.False(t, f.asked(aicontent.TranscriptionsStore))
	p.do(submit)
	p.says(created)
	assert.Len(t, f.service.Records(), 1)
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
