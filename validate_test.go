package aicontent

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// problemsOf are the problems of an error by field.
func problemsOf(t *testing.T, err error) map[string]string {
	t.Helper()
	var invalid *ValidationError
	require.ErrorAs(t, err, &invalid)
	assert.ErrorIs(t, err, ErrInvalid)
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
	found := map[string]string{}
	for _, p := range invalid.Problems {
		assert.NotContains(t, found, p.Field, "one problem a field")
		assert.NotEmpty(t, p.Reason)
		found[p.Field] = p.Reason
	}
	return found
}

// fieldsOf are the fields of problemsOf.
func fieldsOf(t *testing.T, err error) []string {
	t.Helper()
	list := []string{}
	for field := range problemsOf(t, err) {
		list = append(list, field)
	}
	return list
}

// A form with five mistakes is filled in once more, not five times.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	ctx := t.Context()
	_, err := c.Images.Store(ctx, ImageStoreParams{})
	assert.ElementsMatch(t, []string{"name", "description", "resolution"}, fieldsOf(t, err))
	_, err = c.Images.Store(ctx, ImageStoreParams{Name: " \t\n", Description: "\u00a0\u2003", Resolution: "513x513", Style: "Anime", Medium: "oil", Filter: "grey"})
	assert.ElementsMatch(t, []string{"name", "description", "resolution", "style", "medium", "filter"}, fieldsOf(t, err))
	_, err = c.Transcriptions.Store(ctx, TranscriptionStoreParams{})
	assert.ElementsMatch(t, []string{"name", "file"}, fieldsOf(t, err))
	_, err = c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: " ", File: FileFromPath(t.TempDir() + "/none.wav"), Language: "en"})
	assert.ElementsMatch(t, []string{"name", "file", "language"}, fieldsOf(t, err))
	_, err = c.Images.List(ctx, ImageListParams{SearchBy: "result", Resolution: "1x1", Style: "x", Medium: "x", Filter: "x", SortBy: "date", Sort: "up", PerPage: 7})
	assert.ElementsMatch(t, []string{"search_by", "resolution", "style", "medium", "filter", "sort_by", "sort", "per_page"}, fieldsOf(t, err))
	_, err = c.Transcriptions.List(ctx, TranscriptionListParams{SearchBy: "description", SortBy: "NAME", Sort: "DESC", PerPage: -10})
	assert.ElementsMatch(t, []string{"search_by", "sort_by", "sort", "per_page"}, fieldsOf(t, err))
	_, err = c.Images.Update(ctx, "..", ImageUpdateParams{Name: new(" ")}, WithResponseTimeout(-1), WithHeader("Host", "x"))
	assert.ElementsMatch(t, []string{"id", "name", "response_timeout", "header"}, fieldsOf(t, err))
	_, err = c.Transcriptions.Update(ctx, "", TranscriptionUpdateParams{Name: new("")})
	assert.ElementsMatch(t, []string{"id", "name"}, fieldsOf(t, err))
	for _, err := range c.Images.All(ctx, ImageListParams{PerPage: 7}) {
		assert.Equal(t, []string{"per_page"}, fieldsOf(t, err))
	}
	assert.Empty(t, *requests)
}

// The error says enough to correct the call without the documentation.
func TestValueErrorsSayWhatIsAllowed(t *testing.T) {
	t.Parallel()
	c, _ := capturing(t)
	_, err := c.Images.List(t.Context(), ImageListParams{PerPage: 7, Filter: "sepia "})
	assert.EqualError(t, err, `images.list: filter "sepia ": must be one of grayscale, sepia, invert; `+
		`per_page "7": must be one of 10, 25, 50, 100 (WithoutValidation sends it anyway)`)
	var invalid *ValidationError
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, Filter("sepia "), invalid.Problems[0].Value)
	assert.Equal(t, PerPage(7), invalid.Problems[1].Value)
}

func TestCountryProblems(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	const want = "must be a country code of ISO 3166-1 alpha-2 in capital letters, such as US or DE, not a language"
	for _, code := range []CountryCode{"us", "UK", "en", "sv", "en-US", "pt_br", "USA", "XX", " US", "US\n", "english"} {
		params := TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.wav", []byte("RIFF\x04\x00\x00\x00WAVE")), Language: code}
		_, err := c.Transcriptions.Store(t.Context(), params)
		assert.Equal(t, want, problemsOf(t, err)["language"], code)
	}
	assert.Empty(t, *requests)
}

