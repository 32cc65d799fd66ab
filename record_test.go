package aicontent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	noon     = time.Date(2024, 5, 4, 10, 11, 12, 0, time.UTC)
	halfPast = noon.Add(500 * time.Millisecond)
)

// imageAnswers and transcriptionAnswers are the records that the files of testdata/records hold.
var imageAnswers = map[string]Image{
	"bare.json": {
		ID: "7", Name: "Lighthouse", Description: "in a storm", Resolution: "512x512", Style: "retro", Medium: "ink", Filter: "sepia", Favorite: true,
		Result: "7.png", URL: "https://cdn.example.com/7.png", CreatedAt: noon, UpdatedAt: noon.Add(24 * time.Hour),
	},
	"data.json": {
		ID: "7", Name: "Lighthouse", Style: "digital_art", Filter: "grayscale", Resolution: "512x512", Result: "a1b2.png",
		URL: "https://cdn.example.com/a1b2.png", CreatedAt: noon, UpdatedAt: noon.Add(1250 * time.Millisecond),
	},
	"singular.json":                  {ID: "7", Name: "Lighthouse"},
	"data-data.json":                 {ID: "7", Name: "Lighthouse"},
	"data-singular.json":             {ID: "7", Name: "Lighthouse"},
	"request-id-around.json":         {ID: "7", Name: "Lighthouse"},
	"data-inside.json":               {ID: "7", Name: "Lighthouse"},
	"id-beyond-2-53.json":            {ID: "9007199254740993", Name: "Lighthouse"},
	"id-beyond-2-64.json":            {ID: "340282366920938463463374607431768211457", Name: "Lighthouse"},
	"id-text.json":                   {ID: "0007", Name: "Lighthouse"},
	"id-uuid.json":                   {ID: "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d", Name: "Lighthouse"},
	"time-fraction.json":             {ID: "7", CreatedAt: noon.Add(123456789)},
	"time-offset.json":               {ID: "7", CreatedAt: noon},
	"time-no-zone.json":              {ID: "7", CreatedAt: noon, UpdatedAt: halfPast},
	"time-space.json":                {ID: "7", CreatedAt: noon, UpdatedAt: halfPast},
	"time-space-zone.json":           {ID: "7", CreatedAt: noon, UpdatedAt: noon},
	"time-day.json":                  {ID: "7", CreatedAt: noon.Truncate(24 * time.Hour)},
	"time-mail.json":                 {ID: "7", CreatedAt: noon, UpdatedAt: noon},
	"time-unix.json":                 {ID: "7", CreatedAt: noon, UpdatedAt: halfPast},
	"time-unix-text.json":            {ID: "7", CreatedAt: noon, UpdatedAt: noon},
	"time-unreadable.json":           {ID: "7", Name: "Lighthouse"},
	"null.json":                      {ID: "7", Name: "Lighthouse"},
	"missing.json":                   {ID: "7"},
	"empty.json":                     {ID: "7"},
	"favorite-digit.json":            {ID: "7", Favorite: true},
	"favorite-word.json":             {ID: "7", Favorite: true},
	"favorite-zero.json":             {ID: "7"},
	"number-for-text.json":           {ID: "7", Name: "2024", Result: "1.50", Description: "true"},
	"other-types.json":               {ID: "7", Style: "retro"},
	"byte-order-mark.json":           {ID: "7", Name: "Lighthouse"},
	"white-space.json":               {ID: "7", Name: "Lighthouse"},
	"invalid-utf-8.json":             {ID: "7", Name: "Light\uFFFD\uFFFDhouse \uFFFD\uFFFD", Description: "café"},
	"escapes.json":                   {ID: "7", Name: "Lighthouse 💡 é \"a\\b/c\" \b\f\n\r\t", Description: "half \uFFFD a \uFFFD pair \uFFFDA"},
	"escaped-members.json":           {ID: "7", Name: "Lighthouse"},
	"duplicates.json":                {ID: "7", Name: "Lighthouse"},
	"unknown-members.json":           {ID: "7", Name: "Lighthouse"},
	"favorite-digit-text.json":       {ID: "7", Favorite: true},
	"time-offset-without-colon.json": {ID: "7", CreatedAt: noon},
}

var transcriptionAnswers = map[string]Transcription{
	"transcription.json":          {ID: "8", Name: "Minutes", Result: "Good morning, everyone.", Words: 3, CreatedAt: noon},
	"singular-transcription.json": {ID: "8", Name: "Minutes", Language: "DE", Result: "Guten Morgen.", Words: 2},
	"text-for-number.json":        {ID: "8", Name: "Minutes", Words: 3},
	"fraction-for-number.json":    {ID: "8", Name: "Minutes", Words: 3},
	"long-text.json": {
		ID: "8", Name: "Minutes", Description: "short", Result: strings.TrimSpace(strings.Repeat("Good morning, everyone. ", 40)), Words: 120,
	},
}

