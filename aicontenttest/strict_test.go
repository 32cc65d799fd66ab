package aicontenttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

const storeForm = "name=n&description=d&resolution=256x256"

func TestStrictRules(t *testing.T) {
	const multipart = "multipart/form-data; boundary=frontier"
	put := request{method: "PUT", path: "/api/v1/images/1", body: upload(namePart).body}.set("Content-Type", multipart)
	cut := request{
		method: "POST", path: "/api/v1/transcriptions",
		body: strings.NewReader("--frontier\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nn"),
	}.set("Content-Type", multipart)
	for _, c := range []struct {
		name    string
		request request
		status  int
		rule    string
		field   string
		value   string
	}{
		{"a path outside of the version", get("/api/images"), 404, RulePath, "", ""},
		{"a collection that is none", get("/api/v1/videos"), 404, RulePath, "", ""},
		{"a trailing slash", get("/api/v1/images/"), 404, RulePath, "", ""},
		{"a method that is not offered", patch("/api/v1/images", "name=x"), 405, RuleMethod, "", ""},
		{"HEAD", request{method: "HEAD", path: "/api/v1/images"}, 405, RuleMethod, "", ""},
		{"no key", get("/api/v1/images").set("Authorization", ""), 401, RuleAuthorization, "Authorization", ""},
		{"another scheme", get("/api/v1/images").set("Authorization", "Basic a2V5"), 401, RuleAuthorization, "Authorization", ""},
		{"a bare key", get("/api/v1/images").set("Authorization", "aicontenttest-key"), 401, RuleAuthorization, "Authorization", ""},
		{"an empty key", get("/api/v1/images").set("Authorization", "Bearer "), 401, RuleAuthorization, "Authorization", ""},
		{"list without Accept", get("/api/v1/images").set("Accept", ""), 406, RuleAccept, "Accept", ""},
		{"show that accepts anything", get("/api/v1/images/1").set("Accept", "*/*"), 406, RuleAccept, "Accept", "*/*"},
		{"list with a body", request{method: "GET", path: "/api/v1/images", body: strings.NewReader("name=x")}, 400, RuleBody, "", ""},
		{"delete with a body", request{method: "DELETE", path: "/api/v1/images/1", body: strings.NewReader("name=x")}, 400, RuleBody, "", ""},
		{"an unknown parameter", get("/api/v1/images?colour=red"), 422, RuleUndocumentedParameter, "colour", "red"},
		{"another collection's parameter", get("/api/v1/transcriptions?style=anime"), 422, RuleUndocumentedParameter, "style", "anime"},
		{"a parameter on show", get("/api/v1/images/1?page=1"), 422, RuleUndocumentedParameter, "page", "1"},
		{"a parameter on update", patch("/api/v1/images/1?name=x", "name=x"), 422, RuleUndocumentedParameter, "name", "x"},
		{"a repeated parameter", get("/api/v1/images?sort=asc&sort=desc"), 422, RuleRepeated, "sort", "asc, desc"},
		{"a malformed query", get("/api/v1/images?search=%zz"), 422, RuleQuery, "", ""},
		{"an unknown style", get("/api/v1/images?style=cubist"), 422, RuleValue, "style", "cubist"},
		{"an unknown page size", get("/api/v1/images?per_page=7"), 422, RuleValue, "per_page", "7"},
		{"an unknown searched field", get("/api/v1/images?search_by=result"), 422, RuleValue, "search_by", "result"},
		{"an unknown sort field", get("/api/v1/images?sort_by=style"), 422, RuleValue, "sort_by", "style"},
		{"an unknown order", get("/api/v1/images?sort=up"), 422, RuleValue, "sort", "up"},
		{"an empty filter", get("/api/v1/images?filter="), 422, RuleValue, "filter", ""},
		{"page zero", get("/api/v1/images?page=0"), 422, RuleValue, "page", "0"},
		{"a page that is no number", get("/api/v1/images?page=two"), 422, RuleValue, "page", "two"},
		{"a boolean word in a query", get("/api/v1/images?favorite=true"), 422, RuleBoolean, "favorite", "true"},
		{"a boolean word in a form", patch("/api/v1/images/1", "favorite=false"), 422, RuleBoolean, "favorite", "false"},
		{"an empty boolean", patch("/api/v1/images/1", "favorite="), 422, RuleBoolean, "favorite", ""},
		{"JSON", post("/api/v1/images", `{"name":"n"}`).set("Content-Type", "application/json"), 415, RuleContentType, "Content-Type", "application/json"},
		{"no content type", post("/api/v1/images", storeForm).set("Content-Type", ""), 415, RuleContentType, "Content-Type", ""},
		{"an image as multipart", request{method: "POST", path: "/api/v1/images", body: upload(namePart).body}.set("Content-Type", multipart),
			415, RuleContentType, "Content-Type", multipart},
		{"a transcription without multipart", post("/api/v1/transcriptions", "name=n"), 415, RuleContentType, "Content-Type", contract.URLEncoded},
		{"PUT as multipart", put, 415, RuleContentType, "Content-Type", multipart},
		{"a name that is not UTF-8", post("/api/v1/images", "name=%ff&description=d&resolution=256x256"), 500, RuleEncoding, "name", "\xff"},
		{"a search that is not UTF-8", get("/api/v1/images?search=%ff"), 500, RuleEncoding, "search", "\xff"},
		{"a file name that is not UTF-8", upload(namePart, "name=\"file\"; filename=\"\xff.wav\"\r\n\r\nRIFF"), 500, RuleEncoding, "file", "\xff.wav"},
		{"a page with a leading zero", get("/api/v1/images?page=02"), 422, RuleValue, "page", "02"},
		{"an unknown field", post("/api/v1/images", storeForm+"&quality=high"), 422, RuleUndocumentedField, "quality", "high"},
		{"favorite at creation", post("/api/v1/images", storeForm+"&favorite=1"), 422, RuleUndocumentedField, "favorite", "1"},
		{"a field that update does not change", patch("/api/v1/images/1", "description=d"), 422, RuleUndocumentedField, "description", "d"},
		{"a repeated field", post("/api/v1/images", storeForm+"&name=m"), 422, RuleRepeated, "name", "n, m"},
		{"an unknown resolution", post("/api/v1/images", "name=n&description=d&resolution=9x9"), 422, RuleValue, "resolution", "9x9"},
		{"an empty style", post("/api/v1/images", storeForm+"&style="), 422, RuleValue, "style", ""},
		{"a country in lower case", upload(namePart, filePart, "name=\"language\"\r\n\r\nus"), 422, RuleValue, "language", "us"},
		{"a country that is none", upload(namePart, filePart, "name=\"language\"\r\n\r\nXX"), 422, RuleValue, "language", "XX"},
		{"a file without name", upload(namePart, "name=\"file\"\r\n\r\nRIFF"), 422, RuleFileName, "file", ""},
		{"two files", upload(namePart, filePart, filePart), 422, RuleRepeated, "file", "talk.wav"},
		{"an undocumented file", upload(namePart, filePart, "name=\"cover\"; filename=\"c.png\"\r\n\r\nPNG"), 422, RuleUndocumentedField, "cover", "c.png"},
		{"a name as a file", upload("name=\"name\"; filename=\"n\"\r\n\r\nn", filePart), 422, RuleUndocumentedField, "name", "n"},
		{"a part that is no field", upload(namePart, "filename=\"x\"\r\n\r\nx"), 400, RuleMultipart, "", ""},
		{"multipart without an end", cut, 400, RuleMultipart, "", ""},
		{"multipart without a boundary", upload(namePart, filePart).set("Content-Type", "multipart/form-data"), 400, RuleMultipart, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			test := new(recorder)
			s := NewServer(test, BasePath("/tenant"))
			defer test.end()
			s.AddImage(Image{Name: "before"})
			e := send(t, s, c.request)
			assert.Equal(t, c.status, e.status, e.body)
			violations := s.Violations()
			require.NotEmpty(t, violations)
			assert.Equal(t, c.rule, violations[0].Rule)
			assert.Equal(t, c.field, violations[0].Field)
			assert.Equal(t, c.value, violations[0].Value)
			require.Len(t, test.errors, len(violations), "the test that sent the request fails")
			assert.Contains(t, test.errors[0], violations[0].String())
			assert.Contains(t, test.errors[0], c.request.method+" /tenant"+c.request.path)
			assert.False(t, s.Requests()[0].Acted)
			assert.Equal(t, "before", s.Images()[0].Name)
			assert.Empty(t, s.Transcriptions())
		})
	}
}

