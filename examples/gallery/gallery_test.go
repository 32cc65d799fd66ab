package main

import (
	"bytes"
	"html"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
	srv := httptest.NewServer(f.gallery.handler())
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

// open makes the gallery, which may fetch the pictures of a service on loopback.
func (f *fixture) open(client *aicontent.Client) {
	var err error
	f.gallery, err = newServer(client, f.ledger, slog.New(slog.NewTextHandler(&f.log, nil)), nil, f.opts...)
	require.NoError(f.t, err)
	f.allowPictures(loopback)
	f.gallery.creating = f.t.Context() // otherwise the end of a test waits for what a stalled service creates
}

var loopback = netip.MustParsePrefix("127.0.0.1/32")

// allowPictures makes the gallery fetch pictures from public addresses and the networks, once each.
func (f *fixture) allowPictures(networks ...netip.Prefix) {
	f.t.Helper()
	var err error
	transport := &http.Client{Transport: publicTransport(networks)}
	f.gallery.fetcher, err = aicontent.NewClient(f.gallery.client.BaseURL(), "not-needed",
		aicontent.WithHTTPClient(transport), aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	require.NoError(f.t, err)
}

// get returns a page.
func (f *fixture) get(path string) string {
	f.t.Helper()
	resp, err := http.Get(f.url + path)
	return f.page(resp, err)
}

// post sends a form and returns the page that it leads to.
func (f *fixture) post(path string, form url.Values) string {
	f.t.Helper()
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
	fields = maps.Clone(fields)
	if _, has := fields["form"]; !has {
		fields["form"] = newToken()
	}
	body, contentType := uploadBody(f.t, fields, fileName, file)
	resp, err := http.Post(f.url+"/new-recording", contentType, bytes.NewReader(body))
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

	page = f.post("/pictures/"+id, url.Values{"favorite": {"1"}, "list": {"?style=retro&page=1"}})
	says(t, page, "1 found")
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
	assert.Contains(t, f.service.Transcriptions()[0].Result, "“Never.”")
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
			third := f.get("/pictures?style=retro&order=oldest&page=3")
			assert.Equal(t, 10, strings.Count(third, "<li id="))
			says(t, third, "picture "+string(rune('A'+50)))
			assert.False(t, strings.Contains(third, `rel="next"`))
			assert.True(t, strings.Contains(third, `href="?order=oldest&amp;page=2&amp;style=retro"`))
			second := f.get("/pictures?style=retro&order=oldest&page=2")
			assert.True(t, strings.Contains(second, `href="?order=oldest&amp;page=3&amp;style=retro"`))
			assert.NotContains(t, shown(second), "other")
			for _, beyond := range []string{"4", "99", "99999999999999999999"} {
				last := f.get("/pictures?style=retro&order=oldest&page=" + beyond)
				assert.Equal(t, 10, strings.Count(last, "<li id="), "the last page stands for page %s", beyond)
				says(t, last, "Page 3")
				assert.True(t, strings.Contains(last, `href="?order=oldest&amp;page=2&amp;style=retro"`))
			}
			says(t, f.get("/pictures?style=sketch&page=2"), "Nothing was found.")
		})
	}
}

// A page far beyond the end costs few requests, whatever the service says of the list's length.
func TestFarPagesCostFewRequests(t *testing.T) {
	for _, paginator := range []aicontenttest.Personality{
		aicontenttest.DataEnvelope, aicontenttest.PlainPaginator, aicontenttest.SimplePaginator,
		aicontenttest.CursorPaginator,
	} {
		t.Run(string(paginator), func(t *testing.T) {
			f := newFixture(t, paginator)
			for range maxWalk + 30 {
				f.service.AddImage(aicontenttest.Image{Name: "x", Description: "x", Resolution: "256x256"})
			}
			for _, number := range []string{"82", "99999", "9223372036854775807"} {
				before := len(f.service.Requests())
				page := f.get("/pictures?page=" + number)
				assert.LessOrEqual(t, len(f.service.Requests())-before, maxWalk/100+2, "page %s", number)
				end := strings.Contains(page, "Page 82") && strings.Count(page, "<li id=") == 5
				cut := strings.Contains(page, "Page 80") && strings.Contains(page, "reads no further than")
				assert.True(t, end || cut, "page %s: %s", number, shown(page))
				assert.NotContains(t, page, `rel="next"`)
			}
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

// A picture leads back to the list that it was found in, also after it was renamed or deleted.
func TestWayBackToTheList(t *testing.T) {
	f := newFixture(t)
	id := f.service.AddImage(aicontenttest.Image{Name: "Red fox", Description: "x", Resolution: "256x256"}).ID
	f.service.AddImage(aicontenttest.Image{Name: "Fox cub", Description: "x", Resolution: "256x256"})
	f.service.AddImage(aicontenttest.Image{Name: "Owl", Description: "x", Resolution: "256x256"})
	list := f.get("/pictures?search=fox&order=name")
	match := regexp.MustCompile(`href="(/pictures/` + id + `[^"]*)"`).FindStringSubmatch(list)
	require.NotNil(t, match)
	back := `href="/pictures?order=name&amp;page=1&amp;search=fox#item-` + id + `"`
	page := f.get(html.UnescapeString(match[1]))
	assert.Contains(t, page, back)
	action := regexp.MustCompile(`action="([^"]*)" class="stack"`).FindStringSubmatch(page)
	require.NotNil(t, action)
	says(t, f.post(html.UnescapeString(action[1]), url.Values{"name": {" "}}), "Name must not be empty")
	page = f.post(html.UnescapeString(action[1]), url.Values{"name": {"Old fox"}})
	says(t, page, "Saved.")
	assert.Contains(t, page, back)
	remove := regexp.MustCompile(`action="([^"]*/delete[^"]*)"`).FindStringSubmatch(page)
	require.NotNil(t, remove)
	page = f.post(html.UnescapeString(remove[1]), nil)
	says(t, page, "Deleted.")
	says(t, page, "1 found.")
}

// recording is a WAV file of the size.
func recording(size int) []byte {
	data := bytes.Repeat([]byte("sound and silence "), size/18+1)[:size]
	copy(data, "RIFF\x00\x00\x00\x00WAVEfmt ")
	return data
}