// Problems of parameters come in the order of their names, the same in every run.
func TestProblemsOfParametersAreSorted(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	var opts []CallOption
	for _, name := range strings.Split("hgfedcba", "") {
		opts = append(opts, WithQuery(name, "\xff"))
	}
	_, err := c.Images.List(t.Context(), ImageListParams{}, opts...)
	var refused *ValidationError
	require.ErrorAs(t, err, &refused)
	var fields []string
	for _, p := range refused.Problems {
		fields = append(fields, p.Field)
	}
	assert.Equal(t, strings.Split("abcdefgh", ""), fields)
	assert.Empty(t, *requests)
}

func TestIDsRefused(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	ctx := t.Context()
	for _, id := range []ID{
		"", " ", "\n", "\t", ".", "..", "a b", "7\n", "\r7", "7\x00", "7\x1b", "7\x7f", "7\u0085", "\u00a07", "7\u2028", "\u3000",
		"/", `\`, "a/b", `a\b`, "/..", "../7", `a\..\b`, "7/", "%2F..", "%2f..", "a%5Cb", "%2e%2e", "%2E", "7%0A", "7%20",
	} {
		for _, opts := range [][]CallOption{nil, {WithoutValidation()}} {
			_, err := c.Images.Show(ctx, id, opts...)
			assert.Equal(t, []string{"id"}, fieldsOf(t, err), "%q", id)
			assert.NotContains(t, err.Error(), "\n")
			_, err = c.Images.Update(ctx, id, ImageUpdateParams{}, opts...)
			assert.Equal(t, []string{"id"}, fieldsOf(t, err), "%q", id)
			assert.Equal(t, []string{"id"}, fieldsOf(t, c.Images.Delete(ctx, id, opts...)), "%q", id)
			_, err = c.Transcriptions.Show(ctx, id, opts...)
			assert.Equal(t, []string{"id"}, fieldsOf(t, err), "%q", id)
			_, err = c.Transcriptions.Update(ctx, id, TranscriptionUpdateParams{}, opts...)
			assert.Equal(t, []string{"id"}, fieldsOf(t, err), "%q", id)
			assert.Equal(t, []string{"id"}, fieldsOf(t, c.Transcriptions.Delete(ctx, id, opts...)), "%q", id)
		}
	}
	assert.Empty(t, *requests, "an empty id would delete the collection, two dots somebody else's")
}

// An id is one segment of the path, whatever else it holds.
func TestIDsEscaped(t *testing.T) {
	t.Parallel()
	for id, want := range map[ID]string{
		"7": "7", "a?b": "a%3Fb", "a%b": "a%25b", "ü": "%C3%BC", "a#b": "a%23b", "%2x": "%252x", "..7": "..7", "...": "...",
		"a;b": "a%3Bb", "a&b=c": "a&b=c", "a+b": "a+b", "日本": "%E6%97%A5%E6%9C%AC", "?": "%3F", "a:b@c": "a:b@c",
		"7\xff": "7%FF", "01HZY-x_y~z": "01HZY-x_y~z", `"<>|`: "%22%3C%3E%7C",
	} {
		var uri string
		c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			uri = r.URL.RequestURI()
			return fakes.OK(`{"id":7}`)(r)
		})}))
		require.NoError(t, err)
		_, err = c.Images.Show(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, "/tenant/api/v1/images/"+want, uri, string(id))
	}
}

// A proxy that unescapes a path before it resolves ".." would otherwise make a Delete of one record one of all records.
func TestIDsThatSplitThePathSaySo(t *testing.T) {
	t.Parallel()
	c, _ := capturing(t)
	for _, id := range []ID{"a/b", `a\b`, "%2F..", "a%5cb"} {
		err := c.Images.Delete(t.Context(), id)
		want := `must not contain / or \, escaped or not: a proxy may split the path there`
		assert.Equal(t, map[string]string{"id": want}, problemsOf(t, err), id)
		assert.ErrorContains(t, err, fmt.Sprintf("id %q: ", id))
	}
}

func TestNamesOfAnyLengthAreSent(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	name := strings.Repeat("ü", 100_000)
	_, err := c.Images.Update(t.Context(), "7", ImageUpdateParams{Name: &name})
	require.NoError(t, err)
	assert.Len(t, (*requests)[0].body, len("name=")+100_000*len("%C3%BC"))
}