func TestWhatIsDocumentedIsNoViolation(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	for _, values := range []struct {
		name   string
		values []string
	}{
		{"resolution", contract.Resolutions}, {"style", contract.Styles}, {"medium", contract.Mediums}, {"filter", contract.Filters},
		{"search_by", []string{"name"}}, {"favorite", []string{"0", "1"}}, {"sort_by", []string{"id", "name"}},
		{"sort", []string{"asc", "desc"}}, {"per_page", []string{"10", "25", "50", "100"}},
		{"search", []string{"", "x", "%20"}}, {"page", []string{"1", "7"}}, {"cursor", []string{"anything"}},
	} {
		for _, v := range values.values {
			assert.Equal(t, 200, send(t, s, get("/api/v1/images?"+values.name+"="+v)).status)
		}
	}
	for _, country := range contract.Countries {
		e := send(t, s, upload(namePart, filePart, "name=\"language\"\r\n\r\n"+country))
		assert.Equal(t, 201, e.status, country)
	}
	assert.Equal(t, 200, send(t, s, get("/api/v1/transcriptions?search_by=result&search=received")).status)
	assert.Equal(t, 200, send(t, s, request{method: "PATCH", path: "/api/v1/transcriptions/1"}).status, "an empty update")
	charset := post("/api/v1/images", storeForm).set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	assert.Equal(t, 201, send(t, s, charset).status)
	wrongKey := get("/api/v1/images").set("Authorization", "Bearer wrong")
	assert.Equal(t, 401, send(t, s, wrongKey).status, "the caller's business")
	assert.Equal(t, 404, send(t, s, get("/api/v1/images/99")).status)
	assert.Equal(t, 422, send(t, s, post("/api/v1/images", "description=d&resolution=256x256")).status)
	assert.Empty(t, s.Violations())
}

