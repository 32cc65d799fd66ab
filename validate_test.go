package aicontent

import (
	"errors"
	"io/fs"
	"os"
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

// Every problem at once, each with enough to correct the call without the documentation.
func TestInvalidArgumentsAreReportedTogetherBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	ctx := t.Context()
	_, missing := os.Open("testdata/none.wav") // its text is the system's
	const (
		waived      = " (WithoutValidation sends it anyway)"
		resolutions = "must be one of 256x256, 512x512, 1024x1024"
		styles      = "must be one of 3d_render, abstract, anime, art_deco, cartoon, digital_art, illustration, " +
			"origami, pixel_art, photography, pop_art, retro, sketch, vaporwave"
		mediums = "must be one of acrylic, canvas, chalk, charcoal, crayon, glass, ink, pastel, pencil, " +
			"spray_paint, watercolor"
		filters = "must be one of grayscale, sepia, invert"
		keep    = "must not be empty (leave it nil to keep the current one)"
		unnamed = "must have a file name in UTF-8 without control characters, such as a.mp3"
		country = "must be a country code of ISO 3166-1 alpha-2 in capital letters, such as US or DE, not a language" +
			waived
	)
	store := func(params ImageStoreParams, opts ...CallOption) error {
		return second(c.Images.Store(ctx, params, opts...))
	}
	update := func(id ID, name string, opts ...CallOption) error {
		return second(c.Images.Update(ctx, id, ImageUpdateParams{Name: &name}, opts...))
	}
	audio := func(name, data string) File { return FileFromBytes(name, []byte(data)) }
	transcribe := func(name string, file File, language CountryCode, opts ...CallOption) error {
		params := TranscriptionStoreParams{Name: name, File: file, Language: language}
		return second(c.Transcriptions.Store(ctx, params, opts...))
	}
	rename := func(id ID, name string) error {
		return second(c.Transcriptions.Update(ctx, id, TranscriptionUpdateParams{Name: &name}))
	}
	images := ImageListParams{
		SearchBy: "result", Resolution: "1x1", Style: "x", Medium: "x", Filter: "x", SortBy: "date", Sort: "up",
		PerPage: 7,
	}
	transcriptions := TranscriptionListParams{SearchBy: "description", SortBy: "NAME", Sort: "DESC", PerPage: -10}
	for _, row := range []struct {
		err  error
		text string
	}{
		{
			store(ImageStoreParams{}),
			"images.store: name: is required; description: is required; resolution: is required",
		},
		{
			store(ImageStoreParams{Name: "\u200b\ufeff", Description: "\u2060 \x00", Resolution: Resolution256x256}),
			`images.store: name "\u200b\ufeff": is required; description "\u2060 \x00": is required`,
		},
		{
			store(ImageStoreParams{"n", "d", "7x7", "Retro", "oil", "sepia "}),
			`images.store: resolution "7x7": ` + resolutions + `; style "Retro": ` + styles + `; medium "oil": ` +
				mediums + `; filter "sepia ": ` + filters + waived,
		},
		{
			store(ImageStoreParams{Resolution: "7x7"}, WithoutValidation()),
			"images.store: name: is required; description: is required",
		},
		{
			second(c.Images.List(ctx, images)),
			`images.list: search_by "result": must be one of name; resolution "1x1": ` + resolutions + `; style "x": ` +
				styles + `; medium "x": ` + mediums + `; filter "x": ` + filters + `; sort_by "date": ` +
				`must be one of id, name; sort "up": must be one of desc, asc; ` +
				`per_page "7": must be one of 10, 25, 50, 100` + waived,
		},
		{
			second(c.Images.List(ctx, ImageListParams{}, WithQuery("b", "\xff"), WithQuery("a", "\xff"))),
			`images.list: a "\xff": must be valid UTF-8; b "\xff": must be valid UTF-8`,
		},
		{update(" ", ""), `images.update: id " ": ` + idReason + `; name: ` + keep},
		{
			update("..", " ", WithResponseTimeout(-1), WithHeader("Host", "x")),
			`images.update: response_timeout "-1ns": must be 0 or at least 1ms (write 30*time.Second for 30 ` +
				`seconds); header "Host": is set by the SDK and cannot be changed; id "..": ` + idReason +
				`; name " ": ` + keep,
		},
		{c.Images.Delete(ctx, "7\n"), `images.delete: id "7\n": ` + idReason},
		{
			transcribe("", File{}, ""),
			"transcriptions.store: name: is required; file: is required (make it with FileFromPath, FileFromFS, " +
				"FileFromBytes or FileFromReader)",
		},
		{transcribe("n", audio("a.wav", wavHead), "en"), `transcriptions.store: language "en": ` + country},
		{transcribe("n", audio("a.wav", ""), ""), `transcriptions.store: file "a.wav": must not be empty` + waived},
		{
			transcribe("n", FileFromPath("testdata/none.wav"), ""),
			`transcriptions.store: file "none.wav": cannot be read: ` + missing.Error(),
		},
		{
			transcribe(" ", audio("", wavHead), "", WithoutValidation()),
			`transcriptions.store: name " ": is required; file: ` + unnamed,
		},
		{
			transcribe("n", audio("a\r\nb.wav", wavHead), ""),
			`transcriptions.store: file "a\r\nb.wav": ` + unnamed,
		},
		{
			transcribe("n", audio("a.wav", "\x89PNG\x0D\x0A\x1A\x0A"), ""),
			`transcriptions.store: file "a.wav": must be an audio file, but it is a PNG image` + waived,
		},
		{
			second(c.Transcriptions.List(ctx, transcriptions)),
			`transcriptions.list: search_by "description": must be one of name, result; sort_by "NAME": ` +
				`must be one of id, name; sort "DESC": must be one of desc, asc; ` +
				`per_page "-10": must be one of 10, 25, 50, 100` + waived,
		},
		{rename(".", " "), `transcriptions.update: id ".": ` + idReason + `; name " ": ` + keep},
	} {
		assert.ErrorIs(t, row.err, ErrInvalid, row.text)
		assert.EqualError(t, row.err, row.text)
		assert.Equal(t, OutcomeNotExecuted, OutcomeOf(row.err))
	}
	for _, err := range c.Images.All(ctx, ImageListParams{PerPage: 7}) {
		assert.Equal(t, []string{"per_page"}, fieldsOf(t, err))
	}
	err := transcribe("n", FileFromPath("testdata/none.wav"), "")
	assert.ErrorIs(t, err, fs.ErrNotExist, "the cause is not lost")
	assert.Empty(t, *requests)
}

