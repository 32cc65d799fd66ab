package main

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func regexpMatch(page, expression string) bool {
	return regexp.MustCompile(expression).MatchString(page)
}

// script would run wherever a text is put into a page as it is: in an element, an attribute, a script or an address.
const script = `</textarea></title></script><script>window.attacked=1</script>` +
	`"'><img src=x onerror=window.attacked=1>javascript:window.attacked=1`

// attacked is a gallery with script in every field of its records.
func attacked(t *testing.T) *fixture {
	f := newFixture(t)
	f.service.AddImage(aicontenttest.Image{ID: `"><script>7`, Name: script, Description: script, Resolution: script,
		Style: script, Medium: script, Filter: script})
	f.service.AddTranscription(aicontenttest.Transcription{ID: `"><script>8`, Name: script, Description: script,
		Language: script, Result: script})
	return f
}

// attackedPaths lead to pages with those records, and with script in what an address can hold.
func attackedPaths() []string {
	query := url.Values{}
	for _, name := range []string{"search", "sort_by", "page", "done", "favorite", "list"} {
		query.Set(name, script)
	}
	image, transcription := url.PathEscape(`"><script>7`), url.PathEscape(`"><script>8`)
	return []string{
		"/pictures", "/pictures/" + image, "/recordings", "/recordings/" + transcription,
		"/pictures?" + query.Encode(), "/recordings?" + query.Encode(),
		"/pictures?style=" + url.QueryEscape(script), "/recordings?search_by=" + url.QueryEscape(script),
		"/pictures/" + url.PathEscape(script),
	}
}

func TestScriptIsShownAsText(t *testing.T) {
	f := attacked(t)
	harmless := func(page string) {
		t.Helper()
		assert.False(t, strings.Contains(page, "<script>"), "a script of a stranger")
		assert.False(t, strings.Contains(page, "<img src=x"), "an element of a stranger")
		assert.False(t, regexpMatch(page, `(?i)(href|src|action)="javascript:`), "an address of a stranger")
	}
	for _, path := range attackedPaths() {
		harmless(f.get(path))
	}
	says(t, f.get("/pictures"), strings.Join(strings.Fields(script), " "))
	form := url.Values{"name": {script}, "description": {script}, "resolution": {script}, "style": {script},
		"medium": {script}, "filter": {script}, "form": {script}}
	harmless(f.post("/new-picture", form))
	harmless(f.upload(map[string]string{"form": script, "name": script, "description": script, "language": script},
		script, recording(100)))

	f.service.FaultN(3, aicontenttest.Status(422,
		`{"message":"<script>alert(1)</script>","errors":{"\"><script>":["<script>alert(1)</script>"]}}`))
	harmless(f.post("/new-picture", url.Values{"name": {"a"}, "description": {"b"}, "resolution": {"256x256"}}))
	harmless(f.post("/recordings/8", url.Values{"name": {script}, "result": {script}}))
	harmless(f.post("/pictures/7", url.Values{"name": {script}}))
}

