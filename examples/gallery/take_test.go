package main

import (
	"net/http"
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
