package main

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
)

func regexpMatch(page, expression string) bool {
	return regexp.MustCompile(expression).MatchString(page)
}

// script would run wherever a text is put into a page as it is: in an element, an attribute, a script or an address.
const script = `</textarea></title></script><script>window.attacked=1</script>` +
	`"'><img src=x onerror=window.attacked=1>javascript:window.attacked=1`

// attacked is a gallery with script in every field of its records.
func attacked(t *testing.T) *fixture {
	f := newFixture(t, aicontenttest.Allow("resolution", "style", "medium", "filter", "language"))
	f.service.AddImage(aicontent.Image{ID: `"><script>7`, Name: script, Description: script, Resolution: script,
		Style: script, Medium: script, Filter: script})
	f.service.AddTranscription(aicontent.Transcription{ID: `"><script>8`, Name: script, Description: script,
		Language: script, Result: script})
	return f
}

// attackedPaths lead to pages with those records, and with script in each part of an address.
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
		"medium": {script}, "filter": {script}}
	harmless(f.post("/new-picture?form="+url.QueryEscape(script), form))
	harmless(f.post(newPicture(), form))
	fields := map[string]string{"name": script, "description": script, "language": script}
	harmless(f.upload(newRecording(), fields, script, recording(100)))

	f.service.FaultN(4, aicontenttest.Status(422,
		`{"message":"<script>alert(1)</script>","errors":{"\"><script>":["<script>alert(1)</script>"]}}`))
	harmless(f.post(newPicture(), fox))
	harmless(f.post("/recordings/8", url.Values{"name": {script}, "result": {script}}))
	harmless(f.post("/pictures/7", url.Values{"name": {script}}))
}

func TestRequestsOfOtherSitesDoNotReachTheService(t *testing.T) {
	f := newFixture(t)
	body, contentType := uploadBody(t, map[string]string{"name": "x"}, "x.wav", recording(100))
	for _, request := range []struct{ path, contentType, body string }{
		{newPicture(), urlEncoded, fox.Encode()},
		{newRecording(), contentType, body},
		{"/pictures/1/delete", urlEncoded, ""},
	} {
		for name, from := range map[string]struct{ host, header, value string }{
			"by fetch metadata":             {"localhost", "Sec-Fetch-Site", "cross-site"},
			"from another site of the host": {"localhost", "Sec-Fetch-Site", "same-site"},
			"by origin":                     {"localhost", "Origin", "https://evil.example"},
			"from a sandboxed frame":        {"localhost", "Origin", "null"},
			"by a name that leads here":     {"evil.example", "Origin", "http://evil.example"},
			"by a name, as the same origin": {"evil.example:8080", "Sec-Fetch-Site", "same-origin"},
		} {
			r := f.request(http.MethodPost, request.path, request.contentType, request.body)
			r.Host = from.host
			r.Header.Set(from.header, from.value)
			assert.GreaterOrEqual(t, f.do(r).Code, 400, "%s %s", request.path, name)
		}
	}
	assert.Empty(t, f.service.Requests())
}

func TestOwnRequestsReachTheService(t *testing.T) {
	f := newFixture(t)
	f.gallery.host = "gallery.example"
	for _, host := range []string{"localhost:8080", "LOCALHOST", "LocalHost:8080", "127.0.0.1:8080", "[::1]:8080",
		"192.168.1.7", "[fd00::7]", "gallery.example", "Gallery.Example:8443"} {
		for header, value := range map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://" + host} {
			r := f.request(http.MethodPost, "/pictures/1/delete", urlEncoded, "")
			r.Host = host
			r.Header.Set(header, value)
			assert.Equal(t, http.StatusNotFound, f.do(r).Code, "%s %s: the service was asked", host, header)
		}
	}
}

// A foreign page could make the browser send a cookie, so no page depends on one.
func TestEveryResponseConfinesItsPageAndSetsNoCookie(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/pictures", "/nowhere", "/static/style.css", "/recordings/1", newPicture()} {
		header := f.do(f.request(http.MethodGet, path, "", "")).Header()
		policy := header.Get("Content-Security-Policy")
		assert.Contains(t, policy, "default-src 'none'", path)
		assert.Contains(t, policy, "frame-ancestors 'none'", path)
		assert.NotContains(t, policy, "unsafe", path)
		assert.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
		assert.Equal(t, "same-origin", header.Get("Referrer-Policy"), path)
		assert.Equal(t, "same-origin", header.Get("Cross-Origin-Resource-Policy"), path)
		assert.Empty(t, header.Values("Set-Cookie"), path)
	}
}
