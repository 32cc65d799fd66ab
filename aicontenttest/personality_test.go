package aicontenttest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPersonalities compares the responses of each personality with those of the software it is modeled on.
func TestPersonalities(t *testing.T) {
	const one, list, page2 = "/api/v1/images/2", "/api/v1/images?favorite=1", "/api/v1/images?favorite=1&page=2"
	for _, c := range []struct {
		personality Personality
		request     request
		status      int
		want        string // in the body
		not         string // not in the body
	}{
		{DataEnvelope, get(one), 200, `{"data":{"id":2,"name":"n"`, ""},
		{BareRecords, get(one), 200, `{"id":2,"name":"n","style":null`, `"data"`},
		{BareRecords, get(list), 200, `[{"id":12,"name":"n"`, `"data"`},
		{FullRecords, get(one), 200, `"description":"d"`, ""},
		{FullRecords, get("/api/v1/transcriptions/1"), 200, `"description":"d","language":"GB"`, ""},
		{MissingMembers, get(one), 200, `{"data":{"id":2,"name":"n","favorite":true},"status":200}`, ""},
		{MissingMembers, get("/api/v1/transcriptions/1"), 200, `{"data":{"id":1,"name":"t","favorite":false},"status":200}`, ""},
		{PlainPaginator, get(list), 200, `{"data":[{"id":12,`, `"meta"`},
		{PlainPaginator, get(list), 200, `"path":"BASE\/api\/v1\/images","per_page":10,"current_page":1,"from":1,"to":10,"last_page":2,"total":12,`, ""},
		{PlainPaginator, get(list), 200, `"prev_page_url":null,"next_page_url":"BASE\/api\/v1\/images?favorite=1&page=2"`, ""},
		{SimplePaginator, get(list), 200, `"links":{"first":"BASE\/api\/v1\/images?favorite=1&page=1","last":null,"prev":null,"next":"BASE`, `"total"`},
		{SimplePaginator, get(page2), 200, `"next":null`, `"last_page"`},
		{CursorPaginator, get(list), 200, `"prev":null,"next":"BASE\/api\/v1\/images?cursor=`, `"current_page"`},
		{CursorPaginator, get(list), 200, `"prev_cursor":null,"next_cursor":"`, `"total"`},
		{ForeignNextLinks, get(list), 200, `"next":"https:\/\/app.internal.example\/tenant\/api\/v1\/images?favorite=1&page=2"`, ""},
		{FilterlessNextLinks, get(list), 200, `"next":"BASE\/api\/v1\/images?page=2"`, "favorite=1"},
		{StringIDs, get(one), 200, `"id":"2"`, ""},
		{UUIDs, post("/api/v1/images", storeForm), 201, `"id":"2ea21d48-e1db-4`, ""},
		{NumericBooleans, get(one), 200, `"favorite":1`, "true"},
		{NumericBooleans, get("/api/v1/transcriptions/1"), 200, `"favorite":0`, "false"},
		{QuotedNumbers, get(one), 200, `{"data":{"id":"2"`, ""},
		{QuotedNumbers, get("/api/v1/transcriptions/1"), 200, `"words":"0"`, ""},
		{QuotedNumbers, get(list), 200, `"current_page":1,"from":1,"to":10,"last_page":2,"total":12`, ""},
		{QuotedNumbers, request{method: "DELETE", path: one}, 200, `{"id":"2","object":"image","deleted":true,"status":200}`, ""},
		{NumericBooleans, request{method: "DELETE", path: one}, 200, `"deleted":true`, ""},
		{UnwrappedRecords, get(one), 200, `{"id":2,"name":"n"`, `"data"`},
		{UnwrappedRecords, get(list), 200, `{"data":[{"id":12,`, ""},
		{NullURLs, get(one), 200, `"url":null`, "pictures"},
		{ForeignNextLinks, get(one), 200, `"url":"https:\/\/app.internal.example\/tenant\/pictures\/2.png"`, ""},
		{FieldsAsMessage, post("/api/v1/images", "name=n&description=d"), 422,
			`{"message":{"resolution":["The resolution field is required."]},"status":422}`, "errors"},
		{AudioTypes, upload(namePart, filePart), 201, `"name":"Meeting"`, ""},
		{AudioTypes, upload(namePart, "name=\"file\"; filename=\"talk.wav\"\r\n\r\nfLaC"), 422,
			`"file":["The file field must be a file of type: mp3, mp4, mpeg, mpga, m4a, wav, webm."]`, ""},
		{LengthLimits, patch(one, "name="+strings.Repeat("ü", 128)), 200, `"name":"\u00fc`, ""},
		{LengthLimits, patch(one, "name="+strings.Repeat("ü", 129)), 422, `The name field must not be greater than 128 characters.`, ""},
		{LengthLimits, post("/api/v1/images", "name=n&resolution=256x256&description="+strings.Repeat("d", 2048)), 201, `"id":13`, ""},
		{LengthLimits, post("/api/v1/images", "name=n&resolution=256x256&description="+strings.Repeat("d", 2049)), 422,
			`The description field must not be greater than 2048 characters.`, ""},
		{NoChunkedUploads, upload(namePart, filePart), 201, `"name":"Meeting"`, ""},
		{NoChunkedUploads, upload(namePart, filePart).chunked(), 422, `"errors":{"name":["The name field is required."],"file":`, ""},
		{MessageOnly422, post("/api/v1/images", "name=n&description=d"), 422, `{"message":"The resolution field is required.","status":422}`, ""},
		{StoreResponds200, post("/api/v1/images", storeForm), 200, `},"status":200}`, ""},
		{DeleteResponds204, request{method: "DELETE", path: one}, 204, "", "{"},
		{NewerValues, post("/api/v1/images", "name=n&description=d&resolution=1024x1536&quality=high"), 201, `"resolution":"1024x1536","quality":"high"`, ""},
		{NewerValues, post("/api/v1/images", storeForm+"&style=anime"), 201, `"resolution":"256x256"`, "style"},
		{NewerValues, get("/api/v1/images?style=anime"), 200, `"total":12`, ""},
		{NewerValues, get("/api/v1/images"), 200, `"per_page":100`, ""},
		{NewerValues, upload(namePart, filePart, "name=\"language\"\r\n\r\nen"), 201, `"name":"Meeting"`, ""},
	} {
		t.Run(string(c.personality)+" "+c.request.method+" "+c.request.path, func(t *testing.T) {
			s := NewServer(t, BasePath("/tenant"), c.personality)
			for range 12 {
				if c.personality == UUIDs {
					break
				}
				s.AddImage(Image{Name: "n", Description: "d", Favorite: true})
			}
			s.AddTranscription(Transcription{Name: "t", Description: "d", Language: "GB"})
			e := send(t, s, c.request)
			assert.Equal(t, c.status, e.status)
			base := strings.ReplaceAll(s.URL, "/", `\/`)
			assert.Contains(t, e.body, strings.ReplaceAll(c.want, "BASE", base))
			if c.not != "" {
				assert.NotContains(t, e.body, c.not)
			}
		})
	}
}

