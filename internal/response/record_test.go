package response

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// minutes is a record with a number, which a picture does not have.
type minutes struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Language    string    `json:"language"`
	Result      string    `json:"result"`
	Favorite    bool      `json:"favorite"`
	Words       int       `json:"words"`
	CreatedAt   time.Time `json:"created_at"`
}

// pictures and transcripts are the records in the files of testdata/records that hold others than 7 Lighthouse.
var pictures = map[string]picture{
	"bare.json": {
		ID: "7", Name: "Lighthouse", Description: "in a storm", Resolution: "512x512", Style: "retro", Medium: "ink",
		Filter: "sepia", Favorite: true, Result: "7.png", URL: "https://cdn.example.com/7.png",
		CreatedAt: noon, UpdatedAt: noon.Add(24 * time.Hour),
	},
	"data.json": {
		ID: "7", Name: "Lighthouse", Style: "digital_art", Filter: "grayscale", Resolution: "512x512",
		Result: "a1b2.png", URL: "https://cdn.example.com/a1b2.png",
		CreatedAt: noon, UpdatedAt: noon.Add(1250 * time.Millisecond),
	},
	"escapes.json": {
		ID: "7", Name: "Lighthouse 💡 é \"a\\b/c\" \b\f\n\r\t", Description: "half \uFFFD a \uFFFD pair \uFFFDA",
	},
	"id-beyond-2-53.json":         {ID: "9007199254740993", Name: "Lighthouse"},
	"id-beyond-2-64.json":         {ID: "340282366920938463463374607431768211457", Name: "Lighthouse"},
	"id-text.json":                {ID: "0007", Name: "Lighthouse"},
	"id-uuid.json":                {ID: "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d", Name: "Lighthouse"},
	"time-fraction.json":          {ID: "7", CreatedAt: noon.Add(123456789)},
	"time-offset.json":            {ID: "7", CreatedAt: noon},
	"time-no-zone.json":           {ID: "7", CreatedAt: noon, UpdatedAt: halfPast},
	"time-space.json":             {ID: "7", CreatedAt: noon, UpdatedAt: halfPast},
	"time-space-zone.json":        {ID: "7", CreatedAt: noon, UpdatedAt: noon},
	"time-day.json":               {ID: "7", CreatedAt: noon.Truncate(24 * time.Hour)},
	"time-unix.json":              {ID: "7", CreatedAt: noon, UpdatedAt: time.Unix(9999999999, 0).UTC()},
	"time-unix-zero.json":         {ID: "7"},
	"time-unix-fraction.json":     {ID: "7", CreatedAt: halfPast, UpdatedAt: noon},
	"time-unix-milliseconds.json": {ID: "7", CreatedAt: noon, UpdatedAt: halfPast},
	"time-unix-text.json":         {ID: "7", CreatedAt: noon},
	"time-offset-digits.json":     {ID: "7", CreatedAt: noon, UpdatedAt: halfPast},
	"attributes.json":             {ID: "7"}, // as Raw has the rest
	"half-pair.json":              {ID: "7", Name: "\uFFFDde00 😀"},
	"code-of-success.json":        {Name: "Lighthouse"},
	"time-year-alone.json":        {ID: "7"},
	"missing.json":                {ID: "7"},
	"empty.json":                  {ID: "7"},
	"favorite-digit.json":         {ID: "7", Favorite: true},
	"favorite-digit-text.json":    {ID: "7", Favorite: true},
	"favorite-word.json":          {ID: "7", Favorite: true},
	"favorite-zero.json":          {ID: "7"},
	"number-for-text.json":        {ID: "7", Name: "2024", Result: "1.50"},
	"other-types.json":            {ID: "7", Style: "retro"},
	"invalid-utf-8.json":          {ID: "7", Name: "Light\uFFFD\uFFFDhouse \uFFFD\uFFFD", Description: "café"},
}

