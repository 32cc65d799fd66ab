package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A picture is made, seen, marked, found, renamed and deleted, once with a mouse and scripts, once on a phone without.
func TestLifeOfAPicture(t *testing.T) {
	for name, size := range map[string][2]int64{"wide": wide, "phone without scripts": phone} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.service.AddImage(aicontenttest.Image{Name: "Harbor", Description: "A harbor", Resolution: "256x256",
				Style: "anime"})
			p := openTab(t, size)
			if size == phone {
				p.withoutScripts()
			}
			p.do(chromedp.Navigate(f.url+"/"), chromedp.Click(css("a.button")))
			p.says("What the picture shows")
			p.do(chromedp.SendKeys(css("#name"), "Lighthouse"),
				chromedp.SendKeys(css("#description"), "A lighthouse at dusk"),
				chromedp.SetValue(css("#style"), "retro"), chromedp.Click(css("form.stack button")))
			p.says("Here it is.")
			p.says("Lighthouse")
			p.waitFor(`document.querySelector(".frame img").naturalWidth === 512`)

			p.do(chromedp.Click(css(".heart")))
			p.says("A favorite")
			p.do(chromedp.Click(css(".top nav a")))
			p.says("2 found")
			p.do(chromedp.Click(css("summary")), chromedp.Click(css("input[name=favorite]")),
				chromedp.Click(css(".filters button")))
			p.says("1 found")
			assert.Equal(t, "Lighthouse", p.text(".grid .name"))
			p.do(chromedp.Navigate(f.url+"/pictures"), chromedp.WaitVisible(css(".grid")),
				chromedp.SendKeys(css("[name=search]"), "light"+kb.Enter))
			p.says("1 found")

			p.do(chromedp.Click(css(".grid a")))
			p.open("Rename")
			p.do(chromedp.SetValue(css("#name"), "Beacon"), chromedp.Click(css("form.stack button")))
			p.says("Saved.")
			assert.Equal(t, "Beacon", p.text("h1"))
			p.do(chromedp.Click(css(".danger summary")), chromedp.Click(css(".danger button")))
			p.says("Deleted.")
			assert.Len(t, f.service.Images(), 1)
		})
	}
}

// A recording is uploaded, read, corrected, found and deleted, with and without scripts.
func TestLifeOfARecording(t *testing.T) {
	file := tempRecording(t, 3<<20)
	for name, size := range map[string][2]int64{"wide": wide, "phone without scripts": phone} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			p := openTab(t, size)
			if size == phone {
				p.withoutScripts()
			}
			p.do(chromedp.Navigate(f.url+"/recordings"), chromedp.Click(css("a.button")))
			p.says("Audio file")
			p.do(chromedp.SendKeys(css("#name"), "Keeper"), chromedp.SendKeys(css("#language"), "gb"),
				chromedp.SetUploadFiles(css("#file"), []string{file}), chromedp.Click(css("form.stack button")))
			p.says("Here it is.")
			require.Len(t, f.service.Transcriptions(), 1)
			upload := f.service.Transcriptions()[0].Upload
			assert.Equal(t, "opera.wav", upload.Name)
			assert.EqualValues(t, 3<<20, upload.Size)
			assert.Contains(t, p.text(".text"), "3145728 bytes")

			p.open("Correct the text")
			p.do(chromedp.SetValue(css("#result"), "I came here in the autumn."),
				chromedp.Click(css("form.stack button")))
			p.says("Saved.")
			assert.Equal(t, "I came here in the autumn.", p.text(".text"))
			assert.Equal(t, "I came here in the autumn.", f.service.Transcriptions()[0].Result)
			p.do(chromedp.Click(css(".top nav a:last-child")), chromedp.WaitVisible(css(".texts")),
				chromedp.Click(css("summary")),
				chromedp.SetValue(css("[name=search_by]"), "result"),
				chromedp.SendKeys(css("[name=search]"), "autumn"+kb.Enter))
			p.waitFor(`location.search.includes("autumn")`) // the list without the search has one record, too
			p.says("1 found")
			p.do(chromedp.Click(css(".texts a")), chromedp.WaitVisible(css(".danger")),
				chromedp.Click(css(".danger summary")), chromedp.Click(css(".danger button")))
			p.says("Deleted.")
			assert.Empty(t, f.service.Transcriptions())
		})
	}
}

// Each kind of failure is shown with the form as it was filled in, and with what to do.
func TestFailuresInTheBrowser(t *testing.T) {
	p := openTab(t, phone)
	for _, failure := range failures {
		f := newFixture(t)
		failure.strike(f)
		p.do(chromedp.Navigate(f.url+"/new-picture"), chromedp.SendKeys(css("#name"), "Fox"),
			chromedp.SendKeys(css("#description"), "A fox"),
			chromedp.Click(css("form.stack button")))
		p.says(failure.title)
		if failure.settled {
			p.says(tryAgain)
		} else {
			p.says(failure.advice)
		}
		assert.Equal(t, "A fox", p.value("#description"), failure.name)
		// A screen reader is led to the problem.
		p.waitFor(`document.activeElement.matches(".problem")`)
		assert.Empty(t, f.service.Records(), failure.name)
	}
}

