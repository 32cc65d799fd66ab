package upload

import (
	"bytes"
	"context"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recording returns audio of which no two pieces are alike.
func recording(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16)
	}
	copy(data, "RIFF\xff\xff\xff\xffWAVEfmt ")
	return data
}

func wav(s Source) File { return File{Name: "a.wav", Source: s} }

// bodyOf returns the body of an upload, after a look at its file.
func bodyOf(t testing.TB, f File) *Body {
	t.Helper()
	size, _, err := f.Look(t.Context())
	require.NoError(t, err)
	return Multipart(url.Values{"name": {"Interview"}}, "file", f, size)
}

func ignore(int64, bool) {}

// attach begins an attempt, which ends with the test.
func attach(t testing.TB, ctx context.Context, b *Body) (*http.Request, *Sending) {
	t.Helper()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	s, err := b.Attach(req, ignore)
	require.NoError(t, err)
	t.Cleanup(func() { s.End() })
	return req, s
}

// boundaryOf returns the boundary of a multipart request, and its closing boundary.
func boundaryOf(t testing.TB, req *http.Request) (boundary, closing string) {
	t.Helper()
	_, params, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	require.NoError(t, err)
	return params["boundary"], "\r\n--" + params["boundary"] + "--\r\n"
}

func TestFormHasItsFieldsInOrderAndItsFileLast(t *testing.T) {
	t.Parallel()
	file := File{Name: "interview.wav", Source: Bytes([]byte("RIFF\x04\x00\x00\x00WAVE"))}
	body := Multipart(url.Values{
		"name": {"A \"name\"\r\nof two lines"}, "description": {"Zoë"}, "tags[]": {"b", "a"},
		"odd \"name\"\r\n\\": {"1"},
	}, "file", file, 12)
	assert.True(t, body.HasFile())
	assert.EqualValues(t, 12, body.FileSize)
	req, _ := attach(t, t.Context(), body)
	boundary, _ := boundaryOf(t, req)
	want := strings.ReplaceAll(strings.Join([]string{
		`--B`, `Content-Disposition: form-data; name="description"`, ``, `Zoë`,
		`--B`, `Content-Disposition: form-data; name="name"`, ``, "A \"name\"\r\nof two lines",
		`--B`, `Content-Disposition: form-data; name="odd \"name\"%0D%0A\\"`, ``, `1`,
		`--B`, `Content-Disposition: form-data; name="tags[]"`, ``, `b`,
		`--B`, `Content-Disposition: form-data; name="tags[]"`, ``, `a`,
		`--B`, `Content-Disposition: form-data; name="file"; filename="interview.wav"`,
		`Content-Type: audio/wav`, ``, "RIFF\x04\x00\x00\x00WAVE",
		`--B--`, ``,
	}, "\r\n"), "--B", "--"+boundary)
	got, err := io.ReadAll(req.Body)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
	assert.EqualValues(t, len(want), req.ContentLength)
	other, _ := attach(t, t.Context(), Multipart(nil, "file", file, 12))
	assert.NotEqual(t, req.Header, other.Header, "two calls share a boundary")
}

// Most parsers read a backslash before a quote correctly, and few read the %22 of browsers.
func TestFileNamesAreReadAsGiven(t *testing.T) {
	t.Parallel()
	for given, base := range map[string]string{
		"interview.wav": "interview.wav",
		"Interview mit Zoë, 録音 №1 🎙.wav":        "Interview mit Zoë, 録音 №1 🎙.wav",
		`the "good" one.wav`:                    `the "good" one.wav`,
		`ends in a quote"`:                      `ends in a quote"`,
		`it's; filename=x.wav`:                  `it's; filename=x.wav`,
		"100% sure %22 %0D.wav":                 "100% sure %22 %0D.wav",
		"/home/zoe/interview.wav":               "interview.wav",
		`C:\Recordings\interview.wav`:           "interview.wav",
		`..\..\etc/../passwd.wav`:               "passwd.wav",
		`back\slash "and" quote.wav`:            `slash "and" quote.wav`,
		" spaces around .wav":                   " spaces around .wav",
		strings.Repeat("é", 148) + ".wav":       strings.Repeat("é", 148) + ".wav",
		strings.Repeat("folder/", 100) + "a.wa": "a.wa",
	} {
		req, _ := attach(t, t.Context(), bodyOf(t, File{Name: given, Source: Bytes(recording(100))}))
		boundary, _ := boundaryOf(t, req)
		form, err := multipart.NewReader(req.Body, boundary).ReadForm(1 << 20)
		require.NoError(t, err, given)
		require.Len(t, form.File["file"], 1)
		assert.Equal(t, base, form.File["file"][0].Filename)
		assert.Equal(t, []string{"Interview"}, form.Value["name"])
	}
}

// An upload that broke off before its closing boundary is sent again, so no parser may accept it. Go's accepts a form
// that lacks only its last line break.
func TestParserAcceptsNoFormWithoutItsClosingBoundary(t *testing.T) {
	t.Parallel()
	const size = 10_000
	req, _ := attach(t, t.Context(), bodyOf(t, wav(Bytes(recording(size)))))
	boundary, closing := boundaryOf(t, req)
	sent, err := io.ReadAll(req.Body)
	require.NoError(t, err)
	var accepted []int
	for missing := range size + len(closing) {
		cut := bytes.NewReader(sent[:len(sent)-missing])
		if _, err := multipart.NewReader(cut, boundary).ReadForm(1 << 20); err == nil {
			accepted = append(accepted, missing)
		}
	}
	assert.Equal(t, []int{0, 2}, accepted)
}

// net/http sends a request that has a GetBody again without being asked.
func TestCreateRequestAndUploadHaveNoGetBody(t *testing.T) {
	t.Parallel()
	form := Form(url.Values{"name": {"a"}})
	for method, again := range map[string]bool{http.MethodPost: false, http.MethodPatch: true, http.MethodPut: true} {
		req := httptest.NewRequest(method, "/", nil)
		_, err := form.Attach(req, ignore)
		require.NoError(t, err)
		require.Equal(t, again, req.GetBody != nil, method)
		if again {
			_, _ = io.Copy(io.Discard, req.Body)
			second, err := req.GetBody()
			require.NoError(t, err)
			got, err := io.ReadAll(second)
			require.NoError(t, err)
			assert.Equal(t, "name=a", string(got), method)
		}
	}
	req, _ := attach(t, t.Context(), bodyOf(t, wav(Bytes(recording(10)))))
	assert.Nil(t, req.GetBody)
}
