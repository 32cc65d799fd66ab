package main

import (
	"bytes"
	"html"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	client  *aicontent.Client
	ledger  once.Ledger
	opts    []once.Option
	gallery *server
	srv     *httptest.Server // for browsers; nil in a bubble
	log     bytes.Buffer
}

// newFixture starts both. The client makes one attempt, and looks once for a lost record, so that a fault shows at
// once.
func newFixture(t *testing.T, opts ...aicontenttest.Option) *fixture {
	opts = append([]aicontenttest.Option{
		aicontenttest.FullRecords, aicontenttest.BasePath("/tenant"), aicontenttest.KeepUploads(),
	}, opts...)
	f := open(t, opts, once.WithSettleTime(0))
	f.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.gallery.handler().ServeHTTP(w, r)
	}))
	t.Cleanup(f.srv.Close)
	return f
}

// bubble runs test against a gallery without a network, where waiting costs nothing.
func bubble(t *testing.T, test func(f *fixture), opts ...aicontenttest.Option) {
	synctest.Test(t, func(t *testing.T) { test(open(t, append(opts, aicontenttest.InMemoryNetwork()))) })
}

func open(t *testing.T, service []aicontenttest.Option, opts ...once.Option) *fixture {
	f := &fixture{t: t, ledger: once.InMemory(), opts: opts}
	f.service = aicontenttest.NewServer(t, append(service, aicontenttest.APIKey(testKey))...)
	f.client = f.service.Client(aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	f.restart()
	return f
}

// restart replaces the gallery by a new one, which knows the ledger alone.
func (f *fixture) restart() {
	f.t.Helper()
	var err error
	f.gallery, err = newServer(f.client, f.ledger, slog.New(slog.NewTextHandler(&f.log, nil)), f.opts...)
	require.NoError(f.t, err)
	f.gallery.creating = f.t.Context() // otherwise the end of a test waits for a record of a stalled service
}

// do returns the gallery's response.
func (f *fixture) do(r *http.Request) *httptest.ResponseRecorder {
	f.t.Helper()
	w := httptest.NewRecorder()
	f.gallery.handler().ServeHTTP(w, r)
	if r.MultipartForm != nil {
		assert.NoError(f.t, r.MultipartForm.RemoveAll())
	}
	assert.False(f.t, strings.Contains(w.Body.String(), testKey), "the key is on a page")
	return w
}

// follow returns the page that a request leads to.
func (f *fixture) follow(r *http.Request) (status int, page string) {
	f.t.Helper()
	w := f.do(r)
	if to := w.Header().Get("Location"); to != "" {
		return http.StatusOK, f.get(to)
	}
	return w.Code, w.Body.String()
}

// request returns a request of a browser.
func (f *fixture) request(method, path, contentType, body string) *http.Request {
	r := httptest.NewRequestWithContext(f.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return r
}

const urlEncoded = "application/x-www-form-urlencoded"

func (f *fixture) get(path string) (page string) {
	f.t.Helper()
	_, page = f.follow(f.request(http.MethodGet, path, "", ""))
	return page
}

// send sends a form.
func (f *fixture) send(path string, form url.Values) (status int, page string) {
	f.t.Helper()
	return f.follow(f.request(http.MethodPost, path, urlEncoded, form.Encode()))
}

func (f *fixture) post(path string, form url.Values) (page string) {
	f.t.Helper()
	_, page = f.send(path, form)
	return page
}

// upload sends a recording.
func (f *fixture) upload(path string, fields map[string]string, fileName string, file []byte) (page string) {
	f.t.Helper()
	body, contentType := uploadBody(f.t, fields, fileName, file)
	_, page = f.follow(f.request(http.MethodPost, path, contentType, body))
	return page
}

// uploadBody returns the form of a recording as browsers send it.
func uploadBody(t *testing.T, fields map[string]string, fileName string, file []byte) (body, contentType string) {
	var out strings.Builder
	form := multipart.NewWriter(&out)
	for name, value := range fields {
		require.NoError(t, form.WriteField(name, value))
	}
	part, err := form.CreateFormFile("file", fileName)
	require.NoError(t, err)
	part.Write(file)
	require.NoError(t, form.Close())
	return out.String(), form.FormDataContentType()
}

// recording returns a WAV file of the size.
func recording(size int) []byte {
	data := bytes.Repeat([]byte("sound and silence "), size/18+1)[:size]
	copy(data, "RIFF\x00\x00\x00\x00WAVEfmt ")
	return data
}

// newPicture and newRecording return the address of a form.
func newPicture() string   { return "/new-picture?form=" + newToken() }
func newRecording() string { return "/new-recording?form=" + newToken() }

var fox = url.Values{"name": {"Fox"}, "description": {"A fox"}, "resolution": {"256x256"}}

// with returns a copy of a form with another value of the field.
func with(form url.Values, field, value string) url.Values {
	form = maps.Clone(form)
	form.Set(field, value)
	return form
}

// says checks that the page shows the text.
func says(t *testing.T, page, text string) {
	t.Helper()
	assert.Contains(t, shown(page), text)
}

var (
	mainPart = regexp.MustCompile(`(?s)<main.*</main>`)
	tag      = regexp.MustCompile(`<[^>]*>`)
)

// shown returns the text of a page, without the parts that all pages have.
func shown(page string) string {
	text := html.UnescapeString(tag.ReplaceAllString(mainPart.FindString(page), " "))
	return strings.Join(strings.Fields(text), " ")
}

// match returns the first group of the expression in a page.
func match(t *testing.T, page, expression string) string {
	t.Helper()
	groups := regexp.MustCompile(expression).FindStringSubmatch(page)
	require.NotNil(t, groups, expression)
	return html.UnescapeString(groups[1])
}

// formOf returns the address of the form on a page.
func formOf(t *testing.T, page string) string {
	t.Helper()
	return match(t, page, `action="(/new-[a-z]+\?form=[^"]*)"`)
}

// lookAt returns the address at which a refused form says to look first.
func lookAt(t *testing.T, page string) string {
	t.Helper()
	return match(t, page, `href="([^"]*)">Look for it`)
}

// asked reports whether the service got a request for the operation.
func (f *fixture) asked(operation aicontent.Operation) bool {
	return slices.ContainsFunc(f.service.Requests(), func(r aicontenttest.Request) bool {
		return r.Operation == operation
	})
}

func TestPictureIsCreatedFoundRenamedAndDeleted(t *testing.T) {
	f := newFixture(t)
	page := f.post(newPicture(), url.Values{
		"name": {"Lighthouse"}, "description": {"A lighthouse at dusk"}, "resolution": {"256x256"}, "style": {"retro"},
	})
	says(t, page, "Here it is.")
	says(t, page, "A lighthouse at dusk")
	require.Len(t, f.service.Images(), 1)
	id := string(f.service.Images()[0].ID)

	says(t, f.get("/pictures"), "Lighthouse")
	says(t, f.get("/pictures?style=retro"), "Lighthouse")
	assert.NotContains(t, shown(f.get("/pictures?style=anime")), "Lighthouse")
	assert.NotContains(t, shown(f.get("/pictures?favorite=1")), "Lighthouse")

	says(t, f.post("/pictures/"+id, url.Values{"favorite": {"1"}}), "Saved.")
	assert.True(t, f.service.Images()[0].Favorite)
	says(t, f.get("/pictures?favorite=1"), "Lighthouse")

	f.post("/pictures/"+id, url.Values{"name": {"Beacon"}})
	assert.Equal(t, "Beacon", f.service.Images()[0].Name)
	assert.True(t, f.service.Images()[0].Favorite, "a form changes only its own fields")
	says(t, f.get("/pictures?search=beac"), "Beacon")

	says(t, f.post("/pictures/"+id+"/delete", nil), "Deleted.")
	assert.Empty(t, f.service.Images())
}

func TestPagesOfAListAreReachedByNumberEvenIfTheServiceHasOnlyCursors(t *testing.T) {
	for _, paginator := range []aicontenttest.Personality{
		"", aicontenttest.PlainPaginator, aicontenttest.SimplePaginator, aicontenttest.CursorPaginator,
	} {
		t.Run(string(paginator), func(t *testing.T) {
			f := newFixture(t, paginator)
			for n := range 60 {
				f.service.AddImage(aicontent.Image{Name: "picture " + string(rune('A'+n)), Style: "retro"})
				f.service.AddImage(aicontent.Image{Name: "other", Style: "anime"})
			}
			const list = "/pictures?style=retro&sort=asc&page="
			for _, number := range []string{"3", "4", "99", "99999999999999999999"} {
				last := f.get(list + number)
				assert.Equal(t, 10, strings.Count(last, "<li id="), "the last page stands for page %s", number)
				says(t, last, "picture "+string(rune('A'+50)))
				says(t, last, "Page 3")
				assert.False(t, strings.Contains(last, `rel="next"`))
				assert.True(t, strings.Contains(last, `href="?page=2&amp;sort=asc&amp;style=retro"`))
			}
			second := f.get(list + "2")
			assert.True(t, strings.Contains(second, `href="?page=3&amp;sort=asc&amp;style=retro"`))
			assert.NotContains(t, shown(second), "other")
			says(t, f.get("/pictures?style=sketch&page=2"), "Nothing was found.")
		})
	}
}

func TestFormsSayThatAPressMayBeBilled(t *testing.T) {
	f := newFixture(t)
	for _, kind := range []string{"picture", "recording"} {
		says(t, f.get("/new-"+kind), "The service may bill each new "+kind+".")
	}
}

func TestRecordingsHaveTheirDates(t *testing.T) {
	f := newFixture(t)
	created := time.Date(2026, 1, 31, 14, 5, 0, 0, time.UTC)
	id := f.service.AddTranscription(aicontent.Transcription{Name: "Song", CreatedAt: created}).ID
	for _, path := range []string{"/recordings", "/recordings/" + string(id)} {
		says(t, f.get(path), "31 January 2026, 14:05 UTC")
	}
}

func TestListsShowTheBeginningOfATextAlone(t *testing.T) {
	f := newFixture(t)
	f.service.AddTranscription(aicontent.Transcription{Name: "Speech", Result: strings.Repeat("föhn ", 1<<18)})
	page := f.get("/recordings")
	says(t, page, "föhn föhn")
	assert.Less(t, len(page), 10_000)
}
