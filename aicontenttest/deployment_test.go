package aicontenttest

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests in this file are for behaviors of a real deployment that a simpler server would not have.

func TestASearchIsSQLsLike(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	for _, name := range []string{"100% wool", "a_b", "axb", `back\slash`, "ÄRGER", "MiXed"} {
		s.AddImage(Image{Name: name})
	}
	for search, want := range map[string]string{
		"%":         "6 5 4 3 2 1",
		"0%w":       "1",
		"a_b":       "3 2",
		`a\_b`:      "2",
		`\%`:        "1",
		`k\s`:       "",
		`k\\s`:      "4",
		`100\`:      "",
		"mIxED":     "6",
		"ärger":     "",
		"Ärger":     "5",
		"%%%x%b%%%": "3",
		"_______":   "4 1",
	} {
		assert.Equal(t, want, listedIDs(send(t, s, get("/api/v1/images?search="+url.QueryEscape(search))).body), search)
	}
}

func TestFormsAreReadAsPHPDoes(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	for form, want := range map[string]string{
		"a;b":      "a;b",
		"100%":     "100%",
		"%zz%4":    "%zz%4",
		"a+b%2Bc":  "a b+c",
		"%c3%BC":   "ü",
		"a=b":      "a=b",
		"x&=&&y=1": "x",
	} {
		s := s
		if strings.Contains(form, "&") {
			s = started(t, Lenient())
		}
		assert.Equal(t, 201, send(t, s, post("/api/v1/images", "name="+form+"&description=d&resolution=256x256")).status)
		images := s.Images()
		assert.Equal(t, want, images[len(images)-1].Name)
	}
	assert.Equal(t, 200, send(t, s, get("/api/v1/images?search=a;b")).status)
}

func TestTimesAreWholeSecondsAndMoveWithChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(t, InMemoryNetwork())
		<-time.After(1500 * time.Millisecond)
		send(t, s, post("/api/v1/images", storeForm))
		assert.Contains(t, send(t, s, get("/api/v1/images/1")).body,
			`"created_at":"2000-01-01T00:00:01.000000Z","updated_at":"2000-01-01T00:00:01.000000Z"`)
		<-time.After(time.Minute)
		assert.Contains(t, send(t, s, patch("/api/v1/images/1", "name=n&favorite=0")).body,
			`"updated_at":"2000-01-01T00:00:01.000000Z"`, "nothing was changed")
		assert.Contains(t, send(t, s, patch("/api/v1/images/1", "favorite=1")).body,
			`"created_at":"2000-01-01T00:00:01.000000Z","updated_at":"2000-01-01T00:01:01.000000Z"`)
	})
	at := time.Date(2024, 5, 4, 10, 11, 12, 345678900, time.UTC)
	s := NewServer(t, BasePath("/tenant"))
	assert.Equal(t, at.Truncate(time.Second), s.AddImage(Image{CreatedAt: at}).CreatedAt)
}

func TestPerPageIsRepeatedAsItCame(t *testing.T) {
	for _, paginator := range []Personality{DataEnvelope, PlainPaginator, SimplePaginator, CursorPaginator} {
		s := NewServer(t, BasePath("/tenant"), paginator)
		assert.Contains(t, send(t, s, get("/api/v1/images")).body, `"per_page":10`, paginator)
		assert.Contains(t, send(t, s, get("/api/v1/images?per_page=25")).body, `"per_page":"25"`, paginator)
	}
}

func TestEnvelopesHaveAStatus(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	stored := send(t, s, post("/api/v1/images", storeForm))
	assert.Equal(t, 201, stored.status)
	assert.True(t, strings.HasSuffix(stored.body, `},"status":200}`), stored.body)
	assert.True(t, strings.HasSuffix(send(t, s, get("/api/v1/images")).body, `},"status":200}`))
}

func TestEveryResponseHasARateLimit(t *testing.T) {
	s := started(t)
	for _, r := range []request{get("/api/v1/images"), get("/api/v1/images/9"), post("/api/v1/images", ""), get("/api/v1/nothing")} {
		e := send(t, s, r)
		assert.Equal(t, "60", e.header.Get("X-RateLimit-Limit"), r.path)
		assert.Equal(t, "59", e.header.Get("X-RateLimit-Remaining"), r.path)
	}
}

func TestTheMenuOfPages(t *testing.T) {
	label := regexp.MustCompile(`"label":"([^"]+)","active":(true|false)`)
	menu := func(pages, page int) string {
		s := NewServer(t, BasePath("/tenant"))
		for range 10*pages - 3 {
			s.AddImage(Image{Name: "n"})
		}
		var labels []string
		body := send(t, s, get(fmt.Sprintf("/api/v1/images?page=%d", page))).body
		for _, m := range label.FindAllStringSubmatch(body, -1) {
			if m[2] == "true" {
				m[1] = "[" + m[1] + "]"
			}
			labels = append(labels, m[1])
		}
		return strings.TrimSuffix(strings.TrimPrefix(strings.Join(labels, " "), "&laquo; Previous "), " Next &raquo;")
	}
	for _, c := range []struct {
		pages, page int
		want        string
	}{
		{1, 1, "[1]"},
		{13, 4, "1 2 3 [4] 5 6 7 8 9 10 11 12 13"},
		{14, 7, "1 2 3 4 5 6 [7] 8 9 10 ... 13 14"},
		{14, 8, "1 2 ... 5 6 7 [8] 9 10 11 12 13 14"},
		{30, 15, "1 2 ... 12 13 14 [15] 16 17 18 ... 29 30"},
	} {
		assert.Equal(t, c.want, menu(c.pages, c.page))
	}
	s := NewServer(t, BasePath("/tenant"))
	for range 140 {
		s.AddImage(Image{Name: "n"})
	}
	assert.Contains(t, send(t, s, get("/api/v1/images")).body, `{"url":null,"label":"...","active":false}`)
}