func TestPlainHTTPNextLinks(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), TLS(), PlainHTTPNextLinks)
	s.AddImage(Image{Name: "n"})
	require.True(t, strings.HasPrefix(s.URL, "https://"))
	assert.Contains(t, send(t, s, get("/api/v1/images")).body,
		strings.ReplaceAll(strings.Replace(`"first":"`+s.URL+`/api/v1/images?page=1"`, "https", "http", 1), "/", `\/`))
}

func TestLinkHeader(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), BareRecords, LinkHeader)
	for range 11 {
		s.AddImage(Image{Name: "n"})
	}
	assert.Equal(t, "<"+s.URL+`/api/v1/images?page=2>; rel="next"`, send(t, s, get("/api/v1/images")).header.Get("Link"))
	assert.Empty(t, send(t, s, get("/api/v1/images?page=2")).header.Get("Link"))
}

func TestLoginRedirect(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), LoginRedirect)
	wrong := get("/api/v1/images")
	wrong.header = map[string]string{"Authorization": "Bearer wrong"}
	e := send(t, s, wrong)
	assert.Equal(t, 302, e.status)
	assert.Equal(t, s.URL+"/login", e.header.Get("Location"))
}

func TestEveryPersonalityIsKnownByItsName(t *testing.T) {
	for _, p := range Personalities() {
		assert.NoError(t, newConfig([]Option{p}).err)
	}
}

func TestOnResponseMakesAPersonality(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"),
		OnResponse(func(r *Response) {
			assert.Equal(t, ImagesStore, r.Request.Operation)
			assert.True(t, r.Request.Acted)
			r.Status = 202
			r.Header.Set("X-Request-Id", "r-1")
			r.SetJSON(map[string]any{"image": r.JSON().(map[string]any)["data"].(map[string]any)["name"]})
		}),
		OnResponse(func(r *Response) { r.Body = append(r.Body, '\n') }),
	)
	e := send(t, s, post("/api/v1/images", storeForm))
	assert.Equal(t, 202, e.status)
	assert.Equal(t, "r-1", e.header.Get("X-Request-Id"))
	assert.Equal(t, "{\"image\":\"n\"}\n", e.body)
}

func TestAHookThatPanicsFailsTheTest(t *testing.T) {
	test := new(recorder)
	s := NewServer(test, OnResponse(func(*Response) { panic("in the hook") }))
	_, err := trySend(s, get("/api/v1/images"))
	assert.Error(t, err)
	test.end()
	require.Len(t, test.errors, 1)
	assert.Contains(t, test.errors[0], "in the hook")
}
