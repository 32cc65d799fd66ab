package aicontent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/response"
)

var noon = time.Date(2024, 5, 4, 10, 11, 12, 0, time.UTC)

// bare is an image without its raw text.
func bare(i Image) Image {
	i.raw = ""
	return i
}

// Members that the SDK does not know are the reason for Raw: they are one json.Unmarshal away.
func TestRawHasUnknownMembers(t *testing.T) {
	t.Parallel()
	const record = `{"id":7,"name":"Lighthouse","quality":"high", "tags":["sea"]}`
	image, err := over(t, fakes.RoundTripper(fakes.OK(`{"status":200,"data": `+record+` }`))).
		Images.Show(t.Context(), "7")
	require.NoError(t, err)
	assert.Equal(t, record, string(image.Raw()))
	var more struct {
		Quality string
		Tags    []string
	}
	require.NoError(t, json.Unmarshal(image.Raw(), &more))
	assert.Equal(t, "high", more.Quality)
	assert.Equal(t, []string{"sea"}, more.Tags)
	assert.Nil(t, new(Image).Raw())

	const text = `{"id":"b3a1","name":"n","description":"d","language":"US","result":"Good day.","favorite":true,` +
		`"words":2,"created_at":"2026-05-04T10:00:00Z","updated_at":"2026-05-04T10:00:01Z"}`
	transcription, err := over(t, fakes.RoundTripper(fakes.OK(text))).Transcriptions.Show(t.Context(), "b3a1")
	require.NoError(t, err)
	assert.Equal(t, text, string(transcription.Raw()))
	written, err := json.Marshal(transcription)
	require.NoError(t, err)
	assert.JSONEq(t, text, string(written), "every field is read")
}

// A program keeps records, not responses: the memory of a kept record must be of the record's size, whatever stood
// around it. Not parallel: it measures the heap.
func TestKeptRecordsHoldLittleMemory(t *testing.T) {
	const kept = 500
	record := `{"id":7,"name":"Lighthouse","tags":"` + strings.Repeat("sea ", 80) + `"}`
	for name, body := range map[string]string{
		"alone":       `{"data":` + record + `}`,
		"within much": `{"data":` + record + `,"debug":"` + strings.Repeat("queries ", 1000) + `"}`,
	} {
		client := over(t, fakes.RoundTripper(fakes.OK(body)))
		show := func() json.RawMessage {
			image, err := client.Images.Show(t.Context(), "7")
			require.NoError(t, err, name)
			return image.Raw()
		}
		require.Equal(t, record, string(show()), name)
		raws := make([]json.RawMessage, kept)
		before := fakes.LiveHeap()
		for i := range raws {
			raws[i] = show()
		}
		each := (int64(fakes.LiveHeap()) - int64(before)) / kept
		assert.LessOrEqual(t, each, int64(2*len(record)), name)
		runtime.KeepAlive(raws)
	}
}

// A program that keeps one record of each page must not keep the pages. Not parallel: it measures the heap.
func TestKeepingOneRecordOfAPageKeepsThatRecordOnly(t *testing.T) {
	const pages, perPage = 20, 100
	record := `{"id":%d,"name":"Lighth\u00f6use","url":"https:\/\/cdn.example.com\/a.png","notes":"` +
		strings.Repeat("sea ", 1000) + `"}`
	client := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		page := max(1, atoi(r.URL.Query().Get("page")))
		list := make([]string, perPage)
		for i := range list {
			list[i] = fmt.Sprintf(record, page*perPage+i)
		}
		meta := fmt.Sprintf(`,"meta":{"current_page":%d,"last_page":%d}}`, page, pages)
		return fakes.OK(`{"data":[` + strings.Join(list, ",") + `]` + meta)(r)
	}))
	kept := make([]*Image, 0, pages)
	before := fakes.LiveHeap()
	seen := 0
	for image, err := range client.Images.All(t.Context(), ImageListParams{PerPage: PerPage100}) {
		require.NoError(t, err)
		if seen++; seen%perPage == 50 {
			kept = append(kept, image)
		}
	}
	require.Equal(t, pages*perPage, seen)
	each := (int64(fakes.LiveHeap()) - int64(before)) / pages
	assert.Less(t, each, int64(2*len(record)))
	require.Len(t, kept, pages)
}

