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

var looks = []look{
	at("pictures", "/pictures"),
	at("filters", "/pictures?style=retro&page=1"),
	at("nothing", "/pictures?search=whale"),
	at("picture", "/pictures/3?done=saved"),
	at("new-picture", "/new-picture"),
	at("recordings", "/recordings"),
	at("recording", "/recordings/1"),
	at("not-found", "/pictures/4711"),
	at("found", "/pictures/3?done=found"),
	at("bad-filter", "/pictures?style=foo&search=fog"),
	{"recording-open", func(p *tab, f *fixture) {
		p.do(chromedp.Navigate(f.srv.URL + "/recordings/1"))
		p.open("Correct the text")
	}},
	{"sent-form", func(p *tab, f *fixture) {
		form := newPicture()
		f.post(form, fox)
		p.refused(f, form)
	}},
	{"invalid", func(p *tab, f *fixture) {
		f.service.FaultOn(aicontent.ImagesStore, 1, aicontenttest.Status(http.StatusUnprocessableEntity,
			`{"message":{"name":["The name must not be longer than 128 characters."]}}`))
		p.refused(f, newPicture())
	}},
	{"unknown", func(p *tab, f *fixture) {
		f.service.FaultOn(aicontent.ImagesStore, 1, aicontenttest.Status(http.StatusNotImplemented,
			"<title>501 Not Implemented</title>").WithHeader("X-Request-Id", "7f3a9"))
		p.refused(f, newPicture())
	}},
	{"upload", func(p *tab, f *fixture) {
		p.fillUpload(f.srv.URL+"/new-recording", 4<<20)
		p.throttle(1 << 18)
		p.do(submit)
		p.waitFor(`document.querySelector("progress").value > 0.05`)
	}},
}

func at(name, path string) look {
	return look{name, func(p *tab, f *fixture) { p.do(chromedp.Navigate(f.srv.URL + path)) }}
}

// refused sends the form of a picture, which is refused.
func (p *tab) refused(f *fixture, form string) {
	p.t.Helper()
	p.fillPicture(f, form, "Whale", "A whale")
	p.do(submit, chromedp.WaitVisible(css(".problem")))
}

// It looks for problems that axe-core finds, wide and on a phone, light and dark.
func TestAccessibility(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skip("axe-core is missing, which ./install installs: ", err)
	}
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
			for _, look := range looks {
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
