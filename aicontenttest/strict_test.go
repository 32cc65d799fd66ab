package aicontenttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

const storeForm = "name=n&description=d&resolution=256x256"

func TestStrictRulesRefuseWhatIsNotDocumented(t *testing.T) {
	const (
		images, transcriptions = "/api/v1/images", "/api/v1/transcriptions"
		multipart              = "multipart/form-data; boundary=frontier"
		cutOff                 = "--frontier\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nn"
	)
	carrying := func(method, path, body string) request {
		return request{method: method, path: path, body: strings.NewReader(body)}
	}
	asMultipart := func(method, path, body string) request {
		return carrying(method, path, body).set("Content-Type", multipart)
	}
	named := func(parts ...string) request { return upload(append([]string{namePart}, parts...)...) }
	statuses := map[string]int{
		"path": 404, "method": 405, "authorization": 401, "accept": 406, "content-type": 415, "body": 400,
		"multipart": 400, "encoding": 500, "query": 422, "repeated": 422, "value": 422, "boolean": 422,
		"file-name": 422, "undocumented-field": 422, "undocumented-parameter": 422,
	}
	for _, c := range []struct {
		name    string
		request request
		rule    string
		field   string
		value   string
	}{
		{"a path outside of the version", get("/api/images"), "path", "", ""},
		{"a method that is not offered", patch(images, "name=x"), "method", "", ""},
		{"HEAD", request{method: "HEAD", path: images}, "method", "", ""},
		{"no key", get(images).set("Authorization", ""), "authorization", "Authorization", ""},
		{"another scheme", get(images).set("Authorization", "Basic a2V5"), "authorization", "Authorization", ""},
		{"list without Accept", get(images).set("Accept", ""), "accept", "Accept", ""},
		{"list with a body", carrying("GET", images, "name=x"), "body", "", ""},
		{"a malformed form", post(images, "name=100%&description=d"), "body", "", ""},
		{"delete with a body", carrying("DELETE", images+"/1", "name=x"), "body", "", ""},
		{"an unknown parameter", get(images + "?colour=red"), "undocumented-parameter", "colour", "red"},
		{"a parameter on update", patch(images+"/1?name=x", "name=x"), "undocumented-parameter", "name", "x"},
		{"a repeated parameter", get(images + "?sort=asc&sort=desc"), "repeated", "sort", "asc, desc"},
		{"a malformed query", get(images + "?search=%zz"), "query", "", ""},
		{"an unknown style", get(images + "?style=cubist"), "value", "style", "cubist"},
		{"an unknown page size", get(images + "?per_page=7"), "value", "per_page", "7"},
		{"an unknown order", get(images + "?sort=up"), "value", "sort", "up"},
		{"page zero", get(images + "?page=0"), "value", "page", "0"},
		{"a boolean word in a query", get(images + "?favorite=true"), "boolean", "favorite", "true"},
		{"JSON", post(images, `{}`).set("Content-Type", "text/json"), "content-type", "Content-Type", "text/json"},
		{"an upload as a form", post(transcriptions, ""), "content-type", "Content-Type", contract.URLEncoded},
		{"a name that is not UTF-8", post(images, "name=%ff&description=d"), "encoding", "name", "\xff"},
		{"a search that is not UTF-8", get(images + "?search=%ff"), "encoding", "search", "\xff"},
		{"a file name that is no UTF-8", named("name=\"file\"; filename=\"\xff\"\r\n\r\nR"),
			"encoding", "file", "\xff"},
		{"an unknown field", post(images, storeForm+"&quality=high"), "undocumented-field", "quality", "high"},
		{"favorite at creation", post(images, storeForm+"&favorite=1"), "undocumented-field", "favorite", "1"},
		{"a field that stays as it is", patch(images+"/1", "description=d"), "undocumented-field", "description", "d"},
		{"a repeated field", post(images, storeForm+"&name=m"), "repeated", "name", "n, m"},
		{"an unknown resolution", post(images, "name=n&description=d&resolution=9x9"), "value", "resolution", "9x9"},
		{"a country in lower case", named(filePart, "name=\"language\"\r\n\r\nus"), "value", "language", "us"},
		{"a file without name", upload(namePart, "name=\"file\"\r\n\r\nRIFF"), "file-name", "file", ""},
		{"two files", upload(namePart, filePart, filePart), "repeated", "file", "talk.wav"},
		{"a name in a file", upload("name=\"name\"; filename=\"n\"\r\n\r\nn", filePart),
			"undocumented-field", "name", "n"},
		{"a part that is no field", upload(namePart, "filename=\"x\"\r\n\r\nx"), "multipart", "", ""},
		{"multipart without an end", asMultipart("POST", transcriptions, cutOff), "multipart", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			test := new(recorder)
			s := NewServer(test, BasePath("/tenant"))
			defer test.end()
			s.AddImage(aicontent.Image{Name: "before"})
			e := send(t, s, c.request)
			assert.Equal(t, statuses[c.rule], e.status, e.body)
			violations := s.Violations()
			require.NotEmpty(t, violations)
			want := fmt.Sprintf("request 1: %s /tenant%s: %s", c.request.method, c.request.path, c.rule)
			if c.field != "" {
				want += fmt.Sprintf(": %s=%q", c.field, c.value)
			}
			assert.Equal(t, want, violations[0])
			require.Len(t, test.errors, len(violations), "the test that sent the request fails")
			assert.Contains(t, test.errors[0], want)
			assert.False(t, s.Requests()[0].Acted)
			assert.Equal(t, "before", s.Images()[0].Name)
			assert.Empty(t, s.Transcriptions())
		})
	}
}