// A response that names nothing that was created must not pass for a record. An ID of 0 is one only beside a name.
func TestRefusalWithStatus200IsNoRecord(t *testing.T) {
	t.Parallel()
	for body, id := range map[string]ID{
		`{"id":0,"message":"no credit"}`: "", `{"id":"0","message":"no credit"}`: "", `[{"id":7,"name":"n"}]`: "",
		`{"id":0,"name":"n"}`: "0", `{"id":"-Nx7"}`: "-Nx7",
	} {
		image, err := over(t, fakes.RoundTripper(fakes.OK(body))).Images.Store(t.Context(), aStore)
		if id != "" {
			require.NoError(t, err, body)
			assert.Equal(t, id, image.ID, body)
			continue
		}
		require.ErrorAs(t, err, new(*DecodeError), body)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), body)
	}
}

// A record that is stored elsewhere and read again must be the same one.
func TestMarshalledRecordsComeBack(t *testing.T) {
	t.Parallel()
	const given = ` {"id":7,"name":"Lighthouse","quality":"high","favorite":1,"created_at":"2024-05-04 10:11:12"} `
	var image Image
	require.NoError(t, json.Unmarshal([]byte(given), &image))
	text, err := json.Marshal(image)
	require.NoError(t, err)
	assert.Equal(t, `{"id":"7","name":"Lighthouse","description":"",`+
		`"resolution":"","style":"","medium":"","filter":"","favorite":true,`+
		`"result":"","url":"","created_at":"2024-05-04T10:11:12Z"}`, string(text))
	var again Image
	require.NoError(t, json.Unmarshal(text, &again))
	assert.True(t, image.Equal(again))
	transcription, err := json.Marshal(Transcription{ID: "8", Words: 3, Result: "a text"})
	require.NoError(t, err)
	assert.Equal(t, `{"id":"8","name":"","description":"","language":"",`+
		`"result":"a text","favorite":false,"words":3}`, string(transcription))
	var back Transcription
	require.NoError(t, json.Unmarshal(transcription, &back))
	assert.True(t, back.Equal(Transcription{ID: "8", Words: 3, Result: "a text"}))
}

// Logs must not fill with texts.
func TestRecordsPrintShort(t *testing.T) {
	t.Parallel()
	transcription := Transcription{ID: "8", Name: "Keeper", Result: "private words", CreatedAt: noon, raw: `{}`}
	assert.Equal(t, `Transcription(8 "Keeper")`, fmt.Sprintf("%v", transcription))
	assert.Equal(t, `Image(7 "")`, fmt.Sprint(&Image{ID: "7"}))
}

func TestEqualComparesEachField(t *testing.T) {
	t.Parallel()
	image := Image{"7", "Lighthouse", "sea", Resolution256x256, StyleRetro, MediumInk, FilterSepia, true, "a.png",
		"https://x/a.png", noon, noon, `{}`}
	same := image
	elsewhere := noon.In(time.FixedZone("", 3600))
	same.raw, same.CreatedAt, same.UpdatedAt = "", elsewhere, elsewhere
	assert.True(t, image.Equal(same), "Raw is not compared, times are instants")
	assertEachFieldCounts(t, image, same)

	transcription := Transcription{"8", "Keeper", "diary", "US", "private words", true, 2, noon, noon, `{}`}
	again := transcription
	again.raw, again.CreatedAt, again.UpdatedAt = "", elsewhere, elsewhere
	assert.True(t, transcription.Equal(again), "Raw is not compared, times are instants")
	assertEachFieldCounts(t, transcription, again)
}

// assertEachFieldCounts clears one field of same after the other.
func assertEachFieldCounts[T interface{ Equal(T) bool }](t *testing.T, whole, same T) {
	t.Helper()
	v := reflect.ValueOf(&same).Elem()
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		before := reflect.ValueOf(v.Field(i).Interface())
		v.Field(i).SetZero()
		assert.False(t, whole.Equal(same), v.Type().Field(i).Name)
		v.Field(i).Set(before)
	}
}

