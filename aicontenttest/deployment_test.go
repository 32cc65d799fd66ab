package aicontenttest

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The tests in this file are for behaviors of a real deployment that a simpler server would not have.

func TestSearchMatchesAsSQLsLikeDoes(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	for _, name := range []string{"100% wool", "a_b", "axb", `back\slash`, "ÄRGER", "MiXed"} {
		s.AddImage(Image{Name: name})
	}
	for search, want := range map[string]string{
		"%": "6 5 4 3 2 1", "a_b": "3 2", `a\_b`: "2", `k\s`: "", "mIxED": "6", "ärger": "", "Ärger": "5",
	} {
		assert.Equal(t, want, listedIDs(send(t, s, get("/api/v1/images?search="+url.QueryEscape(search))).body), search)
	}
}

func TestTimesAreWholeSecondsAndMoveWithChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		time.Sleep(1500 * time.Millisecond)
		send(t, s, post("/api/v1/images", storeForm))
		assert.Contains(t, send(t, s, get("/api/v1/images/1")).body,
			`"created_at":"2000-01-01T00:00:01.000000Z","updated_at":"2000-01-01T00:00:01.000000Z"`)
		time.Sleep(time.Minute)
		assert.Contains(t, send(t, s, patch("/api/v1/images/1", "name=n&favorite=0")).body,
			`"updated_at":"2000-01-01T00:00:01.000000Z"`, "nothing was changed")
		assert.Contains(t, send(t, s, patch("/api/v1/images/1", "favorite=1")).body,
			`"created_at":"2000-01-01T00:00:01.000000Z","updated_at":"2000-01-01T00:01:01.000000Z"`)
		at := time.Date(2024, 5, 4, 10, 11, 12, 345678900, time.UTC)
		assert.Equal(t, at.Truncate(time.Second), s.AddImage(Image{CreatedAt: at}).CreatedAt)
	})
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
	for _, r := range []request{
		get("/api/v1/images"), get("/api/v1/images/9"), post("/api/v1/images", ""), get("/api/v1/nothing"),
	} {
		e := send(t, s, r)
		assert.Equal(t, "60", e.header.Get("X-RateLimit-Limit"), r.path)
		assert.Equal(t, "59", e.header.Get("X-RateLimit-Remaining"), r.path)
	}
}

func TestMenuOfPagesLeavesOutPagesFarFromTheCurrent(t *testing.T) {
	label := regexp.MustCompile(`"label":"([^"]+)","active":(true|false)`)
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
		s := NewServer(t)
		fill(s, 10*c.pages-3)
		body := send(t, s, get(fmt.Sprintf("/api/v1/images?page=%d", c.page))).body
		var labels []string
		for _, m := range label.FindAllStringSubmatch(body, -1) {
			if m[2] == "true" {
				m[1] = "[" + m[1] + "]"
			}
			labels = append(labels, m[1])
		}
		assert.Equal(t, "&laquo; Previous "+c.want+" Next &raquo;", strings.Join(labels, " "))
		if strings.Contains(c.want, "...") {
			assert.Contains(t, body, `{"url":null,"label":"...","active":false}`)
		}
	}
}

func TestErrorsDependOnWhatIsAccepted(t *testing.T) {
	s := started(t, Lenient())
	for _, c := range []struct {
		request request
		accept  string
		status  int
		body    string
	}{
		{get("/api/v1/images/9"), "", 404, `^{"message":"Resource not found.","status":404}$`}, // JSON always
		{post("/api/v1/images", ""), "Application/JSON", 422, `"message":`},
		{post("/api/v1/images", ""), "text/html", 302, ""},
		{get("/api/v1/videos"), "application/json", 404, `^{"message":""}$`},
		{get("/api/v1/videos"), "*/*", 404, "<h1>404 Not Found</h1>"},
		{post("/api/v1/images", "name=%ff"), "application/json", 500, `^{"message":"Server Error"}$`},
	} {
		e := send(t, s, c.request.set("Accept", c.accept))
		assert.Equal(t, c.status, e.status, c.body)
		assert.Regexp(t, c.body, e.body)
		if c.status == 302 {
			assert.Equal(t, s.URL+"/", e.header.Get("Location"))
		}
	}
	assert.Equal(t, 200, send(t, s, get("/").set("Authorization", "")).status, "a refused form leads to it")

	s = NewServer(t) // which would report a violation
	accept := get("/api/v1/images").set("Accept", "text/html, Application/Json;q=0.5")
	assert.Equal(t, 200, send(t, s, accept).status)
	form := post("/api/v1/images", storeForm).set("Content-Type", "Application/X-WWW-Form-URLencoded")
	assert.Equal(t, 201, send(t, s, form).status)
}

func TestLenientServersReadMoreThanIsDocumented(t *testing.T) {
	s := NewServer(t, Lenient())
	sendJSON := func(r request) exchange { return send(t, s, r.set("Content-Type", "application/json")) }
	stored := sendJSON(post("/api/v1/images", `{"name":"n","description":"d","resolution":"256x256","style":null}`))
	assert.Equal(t, 201, stored.status)
	assert.Contains(t, sendJSON(patch("/api/v1/images/1", `{"name":7,"favorite":true}`)).body, `"name":"7"`)
	assert.True(t, s.Images()[0].Favorite)
	assert.Equal(t, 422, sendJSON(post("/api/v1/images", `{"name":`)).status)

	query := post("/api/v1/images?name=query&description=q", "description=form&resolution=256x256")
	assert.Equal(t, 201, send(t, s, query).status)
	assert.Equal(t, "query form", s.Images()[1].Name+" "+s.Images()[1].Description, "the form wins over the query")

	head := send(t, s, request{method: "HEAD", path: "/api/v1/images"})
	assert.Equal(t, "200 ", fmt.Sprint(head.status, " ", head.body))
	options := send(t, s, request{method: "OPTIONS", path: "/api/v1/images"}.set("Authorization", ""))
	assert.Equal(t, 200, options.status)
	assert.Equal(t, "GET, POST", options.header.Get("Allow"))
	assert.Contains(t, send(t, s, get("/api/v1/images?page=02")).body, `"current_page":1`)

	s.AddTranscription(Transcription{Name: "talk"})
	assert.Equal(t, "1", listedIDs(send(t, s, get("/api/v1/transcriptions?style=anime&resolution=1x1")).body),
		"transcriptions have no settings to filter by")
}