func TestWithoutValidation(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	ctx := t.Context()
	_, err := c.Images.List(ctx, ImageListParams{PerPage: 7, Style: "cubism", Sort: "up"}, WithoutValidation())
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"per_page": {"7"}, "style": {"cubism"}, "sort": {"up"}}, map[string][]string((*requests)[0].query))
	_, err = c.Images.Store(ctx, ImageStoreParams{Name: "n", Description: "d", Resolution: "1536x1024"}, WithoutValidation(), WithFormField("quality", "high"))
	require.NoError(t, err)
	assert.Contains(t, (*requests)[1].body, "resolution=1536x1024")
	_, err = c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.txt", nil), Language: "en"}, WithoutValidation())
	require.NoError(t, err)
	assert.Contains(t, (*requests)[2].body, "\r\n\r\nen\r\n")

	// What is required cannot be waived: nothing would come of it.
	_, err = c.Images.Store(ctx, ImageStoreParams{Resolution: "9x9"}, WithoutValidation())
	assert.ElementsMatch(t, []string{"name", "description"}, fieldsOf(t, err))
	_, err = c.Transcriptions.Store(ctx, TranscriptionStoreParams{}, WithoutValidation())
	assert.ElementsMatch(t, []string{"name", "file"}, fieldsOf(t, err))
	assert.Len(t, *requests, 3)
}

// The documented values and what is not set pass.
func TestValidInputPasses(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	ctx := t.Context()
	for _, style := range append(Styles(), "") {
		for _, medium := range append(Mediums(), "") {
			for _, filter := range append(Filters(), "") {
				for _, resolution := range Resolutions() {
					_, err := c.Images.Store(ctx, ImageStoreParams{Name: "n", Description: "d", Resolution: resolution, Style: style, Medium: medium, Filter: filter})
					require.NoError(t, err)
				}
			}
		}
	}
	assert.Len(t, *requests, 15*12*4*3)
	_, err := c.Images.Update(ctx, "7", ImageUpdateParams{})
	assert.NoError(t, err, "the API allows an update of nothing")
	_, err = c.Transcriptions.Update(ctx, "7", TranscriptionUpdateParams{Result: new("")})
	assert.NoError(t, err, "a result may be emptied")
}

// A service that accepts a job now and runs it later wants to refuse it now, for the reasons that Store will have.
func TestValidateIsWhatStoreRefuses(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]Option{
		"":                  nil,
		"WithoutValidation": {WithoutValidation()},
		"WithFormField":     {WithFormField("resolution", "7x7"), WithFormField("language", "en")},
	} {
		c, requests := capturing(t, opts...)
		for _, params := range []ImageStoreParams{
			aStore, {}, {Name: " ", Description: "d", Resolution: "7x7", Style: "odd"}, {Name: "n", Description: "d"},
			{Name: "a\xff", Description: "d", Resolution: Resolution256x256},
		} {
			for _, opt := range []CallOption{WithStallTimeout(0), WithoutValidation(), WithFormField("style", "odd"), WithFormField("name", "m"), WithQuery("", "x")} {
				_, err := c.Images.Store(t.Context(), params, opt)
				assert.Equal(t, err, c.Images.Validate(params, opt), "%s: %+v", name, params)
			}
		}
		sent := len(*requests)
		for _, params := range []TranscriptionStoreParams{{Name: " "}, {Name: "n", Language: "en"}, {Name: "n", Language: "US"}, {Name: "a\xff"}} {
			for _, opt := range []CallOption{WithStallTimeout(0), WithoutValidation(), WithFormField("file", "f")} {
				found := c.Transcriptions.Validate(params, opt)
				params.File = FileFromBytes("a.wav", []byte(wavHead))
				_, err := c.Transcriptions.Store(t.Context(), params, opt)
				assert.Equal(t, err, found, "%s: %+v", name, params)
				params.File = FileFromReader("a.wav", iotest.ErrReader(errors.New("gone")))
				assert.Equal(t, err, c.Transcriptions.Validate(params, opt), "the file is not looked at")
			}
		}
		assert.Greater(t, len(*requests), sent)
	}
	assert.ErrorIs(t, (&Client{}).Images.Validate(aStore), ErrInvalid, "a client that NewClient did not make")
}
