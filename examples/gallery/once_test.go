package main

import (
	"bytes"
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lookAt is where a refused form says to look first.
func lookAt(t *testing.T, page string) string {
	match := regexp.MustCompile(`href="([^"]*)">Look for it`).FindStringSubmatch(page)
	require.NotNil(t, match)
	return html.UnescapeString(match[1])
}

// tokenOf is the token of the form on a page.
func tokenOf(t *testing.T, page string) string {
	match := regexp.MustCompile(`name="form" value="([^"]*)"`).FindStringSubmatch(page)
	require.NotNil(t, match)
	return html.UnescapeString(match[1])
}

func fox(form string) url.Values {
	return url.Values{"form": {form}, "name": {"Fox"}, "description": {"A fox"}, "resolution": {"256x256"}}
}

// restart replaces the gallery by a new one at the same address, which remembers nothing.
func (f *fixture) restart() {
	f.t.Helper()
	before := f.gallery
	f.open(before.client)
	srv := httptest.NewServer(f.gallery.handler())
	f.t.Cleanup(srv.Close)
	f.url = srv.URL
}

// A form from before a restart may have been sent: it asks first, whether it is opened, pressed or checked before its
// upload, and then creates one record.
func TestFormFromBeforeTheRestartAsksFirst(t *testing.T) {
	f := newFixture(t)
	picture, recorded := f.gallery.forms.token(), f.gallery.forms.token()
	says(t, f.post("/new-picture", fox(picture)), "Here it is.")
	f.upload(map[string]string{"form": recorded, "name": "Song"}, "song.wav", recording(100))
	require.Len(t, f.service.Records(), 2)

	f.restart()
	const asks = "This form may already have been sent It was opened before the gallery was restarted."
	opened := f.get("/new-picture?form=" + picture)
	says(t, opened, asks)
	page := f.post("/new-picture", fox(picture))
	says(t, page, asks)
	assert.Equal(t, "/pictures?search=Fox", lookAt(t, page))
	says(t, f.get(lookAt(t, page)), "1 found.")
	says(t, f.upload(map[string]string{"form": recorded, "name": "Song"}, "song.wav", recording(100)), asks)
	body, contentType := uploadBody(t, map[string]string{"form": recorded, "name": "Song"}, "song.wav", recording(100))
	resp, err := http.Post(f.url+"/check-recording", contentType, bytes.NewReader(body))
	says(t, f.page(resp, err), asks)
	assert.Equal(t, http.StatusConflict, resp.StatusCode)
	require.Len(t, f.service.Records(), 2, "nothing is billed before that")

	for _, page := range []string{opened, page} {
		says(t, f.post("/new-picture", fox(tokenOf(t, page))), "Here it is.")
	}
	assert.Len(t, f.service.Images(), 3)
}

// Tokens that the gallery did not make, or that were changed, ask first.
func TestForeignTokensAskFirst(t *testing.T) {
	f := newFixture(t)
	good := f.gallery.forms.token()
	for _, form := range []string{"one", ".", "..", "1.2.3", "z" + good, good + "0", good[:len(good)-1],
		"0" + good[strings.IndexByte(good, '.'):], f.gallery.key.sign("form", "")} {
		resp, err := http.PostForm(f.url+"/new-picture", fox(form))
		says(t, f.page(resp, err), "This form may already have been sent")
		assert.Equal(t, http.StatusConflict, resp.StatusCode, form)
		says(t, f.get("/new-picture?"+url.Values{"form": {form}}.Encode()), "This form may already have been sent")
	}
	assert.Empty(t, f.service.Requests())
	says(t, f.post("/new-picture", fox(good)), "Here it is.")
}

// The gallery remembers so many forms. One that it has forgotten asks first.
func TestForgottenFormsAskFirst(t *testing.T) {
	f := newFixture(t)
	first, unsent := f.gallery.forms.token(), f.gallery.forms.token()
	says(t, f.post("/new-picture", fox(first)), "Here it is.")
	for n := range maxForms {
		f.gallery.forms.sent[strconv.Itoa(n)] = f.gallery.forms.sent[first]
	}
	f.gallery.forms.sent["under way"] = creation{working: true}
	says(t, f.post("/new-picture", fox(f.gallery.forms.token())), "Here it is.")
	assert.Len(t, f.gallery.forms.sent, 2)
	assert.Contains(t, f.gallery.forms.sent, "under way")
	for _, form := range []string{first, unsent} {
		says(t, f.post("/new-picture", fox(form)), "This form may already have been sent")
	}
	says(t, f.post("/new-picture", fox(f.gallery.forms.token())), "Here it is.")
	assert.Len(t, f.service.Records(), 3)
}

// A form that is read only when the program ends already, or the visitor has left, creates nothing, and may be sent again.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	f := newFixture(t)
	form := f.gallery.forms.token()
	ended, end := context.WithCancel(t.Context())
	end()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ended, http.MethodPost, "http://localhost/new-picture",
		strings.NewReader(fox(form).Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	f.gallery.pictures().create(w, r)
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	says(t, w.Body.String(), "Cancelled "+tryAgain)
	assert.Empty(t, f.service.Requests())
	says(t, f.post("/new-picture", fox(form)), "Here it is.")
}

// slowly makes the service keep the responses to create requests until they are let go.
func slowly() (option aicontenttest.Option, letGo func()) {
	gate := make(chan struct{})
	return aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontenttest.ImagesStore {
			<-gate
		}
	}), sync.OnceFunc(func() { close(gate) })
}