func recordCases() map[string]bool {
	cases := map[string]bool{}
	for name := range imageAnswers {
		cases[name] = true
	}
	for name := range transcriptionAnswers {
		cases[name] = true
	}
	return cases
}

// bare is a record without what it was read from, its times in UTC.
func bareImage(i *Image) Image {
	b := *i
	b.raw, b.CreatedAt, b.UpdatedAt = nil, i.CreatedAt.UTC(), i.UpdatedAt.UTC()
	return b
}

func bareTranscription(i *Transcription) Transcription {
	b := *i
	b.raw, b.CreatedAt, b.UpdatedAt = nil, i.CreatedAt.UTC(), i.UpdatedAt.UTC()
	return b
}

// A record that a deployment drew and billed must be read whatever its answer looks like.
func TestRecordsOfEveryShape(t *testing.T) {
	for name, body := range answersIn(t, "records", recordCases()) {
		t.Run(name, func(t *testing.T) {
			c := deployment(t, answeringBody(200, body))
			var raw json.RawMessage
			if want, ok := imageAnswers[name]; ok {
				image, err := c.Images.Show(t.Context(), "7")
				require.NoError(t, err)
				assert.Equal(t, want, bareImage(image))
				raw = image.Raw()
			} else {
				transcription, err := c.Transcriptions.Show(t.Context(), "8")
				require.NoError(t, err)
				assert.Equal(t, transcriptionAnswers[name], bareTranscription(transcription))
				raw = transcription.Raw()
			}
			assert.True(t, bytes.Contains(body, raw), "the record's own bytes: %s", raw)
			assert.True(t, json.Valid(raw))
		})
	}
}

// Members that the SDK does not know are the reason for Raw: they are one json.Unmarshal away.
func TestRawHasUnknownMembers(t *testing.T) {
	body := `{"status":200,"data": {"id":7,"name":"Lighthouse","quality":"high", "tags":["sea"]} }`
	image, err := deployment(t, answeringBody(200, []byte(body))).Images.Show(t.Context(), "7")
	require.NoError(t, err)
	assert.Equal(t, `{"id":7,"name":"Lighthouse","quality":"high", "tags":["sea"]}`, string(image.Raw()))
	var more struct {
		Quality string
		Tags    []string
	}
	require.NoError(t, json.Unmarshal(image.Raw(), &more))
	assert.Equal(t, "high", more.Quality)
	assert.Equal(t, []string{"sea"}, more.Tags)
	assert.Nil(t, new(Image).Raw())
}

// A record that is stored elsewhere and read again must lose nothing that the deployment sent.
func TestMarshalledRecordsKeepWhatWasSent(t *testing.T) {
	for name, body := range answersIn(t, "records", recordCases()) {
		want, isImage := imageAnswers[name]
		if !isImage {
			continue
		}
		image, err := readImage(&answer{body: body})
		require.NoError(t, err, name)
		text, err := json.Marshal(image)
		require.NoError(t, err, name)
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, image.Raw()))
		assert.Equal(t, compact.String(), string(text), name)
		var again Image
		require.NoError(t, json.Unmarshal(text, &again), name)
		assert.Equal(t, want, bareImage(&again), name)
	}
}

func TestMarshalledRecordsHaveWhatWasChanged(t *testing.T) {
	var image Image
	require.NoError(t, json.Unmarshal([]byte(` {"id":7,"name":"Lighthouse","na\u006de":"Lighthouse","quality":"high","favorite":0,"created_at":"2024-05-04 10:11:12"} `), &image))
	same, err := json.Marshal(image)
	require.NoError(t, err)
	assert.Equal(t, `{"id":7,"name":"Lighthouse","na\u006de":"Lighthouse","quality":"high","favorite":0,"created_at":"2024-05-04 10:11:12"}`, string(same))

	image.Name, image.Favorite, image.Style = `"Beacon"`, true, StyleRetro
	image.CreatedAt = image.CreatedAt.In(time.FixedZone("", 3600))
	changed, err := json.Marshal(&image)
	require.NoError(t, err)
	assert.Equal(t, `{"id":7,"name":"\"Beacon\"","na\u006de":"\"Beacon\"","quality":"high","favorite":true,"created_at":"2024-05-04 10:11:12","style":"retro"}`, string(changed))

	image.CreatedAt = time.Time{}
	changed, err = json.Marshal(&image)
	require.NoError(t, err)
	assert.Contains(t, string(changed), `"created_at":null`)
}

// A record that was made by hand, in a test say, has all its members.
func TestMarshalledRecordsThatWereNeverSent(t *testing.T) {
	text, err := json.Marshal(Image{ID: "7", Name: "Lighthouse", CreatedAt: noon})
	require.NoError(t, err)
	assert.Equal(t, `{"id":"7","name":"Lighthouse","description":"","resolution":"","style":"","medium":"","filter":"","favorite":false,`+
		`"result":"","url":"","created_at":"2024-05-04T10:11:12Z","updated_at":null}`, string(text))
	assert.Equal(t, `{"id":"","name":"","description":"","language":"","result":"","favorite":false,"words":3,"created_at":null,"updated_at":null}`,
		Transcription{Words: 3}.String())
	assert.Contains(t, Image{CreatedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}.String(), `"created_at":null`)
}

