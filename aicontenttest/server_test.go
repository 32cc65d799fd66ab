package aicontenttest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

func TestTheTenOperationsRespondAsDocumented(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	times := `"created_at":"[^"]+","updated_at":"[^"]+"`

	stored := send(t, s, post("/api/v1/images", "name=Lighthouse&description=A+tower&resolution=256x256&style=pop_art"))
	assert.Equal(t, 201, stored.status)
	assert.Equal(t, "application/json", stored.header.Get("Content-Type"))
	slashed := strings.ReplaceAll(s.URL, "/", `\\/`)
	assert.Regexp(t, `^{"data":{"id":1,"name":"Lighthouse","style":"pop_art","medium":null,"filter":null,`+
		`"resolution":"256x256","result":"1.png","url":"`+slashed+`\\/pictures\\/1.png","favorite":false,`+times+
		`},"status":200}$`, stored.body)

	shown := send(t, s, get("/api/v1/images/1"))
	assert.Equal(t, 200, shown.status)
	assert.Contains(t, shown.body, `{"data":{"id":1,"name":"Lighthouse"`)
	assert.Contains(t, shown.body, `},"status":200}`)

	changed := send(t, s, patch("/api/v1/images/1", "name=Beacon&favorite=1"))
	assert.Equal(t, 200, changed.status)
	assert.Contains(t, changed.body, `"name":"Beacon"`)
	assert.Contains(t, changed.body, `"favorite":true`)
	put := request{method: "PUT", path: "/api/v1/images/1", body: strings.NewReader("favorite=0")}
	assert.Contains(t, send(t, s, put).body, `"name":"Beacon"`, "PUT changes what was sent and nothing else")

	listed := send(t, s, get("/api/v1/images"))
	assert.Equal(t, 200, listed.status)
	assert.Contains(t, listed.body, `{"data":[{"id":1,"name":"Beacon"`)
	home := `"` + strings.ReplaceAll(s.URL+"/api/v1/images", "/", `\/`)
	links := `"links":{"first":` + home + `?page=1","last":` + home + `?page=1","prev":null,"next":null}`
	assert.Contains(t, listed.body, links)
	assert.Contains(t, listed.body, `"current_page":1,"from":1,"to":1,"last_page":1,"total":1`)

	deleted := send(t, s, remove("/api/v1/images/1"))
	assert.Equal(t, 200, deleted.status)
	assert.Equal(t, `{"id":1,"object":"image","deleted":true,"status":200}`, deleted.body)
	gone := send(t, s, get("/api/v1/images/1"))
	assert.Equal(t, 404, gone.status)
	assert.Equal(t, `{"message":"Resource not found.","status":404}`, gone.body)

	transcribed := send(t, s, upload(namePart, filePart, "name=\"language\"\r\n\r\nGB"))
	assert.Equal(t, 201, transcribed.status)
	assert.Regexp(t, `^{"data":{"id":1,"name":"Meeting",`+
		`"result":"No transcript[^"]+ received 16 bytes, sha256 [0-9a-f]{64}.",`+
		`"words":\d+,"favorite":false,`+times+`},"status":200}$`, transcribed.body)
	corrected := send(t, s, patch("/api/v1/transcriptions/1", "result=Well+said,+that"))
	assert.Contains(t, corrected.body, `"result":"Well said, that","words":3`)
	assert.Contains(t, send(t, s, get("/api/v1/transcriptions")).body, `{"data":[{"id":1,"name":"Meeting"`)
	assert.Contains(t, send(t, s, get("/api/v1/transcriptions/1")).body, `"name":"Meeting"`)
	assert.Equal(t, `{"id":1,"object":"transcription","deleted":true,"status":200}`,
		send(t, s, remove("/api/v1/transcriptions/1")).body)
}

func TestStateIsSeededAndRead(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	one := s.AddImage(aicontent.Image{Name: "One", Favorite: true})
	two := s.AddImage(aicontent.Image{Name: "Two"})
	odd := s.AddImage(aicontent.Image{ID: "9007199254740993", Name: "Beyond 2^53"})
	talk := s.AddTranscription(aicontent.Transcription{Name: "Talk", Result: "One two"})
	assert.Equal(t, []aicontent.Image{one, two, odd}, s.Images())
	assert.Equal(t, []aicontent.Transcription{talk}, s.Transcriptions())
	assert.EqualValues(t, "1", one.ID)
	assert.EqualValues(t, "2", two.ID)
	assert.Contains(t, send(t, s, get("/api/v1/images/"+string(odd.ID))).body, `"id":9007199254740993`)
	assert.Contains(t, send(t, s, get("/api/v1/transcriptions/1")).body, `"words":2`)
}

func TestIDsAreReadAsTheyWereEscaped(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	for _, id := range []string{"a/b", "a?b", "a%b", "ü", "a b", "..", "1"} {
		path := "/api/v1/images/" + strings.ReplaceAll(url.PathEscape(id), "..", "%2E%2E")
		assert.Equal(t, 404, send(t, s, get(path)).status, id)
		s.AddImage(aicontent.Image{ID: aicontent.ID(id), Name: "named " + id})
		assert.Equal(t, 200, send(t, s, get(path)).status, id)
	}
}

