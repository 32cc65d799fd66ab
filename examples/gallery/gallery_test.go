package main

import (
	"bytes"
	"cmp"
	"html"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testKey = "key-that-no-browser-may-see"

// fixture is a gallery and the service that it works on.
type fixture struct {
	t       *testing.T
	service *aicontenttest.Server
	ledger  once.Ledger
	opts    []once.Option
	gallery *server
	url     string
	log     lockedBuffer
}

// lockedBuffer is what was logged so far.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (f *fixture) logged() string {
	f.log.mu.Lock()
	defer f.log.mu.Unlock()
	return f.log.buf.String()
}

// newFixture starts both. The client makes one attempt, and looks once for what it lost, so that a fault is seen at
// once.
func newFixture(t *testing.T, opts ...aicontenttest.Option) *fixture {
	opts = append([]aicontenttest.Option{
		aicontenttest.FullRecords, aicontenttest.BasePath("/tenant"), aicontenttest.APIKey(testKey),
		aicontenttest.KeepUploads(),
	}, opts...)
	f := &fixture{
		t: t, service: aicontenttest.NewServer(t, opts...), ledger: once.InMemory(),
		opts: []once.Option{once.WithSettleTime(0)},
	}
	client := f.service.Client(aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	f.open(client)
	f.listen()
	return f
}

// listen serves the gallery at a new address.
func (f *fixture) listen() {
	srv := httptest.NewServer(f.gallery.handler())
	f.t.Cleanup(srv.Close)
	f.url = srv.URL
}

// open makes the gallery.
func (f *fixture) open(client *aicontent.Client) {
	var err error
	f.gallery, err = newServer(client, f.ledger, slog.New(slog.NewTextHandler(&f.log, nil)), f.opts...)
	require.NoError(f.t, err)
	f.gallery.creating = f.t.Context() // otherwise the end of a test waits for what a stalled service creates
}

// get returns a page.
func (f *fixture) get(path string) string {
	f.t.Helper()
	resp, err := http.Get(f.url + path)
	return f.page(resp, err)
}

// inAddress moves the token of a form into its address.
func inAddress(path string, form url.Values) (string, url.Values) {
	if !form.Has("form") {
		return path, form
	}
	form = maps.Clone(form)
	path += "?form=" + url.QueryEscape(form.Get("form"))
	form.Del("form")
	return path, form
}

// post sends a form and returns the page that it leads to.
func (f *fixture) post(path string, form url.Values) string {
	f.t.Helper()
	path, form = inAddress(path, form)
	resp, err := http.PostForm(f.url+path, form)
	return f.page(resp, err)
}

func (f *fixture) page(resp *http.Response, err error) string {
	f.t.Helper()
	require.NoError(f.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(f.t, err)
	assert.False(f.t, strings.Contains(string(body), testKey), "the key is on a page")
	return string(body)
}

var (
	mainPart = regexp.MustCompile(`(?s)<main.*</main>`)
	tag      = regexp.MustCompile(`<[^>]*>`)
)

// says checks that the page shows the text.
func says(t *testing.T, page, text string) {
	t.Helper()
	assert.Contains(t, shown(page), text)
}

// shown is the text of a page, without what is the same on all.
func shown(page string) string {
	text := html.UnescapeString(tag.ReplaceAllString(mainPart.FindString(page), " "))
	return strings.Join(strings.Fields(text), " ")
}

// uploadBody is the form of a recording as browsers send it.
func uploadBody(
	t *testing.T, fields map[string]string, fileName string, file []byte,
) (body []byte, contentType string) {
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	for name, value := range fields {
		require.NoError(t, form.WriteField(name, value))
	}
	part, err := form.CreateFormFile("file", fileName)
	require.NoError(t, err)
	part.Write(file)
	require.NoError(t, form.Close())
	return out.Bytes(), form.FormDataContentType()
}

// upload sends a recording, in a form of its own unless the fields say otherwise.
func (f *fixture) upload(fields map[string]string, fileName string, file []byte) string {
	f.t.Helper()
	token := cmp.Or(fields["form"], newToken())
	body, contentType := uploadBody(f.t, fields, fileName, file)
	resp, err := http.Post(f.url+"/new-recording?form="+url.QueryEscape(token), contentType, bytes.NewReader(body))
	return f.page(resp, err)
}

func TestPictureFromFormToDeletion(t *testing.T) {
	f := newFixture(t)
	page := f.post("/new-picture", url.Values{
		"form": {newToken()}, "name": {"Lighthouse"}, "description": {"A lighthouse at dusk"},
		"resolution": {"256x256"}, "style": {"retro"},
	})
	says(t, page, "Here it is.")
	says(t, page, "A lighthouse at dusk")
	require.Len(t, f.service.Images(), 1)
	id := f.service.Images()[0].ID

	says(t, f.get("/pictures"), "Lighthouse")
	says(t, f.get("/pictures?style=retro"), "Lighthouse")
	assert.NotContains(t, shown(f.get("/pictures?style=anime")), "Lighthouse")
	assert.NotContains(t, shown(f.get("/pictures?favorite=1")), "Lighthouse")

	says(t, f.post("/pictures/"+id, url.Values{"favorite": {"1"}}), "Saved.")
	assert.True(t, f.service.Images()[0].Favorite)
	says(t, f.get("/pictures?favorite=1"), "Lighthouse")

	f.post("/pictures/"+id, url.Values{"name": {"Beacon"}})
	assert.Equal(t, "Beacon", f.service.Images()[0].Name)
	assert.True(t, f.service.Images()[0].Favorite, "a form changes only what it holds")
	says(t, f.get("/pictures?search=beac"), "Beacon")

	says(t, f.post("/pictures/"+id+"/delete", nil), "Deleted.")
	assert.Empty(t, f.service.Images())
}

func TestRecordingFromFormToDeletion(t *testing.T) {
	f := newFixture(t)
	wav := recording(2 << 20)
	page := f.upload(map[string]string{"name": "Keeper", "description": "On the balcony", "language": "gb"},
		"keeper.wav", wav)
	says(t, page, "Here it is.")
	require.Len(t, f.service.Transcriptions(), 1)
	got := f.service.Transcriptions()[0]
	assert.Equal(t, "GB", got.Language)
	assert.Equal(t, "On the balcony", got.Description)
	assert.Equal(t, "keeper.wav", got.Upload.Name)
	assert.True(t, bytes.Equal(wav, got.Upload.Data), "the file arrived as it was")

	f.post("/recordings/"+got.ID, url.Values{"name": {"The keeper"}, "result": {"He said:\r\n“Never.”"}})
	assert.Equal(t, "The keeper", f.service.Transcriptions()[0].Name)
	assert.Equal(t, "He said:\n“Never.”", f.service.Transcriptions()[0].Result, "line breaks are those of texts")
	says(t, f.get("/recordings?search=never&search_by=result"), "The keeper")
	assert.NotContains(t, shown(f.get("/recordings?search=never")), "The keeper")
	f.post("/recordings/"+got.ID, url.Values{"favorite": {"1"}})
	assert.True(t, f.service.Transcriptions()[0].Favorite)
	says(t, f.post("/recordings/"+got.ID+"/delete", nil), "Deleted.")
	assert.Empty(t, f.service.Transcriptions())
}

// The pages of a list are reached by number, also where the service has only cursors.
func TestPages(t *testing.T) {
	for _, paginator := range []aicontenttest.Personality{
		aicontenttest.DataEnvelope, aicontenttest.PlainPaginator, aicontenttest.SimplePaginator,
		aicontenttest.CursorPaginator,
	} {
		t.Run(string(paginator), func(t *testing.T) {
			f := newFixture(t, paginator)
			for n := range 60 {
				f.service.AddImage(aicontenttest.Image{Name: "picture " + string(rune('A'+n)), Description: "x",
					Style: "retro", Resolution: "256x256"})
				f.service.AddImage(aicontenttest.Image{Name: "other", Description: "x", Style: "anime",
					Resolution: "256x256"})
			}
			third := f.get("/pictures?style=retro&sort=asc&page=3")
			assert.Equal(t, 10, strings.Count(third, "<li id="))
			says(t, third, "picture "+string(rune('A'+50)))
			assert.False(t, strings.Contains(third, `rel="next"`))
			assert.True(t, strings.Contains(third, `href="?page=2&amp;sort=asc&amp;style=retro"`))
			second := f.get("/pictures?style=retro&sort=asc&page=2")
			assert.True(t, strings.Contains(second, `href="?page=3&amp;sort=asc&amp;style=retro"`))
			assert.NotContains(t, shown(second), "other")
			for _, beyond := range []string{"4", "99", "99999999999999999999"} {
				last := f.get("/pictures?style=retro&sort=asc&page=" + beyond)
				assert.Equal(t, 10, strings.Count(last, "<li id="), "the last page stands for page %s", beyond)
				says(t, last, "Page 3")
				assert.True(t, strings.Contains(last, `href="?page=2&amp;sort=asc&amp;style=retro"`))
			}
			says(t, f.get("/pictures?style=sketch&page=2"), "Nothing was found.")
		})
	}
}

// A list shows how its texts begin, and no hour of speech.
func TestListsShowBeginnings(t *testing.T) {
	f := newFixture(t)
	f.service.AddTranscription(aicontenttest.Transcription{Name: "Speech", Result: strings.Repeat("föhn ", 1<<18)})
	page := f.get("/recordings")
	says(t, page, "föhn föhn")
	assert.Less(t, len(page), 10_000)
}

// recording is a WAV file of the size.
func recording(size int) []byte {
	data := bytes.Repeat([]byte("sound and silence "), size/18+1)[:size]
	copy(data, "RIFF\x00\x00\x00\x00WAVEfmt ")
	return data
}
