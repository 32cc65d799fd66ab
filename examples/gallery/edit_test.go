package main

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// editForm returns the fields of the form that changes the record, as a browser would send them back.
func editForm(t *testing.T, page string) url.Values {
	t.Helper()
	form := url.Values{}
	for _, input := range regexp.MustCompile(`<input[^>]* name="(opened-\w+|name)"[^>]*\svalue="([^"]*)"`).
		FindAllStringSubmatch(page, -1) {
		form.Set(input[1], html.UnescapeString(input[2]))
	}
	text := regexp.MustCompile(`(?s)<textarea[^>]* name="result"[^>]*>\n?(.*)</textarea>`).FindStringSubmatch(page)
	if text != nil {
		lines := strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n")
		form.Set("result", lines.Replace(html.UnescapeString(text[1])))
	}
	require.NotEmpty(t, form.Get("opened-name"))
	return form
}

func (f *fixture) recording(name, text string) (path string) {
	return "/recordings/" + f.service.AddTranscription(aicontenttest.Transcription{Name: name, Result: text}).ID
}

// updates are the forms of the update requests that the service got.
func (f *fixture) updates() (forms []url.Values) {
	for _, request := range f.service.Requests() {
		if strings.HasSuffix(string(request.Operation), ".update") {
			forms = append(forms, request.Form)
		}
	}
	return forms
}

// Saving a name changes the name and nothing else: browsers send line breaks as \r\n, and drop one that a text begins
// with.
func TestSavingANameLeavesTheText(t *testing.T) {
	for _, text := range []string{"One.\nTwo.", "One.\r\nTwo.\rThree.", "\n\nOne.", "", "One\x00two"} {
		f := newFixture(t)
		path := f.recording("Keeper", text)
		form := editForm(t, f.get(path))
		form.Set("name", "The keeper")
		says(t, f.post(path, form), "Saved.")
		assert.Equal(t, text, f.service.Transcriptions()[0].Result)
		assert.Equal(t, []url.Values{{"name": {"The keeper"}}}, f.updates())
	}
}

// What the visitor changed is sent, with the line breaks that texts have.
func TestChangedTextIsSaved(t *testing.T) {
	f := newFixture(t)
	path := f.recording("Two\nlines", "One.")
	form := editForm(t, f.get(path))
	assert.Equal(t, "Two\nlines", form.Get("name"))
	form.Set("name", "Twolines") // as browsers have it in a single line
	form.Set("result", "One.\r\nTwo.")
	says(t, f.post(path, form), "Saved.")
	assert.Equal(t, []url.Values{{"result": {"One.\nTwo."}}}, f.updates())
	f.post(path, editForm(t, f.get(path)))
	assert.Len(t, f.updates(), 1, "nothing was changed")
	f.post(path, url.Values{"result": {"Three.\r\nFour."}})
	assert.Equal(t, "Three.\nFour.", f.service.Transcriptions()[0].Result, "a program sends what it wants to change")
}

// Two tabs change one recording: what they changed apart is kept, and what they both changed is asked about.
func TestTwoTabs(t *testing.T) {
	f := newFixture(t)
	path := f.recording("Keeper", "I came hear.")
	first, second := editForm(t, f.get(path)), editForm(t, f.get(path))
	second.Set("result", "I came here.")
	f.post(path, second)
	first.Set("name", "The keeper")
	says(t, f.post(path, first), "Saved.")
	assert.Equal(t, "I came here.", f.service.Transcriptions()[0].Result, "the other tab's correction")
	assert.Equal(t, "The keeper", f.service.Transcriptions()[0].Name)

	first.Set("name", "Keeper") // as it was opened
	first.Set("result", "I came, hear!")
	resp, err := http.PostForm(f.url+path, first)
	page := f.page(resp, err)
	assert.Equal(t, http.StatusConflict, resp.StatusCode)
	says(t, page, "This was changed since you opened it What you typed was not saved.")
	says(t, page, "As it is now The keeper I came here.")
	assert.Len(t, f.updates(), 2)

	again := editForm(t, page)
	assert.Equal(t, "I came, hear!", again.Get("result"), "what was typed is not lost")
	assert.Equal(t, "The keeper", again.Get("name"), "what was not typed is as it is now")
	says(t, f.post(path, again), "Saved.")
	assert.Equal(t, []url.Values{{"result": {"I came, hear!"}}}, f.updates()[2:])
	assert.Equal(t, "The keeper", f.service.Transcriptions()[0].Name)
}

// A picture that another tab renamed is not renamed back.
func TestTwoTabsRenameAPicture(t *testing.T) {
	f := newFixture(t)
	path := "/pictures/" + f.service.AddImage(aicontenttest.Image{Name: "Fox", Resolution: "256x256"}).ID
	form := editForm(t, f.get(path))
	f.post(path, url.Values{"name": {"Red fox"}})
	form.Set("name", "Old fox")
	page := f.post(path, form)
	says(t, page, "This was changed since you opened it")
	assert.Equal(t, "Red fox", f.service.Images()[0].Name)
	says(t, f.post(path, editForm(t, page)), "Saved.")
	assert.Equal(t, "Old fox", f.service.Images()[0].Name)
}

// If the gallery cannot find out what the record has now, nothing was changed, and what was typed is kept.
func TestSavingWhenTheServiceIsDown(t *testing.T) {
	f := newFixture(t)
	path := f.recording("Keeper", "I came hear.")
	form := editForm(t, f.get(path))
	form.Set("result", "I came here.")
	f.service.Fault(aicontenttest.Status(500, "down"))
	page := f.post(path, form)
	says(t, page, "Nothing was changed. You can press the button again.")
	says(t, f.post(path, editForm(t, page)), "Saved.")
	assert.Equal(t, "I came here.", f.service.Transcriptions()[0].Result)
}

// The same in a browser, whose forms change line breaks.
func TestTwoTabsInTheBrowser(t *testing.T) {
	f := newFixture(t)
	const text = "\nI came here.\nThey said: “One winter.”"
	path := f.recording("Keeper", text)
	p := openTab(t, wide)
	p.do(chromedp.Navigate(f.url+path), chromedp.WaitVisible(css("#name")),
		chromedp.SetValue(css("#name"), "The keeper"), chromedp.Click(css("form.stack button")))
	p.says("Saved.")
	assert.Equal(t, []url.Values{{"name": {"The keeper"}}}, f.updates())
	f.post(path, url.Values{"result": {"I went there."}})
	p.do(chromedp.SendKeys(css("#result"), "!"), chromedp.Click(css("form.stack button")))
	p.says("This was changed since you opened it")
	p.says("I went there.")
	p.do(chromedp.Click(css("form.stack button")))
	p.says("Saved.")
	assert.Equal(t, "!"+text, f.service.Transcriptions()[0].Result)
}