// While a file is sent the page tells how far it is. Cancelled, it says that nothing was made, and the same button
// works again.
func TestUploadProgressAndCancel(t *testing.T) {
	f := newFixture(t)
	p := openTab(t, wide)
	p.fillUpload(f.url, tempRecording(t, 4<<20))
	p.throttle(1 << 20)
	p.do(chromedp.Click(css("form.stack button")))
	p.says("MB of 4.0 MB")
	p.waitFor(`document.querySelector("progress").value > 0.1`)
	assert.True(t, p.is(`document.querySelector("form.stack button").disabled`))
	p.do(chromedp.Click(css("#progress button")))
	p.says("Cancelled. Unless the whole file had arrived, nothing was created.")
	p.says("Press the button again: no second one is created.")
	assert.Empty(t, f.service.Requests())
	assert.True(t, p.is(`document.querySelector("#name").readOnly`))

	p.throttle(-1)
	p.do(chromedp.Click(css("form.stack button")))
	p.says("Here it is.")
	assert.Len(t, f.service.Records(), 1)
}

// Cancelled after the whole file was sent, the page does not claim that nothing was made.
func TestCancelWhileTheServiceListens(t *testing.T) {
	gate := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(gate) })
	f := newFixture(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontenttest.TranscriptionsStore {
			<-gate
		}
	}))
	t.Cleanup(letGo)
	p := openTab(t, wide)
	p.fillUpload(f.url, tempRecording(t, 1<<20))
	p.do(chromedp.Click(css("form.stack button")))
	p.says("Sent. Transcribing may take a few minutes.")
	p.do(chromedp.Click(css("#progress button")))
	p.says("Press the button again: no second one is created.")
	assert.True(t, p.is(`document.querySelector("#name").readOnly`), "an edited title would be another record")
	p.do(chromedp.Click(css("form.stack button")))
	letGo()
	p.says(found)
	assert.Len(t, f.service.Records(), 1)
}

// Leaving the page in the middle of an upload ends it, and nothing of it reaches the service.
func TestLeavingThePageCancelsTheUpload(t *testing.T) {
	f := newFixture(t)
	p := openTab(t, wide)
	p.fillUpload(f.url, tempRecording(t, 4<<20))
	p.throttle(1 << 20)
	p.do(chromedp.Click(css("form.stack button")))
	p.says("MB of 4.0 MB")
	p.do(chromedp.Navigate(f.url + "/recordings"))
	require.Eventually(t, func() bool {
		return strings.Contains(f.logged(), "outcome=\"not executed\"")
	}, 20*time.Second, 20*time.Millisecond)
	assert.False(t, f.asked(aicontenttest.TranscriptionsStore))
}

// A file that is too large is refused before it is sent, and errors of an upload are shown in place.
func TestFailedUploadInTheBrowser(t *testing.T) {
	f := newFixture(t)
	f.gallery.maxUpload = 1 << 20
	f.listen()
	p := openTab(t, wide)
	p.fillUpload(f.url, tempRecording(t, 2<<20))
	p.do(chromedp.Click(css("form.stack button")))
	p.says("The file is 2.0 MB; the gallery accepts at most 1.0 MB. Nothing was sent.")
	assert.Empty(t, f.service.Requests())

	f.service.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.Status(413, "too large").Early())
	p.fillUpload(f.url, tempRecording(t, 1<<19))
	p.do(chromedp.Click(css("form.stack button")))
	p.says("Too large")
	assert.Equal(t, "Opera", p.value("#name"))
	p.waitFor(`document.activeElement.matches(".problem")`)
}

// Nothing that strangers have written runs in the browser, and nothing is fetched from elsewhere.
func TestNoScriptRuns(t *testing.T) {
	f := attacked(t)
	p := openTab(t, wide)
	var foreign []string
	require.NoError(t, chromedp.Listen(p.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(e.Request.URL, f.url) &&
			!strings.HasPrefix(e.Request.URL, f.service.URL+"/pictures/") {
			foreign = append(foreign, e.Request.URL)
		}
	}))
	_, err := chromedp.Call(p.ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	for _, path := range attackedPaths() {
		p.do(chromedp.Navigate(f.url+path), chromedp.WaitReady(css("main")))
		assert.False(t, p.is("window.attacked"), path)
		assert.Zero(t, p.count("main script, main img[onerror], main [onload]"), path)
	}
	assert.Empty(t, foreign)
}

// All can be done with the keyboard: the first stop skips the navigation, and every stop can be seen.
func TestKeyboard(t *testing.T) {
	f := newFixture(t)
	f.service.AddImage(aicontenttest.Image{ID: "1", Name: "Harbor", Description: "A harbor", Resolution: "256x256"})
	p := openTab(t, wide)
	p.do(chromedp.Navigate(f.url+"/pictures/1"), chromedp.KeyEvent(kb.Tab))
	assert.True(t, p.is(`document.activeElement.matches(".skip") &&
		document.activeElement.getBoundingClientRect().left >= 0`))
	p.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	assert.True(t, p.is(`document.activeElement.matches("main a")`))
	for range 20 {
		assert.True(t, p.is(`getComputedStyle(document.activeElement).outlineStyle !== "none"`),
			"the focus can be seen")
		if p.is(`document.activeElement.matches(".heart")`) {
			break
		}
		p.do(chromedp.KeyEvent(kb.Tab))
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	p.waitFor(`document.querySelector(".heart[aria-pressed=true]")`)
	assert.True(t, f.service.Images()[0].Favorite)
}

// tempRecording is the path of a WAV file of the size.
func tempRecording(t *testing.T, size int) string {
	path := filepath.Join(t.TempDir(), "opera.wav")
	require.NoError(t, os.WriteFile(path, recording(size), 0o600))
	return path
}

func (p *tab) fillUpload(url, file string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url+"/new-recording"), chromedp.SendKeys(css("#name"), "Opera"),
		chromedp.SetUploadFiles(css("#file"), []string{file}))
}