func TestErrorsDependOnWhatIsAccepted(t *testing.T) {
	s := started(t, Lenient())
	accepting := func(r request, accept string) exchange {
		if r.header == nil {
			r.header = make(map[string]string)
		}
		r.header["Accept"] = accept
		return send(t, s, r)
	}
	e := accepting(get("/api/v1/images/9"), "")
	assert.Equal(t, `404 {"message":"Resource not found.","status":404}`, fmt.Sprint(e.status, " ", e.body), "a record's 404 is JSON always")
	e = accepting(post("/api/v1/images", ""), "text/html")
	assert.Equal(t, 302, e.status)
	assert.Equal(t, s.URL+"/", e.header.Get("Location"))
	e = accepting(post("/api/v1/images", ""), "Application/JSON")
	assert.Equal(t, 422, e.status, "media types ignore case")
	e = accepting(get("/api/v1/videos"), "application/json")
	assert.Equal(t, `404 {"message":""}`, fmt.Sprint(e.status, " ", e.body))
	e = accepting(get("/api/v1/videos"), "*/*")
	assert.Equal(t, 404, e.status)
	assert.Contains(t, e.body, "<h1>404 Not Found</h1>")
	e = accepting(post("/api/v1/images", "name=%ff&description=d&resolution=256x256"), "application/json")
	assert.Equal(t, `500 {"message":"Server Error"}`, fmt.Sprint(e.status, " ", e.body))

	home, err := s.HTTPClient().Get(s.URL + "/")
	require.NoError(t, err)
	home.Body.Close()
	assert.Equal(t, 200, home.StatusCode, "where a refused form leads to")
	s = NewServer(t, BasePath("/tenant"))
	accept := get("/api/v1/images")
	accept.header = map[string]string{"Accept": "text/html, Application/Json;q=0.5"}
	assert.Equal(t, 200, send(t, s, accept).status, "no violation")
	form := post("/api/v1/images", storeForm)
	form.header = map[string]string{"Content-Type": "Application/X-WWW-Form-URLencoded"}
	assert.Equal(t, 201, send(t, s, form).status)
}

func TestLenientServersReadMoreThanIsDocumented(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), Lenient())
	json := post("/api/v1/images", `{"name":"n","description":"d","resolution":"256x256","style":null}`)
	json.header = map[string]string{"Content-Type": "application/json"}
	assert.Equal(t, 201, send(t, s, json).status)
	json = patch("/api/v1/images/1", `{"name":7,"favorite":true}`)
	json.header = map[string]string{"Content-Type": "application/json"}
	assert.Contains(t, send(t, s, json).body, `"name":"7"`)
	assert.True(t, s.Images()[0].Favorite)
	json = post("/api/v1/images", `{"name":`)
	json.header = map[string]string{"Content-Type": "application/json"}
	assert.Equal(t, 422, send(t, s, json).status)

	assert.Equal(t, 201, send(t, s, post("/api/v1/images?name=query&description=q", "description=form&resolution=256x256")).status)
	assert.Equal(t, "query form", s.Images()[1].Name+" "+s.Images()[1].Description, "the form wins over the query")

	head := send(t, s, request{method: "HEAD", path: "/api/v1/images"})
	assert.Equal(t, "200 ", fmt.Sprint(head.status, " ", head.body))
	options := send(t, s, request{method: "OPTIONS", path: "/api/v1/images", header: map[string]string{"Authorization": ""}})
	assert.Equal(t, 200, options.status)
	assert.Equal(t, "GET, POST", options.header.Get("Allow"))
	assert.Contains(t, send(t, s, get("/api/v1/images?page=02")).body, `"current_page":1`)

	s.AddTranscription(Transcription{Name: "talk"})
	assert.Equal(t, "1", listedIDs(send(t, s, get("/api/v1/transcriptions?style=anime&resolution=1x1")).body),
		"transcriptions have no settings to filter by")
}

func TestAccountsDoNotSeeEachOther(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), OtherAccount("another-key"))
	mine := s.AddImage(Image{Name: "mine"})
	as := func(r request) exchange {
		if r.header == nil {
			r.header = make(map[string]string)
		}
		r.header["Authorization"] = "Bearer another-key"
		return send(t, s, r)
	}
	theirs := as(post("/api/v1/images", storeForm))
	require.Equal(t, 201, theirs.status)
	assert.Contains(t, theirs.body, `"id":2,`)
	assert.Equal(t, "2", listedIDs(as(get("/api/v1/images")).body))
	assert.Equal(t, "1", listedIDs(send(t, s, get("/api/v1/images")).body))
	path := "/api/v1/images/" + mine.ID
	for _, e := range []exchange{as(get(path)), as(patch(path, "name=stolen")), as(request{method: "DELETE", path: path}), send(t, s, get("/api/v1/images/2"))} {
		assert.Equal(t, 404, e.status)
	}
	assert.Equal(t, "mine", s.Images()[0].Name)
	assert.Len(t, s.Images(), 2)
}