func TestWhatIsDocumentedIsNoViolation(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	for name, values := range map[string][]string{
		"resolution": contract.Resolutions, "style": contract.Styles,
		"medium": contract.Mediums, "filter": contract.Filters,
		"search_by": {"name"}, "favorite": {"0", "1"}, "sort_by": {"id", "name"}, "sort": {"asc", "desc"},
		"per_page": {"10", "25", "50", "100"}, "search": {"", "x", "%20"}, "page": {"1", "7"}, "cursor": {"anything"},
	} {
		for _, v := range values {
			assert.Equal(t, 200, send(t, s, get("/api/v1/images?"+name+"="+v)).status)
		}
	}
	for _, country := range contract.Countries {
		e := send(t, s, upload(namePart, filePart, "name=\"language\"\r\n\r\n"+country))
		assert.Equal(t, 201, e.status, country)
	}
	assert.Equal(t, 200, send(t, s, get("/api/v1/transcriptions?search_by=result&search=received")).status)
	empty := request{method: "PATCH", path: "/api/v1/transcriptions/1"}
	assert.Equal(t, 200, send(t, s, empty).status, "an empty update")
	charset := post("/api/v1/images", storeForm).set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	assert.Equal(t, 201, send(t, s, charset).status)
	wrongKey := get("/api/v1/images").set("Authorization", "Bearer wrong")
	assert.Equal(t, 401, send(t, s, wrongKey).status, "the caller's business")
	assert.Equal(t, 404, send(t, s, get("/api/v1/images/99")).status)
	assert.Equal(t, 422, send(t, s, post("/api/v1/images", "description=d&resolution=256x256")).status)
	assert.Empty(t, s.Violations())
}

func TestAllowTakesWhatItNames(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), Allow("quality", "trace", "resolution", "per_page"))
	e := send(t, s, post("/api/v1/images", "name=n&description=d&resolution=99x99&quality=high"))
	assert.Equal(t, 201, e.status)
	assert.Contains(t, e.body, `"resolution":"99x99"`)
	e = send(t, s, get("/api/v1/images?trace=1&per_page=7"))
	assert.Equal(t, 200, e.status)
	assert.Contains(t, e.body, `"per_page":"7"`)
}

func TestLenientServersOverlookUndocumentedParameters(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), Lenient())
	s.AddImage(aicontent.Image{Name: "one"})
	s.AddImage(aicontent.Image{Name: "two", Favorite: true})
	ids := func(path string) string { return listedIDs(send(t, s, get(path)).body) }
	assert.Equal(t, "2 1", ids("/api/v1/images?colour=red"))
	assert.Equal(t, "2 1", ids("/api/v1/images?favorite=true"), "the word is ignored and the list unfiltered")
	assert.Equal(t, "2", ids("/api/v1/images?favorite=0&favorite=1"), "the last value counts")
	assert.Equal(t, "2 1", ids("/api/v1/images?sort=up&sort_by=size&search_by=all&page=x"))
	assert.Contains(t, send(t, s, get("/api/v1/images?per_page=7")).body, `"per_page":"7"`)
	assert.Equal(t, 422, send(t, s, patch("/api/v1/images/1", "favorite=true")).status, "the validator refuses words")
	assert.Equal(t, 422, send(t, s, post("/api/v1/images", "name=n&description=d&resolution=9x9")).status)
	assert.Equal(t, 201, send(t, s, post("/api/v1/images", storeForm+"&unknown=1&style=")).status)

	put := upload(namePart)
	put.method, put.path = "PUT", "/api/v1/images/1"
	e := send(t, s, put)
	assert.Equal(t, 200, e.status)
	assert.Contains(t, e.body, `"name":"one"`, "PUT is never parsed as multipart")
	assert.Equal(t, 200, send(t, s, get("/api/v1/images").set("Accept", "")).status)
	assert.Empty(t, s.Violations())
}

func TestBooleanWordsTakesWordsAndRefusesNumbers(t *testing.T) {
	s := started(t, BooleanWords())
	s.AddImage(aicontent.Image{Name: "one"})
	assert.Contains(t, send(t, s, patch("/api/v1/images/1", "favorite=true")).body, `"favorite":true`)
	assert.Equal(t, "1", listedIDs(send(t, s, get("/api/v1/images?favorite=true")).body))
	assert.Equal(t, "", listedIDs(send(t, s, get("/api/v1/images?favorite=false")).body))
	assert.Empty(t, s.Violations())
	assert.Equal(t, 422, send(t, s, get("/api/v1/images?favorite=1")).status)
	assert.Equal(t, []string{`request 4: GET /tenant/api/v1/images?favorite=1: boolean: favorite="1"`}, s.Violations())
}

func TestViolationsAreShortAndHoldNoKey(t *testing.T) {
	s := started(t)
	send(t, s, get("/api/v1/images?sort="+strings.Repeat("a", 200)))
	assert.Contains(t, s.Violations()[0], `sort="`+strings.Repeat("a", 80)+`…"`)
	send(t, s, get("/api/v1/images").set("Authorization", "Token "+s.APIKey))
	assert.NotContains(t, s.Violations()[1], s.APIKey)
	assert.Equal(t, "Bearer ***", s.Requests()[1].Header.Get("Authorization"))
}
