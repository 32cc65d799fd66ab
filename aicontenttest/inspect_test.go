package aicontenttest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inspected is what a program in another language reads.
func inspected(t *testing.T, s *Server) (text string) {
	t.Helper()
	resp, err := s.HTTPClient().Get(s.URL + "/inspect")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

// The members are written down here: a renamed one breaks tests in other languages.
func TestInspect(t *testing.T) {
	s := started(t, Inspect())
	assert.JSONEq(t, `{"records":[],"requests":[],"violations":[]}`, inspected(t, s))
	s.AddImage(Image{Name: "seeded"})
	s.FaultOn(ImagesStore, 1, LoseResponse())
	_, err := trySend(s, post("/api/v1/images", storeForm))
	require.Error(t, err)
	send(t, s, upload(namePart, filePart))
	send(t, s, remove("/api/v1/images/1"))
	send(t, s, get("/api/v1/images?colour=red"))

	text := inspected(t, s)
	assert.Equal(t, text, inspected(t, s), "it does not show itself")
	var got map[string][]map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	assert.Len(t, got, 3)
	record := func(collection, id, name string, request, deletedBy float64) map[string]any {
		return map[string]any{
			"collection": collection, "id": id, "name": name, "request": request,
			"deleted": deletedBy > 0, "deleted_by": deletedBy,
		}
	}
	assert.Equal(t, []map[string]any{
		record("images", "1", "seeded", 0, 3), record("images", "2", "n", 1, 0), record("transcriptions", "1", "Meeting", 2, 0),
	}, got["records"])
	require.Len(t, got["requests"], 4)
	lost := got["requests"][0]
	header := lost["header"].(map[string]any)
	assert.Equal(t, []any{"Bearer ***"}, header["Authorization"])
	assert.Equal(t, []any{"application/json"}, header["Accept"])
	delete(lost, "header")
	delete(lost, "connection")
	assert.Equal(t, map[string]any{
		"number": 1.0, "operation": "images.store", "method": "POST", "path": "/tenant/api/v1/images",
		"query": map[string]any{},
		"form":  map[string]any{"name": []any{"n"}, "description": []any{"d"}, "resolution": []any{"256x256"}},
		"file":  nil, "received": float64(len(storeForm)), "fault": "lose-response",
		"acted": true, "record_id": "2", "status": 0.0, "responded": false,
	}, lost)
	file := got["requests"][1]["file"].(map[string]any)
	assert.Equal(t, s.Requests()[1].File.SHA256, file["sha256"])
	delete(file, "sha256")
	assert.Equal(t, map[string]any{
		"name": "talk.wav", "content_type": "audio/wav", "size": 16.0, "format": "WAV", "seconds": 0.0,
	}, file)
	assert.Equal(t, map[string]any{}, got["requests"][2]["form"])
	assert.Equal(t, []any{"red"}, got["requests"][3]["query"].(map[string]any)["colour"])
	assert.Equal(t, []map[string]any{{
		"rule": "undocumented-parameter", "request": 4.0, "line": "GET /tenant/api/v1/images?colour=red",
		"field": "colour", "value": "red",
	}}, got["violations"])
}

func TestInspectShowsNoKey(t *testing.T) {
	keys := []string{"first/key+1", "second-key", "account-key"}
	s := started(t, Inspect(), APIKey(keys[0]), AnotherAPIKey(keys[1]), OtherAccount(keys[2]), Lenient())
	for _, key := range keys {
		r := post("/api/v1/images?search="+url.QueryEscape(key), storeForm+"&style="+url.QueryEscape(key))
		send(t, s, r.set("X-Key", key).set("Authorization", "Bearer "+key))
		send(t, s, get("/api/v1/images/"+url.PathEscape(key)))
		s.AddImage(Image{ID: key, Name: "named " + key})
	}
	text := inspected(t, s)
	for _, key := range keys {
		assert.NotContains(t, text, key)
		assert.NotContains(t, text, url.QueryEscape(key))
	}
	assert.Equal(t, 3, strings.Count(text, `"X-Key":["***"]`))
}

func TestInspectIsOffered(t *testing.T) {
	for _, s := range []*Server{started(t, Lenient()), started(t, Lenient(), Inspect())} {
		assert.Equal(t, s.config.inspect, send(t, s, get("/inspect")).status == 200)
		assert.Equal(t, 404, send(t, s, post("/inspect", "")).status)
		resp, err := http.Get(s.network.Origin() + "/inspect")
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, 404, resp.StatusCode, "it is below the base path")
	}
}

// While a key is rotated, both are accepted, and both see the same records.
func TestAnotherAPIKeyIsOfTheSameAccount(t *testing.T) {
	s := started(t, APIKey("old-key"), AnotherAPIKey("new-key"), AnotherAPIKey("newer-key"), OtherAccount("other-key"))
	assert.Equal(t, 201, send(t, s, post("/api/v1/images", storeForm)).status)
	for key, status := range map[string]int{
		"old-key": 200, "new-key": 200, "newer-key": 200, "other-key": 404, "no-key": 401, "": 401,
	} {
		assert.Equal(t, status, send(t, s, get("/api/v1/images/1").set("Authorization", "Bearer "+key)).status, key)
	}
}
