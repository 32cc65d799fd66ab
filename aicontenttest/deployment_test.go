package aicontenttest

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	aicontent "github.com/aicontent/aicontent-go"
)

// The tests in this file are for behaviors of a real deployment that a simpler server would not have.

func TestSearchMatchesAsSQLsLikeDoes(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	for _, name := range []string{"100% wool", "a_b", "axb", `back\slash`, "ÄRGER", "MiXed"} {
		s.AddImage(aicontent.Image{Name: name})
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
		assert.Equal(t, at.Truncate(time.Second), s.AddImage(aicontent.Image{CreatedAt: at}).CreatedAt)
	})
}

func TestPerPageIsRepeatedAsItCame(t *testing.T) {
	for _, paginator := range []Personality{"", PlainPaginator, SimplePaginator, CursorPaginator} {
		s := NewServer(t, BasePath("/tenant"), paginator)
		assert.Contains(t, send(t, s, get("/api/v1/images")).body, `"per_page":10`, paginator)
		assert.Contains(t, send(t, s, get("/api/v1/images?per_page=25")).body, `"per_page":"25"`, paginator)
	}
}

func TestHeadersAreReadWithoutCase(t *testing.T) {
	s := NewServer(t) // which would report a violation
	accept := get("/api/v1/images").set("Accept", "text/html, Application/Json;q=0.5")
	assert.Equal(t, 200, send(t, s, accept).status)
	form := post("/api/v1/images", storeForm).set("Content-Type", "Application/X-WWW-Form-URLencoded")
	assert.Equal(t, 201, send(t, s, form).status)
}
