package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestMalformedUploads(t *testing.T) {
	f := newFixture(t)
	whole, contentType := uploadBody(t, map[string]string{"name": "Song"}, "song.wav", recording(100))
	for name, request := range map[string]struct {
		contentType string
		body        []byte
	}{
		"no boundary":      {"multipart/form-data", whole},
		"another boundary": {"multipart/form-data; boundary=other", whole},
		"cut off":          {contentType, whole[:60]},
	} {
		resp, err := http.Post(f.url+"/new-recording?form="+newToken(), request.contentType, bytes.NewReader(request.body))
		page := f.page(resp, err)
		assert.Equal(t, http.StatusBadRequest, resp.StatusCode, name)
		says(t, page, "The form could not be read: ")
		says(t, page, tryAgain)
	}
	assert.Empty(t, f.service.Requests())
	says(t, f.upload(map[string]string{"name": "Song"}, "", nil), "File: is required")
	assert.False(t, f.asked(aicontenttest.TranscriptionsStore))
}

func TestUploadLargerThanAllowed(t *testing.T) {
	f := newFixture(t)
	f.gallery.maxUpload = 1 << 20
	f.listen()
	token := newToken()
	page := f.upload(map[string]string{"form": token, "name": "Opera"}, "opera.wav", recording(6<<20))
	says(t, page, "The form is too large: the gallery accepts at most 1 MiB "+nothing)
	assert.Equal(t, token, formOf(t, page))
	assert.Empty(t, f.service.Transcriptions())
}

// A page that is left during an upload ends it, and its form may be sent again: the service gets whole files alone.
func TestLeavingCancelsTheUpload(t *testing.T) {
	f := newFixture(t)
	fields := map[string]string{"form": newToken(), "name": "Opera"}
	body, contentType := uploadBody(t, fields, "opera.wav", recording(4<<20))
	browser := f.beginUpload(fields["form"], contentType, len(body), body[:len(body)/2])
	require.NoError(t, browser.Close())
	require.Eventually(t, func() bool { return strings.Contains(f.logged(), "outcome=\"not executed\"") }, 10*time.Second,
		time.Millisecond)
	assert.Empty(t, f.service.Requests())
	says(t, f.upload(fields, "opera.wav", recording(100)), "Here it is.")
}

// beginUpload sends the beginning of an upload, and leaves the connection open.
func (f *fixture) beginUpload(token, contentType string, length int, body []byte) net.Conn {
	f.t.Helper()
	browser, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { browser.Close() })
	fmt.Fprintf(browser, "POST /new-recording?form=%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n"+
		"Content-Length: %d\r\n\r\n%s", token, contentType, length, body)
	return browser
}

// The file is sent on as it came, with its length, in memory or not; behind some proxies a service finds an upload
// without a length empty. A temporary file does not outlive its request.
func TestUploadArrives(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var length int64
	service := aicontenttest.NewServer(t, aicontenttest.KeepUploads())
	f := &fixture{t: t, service: service, ledger: once.InMemory()}
	f.open(service.Client(aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			length = max(length, r.ContentLength)
			return next.RoundTrip(r)
		})
	})))
	srv := httptest.NewServer(f.gallery.handler())
	t.Cleanup(srv.Close)
	f.url = srv.URL
	for n, size := range []int{1000, maxMemory, 8 << 20} {
		file := recording(size)
		says(t, f.upload(map[string]string{"name": "Song"}, "song.wav", file), "Here it is.")
		got := service.Transcriptions()[n].Upload
		assert.True(t, bytes.Equal(file, got.Data), "the file arrived as it was")
		assert.Greater(t, length, int64(size))
	}
	srv.Close()
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	assert.Empty(t, left)
}

// An upload that the service did not take is sent again from its temporary file.
func TestUploadIsRetried(t *testing.T) {
	bubble(t, func(f *fixture) {
		f.open(f.service.Client())
		f.service.FaultOn(aicontenttest.TranscriptionsStore, 2, aicontenttest.Status(429, "slow down"))
		body, contentType := uploadBody(f.t, map[string]string{"name": "Opera"}, "opera.wav", recording(2<<20))
		r := httptest.NewRequestWithContext(f.t.Context(), http.MethodPost, "http://localhost/new-recording?form="+newToken(),
			bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		f.gallery.handler().ServeHTTP(w, r)
		require.NoError(f.t, r.MultipartForm.RemoveAll())
		assert.Equal(f.t, http.StatusSeeOther, w.Code)
		require.Len(f.t, f.service.Transcriptions(), 1)
		assert.EqualValues(f.t, 2<<20, f.service.Transcriptions()[0].Upload.Size)
	})
}