func TestUnmarshallingReplacesTheWholeRecord(t *testing.T) {
	t.Parallel()
	image := Image{Name: "of before", raw: `{}`}
	data := []byte(`{"id":9007199254740993,"name":null}`)
	require.NoError(t, json.Unmarshal(data, &image))
	assert.Equal(t, Image{ID: "9007199254740993"}, bare(image))
	clear(data)
	assert.Equal(t, `{"id":9007199254740993,"name":null}`, string(image.Raw()), "the caller's buffer is the caller's")

	require.NoError(t, json.Unmarshal([]byte(`null`), &image))
	assert.Equal(t, ID("9007199254740993"), image.ID, "null leaves a value as it is")
	require.NoError(t, json.Unmarshal([]byte(`{"x":1}`), &image))
	assert.Equal(t, Image{}, bare(image))
	for _, text := range []string{`[1]`, `"x"`, `7`, `true`} {
		assert.ErrorContains(t, json.Unmarshal([]byte(text), &image), "a record must be a JSON object")
	}
	// Other decoders than encoding/json may call it with anything.
	for _, text := range []string{``, `{`, `{"id":7`, `"`} {
		assert.Error(t, image.UnmarshalJSON([]byte(text)), text)
		assert.Error(t, new(ID).UnmarshalJSON([]byte(text)), text)
	}
	assert.Error(t, image.UnmarshalJSON([]byte(`{"id":7}}`)))

	var list struct{ Images []*Image }
	require.NoError(t, json.Unmarshal([]byte(`{"images":[{"id":1},null,{"id":"2"}]}`), &list))
	require.Len(t, list.Images, 3)
	assert.Equal(t, ID("2"), list.Images[2].ID)
}

// Programs keep ids in their own structs, beside what they got from elsewhere.
func TestIDsAreReadFromNumbersAndStrings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ID{
		`7`: "7", `"7"`: "7", `"7.0"`: "7.0", `-1`: "-1", `null`: "",
		`"é"`: "é", ` 18446744073709551617 `: "18446744073709551617", `"a\/b"`: "a/b",
	} {
		var id ID
		require.NoError(t, id.UnmarshalJSON([]byte(text)), text)
		assert.Equal(t, want, id, text)
	}
	// A decoder other than encoding/json may not have checked what it passes on.
	assert.ErrorContains(t, new(ID).UnmarshalJSON([]byte("7 8")), "aicontent: an ID must be a JSON string or number")
	var owner struct{ ImageID ID }
	require.NoError(t, json.Unmarshal([]byte(`{"ImageID":9007199254740993}`), &owner))
	assert.Equal(t, ID("9007199254740993"), owner.ImageID)
	require.NoError(t, json.Unmarshal([]byte(`{"ImageID":null}`), &owner))
	assert.Equal(t, ID("9007199254740993"), owner.ImageID, "null leaves a value as it is")
	for _, text := range []string{`{}`, `[7]`, `true`, `false`} {
		err := json.Unmarshal([]byte(`{"ImageID":`+text+`}`), &owner)
		assert.ErrorContains(t, err, "aicontent: an ID must be a JSON string or number")
	}
}

// A program that keeps a record with fields of its own must find all of them in what json.Marshal writes.
func TestEmbeddedRecordsAreWrittenInFull(t *testing.T) {
	t.Parallel()
	for part, v := range map[string]any{
		`"id":"7"`: struct {
			Image
			Tenant string
		}{Image{ID: "7", Name: "n"}, "a"},
		`"words":3`: struct {
			*Transcription
			Tenant string
		}{&Transcription{ID: "8", Words: 3}, "a"},
	} {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		assert.Contains(t, string(text), part)
		assert.Contains(t, string(text), `"Tenant":"a"`)
	}
}

