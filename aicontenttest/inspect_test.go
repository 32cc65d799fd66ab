package aicontenttest

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
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

// A renamed member breaks tests in other languages.
func TestInspectKeepsTheNamesOfItsMembers(t *testing.T) {
	s := started(t, Inspect())
	assert.JSONEq(t, `{"records":[],"requests":[],"violations":[]}`, inspected(t, s))
	s.AddImage(aicontent.Image{Name: "seeded"})
	s.FaultOn(aicontent.ImagesStore, 1, LoseResponse())
	_, err := trySend(s, post("/api/v1/images", storeForm))
	require.Error(t, err)
	send(t, s, upload(namePart, filePart))
	send(t, s, remove("/api/v1/images/1"))
	send(t, s, get("/api/v1/images?colour=red"))

	text := inspected(t, s)
	assert.Equal(t, text, inspected(t, s), "it does not show itself")
	want, err := os.ReadFile("testdata/inspect.json")
	require.NoError(t, err)
	version := regexp.MustCompile(`Go-http-client/[\d.]+`)
	assert.JSONEq(t, string(want), version.ReplaceAllString(text, "Go-http-client/1"))
}

func TestInspectShowsNoKey(t *testing.T) {
	keys := []string{"first/key+1", "second-key", "third-key"}
	s := started(t, Inspect(), APIKey(keys[0], keys[1:]...), Lenient())
	for _, key := range keys {
		r := post("/api/v1/images?search="+url.QueryEscape(key), storeForm+"&style="+url.QueryEscape(key))
		send(t, s, r.set("X-Key", key).set("Authorization", "Bearer "+key))
		send(t, s, get("/api/v1/images/"+url.PathEscape(key)))
		s.AddImage(aicontent.Image{ID: aicontent.ID(key), Name: "named " + key})
	}
	text := inspected(t, s)
	for _, key := range keys {
		assert.NotContains(t, text, key)
		assert.NotContains(t, text, url.QueryEscape(key))
	}
	assert.Equal(t, 3, strings.Count(text, `"X-Key":["***"]`))
}

func TestInspectIsOfferedOnlyIfAskedForAndBelowTheBasePath(t *testing.T) {
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
func TestOtherAPIKeysAreAcceptedToo(t *testing.T) {
	s := started(t, APIKey("old-key", "new-key", "newer-key"))
	assert.Equal(t, 201, send(t, s, post("/api/v1/images", storeForm)).status)
	for key, status := range map[string]int{
		"old-key": 200, "new-key": 200, "newer-key": 200, "no-key": 401, "": 401,
	} {
		assert.Equal(t, status, send(t, s, get("/api/v1/images/1").set("Authorization", "Bearer "+key)).status, key)
	}
}
