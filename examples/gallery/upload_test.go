package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aicontent/aicontent-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pageOf reads the page of a response that came over the network.
func pageOf(t *testing.T, resp *http.Response, err error) string {
	t.Helper()
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

func TestUnreadableFormSaysWhyAndKeepsItsToken(t *testing.T) {
	f := newFixture(t)
	f.gallery.maxUpload = 1 << 20
	song := map[string]string{"name": "Song"}
	whole, contentType := uploadBody(t, song, "song.wav", recording(100))
	large, largeType := uploadBody(t, song, "song.wav", recording(6<<20))
	const unread = "The form could not be read: "
	for name, test := range map[string]struct {
		form, contentType, body string
		status                  int
		says, advice            string
	}{
		"no boundary":           {newRecording(), "multipart/form-data", whole, 400, unread, tryAgain},
		"another boundary":      {newRecording(), "multipart/form-data; boundary=other", whole, 400, unread, tryAgain},
		"cut off":               {newRecording(), contentType, whole[:60], 400, unread, tryAgain},
		"bad text":              {newPicture(), urlEncoded, "name=%zz", 400, unread, tryAgain},
		"bad text of recording": {newRecording(), urlEncoded, "name=%zz", 400, unread, tryAgain},
		"too large": {newRecording(), largeType, large, 413,
			"The form is too large: the gallery accepts at most 1 MiB ", useless},
	} {
		resp, err := http.Post(f.srv.URL+test.form, test.contentType, strings.NewReader(test.body))
		page := pageOf(t, resp, err)
		assert.Equal(t, test.status, resp.StatusCode, name)
		says(t, page, test.says)
		says(t, page, test.advice)
		assert.Equal(t, test.form, formOf(t, page), name)
	}
	assert.Empty(t, f.service.Requests())
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Behind some proxies a service finds an upload without a length empty.
func TestUploadIsPassedOnAsItCameWithItsLengthAndLeavesNoTemporaryFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f := newFixture(t)
	var length int64
	f.client = f.service.Client(aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			length = max(length, r.ContentLength)
			return next.RoundTrip(r)
		})
	}))
	f.restart()
	for n, size := range []int{1000, maxMemory, 8 << 20} {
		file := recording(size)
		body, contentType := uploadBody(t, map[string]string{"name": "Song"}, "song.wav", file)
		resp, err := http.Post(f.srv.URL+newRecording(), contentType, strings.NewReader(body))
		says(t, pageOf(t, resp, err), created)
		assert.True(t, string(file) == string(f.service.Created()[n].File.Data), "the file arrived as it was")
		assert.Greater(t, length, int64(size))
	}
	f.srv.Close()
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	assert.Empty(t, left)
}