func TestUnmarshalledRecords(t *testing.T) {
	image := Image{Name: "of before", raw: json.RawMessage(`{}`)}
	data := []byte(`{"id":9007199254740993,"name":null}`)
	require.NoError(t, json.Unmarshal(data, &image))
	assert.Equal(t, Image{ID: "9007199254740993"}, bareImage(&image))
	clear(data)
	assert.Equal(t, `{"id":9007199254740993,"name":null}`, string(image.Raw()), "the caller's buffer is the caller's")

	require.NoError(t, json.Unmarshal([]byte(`null`), &image))
	assert.Equal(t, Image{}, image)
	require.NoError(t, json.Unmarshal([]byte(`{"x":1}`), &image))
	assert.Equal(t, Image{}, image)
	for _, text := range []string{`[1]`, `"x"`, `7`, `true`} {
		assert.ErrorContains(t, json.Unmarshal([]byte(text), &image), "a record must be a JSON object, not "+text)
	}
	// Other decoders than encoding/json may call it with anything.
	for _, text := range []string{``, `{`, `{"id":7`, `"`} {
		assert.ErrorIs(t, image.UnmarshalJSON([]byte(text)), errCutOff, text)
		assert.ErrorIs(t, new(ID).UnmarshalJSON([]byte(text)), errCutOff, text)
	}
	assert.ErrorIs(t, image.UnmarshalJSON([]byte(`{"id":7}}`)), errJSON)

	var list struct{ Images []*Image }
	require.NoError(t, json.Unmarshal([]byte(`{"images":[{"id":1},null,{"id":"2"}]}`), &list))
	require.Len(t, list.Images, 3)
	assert.Equal(t, ID("2"), list.Images[2].ID)
}

// Programs keep ids in their own structs, beside what they got from elsewhere.
func TestIDsInOtherStructs(t *testing.T) {
	for text, want := range map[string]ID{
		`7`: "7", `"7"`: "7", ` 18446744073709551617 `: "18446744073709551617", `"a\/b"`: "a/b", `null`: "", `"é"`: "é",
	} {
		var id ID
		require.NoError(t, id.UnmarshalJSON([]byte(text)), text)
		assert.Equal(t, want, id, text)
	}
	var owner struct{ ImageID ID }
	require.NoError(t, json.Unmarshal([]byte(`{"ImageID":9007199254740993}`), &owner))
	assert.Equal(t, ID("9007199254740993"), owner.ImageID)
	for _, text := range []string{`{}`, `[7]`} {
		assert.ErrorContains(t, json.Unmarshal([]byte(`{"ImageID":`+text+`}`), &owner), "an id must be a string or a number, not "+text)
	}
}

// A field that is not in the list is neither read nor written, and a name that is spelled wrong reads nothing.
func TestFieldsOfARecordAreAllListed(t *testing.T) {
	for _, list := range [][]field{new(Image).fields(nil), new(Transcription).fields(nil), new(entry).fields(nil)} {
		assert.LessOrEqual(t, len(list), maxFields)
		assert.Equal(t, "id", list[0].name, "the reader takes the first for the id")
	}
	exported := func(of any) (n int) {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if f.IsExported() {
				n++
			}
		}
		return n
	}
	assert.Len(t, new(Image).fields(nil), exported(Image{}))
	assert.Len(t, new(Transcription).fields(nil), exported(Transcription{}))
}

// Whatever is read must be in the text, by encoding/json's own account of it.
func FuzzRecord(f *testing.F) {
	for _, body := range everyAnswer(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		image, err := readImage(&answer{body: body})
		if err != nil {
			require.Nil(t, image)
			require.Less(t, len(err.Error()), 200)
			return
		}
		require.True(t, json.Valid(trimmed(body)))
		require.True(t, bytes.Contains(body, image.Raw()))
		var sent map[string]any
		decoder := json.NewDecoder(bytes.NewReader(image.Raw()))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&sent))
		known := false
		// As with encoding/json, a null changes nothing where a member comes twice.
		for key, member := range value(image.Raw()).members() {
			known = known || member.isPlain() && slices.ContainsFunc(image.fields(nil), func(f field) bool { return key.is(f.name) })
		}
		for _, f := range image.fields(nil) {
			at, ok := f.at.(*string)
			if !ok {
				continue
			}
			require.True(t, utf8.ValidString(*at))
			switch member := sent[f.name].(type) {
			case string:
				require.Equal(t, member, *at)
			case json.Number:
				require.Equal(t, member.String(), *at)
			case bool:
				require.Equal(t, fmt.Sprint(member), *at)
			}
		}
		require.True(t, known, "a record without a member that a record has")

		text, err := json.Marshal(image)
		require.NoError(t, err)
		var again Image
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, bareImage(image), bareImage(&again))
	})
}