var transcripts = map[string]minutes{
	"transcription.json": {
		ID: "8", Name: "Minutes", Result: "Good morning, everyone.", Words: 3, CreatedAt: noon,
	},
	"singular-transcription.json": {ID: "8", Name: "Minutes", Language: "DE", Result: "Guten Morgen.", Words: 2},
	"text-for-number.json":        {ID: "8", Name: "Minutes", Words: 3},
	"long-text.json": {
		ID: "8", Name: "Minutes", Description: "short", Words: 120,
		Result: strings.TrimSpace(strings.Repeat("Good morning, everyone. ", 40)),
	},
}

// A record that was paid for must be read whatever the response looks like.
func TestRecordIsReadFromEveryShape(t *testing.T) {
	for name, body := range fixtures[any](t, "records", nil) {
		v := parsed(t, body)
		var raw Value
		var err error
		if want, ok := transcripts[name]; ok {
			var got minutes
			raw, err = Record(v, "transcription", &got)
			assert.Equal(t, want, got, name)
		} else {
			var got picture
			raw, err = Record(v, "image", &got)
			got.CreatedAt, got.UpdatedAt = got.CreatedAt.UTC(), got.UpdatedAt.UTC()
			want, ok := pictures[name]
			if !ok {
				want = picture{ID: "7", Name: "Lighthouse"}
			}
			assert.Equal(t, want, got, name)
		}
		require.NoError(t, err, name)
		assert.Contains(t, body, string(raw), "%s: the record's own bytes", name)
		assert.True(t, json.Valid([]byte(raw)), name)
	}
}

// A response without a record must not become an empty one, and an error must not become a record without an ID.
func TestResponseWithoutARecordIsAnError(t *testing.T) {
	table := map[string]error{}
	for err, names := range map[error]string{
		ErrNoRecord: "array.json array-of-one.json data-array.json data-array-of-one.json data-empty.json " +
			"data-null.json empty-object.json null.json " +
			"id-true.json members-of-no-json-type.json members-of-other-types.json null-members.json number.json " +
			"status-only.json text.json three-deep.json true.json",
		ErrSaysError: "says-error.json says-exception.json says-fail.json says-no.json",
		ErrEmpty:     "byte-order-mark.txt empty.txt white-space.txt",
		ErrHTML:      "page.html warning-before.html",
		ErrCutOff:    "cut-off.json cut-off-after-member.json",
		ErrNotJSON:   "bad-escape.json broken.json deep.json plain.txt two-values.json",
	} {
		for _, name := range strings.Fields(names) {
			table[name] = err
		}
	}
	for name, body := range fixtures(t, "refused", table) {
		v, err := Parse(body)
		if err == nil {
			var p picture
			var raw Value
			raw, err = Record(v, "image", &p)
			assert.Empty(t, raw, name)
			assert.Zero(t, p, name)
		}
		assert.ErrorIs(t, err, table[name], name)
	}
}