func TestWhiteSpaceIsTrimmedAndEmptyIsNull(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	stored := send(t, s, upload("name=\"name\"\r\n\r\n  Meeting\t", filePart, "name=\"description\"\r\n\r\n  "))
	assert.Equal(t, 201, stored.status)
	assert.Contains(t, stored.body, `"name":"Meeting"`)
	refused := send(t, s, post("/api/v1/images", "name=+%09&description=d&resolution=512x512"))
	assert.Equal(t, 422, refused.status)
	const missing = `{"message":"The name field is required.","errors":{"name":["The name field is required."]}}`
	assert.Equal(t, missing, refused.body)
	for _, empty := range []string{"", "%E2%80%8B%EF%BB%BF"} { // invisible characters
		assert.Equal(t, 422, send(t, s, patch("/api/v1/transcriptions/1", "name="+empty)).status)
	}
	renamed := send(t, s, patch("/api/v1/transcriptions/1", "name=%E2%80%8B+a%0D%0Ab%EF%BB%BF%00"))
	assert.Contains(t, renamed.body, `"name":"a\r\nb"`)
	for _, empty := range []string{"result=", "result=++"} {
		refused = send(t, s, patch("/api/v1/transcriptions/1", empty))
		assert.Equal(t, 422, refused.status)
		assert.Contains(t, refused.body, `"errors":{"result":["The result field must be a string."]}`)
	}
}

func TestErrorsHaveTheirStatusHeadersAndBody(t *testing.T) {
	s := started(t)
	for name, c := range map[string]struct {
		request          request
		status           int
		location, offers string
		body             string // a pattern
	}{
		"a wrong key": {
			get("/api/v1/images").set("Authorization", "Bearer wrong"), 401, "", "",
			`^{"message":"Unauthenticated.","status":401}$`,
		},
		"a method that is not offered": {
			patch("/api/v1/images", "name=x"), 405, "", "GET, POST", "",
		},
		"several missing fields": {
			post("/api/v1/images", "resolution="), 422, "", "",
			`^{"message":"The name field is required. \(and 2 more errors\)","errors":{` +
				`"name":\["The name field is required."\],"description":\["The description field is required."\],` +
				`"resolution":\["The resolution field is required."\]}}$`,
		},
		"a missing file": {upload(namePart), 422, "", "", `"errors":{"file":\["The file field is required."\]}`},
	} {
		t.Run(name, func(t *testing.T) {
			e := send(t, s, c.request)
			assert.Equal(t, c.status, e.status)
			assert.Equal(t, c.location, e.header.Get("Location"))
			assert.Equal(t, c.offers, e.header.Get("Allow"))
			assert.Regexp(t, c.body, e.body)
		})
	}
}

func TestAddressesThatCannotBeUsedAreRefused(t *testing.T) {
	for name, opts := range map[string][]Option{
		"an address that is none":           {Addr("nowhere")},
		"an address in memory":              {Addr("127.0.0.1:8080"), InMemoryNetwork()},
		"an address that belongs to others": {Addr("192.0.2.1:1")},
	} {
		_, err := Start(opts...)
		assert.Error(t, err, name)
	}
}

// Whoever makes a mistake in a test is told which one, in a sentence.
func TestNewServerSaysWhatIsWrong(t *testing.T) {
	for says, opts := range map[string][]Option{
		`unknown personality "surly"`:                {Personality("surly"), Personality("rude")},
		"latency: must not be negative: -1s":         {Latency(-time.Second)},
		"latency: must not be negative: -2s":         {LatencyOn(aicontent.ImagesList, -2*time.Second)},
		"APIKey: must not be empty":                  {APIKey("key", "")},
		`LatencyOn: unknown operation "image.store"`: {LatencyOn("image.store", time.Second)},
	} {
		t.Run(says, func(t *testing.T) {
			test := new(recorder)
			assert.PanicsWithValue(t, fatal, func() { NewServer(test, opts...) })
			assert.Equal(t, []string{"aicontenttest: " + says}, test.errors)
		})
	}
}

// A base path that no URL can have, or that clients change, would be reached by none of them.
func TestBasePathsThatNoClientReachesAreRefused(t *testing.T) {
	for path, base := range map[string]string{
		"": "", "/": "", "tenant": "/tenant", "/tenant/": "/tenant", "/a/b-c_d.e~f": "/a/b-c_d.e~f", "/a%20b": "/a%20b",
	} {
		s := NewServer(t, BasePath(path))
		assert.Equal(t, s.network.Origin()+base, s.URL)
		_, err := s.Client().Images.List(t.Context(), aicontent.ImageListParams{})
		assert.NoError(t, err, path)
	}
	for _, path := range []string{"x y", "/a?b", "/a#b", "/a//b", "/a/../b", "/.", "/ü", "/%zz", "/a\nb"} {
		_, err := Start(BasePath(path))
		const says = "BasePath: must be the path of a URL, without spaces, ?, #, .., and //, not %q"
		assert.ErrorContains(t, err, fmt.Sprintf(says, path))
	}
}

func TestATakenIDIsNotGivenOut(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	s.AddImage(aicontent.Image{ID: "2", Name: "of the test"})
	for range 3 {
		assert.Equal(t, 201, send(t, s, post("/api/v1/images", storeForm)).status)
	}
	require.Len(t, s.Images(), 4, "none was replaced")
	assert.Equal(t, "of the test", s.Images()[0].Name)
	seen := make(map[aicontent.ID]bool)
	for _, i := range s.Images() {
		seen[i.ID] = true
	}
	assert.Len(t, seen, 4)
}
