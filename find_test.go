package aicontent

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// The documentation advises to search for the record after an unknown outcome.
func TestFindByName(t *testing.T) {
	t.Parallel()
	l := &fakes.Ledger{Names: []string{"job-47110", "job-4711", "twice", "twice"}, More: `,"url":"/a.png"`}
	c := over(t, l, WithQuery("style", "retro"), WithQuery("tenant", "5"))
	image, err := c.Images.FindByName(t.Context(), " job-4711\r\n")
	require.NoError(t, err)
	assert.Equal(t, ID("2"), image.ID)
	assert.Equal(t, "/a.png", image.URL, "it is shown in full")
	assert.Equal(t, "5", l.Queries[0].Get("tenant"))
	assert.Empty(t, l.Queries[0].Get("style"), "a filter would hide the record")

	_, err = c.Images.FindByName(t.Context(), "job-4712")
	require.ErrorIs(t, err, ErrNotFound)
	assert.EqualError(t, err, `images.list: 404: no image has the name "job-4712"`)
	_, err = c.Images.FindByName(t.Context(), "twice")
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, []ID{"3", "4"}, conflict.IDs)
	assert.EqualError(t, err, `images.list: name "twice": more than one record has the name (id 3, 4)`)
	_, err = c.Images.FindByName(t.Context(), "\n")
	assert.ErrorIs(t, err, ErrInvalid)
	_, err = (&Client{}).Images.FindByName(t.Context(), "n")
	assert.ErrorIs(t, err, ErrInvalid)
	transcription, err := c.Transcriptions.FindByName(t.Context(), "job-4711")
	require.NoError(t, err)
	assert.Equal(t, "job-4711", transcription.Name)
}

func TestOnceSearchesForTheLongestPart(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"job-4711": "job-4711", `a\the longest\b`: "the longest", "a\nthe longest": "the longest", `the longest\b`: "the longest", `\`: "",
	} {
		assert.Equal(t, want, searchable(name), name)
	}
}

// What a list shows is there: a caller who takes it for missing stores it again.
func TestFindByNameSaysNotFoundOnlyOfWhatNoListShows(t *testing.T) {
	t.Parallel()
	list := func(body string) func(int) (*http.Response, error) {
		return func(int) (*http.Response, error) { return fakes.OK(body)(nil) }
	}
	full := strings.Repeat(`{"id":1,"name":"other"},`, 99)
	for name, row := range map[string]struct {
		body string
		text string // of the error; empty for success
	}{
		"listed, but not shown":                    {`{"data":[{"id":99,"name":"job-4711"}]}`, "the list has a record with the name and the ID 99, but Show does not"},
		"listed twice":                             {`{"data":[{"id":1,"name":"job-4711"},{"id":1,"name":"job-4711"}]}`, ""},
		"on a page that does not say what follows": {`{"data":[` + full + `{"id":1,"name":"job-4711"}]}`, ""},
	} {
		l := &fakes.Ledger{Names: []string{"job-4711"}, List: list(row.body)}
		image, err := over(t, l).Images.FindByName(t.Context(), "job-4711")
		if row.text == "" {
			require.NoError(t, err, name)
			assert.Equal(t, ID("1"), image.ID, name)
			continue
		}
		assert.IsType(t, &DecodeError{}, err, name)
		require.ErrorContains(t, err, row.text, name)
		assert.NotErrorIs(t, err, ErrNotFound, name)
		assert.True(t, Temporary(err), name)
	}
	l := &fakes.Ledger{List: list(`{"data":[` + full + `{"id":1,"name":"another"}]}`)}
	_, err := over(t, l).Images.FindByName(t.Context(), "job-4711")
	assert.ErrorIs(t, err, ErrPagination, "no match there proves nothing")
}

// A proxy's 404 during a deploy, or a wrong base URL, says nothing of the record.
func TestFindByNameWhereTheListIsNotFound(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`<html>deploying</html>`, `{"message":"Not found."}`, ``} {
		c := over(t, fakes.RoundTripper(fakes.Respond(404, body)))
		_, err := c.Images.FindByName(t.Context(), "job-4711")
		var refused *APIError
		require.ErrorAs(t, err, &refused)
		assert.NotErrorIs(t, err, ErrNotFound, body)
		assert.ErrorContains(t, err, "there is no API at")
		_, err = c.Images.List(t.Context(), ImageListParams{})
		assert.ErrorIs(t, err, ErrNotFound)
	}
}