// Of several objects that look like the record only one is: with another one's ID the caller deletes another record.
func TestOutermostObjectThatLooksLikeTheRecordIsRead(t *testing.T) {
	for text, want := range map[string]string{
		// The outermost with an ID and a name.
		`{"id":1,"name":"a","data":{"id":2,"name":"b"}}`:                              "1 a",
		`{"data":{"id":7,"name":"Lighthouse","image":{"id":9001}}}`:                   "7 Lighthouse",
		`{"data":{"id":7,"name":null,"image":{"id":9001,"name":"Thumbnail"}}}`:        "7 ",
		`{"data":{"id":7,"name":{"en":"Pier"},"image":{"id":9001,"name":"b"}}}`:       "7 ",
		`{"id":1,"data":{"id":2,"name":"b"}}`:                                         "2 b",
		`{"id":1,"data":{"id":2,"image":{"id":3,"name":"c"}}}`:                        "3 c",
		`{"data":{"data":{"id":3,"name":"c"}},"image":{"id":2,"name":"b"}}`:           "2 b",
		`{"image":{"id":2,"name":"b"},"data":{"id":1,"name":"a"}}`:                    "1 a",
		`{"data":{"image":{"id":5,"name":"c"},"data":{"id":6,"name":"d"}},"image":1}`: "6 d",
		`{"data":{"id":true,"name":"a"},"image":{"id":2,"name":"b"}}`:                 "2 b",
		`{"data":{"id":"","name":"a"},"image":{"id":2,"name":"b"}}`:                   "2 b",
		`{"\u0064ata":{"\u0069d":7,"\u006eame":"Pier"},"id":1}`:                       "7 Pier",
		// The outermost with an ID.
		`{"id":1,"data":{"id":2}}`:                           "1 ",
		`{"id":1,"data":{"name":"a"}}`:                       "1 ",
		`{"data":{"x":1,"data":{"id":3}}}`:                   "3 ",
		`{"data":{"id":2,"data":{"id":3}},"image":{"id":4}}`: "2 ",
		`{"image":{"id":2},"data":{"status":"ok"}}`:          "2 ",
		`{"data":[{"id":9}],"image":{"id":2}}`:               "2 ",
		`{"transcription":{"id":9},"image":{"id":2}}`:        "2 ",
		`{"id":1,"owner":{"id":9,"name":"Ada"}}`:             "1 ",
		// The outermost with a name.
		`{"name":"a","data":{"name":"b"}}`:                " a",
		`{"name":7,"data":{"name":"b"}}`:                  " b",
		`{"data":{"name":"b","id":true}}`:                 " b",
		`{"error":false,"name":"a"}`:                      " a",
		`{"name":"a","errors":{},"exception":null}`:       " a",
		`{"status":200,"error":0,"data":{"name":""}}`:     " ",
		`{"data":{"name":"b"},"status":600,"code":20000}`: " b",
		`{"success":true,"ok":1,"data":{"name":"b"}}`:     " b",
		// An object with an ID and a name of its own is a record whatever else it says.
		`{"id":7,"name":"a","status":"error"}`:                           "7 a",
		`{"image":{"id":7,"name":"a"},"data":{"status":"failed"}}`:       "7 a",
		`{"id":"7","name":"a","success":false,"data":{"id":8,"name":1}}`: "7 a",
	} {
		var p picture
		_, err := Record(parsed(t, text), "image", &p)
		require.NoError(t, err, text)
		assert.Equal(t, want, p.ID.String()+" "+p.Name, text)
	}
}

// A refusal with status 200 must not pass for a record that was created.
func TestObjectThatSaysItIsAnErrorIsNoRecord(t *testing.T) {
	for _, text := range []string{
		`{"status":"error","name":"ValidationException"}`, `{"name":"a","error":"no"}`,
		`{"name":"a","error":true}`,
		`{"name":"a","errors":["no"]}`, `{"name":"a","errors":[[]]}`, `{"name":"a","errors":{"name":["no"]}}`,
		`{"exception":"RuntimeException"}`, `{"status":"error"}`,
		`{"status":"error","data":{"name":"is required"}}`, `{"data":{"name":"a","error":1}}`, `{"\u0065rror":"no"}`,
		`{"id":null,"error":"no"}`, `{"id":true,"error":"no"}`,
		`{"success":false,"message":"Insufficient credits"}`, `{"message":"Too Many Attempts.","status":429}`,
		`{"status":"failed"}`, `{"ok":false}`,
		`{"code":402}`, `{"code":"402"}`, `{"status":"422"}`, `{"success":0}`, `{"ok":"false"}`,
		`{"success":"0","name":"a"}`,
		// Without both an ID and a name that say something, nothing makes a record of it.
		`{"id":"req_1","error":{"message":"quota exceeded"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000}}`,
		`{"id":"x","status":"error"}`, `{"id":0,"name":"","error":"quota"}`, `{"id":7,"name":null,"success":false}`,
		`{"id":true,"name":"a","error":"no"}`, `{"id":"","name":"a","error":"no"}`,
		// Nor does an object in it.
		`{"status":"error","data":{"id":7,"name":"a"}}`, `{"success":false,"image":{"id":7,"name":"a"}}`,
		`{"data":{"code":409,"data":{"id":7,"name":"a"}}}`, `{"id":7,"data":{"error":"no"}}`,
		`{"name":"a","image":{"ok":false}}`,
	} {
		_, err := Record(parsed(t, text), "image", new(picture))
		assert.Equal(t, ErrSaysError, err, text)
	}
}

