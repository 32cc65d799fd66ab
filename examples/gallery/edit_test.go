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

// editForm returns the fields of the form that changes a text of the record, as a browser would send them back.
func editForm(t *testing.T, page, field string) url.Values {
	t.Helper()
	form := regexp.MustCompile(`(?s)name="opened" value="([^"]*)"[^>]*>\s*<label for="` + field + `">.*?</form>`).
		FindStringSubmatch(page)
	require.NotNil(t, form)
	text := regexp.MustCompile(`(?s)<input id="name"[^>]* value="([^"]*)"|<textarea[^>]*>\n?(.*)</textarea>`).
		FindStringSubmatch(form[0])
	require.NotNil(t, text)
	lines := strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n")
	return url.Values{"opened": {form[1]}, field: {lines.Replace(html.UnescapeString(text[1] + text[2]))}}
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

// A form that is saved as it was opened changes nothing: browsers send line breaks as \r\n, leave them out in a single
// line, and drop one that a text begins with.
func TestSavingWhatNobodyChanged(t *testing.T) {
	for _, text := range []string{"One.\nTwo.", "One.\r\nTwo.\rThree.", "\n\nOne.", "", "One\x00two"} {
		f := newFixture(t)
		path := f.recording("Two\nlines", text)
		says(t, f.post(path, editForm(t, f.get(path), "result")), "Saved.")
		form := editForm(t, f.get(path), "name")
		form.Set("name", "Twolines")
		says(t, f.post(path, form), "Saved.")
		assert.Empty(t, f.updates())
		form.Set("name", "The keeper")
		says(t, f.post(path, form), "Saved.")
		assert.Equal(t, text, f.service.Transcriptions()[0].Result)
		assert.Equal(t, []url.Values{{"name": {"The keeper"}}}, f.updates())
	}
}

// What the visitor changed is sent, with the line breaks that texts have, also if it is nothing but these.
func TestChangedTextIsSaved(t *testing.T) {
	f := newFixture(t)
	path := f.recording("Keeper", "One. Two.")
	form := editForm(t, f.get(path), "result")
	form.Set("result", "One.\r\nTwo.")
	says(t, f.post(path, form), "Saved.")
	form = editForm(t, f.get(path), "result")
	form.Set("result", "One.\r\n\r\nTwo.")
	says(t, f.post(path, form), "Saved.")
	assert.Equal(t, []url.Values{{"result": {"One.\nTwo."}}, {"result": {"One.\n\nTwo."}}}, f.updates())
	f.post(path, url.Values{"result": {"Three.\r\nFour."}})
	assert.Equal(t, "Three.\nFour.", f.service.Transcriptions()[0].Result, "a program sends what it wants to change")
}

// Two tabs change one recording: what they changed apart is kept, and what they both changed is asked about.
func TestTwoTabs(t *testing.T) {
	f := newFixture(t)
	path := f.recording("Keeper", "I came hear.")
	opened := f.get(path)
	name, first, second := editForm(t, opened, "name"), editForm(t, opened, "result"), editForm(t, opened, "result")
	second.Set("result", "I came here.")
	says(t, f.post(path, second), "Saved.")
	name.Set("name", "The keeper")
	says(t, f.post(path, name), "Saved.")
	assert.Equal(t, "I came here.", f.service.Transcriptions()[0].Result, "the other tab's correction")
	assert.Equal(t, "The keeper", f.service.Transcriptions()[0].Name)

	first.Set("result", "I came, hear!")
	resp, err := http.PostForm(f.url+path, first)
	page := f.page(resp, err)
	assert.Equal(t, http.StatusConflict, resp.StatusCode)
	says(t, page, "This was changed since you opened it What you typed was not saved.")
	says(t, page, "As it is now I came here.")
	assert.Len(t, f.updates(), 2)

	again := editForm(t, page, "result")
	assert.Equal(t, "I came, hear!", again.Get("result"), "what was typed is not lost")
	says(t, f.post(path, again), "Saved.")
	assert.Equal(t, []url.Values{{"result": {"I came, hear!"}}}, f.updates()[2:])
	assert.Equal(t, "The keeper", f.service.Transcriptions()[0].Name)
}

// A picture that another tab renamed is not renamed back.
func TestTwoTabsRenameAPicture(t *testing.T) {
	f := newFixture(t)
	path := "/pictures/" + f.service.AddImage(aicontenttest.Image{Name: "Fox", Resolution: "256x256"}).ID
	form := editForm(t, f.get(path), "name")
	f.post(path, url.Values{"name": {"Red fox"}})
	form.Set("name", "Old fox")
	page := f.post(path, form)
	says(t, page, "This was changed since you opened it")
	assert.Equal(t, "Red fox", f.service.Images()[0].Name)
	says(t, f.post(path, editForm(t, page, "name")), "Saved.")
	assert.Equal(t, "Old fox", f.service.Images()[0].Name)
}

// If the gallery cannot find out what the record has now, nothing was changed, and what was typed is kept.
func TestSavingWhenTheServiceIsDown(t *testing.T) {
	f := newFixture(t)
	path := f.recording("Keeper", "I came hear.")
	form := editForm(t, f.get(path), "result")
	form.Set("result", "I came here.")
	f.service.Fault(aicontenttest.Status(500, "down"))
	page := f.post(path, form)
	says(t, page, "Nothing was changed. You can press the button again.")
	says(t, f.post(path, editForm(t, page, "result")), "Saved.")
	assert.Equal(t, "I came here.", f.service.Transcriptions()[0].Result)
}

// The same in a browser, whose forms change line breaks.
func TestTwoTabsInTheBrowser(t *testing.T) {
	f := newFixture(t)
	const text = "\nI came here.\nThey said: “One winter.”"
	path := f.recording("Keeper", text)
	p := openTab(t, wide)
	p.do(chromedp.Navigate(f.url + path))
	p.open("Correct the text")
	p.do(chromedp.Click(css("details[open] button")))
	p.says("Saved.")
	assert.Empty(t, f.updates(), "nothing was changed")
	p.open("Correct the text")
	f.post(path, url.Values{"result": {"I went there."}})
	p.do(chromedp.SendKeys(css("#result"), "!"), chromedp.Click(css("details[open] button")))
	p.says("This was changed since you opened it")
	p.says("I went there.")
	p.do(chromedp.Click(css("form.stack button")))
	p.says("Saved.")
	assert.Equal(t, "!"+text, f.service.Transcriptions()[0].Result)
}
