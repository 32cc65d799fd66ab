package response

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lists are the records in the files of testdata/lists that hold others than 9 Beacon and 7 Lighthouse.
var lists = map[string]string{
	"empty.json":         "",
	"bare-empty.json":    "",
	"full-page.json":     "10, 9, 8, 7, 6, 5, 4, 3, 2, 1",
	"total-reached.json": "10, 9, 8, 7, 6, 5, 4, 3, 2, 1",
	"attributes.json":    "9, 7", // as Raw has the rest
}

// A list that is read short, or from the wrong place, is a loss that no one sees.
func TestListIsReadFromEveryShape(t *testing.T) {
	for name, body := range fixtures[any](t, "lists", nil) {
		want, other := lists[name]
		if !other {
			want = "9 Beacon, 7 Lighthouse"
		}
		list, err := FindList(parsed(t, body), "images")
		require.NoError(t, err, name)
		var records []string
		for _, item := range list.Items {
			var p picture
			if _, err := Record(item, "image", &p); err == nil {
				records = append(records, strings.TrimSpace(p.ID.String()+" "+p.Name))
			}
			assert.Contains(t, body, string(item), name)
		}
		assert.Equal(t, want, strings.Join(records, ", "), name)
	}
}

// A response without a list must not be taken for an empty one.
func TestResponseWithoutAListIsNotAnEmptyOne(t *testing.T) {
	table := map[string]error{
		"empty-object.json":            ErrNoList,
		"record.json":                  ErrNoList,
		"other-name.json":              ErrNoList,
		"three-deep.json":              ErrNoList,
		"data-null.json":               ErrNoList,
		"numbered.json":                ErrNoList,
		"numbered-alone.json":          ErrNoList,
		"says-error.json":              ErrSaysError,
		"no-records.json":              nil,
		"objects-without-members.json": nil,
		"empty.txt":                    ErrEmpty,
		"page.html":                    ErrHTML,
		"cut-off.json":                 ErrCutOff,
		"deep.json":                    ErrNotJSON,
	}
	for name, body := range fixtures(t, "refused-lists", table) {
		v, err := Parse(body)
		var list List
		if err == nil {
			list, err = FindList(v, "images")
		}
		assert.ErrorIs(t, err, table[name], name)
		for _, item := range list.Items {
			_, err := Record(item, "image", new(picture))
			assert.Equal(t, ErrNoRecord, err, name)
		}
	}
	for want, texts := range map[error][]string{
		ErrNoList: {`7`, `"x"`, `true`, `{"id":7,"name":"a","error":"x"}`, `{"x":null,"total":0}`},
		ErrSaysError: {
			`{"id":7,"error":"x"}`, `{"error":"x"}`, `{"status":"fail","data":null}`, `{"data":[],"error":"x"}`,
			`{"status":"error","data":{"data":[]}}`, `{"data":null,"total":0,"error":"no"}`,
		},
		nil: {
			`{"data":[],"error":null,"errors":[]}`, `{"data":[ ],"error":{},"errors":[]}`,
			`{"data":[{}],"errors":["x"]}`,
		},
	} {
		for _, text := range texts {
			_, err := FindList(Value(text), "images")
			assert.Equal(t, want, err, text)
		}
	}
}

// A few kilobytes on the wire must not become gigabytes of memory.
func TestListOfTooManyItemsIsRefused(t *testing.T) {
	list := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	many := list(maxItems + 1)
	for text, want := range map[string]int{list(maxItems): maxItems, `{"items":` + many + `,"data":[7]}`: 1} {
		found, err := FindList(parsed(t, text), "images")
		require.NoError(t, err)
		assert.Len(t, found.Items, want)
	}
	for _, text := range []string{many, `{"data":` + many + `}`, `{"items":[],"data":` + many + `}`} {
		_, err := FindList(parsed(t, text), "images")
		assert.Equal(t, ErrTooMany, err)
		assert.ErrorContains(t, err, "100000")
	}
}

// The members around a list tell of the next page: those beside the list go before those further out.
func TestMembersBesideAListGoBeforeThoseFurtherOut(t *testing.T) {
	for text, want := range map[string]string{
		`{"data":[],"next":1}`:                                       "1",
		`{"next":1,"data":[]}`:                                       "1",
		`{"next":1,"data":[],"next":2}`:                              "1",
		`{"next":1,"data":{"data":[],"next":2}}`:                     "2",
		`{"next":1,"data":{"data":[],"next":null}}`:                  "null",
		`{"data":{"data":[],"x":2},"next":1}`:                        "1",
		`{ "data" : { "next" : 3 , "images" : [ ] } , "next" : 1 }`:  "3",
		`{"data":[],"\u006eext":1}`:                                  "1",
		`{"data":[{"next":4}]}`:                                      "",
		`{"items":{"data":[],"next":5},"data":[]}`:                   "",
		`{"data":{"x":1,"next":5},"items":[],"next":1}`:              "1",
		`{"items":{"next":5,"data":[]},"data":{"next":6,"data":[]}}`: "6",
		`{"data":[],"next":1,"data":[]}`:                             "1",
		`[{"next":4}]`:                                               "",
	} {
		list, err := FindList(parsed(t, text), "images")
		require.NoError(t, err, text)
		first := Value("")
		for name, value := range list.Around.members() {
			if name == "next" {
				first = cmp.Or(first, value)
			}
		}
		assert.Equal(t, want, string(first), text)
	}
	list, err := FindList(parsed(t, `{"data":[]}`), "images")
	require.NoError(t, err)
	assert.Empty(t, list.Around.member("data"), "the list itself is no member around it")
}

func FuzzList(f *testing.F) {
	for _, folder := range []string{"lists", "refused-lists"} {
		for _, body := range fixtures[any](f, folder, nil) {
			f.Add([]byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := Parse(string(body))
		if err != nil {
			return
		}
		list, err := FindList(v, "images")
		if err != nil {
			require.Nil(t, list.Items)
			return
		}
		require.LessOrEqual(t, len(list.Items), min(maxItems, len(body)))
		for _, item := range list.Items {
			require.Contains(t, string(body), string(item))
			assertReadAsEncodingJSONDoes(t, string(item))
		}
		s, _, err := Start(sizes).Arrive(Facts{Hints: list.Hints(nil), Count: len(list.Items)})
		require.NoError(t, err)
		next, err := s.Next()
		require.Equal(t, s.HasNext(), next != nil || err != nil)
		for _, number := range []int{s.Current, s.Last, s.PerPage, s.Total} {
			require.GreaterOrEqual(t, number, 0)
		}
		if err != nil {
			require.Less(t, len(err.Error()), 200)
		}
	})
}