// A record that was marshalled has no envelope: an object in it is its own.
func TestBareRecordHasNoEnvelope(t *testing.T) {
	var p picture
	Fill(parsed(t, ` {"data":{"id":9,"name":"b"},"id":7} `), &p)
	assert.Equal(t, picture{ID: "7"}, p)
	Fill(parsed(t, `{"x":1}`), &p)
	assert.Equal(t, picture{ID: "7"}, p)
}

// Each field must be in the text, as encoding/json sees it.
func FuzzRecord(f *testing.F) {
	for _, folder := range []string{"records", "refused"} {
		for _, body := range fixtures[any](f, folder, nil) {
			f.Add([]byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := Parse(string(body))
		if err != nil {
			return
		}
		var p picture
		raw, err := Record(v, "image", &p)
		if err != nil {
			require.Zero(t, p)
			return
		}
		require.Contains(t, string(body), string(raw))
		if !utf8.Valid(body) {
			return // the names of members alone keep it
		}
		sent := decode(t, string(raw)).(map[string]any)
		for name, text := range map[string]string{
			"id": string(p.ID), "name": p.Name, "description": p.Description, "resolution": p.Resolution,
			"style": p.Style, "medium": p.Medium, "filter": p.Filter, "result": p.Result, "url": p.URL,
		} {
			switch member := sent[name].(type) {
			case string:
				require.Equal(t, member, text)
			case json.Number:
				require.Equal(t, member.String(), text)
			case bool:
				require.Empty(t, text)
			}
		}
		var again picture
		Fill(raw, &again)
		require.Equal(t, p, again)
	})
}

// A member whose name only looks like a field's must not be taken for it, and no field may be missed.
func TestMembersThatLookLikeFieldsAreNotTakenForThem(t *testing.T) {
	for text, id := range map[string]string{
		`{"identity":1,"id":"7","name_de":"Leuchtturm","name":"Lighthouse"}`: "7",
		`{"id#old":1,"id":"7","name#de":"Leuchtturm","name":"Lighthouse"}`:   "7",
		`{"id#":1,"id":"7","name":"Lighthouse"}`:                             "7",
		`{"uid":1,"":2,"ids":[3],"id":"7","name":"Lighthouse","rename":"x"}`: "7",
		`{"image":{"data":{"id":"7","name":"Lighthouse"}}}`:                  "7",
		`{"image":{"image":{"id":"7","name":"Lighthouse"}}}`:                 "7",
		`{"id":"","name":"Lighthouse"}`:                                      "",
	} {
		var p picture
		_, err := Record(parsed(t, text), "image", &p)
		require.NoError(t, err, text)
		assert.Equal(t, picture{ID: p.ID, Name: "Lighthouse"}, p, text)
		assert.Equal(t, id, p.ID.String(), text)
	}
	var p picture
	_, err := Record(parsed(t, `{"id":"7","name#17":"x"}`), "image", &p)
	require.NoError(t, err)
	assert.Equal(t, picture{ID: "7"}, p)
}

// The API does not specify the response to a Delete: only one that says so is a refusal.
func TestDeleteIsRefusedByAnErrorOrAFalseDeleted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`: false, `[]`: false, `7`: false, `{"id":7}`: false, `{"id":7,"deleted":true}`: false,
		`{"deleted":null}`: false, `{"transcription":{"error":1}}`: false, `{"data":{"deleted":"1"}}`: false,
		`{"error":"no"}`: true, `{"data":{"status":"fail"}}`: true, `{"image":{"ok":false}}`: true,
		`{"id":7,"deleted":false}`: true, `{"data":{"deleted":0}}`: true, `{"image":{"id":7,"deleted":"0"}}`: true,
	} {
		assert.Equal(t, want, Value(text).IsRefusal("image"), text)
	}
}