// The API does not specify the response to a delete: after any 2xx the record is deleted, unless it is a page or says
// that it failed. A 201 says so without its body.
func TestDeleteSucceedsWithEachCompleteResponseButAPage(t *testing.T) {
	t.Parallel()
	files := map[string]error{
		"deleted.http": nil, "no-content.http": nil, "no-content-gzip.http": nil, "empty.http": nil, "gzip.http": nil,
		"empty-gzip.http": nil, "deflate.http": nil, "page.http": response.ErrHTML, "cut-off.http": engine.ErrCutOff,
	}
	const page = "HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=UTF-8\r\n\r\n"
	const long = "Content-Length: 200\r\n\r\n"
	for raw, want := range map[string]error{
		page + "Please <a href=/login>log in</a>":                    response.ErrHTML,
		page + `{"deleted":true}`:                                    nil,
		"HTTP/1.1 201 Created\r\n" + long + "\n":                     nil,
		"HTTP/1.1 201 Created\r\n" + long + `{"id":7,`:               nil,
		"HTTP/1.1 200 OK\r\n" + long:                                 engine.ErrCutOff,
		"HTTP/1.1 200 OK\r\n" + long + `{"id":7,`:                    engine.ErrCutOff,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\n\n\n":         nil,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n": engine.ErrCutOff,
	} {
		files[raw] = want
	}
	for name, want := range files {
		raw := []byte(name)
		if strings.HasSuffix(name, ".http") {
			var err error
			raw, err = os.ReadFile("testdata/responses/" + name)
			require.NoError(t, err)
		}
		requests := 0
		c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			respondingBytes(raw)(w, r)
		})
		err := c.Images.Delete(t.Context(), "7")
		assert.Equal(t, 1, requests, name)
		if want == nil {
			assert.NoError(t, err, name)
			continue
		}
		require.ErrorAs(t, err, new(*DecodeError), name)
		assert.ErrorIs(t, err, want, name)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), name)
	}
}

// After an attempt that may have deleted the record, the service's own word that there is none is a success. A page
// that a proxy sends during a deploy says nothing.
func TestDeleteSucceedsIfTheRecordIsGoneAfterALostAttempt(t *testing.T) {
	t.Parallel()
	gone := fakes.Respond(404, `{"message":"Resource not found."}`)
	for name, row := range map[string]struct {
		responses fakes.Responses
		deleted   bool
	}{
		"lost":                     {fakes.Responses{fakes.Lose, gone}, true},
		"lost, and an empty array": {fakes.Responses{fakes.Lose, fakes.Respond(404, `[]`)}, true},
		"not there at first":       {fakes.Responses{gone}, false},
		"refused at first":         {fakes.Responses{fakes.Respond(429, ``), gone}, false},
		"lost, and a page":         {fakes.Responses{fakes.Lose, fakes.Respond(404, `<html>deploying</html>`)}, false},
	} {
		err := over(t, script(row.responses...), WithRetryPolicy(quick)).Images.Delete(t.Context(), "7")
		assert.Equal(t, row.deleted, err == nil, "%s: %v", name, err)
		assert.Equal(t, row.deleted, OutcomeOf(err) == OutcomeExecuted, name)
	}
}

// A delete that was executed succeeds, whatever is missing of its response; one whose response says that it failed
// does not.
func TestDeleteReadsAFailureFromItsResponse(t *testing.T) {
	t.Parallel()
	for body, ok := range map[string]bool{
		"":                                    true,
		`{"data":{"id":7,"na`:                 true,
		`{"id":7,"deleted":true}`:             true,
		`deleted`:                             true,
		`{"status":"error","message":"busy"}`: false,
		`{"id":7,"deleted":false}`:            false,
		`<!doctype html>`:                     false,
	} {
		s := script(fakes.OK(body))
		err := over(t, s, WithRetryPolicy(quick)).Images.Delete(t.Context(), "7")
		assert.Len(t, s.Asked, 1)
		if ok {
			assert.NoError(t, err, body)
			continue
		}
		require.ErrorAs(t, err, new(*DecodeError), body)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), body)
	}
}
