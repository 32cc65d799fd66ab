package main

import (
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	browsers "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The picture is saved under its name.
func TestPictureCanBeDownloaded(t *testing.T) {
	f := newFixture(t)
	f.service.AddImage(aicontenttest.Image{ID: "1", Name: "Old fox", Description: "x", Resolution: "256x256"})
	p := openTab(t, wide)
	dir := t.TempDir()
	_, err := chromedp.CallBrowser(p.ctx, browsers.SetDownloadBehavior, browsers.SetDownloadBehaviorParams{
		BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID,
		Behavior:         browsers.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir,
	})
	require.NoError(t, err)
	p.do(chromedp.Navigate(f.url+"/pictures/1"), chromedp.Click(css("a[download]")))
	file := filepath.Join(dir, "Old fox.png")
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, 20*time.Second,
		20*time.Millisecond)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "image/png", http.DetectContentType(content))
}

// A click selects the whole text and nothing else, without scripts.
func TestTextCanBeCopied(t *testing.T) {
	f := newFixture(t)
	const text = "I came here in the autumn.\nThey said: “One winter.”"
	f.service.AddTranscription(aicontenttest.Transcription{ID: "1", Name: "Keeper", Result: text})
	for _, size := range [][2]int64{wide, phone} {
		p := openTab(t, size)
		p.withoutScripts()
		p.do(chromedp.Navigate(f.url+"/recordings/1"), chromedp.Click(css(".text")))
		p.waitFor(`getSelection().toString() !== ""`)
		assert.Equal(t, text, strings.TrimSpace(get[string](p, "getSelection().toString()")))
	}
}

// silence is a WAV file of a second.
func silence() []byte {
	const rate = 8000
	file := []byte("RIFF\x00\x00\x00\x00WAVEfmt ")
	binary.LittleEndian.PutUint32(file[4:], 36+rate)
	for _, number := range []uint32{16, 1<<16 | 1, rate, rate, 8<<16 | 1} {
		file = binary.LittleEndian.AppendUint32(file, number)
	}
	file = binary.LittleEndian.AppendUint32(append(file, "data"...), rate)
	return append(file, strings.Repeat("\x80", rate)...)
}

// A recording can be played if the deployment sends where it is; otherwise there is no player.
func TestRecordingCanBePlayed(t *testing.T) {
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Empty(t, r.Header.Get("Authorization"))
		w.Write(silence())
	}))
	t.Cleanup(files.Close)
	f := newFixture(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.RecordID == "1" {
			r.Body = []byte(strings.Replace(string(r.Body), `"result":`, `"url":"`+files.URL+`/a.wav","result":`, 1))
		}
	}))
	f.service.AddTranscription(aicontenttest.Transcription{ID: "1", Name: "Keeper", Result: "I came here."})
	f.service.AddTranscription(aicontenttest.Transcription{ID: "2", Name: "Harbor", Result: "Wind south-west."})
	assert.NotContains(t, f.get("/recordings/2"), "<audio")
	require.Contains(t, f.get("/recordings/1"), "<audio controls")

	p := openTab(t, wide)
	p.do(chromedp.Navigate(f.url+"/recordings/1"), chromedp.Click(css("audio")))
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("audio").preload = "auto"`))
	p.waitFor(`Math.abs(document.querySelector("audio").duration - 1) < 0.01`)
}