// isWorking waits until the service has been asked for what the form describes.
func (f *fixture) isWorking(form string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		sent, _ := f.gallery.forms.find(form)
		return sent.working && len(f.service.Requests()) > 0
	}, 10*time.Second, time.Millisecond)
}

// While the service works, the address of a form that was sent says so, however often it is loaded, and whoever sent it
// may leave. Then it leads to what was created.
func TestResultSurvivesReloadsAndLeaving(t *testing.T) {
	option, letGo := slowly()
	f := newFixture(t, option)
	t.Cleanup(letGo)
	form := f.gallery.forms.token()
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/new-picture",
		strings.NewReader(fox(form).Encode()))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	left := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(req)
		left <- err
	}()
	f.isWorking(form)
	leave()
	require.Error(t, <-left)

	var next string
	for range 2 {
		resp, err := http.Get(f.url + "/new-picture?form=" + form)
		says(t, f.page(resp, err), "Creating a picture “Fox” is being created")
		_, next, _ = strings.Cut(resp.Header.Get("Refresh"), "; url=")
		require.NotEmpty(t, next)
		says(t, f.get(next), "Creating a picture")
	}
	says(t, f.post("/new-picture", fox(form)), "This form was already sent")
	letGo()
	require.Eventually(t, func() bool {
		sent, _ := f.gallery.forms.find(form)
		return !sent.working
	}, 10*time.Second, time.Millisecond)
	says(t, f.get(next), "Here it is.")
	says(t, f.get("/new-picture?form="+form), "This form was already sent")
	assert.Len(t, f.service.Records(), 1)
}

// What went wrong is still there after a reload, with what was typed.
func TestFailureSurvivesReloads(t *testing.T) {
	f := newFixture(t)
	form := f.gallery.forms.token()
	f.service.Fault(aicontenttest.Status(422, `{"errors":{"name":["The name is taken."]}}`))
	says(t, f.post("/new-picture", fox(form)), "The name is taken.")
	result := "/new-picture?wait=1&form=" + form
	for range 2 {
		page := f.get(result)
		says(t, page, "The name is taken.")
		says(t, page, "A fox")
		assert.Equal(t, form, tokenOf(t, page), "nothing was created: it is the same form")
	}
	f.service.Fault(aicontenttest.LoseResponse())
	says(t, f.post("/new-picture", fox(form)), lookFirst)
	for range 2 {
		page := f.get(result)
		says(t, page, lookFirst)
		assert.NotEqual(t, form, tokenOf(t, page))
	}
	says(t, f.get("/new-picture?form="+form), "This form was already sent")
	assert.Len(t, f.service.Records(), 1)
}

// In the browser, a reload in the middle of creating ends on what was created, with and without scripts.
func TestReloadWhileTheServiceWorks(t *testing.T) {
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			option, letGo := slowly()
			f := newFixture(t, option)
			t.Cleanup(letGo)
			p := openTab(t, wide)
			if !scripts {
				p.withoutScripts()
			}
			fillPicture(p, f)
			form := p.value("[name=form]")
			p.do(chromedp.Click(css("form.stack button")))
			f.isWorking(form)
			for range 2 {
				p.do(chromedp.Reload())
				p.says("“Opera” is being created")
			}
			letGo()
			p.says("Here it is.")
			assert.Len(t, f.service.Records(), 1)
		})
	}
}
