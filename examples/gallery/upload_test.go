package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The size of the file is told to the service, wherever in what was read ahead the file begins.
func TestFileSize(t *testing.T) {
	for _, size := range []int{1, 10, 3000, 4096, 5000, 100_000} {
		for _, fields := range []map[string]string{
			nil,
			{"name": "Song"},
			{"name": "Song", "description": "\r\n\r\n" +
				"Content-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n"},
			{"name": strings.Repeat("long ", 2000)},
		} {
			file := append([]byte("\r\n\r\n--\r\n"), recording(size)...)
			body, contentType := uploadBody(t, fields, "song.wav", file)
			r := httptest.NewRequest(http.MethodPost, "/new-recording", bytes.NewReader(body))
			r.Header.Set("Content-Type", contentType)
			_, got, err := readUpload(r, r.Body)
			require.NoError(t, err)
			assert.EqualValues(t, len(file), got.Size)
			r = httptest.NewRequest(http.MethodPost, "/new-recording", io.MultiReader(bytes.NewReader(body)))
			r.Header.Set("Content-Type", contentType)
			_, got, err = readUpload(r, r.Body)
			require.NoError(t, err)
			assert.Zero(t, got.Size, "the length of the form is unknown")
		}
	}
}

// Behind some proxies a service finds an upload without a length empty.
func TestUploadIsSentWithItsLength(t *testing.T) {
	f := newFixture(t)
	var length int64
	f.open(f.service.Client(aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			length = max(length, r.ContentLength)
			return next.RoundTrip(r)
		})
	})))
	srv := httptest.NewServer(f.gallery.handler())
	t.Cleanup(srv.Close)
	f.url = srv.URL
	says(t, f.upload(map[string]string{"name": "Song"}, "song.wav", recording(100_000)), "Here it is.")
	assert.Greater(t, length, int64(100_000))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestMalformedUploads(t *testing.T) {
	f := newFixture(t)
	whole, contentType := uploadBody(t, map[string]string{"name": "Song"}, "song.wav", recording(100))
	many := make(map[string]string)
	for _, c := range "abcdefghij" {
		many[string(c)] = "x"
	}
	manyFields, manyType := uploadBody(t, many, "song.wav", recording(100))
	for name, request := range map[string]struct {
		contentType string
		body        []byte
	}{
		"no form":          {"text/plain", whole},
		"no boundary":      {"multipart/form-data", whole},
		"another boundary": {"multipart/form-data; boundary=other", whole},
		"cut off":          {contentType, whole[:60]},
		"too many fields":  {manyType, manyFields},
		"a long preamble":  {contentType, append(bytes.Repeat([]byte("\r\n"), maxHead/2+1), whole...)},
	} {
		resp, err := http.Post(f.url+"/new-recording", request.contentType, bytes.NewReader(request.body))
		page := f.page(resp, err)
		assert.Equal(t, http.StatusBadRequest, resp.StatusCode, name)
		says(t, page, "The form could not be read Nothing was created and nothing was billed.")
	}
	says(t, f.upload(map[string]string{"name": "Song"}, "", nil), "File is required")
	assert.Empty(t, f.service.Requests())
}

func TestUploadLargerThanAllowed(t *testing.T) {
	f := newFixture(t)
	f.gallery.maxUpload = 1 << 20
	page := f.upload(map[string]string{"name": "Opera"}, "opera.wav", recording(6<<20))
	says(t, page, "Too large: the gallery accepts at most 1 MB")
	says(t, page, "Nothing was created and nothing was billed. Choose a smaller file and press the button again.")
	assert.Empty(t, f.service.Transcriptions())
}

// What is typed is remembered, and must not be of any size, in one field or in several.
func TestFormTooLong(t *testing.T) {
	f := newFixture(t)
	const problem = "Too long: the gallery accepts at most 64 KB of text Nothing was created and nothing was billed."
	form := fox("")
	form.Set("description", strings.Repeat("fox ", maxFields/4))
	says(t, f.post("/new-picture", form), problem)
	half := strings.Repeat("x", maxFields/2)
	for _, fields := range []map[string]string{{"name": half + half + "x"}, {"name": half, "description": half + "x"}} {
		says(t, f.upload(fields, "song.wav", recording(100)), problem)
	}
	assert.Empty(t, f.service.Requests())
}

