package aicontenttest

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

var idPattern = regexp.MustCompile(`"id":"?([0-9a-f-]+)"?,"name"`)

// listedIDs returns the ids of the records in a response, in its order.
func listedIDs(body string) string {
	var ids []string
	for _, m := range idPattern.FindAllStringSubmatch(body, -1) {
		ids = append(ids, m[1])
	}
	return strings.Join(ids, " ")
}

func TestListSelectsAndSorts(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	s.AddImage(aicontent.Image{Name: "Beta", Style: "anime", Medium: "ink", Resolution: "256x256"})
	s.AddImage(aicontent.Image{Name: "alpha", Style: "anime", Filter: "sepia", Favorite: true})
	s.AddImage(aicontent.Image{Name: "Gamma ALPHA", Resolution: "512x512"})
	s.AddImage(aicontent.Image{Name: "Beta", Style: "retro"})
	for query, want := range map[string]string{
		"":                          "4 3 2 1",
		"sort=asc":                  "1 2 3 4",
		"sort_by=id&sort=desc":      "4 3 2 1",
		"sort_by=name":              "3 4 1 2",
		"sort_by=name&sort=asc":     "2 1 4 3",
		"search=Alpha":              "3 2",
		"search=alpha&favorite=1":   "2",
		"search=+alpha+":            "3 2",
		"search=anime":              "",
		"favorite=0":                "4 3 1",
		"style=anime":               "2 1",
		"style=anime&medium=ink":    "1",
		"filter=sepia":              "2",
		"resolution=512x512":        "3",
		"resolution=1024x1024":      "",
		"search=nothing+like+it":    "",
		"search_by=name&search=eta": "4 1",
	} {
		t.Run(query, func(t *testing.T) {
			assert.Equal(t, want, listedIDs(send(t, s, get("/api/v1/images?"+query)).body))
		})
	}
	s.AddTranscription(aicontent.Transcription{Name: "one", Result: "Hello World"})
	s.AddTranscription(aicontent.Transcription{Name: "world"})
	assert.Equal(t, "1", listedIDs(send(t, s, get("/api/v1/transcriptions?search=world&search_by=result")).body))
	assert.Equal(t, "2", listedIDs(send(t, s, get("/api/v1/transcriptions?search=world")).body))
}

// linked returns the path of a link in a list, or "" if there is none.
func linked(t *testing.T, link *regexp.Regexp, body string) string {
	t.Helper()
	m := link.FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	u, err := url.Parse(strings.ReplaceAll(m[1], `\/`, "/"))
	require.NoError(t, err)
	return "/api/v1/images?" + u.RawQuery
}

// follow follows the next links and returns the ids of each page.
func follow(t *testing.T, s *Server, path string, next *regexp.Regexp) (pages []string) {
	t.Helper()
	for path != "" {
		require.Less(t, len(pages), 20, "the next links do not end")
		body := send(t, s, get(path)).body
		pages = append(pages, listedIDs(body))
		path = linked(t, next, body)
	}
	return pages
}

var (
	nextUnderLinks = regexp.MustCompile(`"next":"([^"]+)"`)
	nextAtTop      = regexp.MustCompile(`"next_page_url":"([^"]+)"`)
)

func TestPagesFollowOneAnother(t *testing.T) {
	for name, c := range map[string]struct {
		opts   []Option
		next   *regexp.Regexp
		cursor bool
	}{
		"counted":         {nil, nextUnderLinks, false},
		"plain":           {[]Option{PlainPaginator}, nextAtTop, false},
		"simple":          {[]Option{SimplePaginator}, nextUnderLinks, false},
		"plain simple":    {[]Option{SimplePaginator, PlainPaginator}, nextAtTop, false},
		"by cursor":       {[]Option{CursorPaginator}, nextUnderLinks, true},
		"plain by cursor": {[]Option{CursorPaginator, PlainPaginator}, nextAtTop, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewServer(t, append(c.opts, BasePath("/tenant"))...)
			for i := range 23 {
				s.AddImage(aicontent.Image{Name: fmt.Sprintf("%c", 'c'-i%3), Favorite: i != 4})
			}
			want := []string{"23 22 21 20 19 18 17 16 15 14", "13 12 11 10 9 8 7 6 4 3", "2 1"}
			assert.Equal(t, want, follow(t, s, "/api/v1/images?favorite=1", c.next))
			want = []string{"3 6 9 12 15 18 21 2 8 11", "14 17 20 23 1 4 7 10 13 16", "19 22"}
			if c.cursor { // the cursor holds the name, so that the others with this name are skipped
				want = []string{"3 6 9 12 15 18 21 2 8 11", "1 4 7 10 13 16 19 22"}
			}
			assert.Equal(t, want, follow(t, s, "/api/v1/images?favorite=1&sort_by=name&sort=asc", c.next))
			assert.Equal(t, []string{""}, follow(t, s, "/api/v1/images?search=absent", c.next))
		})
	}
}

func TestLastPageHasNoNextAndThoseBeyondAreEmpty(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	fill(s, 23)
	page := send(t, s, get("/api/v1/images?page=3")).body
	assert.Contains(t, page, `"current_page":3,"from":21,"to":23,"last_page":3,"total":23`)
	assert.Contains(t, page, `"next":null`)
	past := send(t, s, get("/api/v1/images?page=99999999999999999")).body
	assert.Contains(t, past, `{"data":[],`)
	assert.Contains(t, past, `"from":null,"to":null`)
}

func TestCursorsSurviveDeletion(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), CursorPaginator)
	fill(s, 23)
	first := send(t, s, get("/api/v1/images")).body
	assert.NotContains(t, first, `"total"`)
	assert.Contains(t, first, `"prev":null`)
	send(t, s, remove("/api/v1/images/14"))
	second := send(t, s, get(linked(t, nextUnderLinks, first))).body
	assert.Equal(t, "13 12 11 10 9 8 7 6 5 4", listedIDs(second), "no record is lost to the deletion")
	unreadable := send(t, s, get("/api/v1/images?cursor=broken")).body
	assert.Equal(t, listedIDs(send(t, s, get("/api/v1/images")).body), listedIDs(unreadable), "the first page")
}
