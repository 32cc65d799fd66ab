package main

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var screenshots = flag.String("screenshots", "", "write a picture of each page to this `directory`")

// look is a page as it is looked at.
type look struct {
	name string
	open func(p *tab, f *fixture)
}

func looks(file string) []look {
	at := func(path string) func(*tab, *fixture) {
		return func(p *tab, f *fixture) { p.do(chromedp.Navigate(f.url + path)) }
	}
	return []look{
		{"pictures", at("/pictures")},
		{"filters", at("/pictures?style=retro&page=1")},
		{"nothing", at("/pictures?search=whale")},
		{"picture", at("/pictures/3?done=saved")},
		{"new-picture", at("/new-picture")},
		{"recordings", at("/recordings")},
		{"recording", at("/recordings/1")},
		{"not-found", at("/pictures/4711")},
		{"found", at("/pictures/3?done=found")},
		{"recording-open", func(p *tab, f *fixture) {
			p.do(chromedp.Navigate(f.url + "/recordings/1"))
			p.open("Correct the text")
		}},
		{"bad-filter", at("/pictures?style=foo&search=fog")},
		{"sent-form", func(p *tab, f *fixture) {
			form := newToken()
			f.post("/new-picture", fox(form))
			p.do(chromedp.Navigate(f.url+"/new-picture?form="+form), chromedp.SendKeys(css("#name"), "Fox"),
				chromedp.SendKeys(css("#description"), "Another"), chromedp.Click(css("form.stack button")),
				chromedp.WaitVisible(css(".problem")))
		}},
		{"invalid", func(p *tab, f *fixture) {
			f.service.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.Status(http.StatusUnprocessableEntity,
				`{"message":{"name":["The name must not be longer than 128 characters."]}}`))
			p.do(chromedp.Navigate(f.url+"/new-picture"), chromedp.SendKeys(css("#name"), "Whale"),
				chromedp.SendKeys(css("#description"), "A whale"),
				chromedp.Click(css("form.stack button")), chromedp.WaitVisible(css(".problem")))
		}},
		{"unknown", func(p *tab, f *fixture) {
			f.service.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.Status(http.StatusNotImplemented,
				"<title>501 Not Implemented</title>").WithHeader("X-Request-Id", "7f3a9"))
			p.do(chromedp.Navigate(f.url+"/new-picture"), chromedp.SendKeys(css("#name"), "Whale"),
				chromedp.SendKeys(css("#description"), "A whale"),
				chromedp.Click(css("form.stack button")), chromedp.WaitVisible(css(".problem")))
		}},
		{"upload", func(p *tab, f *fixture) {
			p.fillUpload(f.url, file)
			p.throttle(1 << 20)
			p.do(chromedp.Click(css("form.stack button")))
			p.waitFor(`document.querySelector("progress").value > 0.2`)
		}},
	}
}

// No page has an accessibility problem that axe-core finds, wide and on a phone, light and dark.
func TestAccessibility(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skip("axe-core is missing, which ./install installs: ", err)
	}
	file := tempRecording(t, 4<<20)
	f := newFixture(t)
	for n := range 42 {
		style := aicontent.Styles()[n%len(aicontent.Styles())]
		f.service.AddImage(aicontenttest.Image{Name: "Lighthouse, " + style.Label(), Description: "A lighthouse",
			Resolution: "512x512", Style: string(style), Favorite: n%5 == 0})
	}
	f.service.AddTranscription(aicontenttest.Transcription{Name: "Keeper", Language: "GB",
		Result: "I came here in the autumn of eighty-one, for one winter, they said."})
	for device, size := range map[string][2]int64{"wide": wide, "phone": phone} {
		t.Run(device, func(t *testing.T) {
			p := openTab(t, size)
			for _, look := range looks(file) {
				look.open(p, f)
				p.waitFor(`[...document.images].every((image) => image.complete || image.loading === "lazy")`)
				p.do(chromedp.Evaluate[chromedp.Void](string(axe)))
				for _, theme := range []string{"light", "dark"} {
					p.theme(theme)
					violations, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](`
						axe.run({ resultTypes: ["violations"] }).then((found) =>
						found.violations.map((v) => v.id + ": " + v.help + ": " +
							v.nodes.map((n) => n.html).join(" ")))`, chromedp.EvalAwaitPromise))
					require.NoError(t, err)
					assert.Empty(t, violations, "%s, %s", look.name, theme)
					p.photograph(strings.Join([]string{look.name, device, theme}, "-"))
				}
				assert.True(t, p.is("document.documentElement.scrollWidth <= innerWidth"),
					"%s does not scroll sideways", look.name)
			}
		})
	}
}

// photograph writes what is seen of the page to the directory of the flag, if any.
func (p *tab) photograph(name string) {
	p.t.Helper()
	if *screenshots == "" {
		return
	}
	p.waitFor(`[...document.images].every((image) =>
		image.getBoundingClientRect().top > innerHeight || image.complete)`)
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644))
}
