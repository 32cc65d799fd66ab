package aicontent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of several objects that look like the record only one is: a wrong choice gives the caller somebody else's id.
func TestWhichObjectIsTheRecord(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":1,"data":{"id":2}}`:                                          "2 ",
		`{"data":{"id":2},"id":1}`:                                          "2 ",
		`{"id":1,"data":{"name":"a"}}`:                                      "1 ",
		`{"name":"a","data":{"name":"b"}}`:                                  " b",
		`{"name":"a","data":{"x":1}}`:                                       " a",
		`{"data":{"x":1,"data":{"id":3}}}`:                                  "3 ",
		`{"data":{"id":2,"data":{"id":3}},"image":{"id":4}}`:                "3 ",
		`{"image":{"id":2},"data":{"status":"ok"}}`:                         "2 ",
		`{"image":{"id":2},"data":{"id":null,"name":"b"}}`:                  "2 ",
		`{"image":{"id":2},"data":{"id":3}}`:                                "3 ",
		`{"data":{"id":2},"data":{}}`:                                       "2 ",
		`{"data":[{"id":9}],"image":{"id":2}}`:                              "2 ",
		`{"transcription":{"id":9},"image":{"id":2}}`:                       "2 ",
		`{"id":1,"owner":{"id":9},"image_id":8}`:                            "1 ",
		`{"data":{"image":{"id":5,"name":"c","image":{"id":6,"name":""}}}}`: "5 c",
	} {
		image, err := readImage(&answer{body: []byte(text)})
		require.NoError(t, err, text)
		assert.Equal(t, want, string(image.ID)+" "+image.Name, text)
	}
}

// The order of members is learned from the records before; a record in another order, or with less, must read the same.
func TestRecordsInAnyOrder(t *testing.T) {
	members := []string{`"id":7`, `"name":"Lighthouse"`, `"x":[1]`, `"favorite":true`, `"created_at":"2024-05-04T10:11:12Z"`, `"style":"retro"`}
	var records []string
	for i := range members {
		records = append(records, "{"+strings.Join(append(append([]string{}, members[i:]...), members[:i]...), ",")+"}")
	}
	records = append(records, `{"style":"retro","created_at":"2024-05-04T10:11:12Z","favorite":true,"name":"Lighthouse","id":7}`, `{"id":7}`, records[0])
	page, err := readPage[Image](&answer{body: []byte("[" + strings.Join(records, ",") + "]")}, "images")
	require.NoError(t, err)
	require.Len(t, page.Items, len(records))
	for i, image := range page.Items {
		want := Image{ID: "7", Name: "Lighthouse", Style: StyleRetro, Favorite: true, CreatedAt: noon}
		if records[i] == `{"id":7}` {
			want = Image{ID: "7"}
		}
		assert.Equal(t, want, bareImage(&image), records[i])
		assert.Equal(t, records[i], string(image.Raw()))
	}
}

// Texts of a record share memory up to a length: at that border none may be lost or run into its neighbour.
func TestTextsOfEveryLength(t *testing.T) {
	for _, n := range []int{0, 1, longText - 3, longText - 2, longText - 1, longText, 4 * longText} {
		name, description := strings.Repeat("ä", n), strings.Repeat("b", n)
		image, err := readImage(&answer{body: []byte(fmt.Sprintf(`{"id":"7","name":%q,"description":%q,"style":"retro","url":%q}`, name, description, name))})
		require.NoError(t, err)
		assert.Equal(t, Image{ID: "7", Name: name, Description: description, Style: StyleRetro, URL: name}, bareImage(image), n)
	}
}

func TestTimes(t *testing.T) {
	day := noon.Truncate(24 * time.Hour)
	for text, want := range map[string]time.Time{
		`"2024-05-04T10:11:12Z"`: noon, `"2024-05-04T10:11:12.000000Z"`: noon, `" 2024-05-04T10:11:12Z\n"`: noon, `"2024-05-04T12:11:12\u002b02:00"`: noon,
		`"2024-05-04 12:11:12+02:00"`: noon, `"2024-05-04 12:11:12+0200"`: noon, `"2024-05-04 06:11:12.5 -0400"`: halfPast, `"2024-05-04T10:11:12"`: noon,
		`1714817472`: noon, `1.714817472e9`: noon, `"1714817472.500"`: halfPast, `"2024-05-04"`: day, `"Sat, 04 May 2024 10:11:12 UTC"`: noon,
		`0`: {}, `"0"`: {}, `-5`: {}, `1e300`: {}, `253402300800`: {}, `""`: {}, `"."`: {}, `"1.2.3"`: {}, `"e"`: {}, `"2024-13-04T10:11:12Z"`: {}, `"2024-05-04T"`: {},
		`"2024-05-04 "`: day, `"now"`: {}, `true`: {}, `"` + strings.Repeat("9", 500) + `"`: {}, `"` + strings.Repeat("x", 500) + `"`: {}, `"0000-00-00 00:00:00"`: {},
	} {
		assert.Equal(t, want, value(text).time().UTC(), text)
	}
}

func TestTruths(t *testing.T) {
	for text, want := range map[string]bool{
		`true`: true, `false`: false, `1`: true, `0`: false, `2`: true, `-1`: true, `0.0`: false, `1e-5`: true, `"1"`: true, `"0"`: false, `""`: false, `"true"`: true,
		`"TRUE"`: true, `"false"`: false, `"yes"`: true, `"On"`: true, `"no"`: false, `"off"`: false, `"maybe"`: false, `"\u0074rue"`: true, `1e999`: false,
	} {
		assert.Equal(t, want, value(text).truth(), text)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]int{
		`7`: 7, `-7`: -7, `"7"`: 7, `7.0`: 7, `7e2`: 700, `7.5`: 0, `"seven"`: 0, `""`: 0, `true`: 0, `null`: 0, `{}`: 0, `1e300`: 0, `"9007199254740993"`: 9007199254740993,
	} {
		assert.Equal(t, want, value(text).number(), text)
	}
	assert.Zero(t, value(nil).number())
}