// An upload takes no more memory than a buffer, whatever its size.
func TestUploadIsStreamed(t *testing.T) {
	service := aicontenttest.NewServer(t)
	f := &fixture{t: t, service: service, ledger: once.InMemory()}
	f.open(service.Client())
	srv := httptest.NewServer(f.gallery.handler())
	t.Cleanup(srv.Close)
	const size = 64 << 20
	form, contentType := uploadBody(t, map[string]string{"name": "Opera"}, "opera.wav", recording(100))
	head, tail, _ := bytes.Cut(form, recording(100))
	body := io.MultiReader(bytes.NewReader(head), bytes.NewReader(recording(100)), io.LimitReader(zeros{}, size-100),
		bytes.NewReader(tail))
	req, err := http.NewRequest(http.MethodPost, srv.URL+"/new-recording", body)
	require.NoError(t, err)
	req.ContentLength = int64(len(form)) + size - 100
	req.Header.Set("Content-Type", contentType)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp, err := http.DefaultClient.Do(req)
	page := f.page(resp, err)
	runtime.ReadMemStats(&after)
	says(t, page, "Here it is.")
	assert.EqualValues(t, size, service.Transcriptions()[0].Upload.Size)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/4), "bytes allocated")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A page that is left during an upload takes the request to the service with it, and its form may be sent again.
func TestLeavingCancelsTheUpload(t *testing.T) {
	f := newFixture(t)
	fields := map[string]string{"form": newToken(), "name": "Opera"}
	body, contentType := uploadBody(t, fields, "opera.wav", recording(4<<20))
	browser := f.beginUpload(contentType, len(body), body[:len(body)/2])
	require.Eventually(t, func() bool { return f.asked(aicontenttest.TranscriptionsStore) }, 10*time.Second,
		time.Millisecond)
	require.NoError(t, browser.Close())
	require.Eventually(t, func() bool { return strings.Contains(f.logged(), "outcome=\"not sent\"") }, 10*time.Second,
		time.Millisecond)
	assert.Empty(t, f.service.Transcriptions())
	says(t, f.upload(fields, "opera.wav", recording(100)), "Here it is.")
}

// beginUpload sends the beginning of an upload, and leaves the connection open.
func (f *fixture) beginUpload(contentType string, length int, body []byte) net.Conn {
	f.t.Helper()
	browser, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { browser.Close() })
	fmt.Fprintf(browser, "POST /new-recording HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n"+
		"Content-Length: %d\r\n\r\n%s", contentType, length, body)
	return browser
}

// What the gallery can tell of a form before its file is uploaded, it tells from the file's first bytes, and nothing
// reaches the service. Checking a form does not count as sending it.
func TestFormIsCheckedBeforeTheUpload(t *testing.T) {
	f := newFixture(t)
	check := func(fields map[string]string, file []byte) (int, string) {
		body, contentType := uploadBody(t, fields, "opera.wav", file)
		resp, err := http.Post(f.url+"/check-recording", contentType, bytes.NewReader(body))
		return resp.StatusCode, f.page(resp, err)
	}
	token := newToken()
	fields := map[string]string{"form": token, "name": "Opera", "language": "gb"}
	for range 2 {
		status, _ := check(fields, recording(100))
		assert.Equal(t, http.StatusNoContent, status)
	}
	status, page := check(map[string]string{"form": token, "name": " ", "language": "xx"}, []byte("%PDF-1.7"))
	assert.Equal(t, http.StatusUnprocessableEntity, status)
	for _, wrong := range []string{"Name is required", "Language must be", "File must be an audio file"} {
		says(t, page, wrong)
	}
	body, contentType := uploadBody(t, fields, "opera.wav", recording(16<<20))
	file := bytes.NewReader(body)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/check-recording", file)
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	f.gallery.handler().ServeHTTP(w, r)
	assert.Equal(t, http.StatusNoContent, w.Code)
	assert.Less(t, len(body)-file.Len(), 32<<10, "the rest of the file is not read")
	assert.Empty(t, f.service.Requests())

	says(t, f.upload(fields, "opera.wav", recording(100)), "Here it is.")
	_, page = check(fields, recording(100))
	says(t, page, "Here it is.")
	f.restart()
	require.Eventually(t, func() bool {
		_, page := check(fields, recording(100))
		return strings.Contains(page, "This form was sent before. Here is what it created.")
	}, 10*time.Second, 10*time.Millisecond)
	assert.Len(t, f.service.Records(), 1)
}
