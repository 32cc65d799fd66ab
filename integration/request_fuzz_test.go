package integration

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

// FuzzRequest sends what a user may pass, and a server that knows nothing of the SDK must parse back exactly that; or
// the call is refused, and the server sees nothing.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		"", " ", ".", "..", "7", "a/b", "a?b", "a%b", "ü", "a#b", "%2e%2e",
		"a\r\nX-Evil: 1", "a\x00b", "\xff\xfe", `"quoted"`, `back\slash`, "tab\t", " space ",
		"\r\n--boundary--\r\n", "a;b", "a&b=c", "a+b", "name", "file", "日本語", "\u2028", "\u202e",
		"%0D%0A", "=?utf-8?q?x?=", "filename*=UTF-8''x", strings.Repeat("x", 300),
	} {
		f.Add(s, s, s, s, s, s, s, []byte(s))
		f.Add("7", "n", "a.wav", "X-Trace", s, "q", s, []byte("RIFF\x04\x00\x00\x00WAVE"+s))
		f.Add(s, s, "a.wav", "X-Trace", "v", s, s, []byte("RIFF"))
		f.Add("7", s, s, "X-Trace", "v", s, "v", []byte("ID3\x03"))
		f.Add("7", "n", "a.wav", s, "v", "q", "v", []byte("OggS"))
	}
	var got *http.Request
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"id":7}`)
	}))
	f.Cleanup(srv.Close)
	c, err := aicontent.NewClient(srv.URL+"/tenant", fakes.Key, aicontent.WithoutValidation(), oneAttempt)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id, name, fileName, headerKey, headerValue, key, value string, data []byte) {
		if strings.EqualFold(headerKey, "Accept-Encoding") {
			// Net/http may add to it.
			return
		}
		opts := []aicontent.CallOption{
			aicontent.WithHeader(headerKey, headerValue),
			aicontent.WithQuery(key, value),
			aicontent.WithFormField(key, value),
		}
		ok := func(err error) bool {
			t.Helper()
			sent := got != nil
			var invalid *aicontent.ValidationError
			switch {
			case err == nil && sent:
			case err != nil && !sent && errors.As(err, &invalid) &&
				utf8.ValidString(err.Error()) && !strings.ContainsAny(err.Error(), "\r\n\x00"):
				return false
			default:
				t.Fatalf("sent: %v, error: %q", sent, err)
			}
			if h := got.Header.Values(headerKey); len(h) != 1 || h[0] != headerValue {
				if headerValue != "" || len(h) > 0 && h[0] != "" {
					t.Errorf("header %q: %q became %q", headerKey, headerValue, h)
				}
			}
			query, err := url.ParseQuery(got.URL.RawQuery)
			if err != nil || len(query) != 1 || len(query[key]) != 1 || query.Get(key) != value {
				t.Errorf("query %q: %q became %q, %v", key, value, query, err)
			}
			if a := got.Header.Values("Authorization"); len(a) != 1 || a[0] != "Bearer "+fakes.Key {
				t.Errorf("authorization %q", a)
			}
			return true
		}
		reset := func() { got, body = nil, nil }
		path := func(prefix string) {
			t.Helper()
			segment, found := strings.CutPrefix(got.URL.EscapedPath(), "/tenant/api/v1/"+prefix)
			plain, err := url.PathUnescape(segment)
			if !found || err != nil || plain != id || strings.Contains(segment, "/") {
				t.Errorf("id %q became %q", id, got.URL.EscapedPath())
			}
		}

		reset()
		if _, err := c.Images.Show(t.Context(), aicontent.ID(id), opts...); ok(err) {
			path("images/")
		}
		reset()
		update := aicontent.ImageUpdateParams{Name: &name}
		if _, err := c.Images.Update(t.Context(), aicontent.ID(id), update, opts...); ok(err) {
			path("images/")
			form, err := url.ParseQuery(string(body))
			want := url.Values{"name": {name}}
			want.Set(key, value)
			contentType := got.Header.Get("Content-Type")
			if err != nil || form.Encode() != want.Encode() || contentType != "application/x-www-form-urlencoded" {
				t.Errorf("form %q became %q of type %q, %v", want, form, contentType, err)
			}
		}
		reset()
		file := aicontent.FileFromBytes(fileName, data)
		file.ContentType = value
		store := aicontent.TranscriptionStoreParams{Name: name, File: file, Description: value}
		if _, err := c.Transcriptions.Store(t.Context(), store, opts...); ok(err) {
			_, params, err := mime.ParseMediaType(got.Header.Get("Content-Type"))
			if err != nil || got.ContentLength != int64(len(body)) {
				t.Fatalf("content type %q of %d bytes: %v", got.Header.Get("Content-Type"), got.ContentLength, err)
			}
			form, err := multipart.NewReader(bytes.NewReader(body), params["boundary"]).ReadForm(10 << 20)
			if err != nil {
				t.Fatalf("the form cannot be read: %v\n%q", err, body)
			}
			want := url.Values{"name": {name}}
			if value != "" {
				want.Set("description", value)
			}
			want.Set(key, value)
			if sent := url.Values(form.Value); sent.Encode() != want.Encode() {
				t.Errorf("form %q became %q", want, sent)
			}
			if len(form.File) != 1 || len(form.File["file"]) != 1 {
				t.Fatalf("files %v", form.File)
			}
			part := form.File["file"][0]
			base := fileName[strings.LastIndexAny(fileName, `/\`)+1:]
			if part.Filename != filepath.Base(base) || part.Filename != base {
				t.Errorf("file name %q became %q", fileName, part.Filename)
			}
			if value != "" && part.Header.Get("Content-Type") != value {
				t.Errorf("content type %q became %q", value, part.Header.Get("Content-Type"))
			}
			r, err := part.Open()
			if err != nil {
				t.Fatal(err)
			}
			if arrived, err := io.ReadAll(r); err != nil || !bytes.Equal(arrived, data) {
				t.Errorf("file of %d bytes became %d, %v", len(data), len(arrived), err)
			}
		}
	})
}