// A proxy that unescapes a path before it resolves ".." would make a Delete of one record one of all records.
func TestIDsThatMayLeadToAnotherPathAreRefused(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	ctx := t.Context()
	for _, id := range []ID{
		"", " ", "\n", "\t", "\u3000", ".", "..", "%2e%2e", "%2E", "a b", "7\n", "\r7", "7\x00", "7\x1b", "7\x7f",
		"7\u0085", "\u00a07", "7\u2028", "7%0A", "7%20", "/", `\`, "a/b", `a\b`, "/..", "../7", `a\..\b`, "7/",
		"%2F..", "%2f..", "a%5Cb", "a%5cb",
	} {
		for _, opts := range [][]CallOption{nil, {WithoutValidation()}} {
			for _, err := range []error{
				second(c.Images.Show(ctx, id, opts...)),
				second(c.Images.Update(ctx, id, ImageUpdateParams{}, opts...)),
				c.Images.Delete(ctx, id, opts...),
				second(c.Transcriptions.Show(ctx, id, opts...)),
				second(c.Transcriptions.Update(ctx, id, TranscriptionUpdateParams{}, opts...)),
				c.Transcriptions.Delete(ctx, id, opts...),
			} {
				assert.Equal(t, []string{"id"}, fieldsOf(t, err), "%q", id)
				assert.NotContains(t, err.Error(), "\n")
				assert.ErrorContains(t, err, idReason)
			}
		}
	}
	assert.Empty(t, *requests, "an empty id would delete the collection, two dots somebody else's")
}

// An id is one segment of the path, whatever else it holds.
func TestIDIsEscapedToOneSegmentOfThePath(t *testing.T) {
	t.Parallel()
	for id, want := range map[ID]string{
		"7": "7", "a?b": "a%3Fb", "a%b": "a%25b", "ü": "%C3%BC", "a#b": "a%23b", "%2x": "%252x",
		"..7": "..7", "...": "...",
		"a;b": "a%3Bb", "a&b=c": "a&b=c", "a+b": "a+b", "日本": "%E6%97%A5%E6%9C%AC", "?": "%3F", "a:b@c": "a:b@c",
		"7\xff": "7%FF", "01HZY-x_y~z": "01HZY-x_y~z", `"<>|`: "%22%3C%3E%7C",
	} {
		s := script(fakes.OK(`{"id":7}`))
		_, err := over(t, s).Images.Show(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, "/tenant/api/v1/images/"+want, s.Sent[0].URL.RequestURI(), string(id))
	}
}

func TestWithoutValidationSendsAllButMissingFields(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	ctx := t.Context()
	_, err := c.Images.List(ctx, ImageListParams{PerPage: 7, Style: "cubism", Sort: "up"}, WithoutValidation())
	require.NoError(t, err)
	assert.Equal(t, "per_page=7&sort=up&style=cubism", (*requests)[0].query.Encode())
	for i, data := range []string{"", "plainly text"} {
		params := TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.txt", []byte(data)), Language: "en"}
		_, err = c.Transcriptions.Store(ctx, params, WithoutValidation())
		require.NoError(t, err)
		assert.Contains(t, (*requests)[i+1].body, "\r\n\r\nen\r\n")
		assert.Contains(t, (*requests)[i+1].body, data)
	}
	// What is required cannot be waived: nothing would come of it.
	_, err = c.Transcriptions.Store(ctx, TranscriptionStoreParams{}, WithoutValidation())
	assert.ElementsMatch(t, []string{"name", "file"}, fieldsOf(t, err))
	assert.Len(t, *requests, 3)
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
			for _, opt := range []CallOption{
				WithStallTimeout(0), WithoutValidation(), WithFormField("style", "odd"), WithFormField("name", "m"),
				WithQuery("", "x"),
			} {
				_, err := c.Images.Store(t.Context(), params, opt)
				assert.Equal(t, err, c.Images.Validate(params, opt), "%s: %+v", name, params)
			}
		}
		sent := len(*requests)
		for _, params := range []TranscriptionStoreParams{
			{Name: " "}, {Name: "n", Language: "en"}, {Name: "n", Language: "US"}, {Name: "a\xff"},
		} {
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
}
