package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A form with a field that is refused keeps the chosen file, whether the gallery refuses it before the upload or the
// service after it.
func TestRefusedFormKeepsTheFile(t *testing.T) {
	f := newFixture(t)
	p := openTab(t, wide)
	p.fillUpload(f.url, tempRecording(t, 1<<20))
	p.do(chromedp.SendKeys(css("#language"), "xx"), chromedp.Click(css("form.stack button")))
	p.says("Language: must be")
	assert.Equal(t, "opera.wav", get[string](p, `document.querySelector("#file").files[0].name`))
	assert.Empty(t, f.service.Requests())

	f.service.FaultOn(aicontenttest.TranscriptionsStore, 1,
		aicontenttest.Status(http.StatusUnprocessableEntity, `{"errors":{"name":["The name is taken."]}}`))
	p.do(chromedp.SetValue(css("#language"), "gb"), chromedp.Click(css("form.stack button")))
	p.says("The name is taken.")
	assert.EqualValues(t, 1<<20, get[int](p, `document.querySelector("#file").files[0].size`))

	p.do(chromedp.Click(css("form.stack button")))
	p.says("Here it is.")
	require.Len(t, f.service.Transcriptions(), 1)
	assert.EqualValues(t, 1<<20, f.service.Transcriptions()[0].Upload.Size)
}

// Who goes back after creating has the same form: sent again as it was, it shows what it created; edited, it asks.
func TestBackAfterCreating(t *testing.T) {
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			p := openTab(t, wide)
			if !scripts {
				p.withoutScripts()
			}
			fillPicture(p, f)
			p.do(chromedp.Click(css("form.stack button")))
			p.says("Here it is.")
			p.do(chromedp.NavigateBack())
			p.says("New picture")
			p.do(chromedp.SetValue(css("#name"), "Opera"), chromedp.SetValue(css("#description"), "An opera"),
				chromedp.Click(css("form.stack button")))
			p.says(found)
			p.do(chromedp.NavigateBack())
			p.says("New picture")
			p.do(chromedp.SetValue(css("#name"), "Opera"), chromedp.SetValue(css("#description"), "Another"),
				chromedp.Click(css("form.stack button")))
			p.says("This form was already sent")
			assert.Len(t, f.service.Records(), 1)
			p.do(chromedp.Click(css("form.stack button")))
			p.says("Here it is.")
			assert.Len(t, f.service.Records(), 2)
		})
	}
}

func fillPicture(p *tab, f *fixture) {
	p.do(chromedp.Navigate(f.url+"/new-picture"), chromedp.SendKeys(css("#name"), "Opera"),
		chromedp.SendKeys(css("#description"), "An opera"))
}

// Names of any length leave the grid as it is, the fields of a form stand in pairs, and the button says what it does.
func TestLayout(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("The lighthouse keeper looks out over the harbor ", 20)
	for _, name := range []string{"Fox", long, strings.ReplaceAll(long, " ", "")} {
		f.service.AddImage(aicontenttest.Image{Name: name, Description: "x", Resolution: "256x256"})
	}
	for _, size := range [][2]int64{wide, phone} {
		p := openTab(t, size)
		p.do(chromedp.Navigate(f.url+"/pictures"), chromedp.WaitVisible(css(".grid")))
		assert.True(t, p.is(`[...document.querySelectorAll(".grid .name")].every((name) => name.offsetHeight < 60)`))
		assert.Equal(t, long, get[string](p, `document.querySelector("li:nth-child(2) .name").title`))
		assert.Equal(t, "Search", p.text(".filters button"))
		p.do(chromedp.Navigate(f.url+"/new-picture"), chromedp.WaitVisible(css("#filter")))
		assert.True(t, p.is(`document.querySelector("#filter").offsetTop ===
			document.querySelector("#medium").offsetTop`))
	}
}