// A page of another site can make a browser send requests here. None of them may reach the service.
func TestCrossSiteRequestsAreRefused(t *testing.T) {
	f := newFixture(t)
	image := f.service.AddImage(aicontenttest.Image{Name: "Fox", Description: "A fox", Resolution: "256x256"}).ID
	transcription := f.service.AddTranscription(aicontenttest.Transcription{Name: "Song", Result: "La"}).ID
	body, contentType := uploadBody(t, map[string]string{"name": "x"}, "x.wav", recording(100))
	const form = "application/x-www-form-urlencoded"
	for _, request := range []struct{ path, contentType, body string }{
		{"/new-picture", form, "name=a&description=b&resolution=256x256"},
		{"/pictures/" + image, form, "name=a"},
		{"/pictures/" + image + "/delete", form, ""},
		{"/new-recording", contentType, string(body)},
		{"/recordings/" + transcription, form, "result=a"},
		{"/recordings/" + transcription + "/delete", form, ""},
	} {
		for name, change := range map[string]func(r *http.Request){
			"by fetch metadata":             func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
			"from another site of the host": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
			"by origin":                     func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
			"from a sandboxed frame":        func(r *http.Request) { r.Header.Set("Origin", "null") },
			"by a name that leads here": func(r *http.Request) {
				r.Host = "evil.example"
				r.Header.Set("Origin", "http://evil.example")
			},
			"by a name, as the same origin": func(r *http.Request) {
				r.Host = "evil.example:8080"
				r.Header.Set("Sec-Fetch-Site", "same-origin")
			},
		} {
			req, err := http.NewRequest(http.MethodPost, f.url+request.path, strings.NewReader(request.body))
			require.NoError(t, err)
			req.Header.Set("Content-Type", request.contentType)
			change(req)
			resp, err := http.DefaultClient.Do(req)
			f.page(resp, err)
			assert.GreaterOrEqual(t, resp.StatusCode, 400, "%s %s", request.path, name)
		}
	}
	assert.Empty(t, f.service.Requests(), "the service was called")
}

// What browsers send with the gallery's forms is taken.
func TestOwnRequestsAreTaken(t *testing.T) {
	f := newFixture(t)
	f.gallery.host = "gallery.example"
	for _, host := range []string{"localhost:8080", "LOCALHOST", "LocalHost:8080", "127.0.0.1:8080", "[::1]:8080",
		"192.168.1.7", "[fd00::7]", "gallery.example", "Gallery.Example:8443"} {
		for _, name := range []string{"Sec-Fetch-Site", "Origin"} {
			req := httptest.NewRequest(http.MethodPost, "/pictures/1/delete", nil)
			req.Host = host
			req.Header.Set(name, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://" + host}[name])
			w := httptest.NewRecorder()
			f.gallery.handler().ServeHTTP(w, req)
			assert.Equal(t, http.StatusNotFound, w.Code, "%s %s: the service was asked", host, name)
		}
	}
}

// The files of the pages can be had, and nothing else: no listing, and nothing beside them.
func TestStaticFiles(t *testing.T) {
	f := newFixture(t)
	for path, status := range map[string]int{
		"/static/style.css": http.StatusOK, "/static/": http.StatusNotFound, "/static": http.StatusNotFound,
		"/static/nothing.css": http.StatusNotFound,
		"/static/.":           http.StatusNotFound, "/static/%2e": http.StatusNotFound,
		"/static/%2e%2e": http.StatusBadRequest, "/static/..%2flayout.html": http.StatusBadRequest,
	} {
		resp, err := http.Get(f.url + path)
		page := f.page(resp, err)
		assert.NotContains(t, page, "<pre>", path)
		assert.NotContains(t, page, "{{define", path)
		assert.Equal(t, status, resp.StatusCode, path)
	}
}

// No page depends on cookies, which a foreign page could make the browser send.
func TestNoCookies(t *testing.T) {
	f := newFixture(t)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := http.Client{Jar: jar}
	resp, err := client.Get(f.url + "/pictures")
	f.page(resp, err)
	assert.Empty(t, resp.Cookies())
}

// Every response confines what it is used for.
func TestHeaders(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/pictures", "/nowhere", "/static/style.css", "/recordings/1"} {
		resp, err := http.Get(f.url + path)
		f.page(resp, err)
		policy := resp.Header.Get("Content-Security-Policy")
		assert.Contains(t, policy, "default-src 'none'", path)
		assert.Contains(t, policy, "frame-ancestors 'none'", path)
		assert.NotContains(t, policy, "unsafe", path)
		assert.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"), path)
		assert.Equal(t, "same-origin", resp.Header.Get("Referrer-Policy"), path)
		assert.Equal(t, "same-origin", resp.Header.Get("Cross-Origin-Resource-Policy"), path)
	}
}
