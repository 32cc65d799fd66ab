package aicontenttest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// TestEachPersonalityRespondsAsItsSoftwareDoes compares the responses of each personality with those of the software it
// is modeled on.
func TestEachPersonalityRespondsAsItsSoftwareDoes(t *testing.T) {
	const images, one, list = "/api/v1/images", "/api/v1/images/2", "/api/v1/images?favorite=1"
	const talk, page2 = "/api/v1/transcriptions/1", list + "&page=2"
	const form = "name=n&resolution=256x256&description="
	const taken = `"errors":{"name":["The name has already been taken."]}`
	for _, c := range []struct {
		personality Personality
		request     request
		status      int
		want        string // in the body
		not         string // not in the body
	}{
		{"", get(one), 200, `{"data":{"id":2,"name":"n"`, ""},
		{FullRecords, get(one), 200, `"description":"d"`, ""},
		{FullRecords, get(talk), 200, `"description":"d","language":"GB"`, ""},
		{MissingMembers, get(one), 200, `{"data":{"id":2,"name":"n","result":"2.png","favorite":true},"status":200}`,
			""},
		{MissingMembers, get(talk), 200, `{"data":{"id":1,"name":"t","favorite":false},"status":200}`, ""},
		{PlainPaginator, get(list), 200, `{"data":[{"id":12,`, `"meta"`},
		{PlainPaginator, get(list), 200, `"path":"IMAGES","per_page":10,"current_page":1,"from":1,"to":10,` +
			`"last_page":2,"total":12`, ""},
		{PlainPaginator, get(list), 200, `"prev_page_url":null,"next_page_url":"IMAGES?favorite=1&page=2"`, ""},
		{SimplePaginator, get(list), 200, `"links":{"first":"IMAGES?favorite=1&page=1","last":null,"prev":null,` +
			`"next":"IMAGES`, `"total"`},
		{SimplePaginator, get(page2), 200, `"next":null`, `"last_page"`},
		{CursorPaginator, get(list), 200, `"prev":null,"next":"IMAGES?cursor=`, `"current_page"`},
		{CursorPaginator, get(list), 200, `"prev_cursor":null,"next_cursor":"`, `"total"`},
		{CursorPaginator, get(page2), 200, `{"data":[{"id":12,`, `"id":2,`}, // The number is ignored.
		{ForeignNextLinks, get(list), 200,
			`"next":"http:\/\/app.internal.example\/tenant\/api\/v1\/images?favorite=1&page=2"`, ""},
		{FilterlessNextLinks, get(list), 200, `"next":"IMAGES?page=2"`, "favorite=1"},
		{UnwrappedRecords, get(one), 200, `{"id":2,"name":"n"`, `"data"`},
		{UnwrappedRecords, get(list), 200, `{"data":[{"id":12,`, ""},
		{NullURLs, get(one), 200, `"url":null`, "pictures"},
		{ForeignNextLinks, get(one), 200, `"url":"http:\/\/app.internal.example\/tenant\/pictures\/2.png"`, ""},
		{FieldsAsMessage, post("/api/v1/images", "name=n&description=d"), 422,
			`{"message":{"resolution":["The resolution field is required."]},"status":422}`, "errors"},
		{LengthLimits, patch(one, "name="+strings.Repeat("ü", 128)), 200, `"name":"\u00fc`, ""},
		{LengthLimits, patch(one, "name="+strings.Repeat("ü", 129)), 422,
			`The name field must not be greater than 128 characters.`, ""},
		{LengthLimits, post(images, form+strings.Repeat("d", 2048)), 201, `"id":13`, ""},
		{LengthLimits, post(images, form+strings.Repeat("d", 2049)), 422,
			`The description field must not be greater than 2048 characters.`, ""},
		{NoChunkedUploads, upload(namePart, filePart), 201, `"name":"Meeting"`, ""},
		{NoChunkedUploads, upload(namePart, filePart).chunked(), 422,
			`"errors":{"name":["The name field is required."],"file":`, ""},
		{UniqueNames, post(images, storeForm), 422, `{"message":"The name has already been taken.",` + taken + `}`, ""},
		{UniqueNames, post(images, "name=+N+&description=d&resolution=256x256"), 422, `"errors":{"name":[`, ""},
		{UniqueNames, post("/api/v1/images", "name=m&description=d&resolution=256x256"), 201, `"id":13`, ""},
		{UniqueNames, post("/api/v1/images", "name=n&resolution=256x256"), 422, `"errors":{"description":[`, "taken"},
		{UniqueNames, upload("name=\"name\"\r\n\r\nt", filePart), 422, taken, ""},
		{UniqueNames, upload("name=\"name\"\r\n\r\nn", filePart), 201, `"name":"n"`, ""},
		{UniqueNames, patch(one, "name=N"), 422, taken, ""},
		{UniqueNames, patch(one, "name=n&favorite=0"), 200, `"favorite":false`, ""},
		{UniqueNames, patch(talk, "name=T"), 200, `"name":"T"`, ""},
		{UniqueNames, patch("/api/v1/images/99", "name=n"), 404, `Resource not found.`, ""},
		{StoreResponds200, post("/api/v1/images", storeForm), 200, `},"status":200}`, ""},
		{DeleteResponds204, remove(one), 204, "", "{"},
		{NewerValues, post(images, "name=n&description=d&resolution=1024x1536&quality=high"), 201,
			`"resolution":"1024x1536","quality":"high"`, ""},
		{NewerValues, post("/api/v1/images", storeForm+"&style=anime"), 201, `"resolution":"256x256"`, "style"},
		{NewerValues, get("/api/v1/images?style=anime"), 200, `"total":12`, ""},
		{NewerValues, get("/api/v1/images"), 200, `"per_page":100`, ""},
		{NewerValues, upload(namePart, filePart, "name=\"language\"\r\n\r\nen"), 201, `"name":"Meeting"`, ""},
	} {
		t.Run(string(c.personality)+" "+c.request.method+" "+c.request.path, func(t *testing.T) {
			s := NewServer(t, BasePath("/tenant"), c.personality)
			for range 12 {
				s.AddImage(aicontent.Image{Name: "n", Description: "d", Favorite: true})
			}
			s.AddTranscription(aicontent.Transcription{Name: "t", Description: "d", Language: "GB"})
			e := send(t, s, c.request)
			assert.Equal(t, c.status, e.status)
			escaped := strings.ReplaceAll(s.URL+images, "/", `\/`)
			assert.Contains(t, e.body, strings.ReplaceAll(c.want, "IMAGES", escaped))
			if c.not != "" {
				assert.NotContains(t, e.body, c.not)
			}
		})
	}
}

func TestNamesAreUniqueWhateverHappensAtOnce(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), UniqueNames)
	statuses := make(chan int, 20)
	for range cap(statuses) {
		go func() {
			got, err := trySend(s, post("/api/v1/images", storeForm))
			assert.NoError(t, err)
			statuses <- got.status
		}()
	}
	count := make(map[int]int)
	for range cap(statuses) {
		count[<-statuses]++
	}
	assert.Equal(t, map[int]int{201: 1, 422: 19}, count)
	require.Len(t, s.Records(), 1)

	assert.Equal(t, 200, send(t, s, remove("/api/v1/images/"+string(s.Records()[0].ID))).status)
	assert.Equal(t, 201, send(t, s, post("/api/v1/images", storeForm)).status, "the name of a deleted record is free")
	assert.Equal(t, 422, send(t, s, post("/api/v1/images", storeForm)).status)
	last := s.Requests()[len(s.Requests())-1]
	assert.False(t, last.Acted)
	assert.Empty(t, last.RecordID)
}

func TestOnResponseMakesAPersonality(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"),
		OnResponse(func(r *Response) {
			assert.Equal(t, aicontent.ImagesStore, r.Request.Operation)
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