func TestAllow(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), Allow("quality", "trace", "resolution", "per_page"))
	e := send(t, s, post("/api/v1/images", "name=n&description=d&resolution=99x99&quality=high"))
	assert.Equal(t, 201, e.status)
	assert.Contains(t, e.body, `"resolution":"99x99"`)
	e = send(t, s, get("/api/v1/images?trace=1&per_page=7"))
	assert.Equal(t, 200, e.status)
	assert.Contains(t, e.body, `"per_page":"7"`)
}

func TestLenientServersOverlook(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), Lenient())
	s.AddImage(Image{Name: "one"})
	s.AddImage(Image{Name: "two", Favorite: true})
	ids := func(path string) string { return listedIDs(send(t, s, get(path)).body) }
	assert.Equal(t, "2 1", ids("/api/v1/images?colour=red"))
	assert.Equal(t, "2 1", ids("/api/v1/images?favorite=true"), "the word is ignored and the list unfiltered")
	assert.Equal(t, "2", ids("/api/v1/images?favorite=0&favorite=1"), "the last value counts")
	assert.Equal(t, "2 1", ids("/api/v1/images?sort=up&sort_by=size&search_by=all&page=x"))
	assert.Contains(t, send(t, s, get("/api/v1/images?per_page=7")).body, `"per_page":10`)
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

func TestBooleanWords(t *testing.T) {
	s := started(t, BooleanWords())
	s.AddImage(Image{Name: "one"})
	assert.Contains(t, send(t, s, patch("/api/v1/images/1", "favorite=true")).body, `"favorite":true`)
	assert.Equal(t, "1", listedIDs(send(t, s, get("/api/v1/images?favorite=true")).body))
	assert.Equal(t, "", listedIDs(send(t, s, get("/api/v1/images?favorite=false")).body))
	assert.Empty(t, s.Violations())
	assert.Equal(t, 422, send(t, s, get("/api/v1/images?favorite=1")).status)
	assert.Equal(t, RuleBoolean, s.Violations()[0].Rule)
}

func TestViolationsAreShortAndHoldNoKey(t *testing.T) {
	s := started(t)
	send(t, s, get("/api/v1/images?sort="+strings.Repeat("a", 200)))
	assert.Equal(t, strings.Repeat("a", 80)+"…", s.Violations()[0].Value)
	send(t, s, get("/api/v1/images").set("Authorization", "Token "+s.APIKey))
	assert.NotContains(t, s.Violations()[1].String(), s.APIKey)
	assert.Equal(t, "Bearer ***", s.Requests()[1].Header.Get("Authorization"))
}

// curl and HTTP libraries accept anything and send whatever they like. The response is JSON, and names the header that
// is missing.
func TestMissingHeadersAreNamed(t *testing.T) {
	s := started(t)
	for name, c := range map[string]struct {
		request request
		status  int
		message string
	}{
		"a list with curl": {
			get("/api/v1/images").set("Accept", "*/*"), 406,
			"The request does not accept JSON. Send the header Accept: application/json.",
		},
		"JSON with Python": {
			post("/api/v1/images", `{"name":"n"}`).set("Accept", "*/*").set("Content-Type", "application/json"), 415,
			`The body is of the type \"application/json\". ` +
				`Send the header Content-Type: application/x-www-form-urlencoded.`,
		},
		"no content type": {
			post("/api/v1/images", storeForm).set("Accept", "").set("Content-Type", ""), 415,
			"The header Content-Type is missing. Send the header Content-Type: application/x-www-form-urlencoded.",
		},
		"an upload as a form": {
			post("/api/v1/transcriptions", "name=n").set("Accept", "*/*"), 415,
			`The body is of the type \"application/x-www-form-urlencoded\". ` +
				`Send the header Content-Type: multipart/form-data with a boundary, as curl -F does.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := send(t, s, c.request)
			assert.Equal(t, c.status, e.status)
			assert.Equal(t, "application/json", e.header.Get("Content-Type"))
			assert.Equal(t, fmt.Sprintf(`{"message":"%s","status":%d}`, c.message, c.status), e.body)
		})
	}
}
