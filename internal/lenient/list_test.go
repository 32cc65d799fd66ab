package lenient

import (
	"fmt"
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
}

// A list that is read short, or from the wrong place, is a loss that no one sees.
func TestListIsReadFromEveryShape(t *testing.T) {
	for name, body := range fixtures[any](t, "lists", nil) {
		want, other := lists[name]
		if !other {
			want = "9 Beacon, 7 Lighthouse"
		}
		list, err := FindList(parsed(t, string(body)), "images")
		require.NoError(t, err, name)
		require.NotNil(t, list.Items, name)
		var records []string
		for _, item := range list.Items {
			var p picture
			if _, err := Element(item, "image", &p); err == nil {
				records = append(records, strings.TrimSpace(p.ID.String()+" "+p.Name))
			}
			assert.Contains(t, string(body), string(item), name)
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
		"data-null.json":               ErrNull,
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
			_, err := Element(item, "image", new(picture))
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
			`{"data":[],"error":null,"errors":[]}`, `{"data":[ ],"error":{ },"errors":[ ]}`,
			`{"data":[{}],"errors":["x"]}`,
		},
	} {
		for _, text := range texts {
			_, err := FindList(Value(text), "images")
			assert.Equal(t, want, err, text)
		}
	}
}

// PHP writes an array with gaps as an object. An object of other names is none of these.
func TestObjectsWithNumbersForNamesAreLists(t *testing.T) {
	for text, want := range map[string]string{
		`{"data":{"2":7,"0":8,"1":9}}`:             "7 8 9",
		`{"images":{"data":{"10":7}}}`:             "7",
		`{"data":{"0":7},"items":[8]}`:             "8",
		`{"data":{"0":7,"a":8}}`:                   "none",
		`{"data":{"0":7,"a":8},"results":{"1":9}}`: "9",
		`{"data":{}}`:                              "none",
		`{}`:                                       "none",
	} {
		list, err := FindList(parsed(t, text), "images")
		if want == "none" {
			assert.Equal(t, ErrNoList, err, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, strings.Trim(fmt.Sprint(list.Items), "[]"), text)
	}
	var many strings.Builder
	for i := range maxItems + 1 {
		fmt.Fprintf(&many, `,"%d":1`, i)
	}
	_, err := FindList(parsed(t, `{"data":{`+many.String()[1:]+`}}`), "images")
	assert.Equal(t, ErrTooMany, err)
}

// A null in the place of a list may be an empty one: the members around it tell.
func TestNullInThePlaceOfAListKeepsTheMembersAroundIt(t *testing.T) {
	for text, around := range map[string]string{
		`null`:                                    "",
		`{"data":null,"total":0}`:                 "0",
		`{"total":0,"data":{"images":null}}`:      "0",
		`{"items":null,"total":0,"data":{"x":1}}`: "0",
	} {
		list, err := FindList(parsed(t, text), "images")
		assert.Equal(t, ErrNull, err, text)
		assert.Equal(t, around, string(list.Around.Find("total")), text)
		assert.Nil(t, list.Items, text)
	}
	for _, text := range []string{
		`{"data":null,"items":[],"total":0}`, `{"items":[],"data":null,"total":0}`, `{"data":[null],"total":0}`,
	} {
		list, err := FindList(parsed(t, text), "images")
		assert.NoError(t, err, text)
		assert.NotNil(t, list.Items, text)
	}
	assert.ErrorIs(t, ErrNull, ErrNoList)
}

// Case and underscores do not count in a name, and everything else does.
func TestOnlyCaseAndUnderscoresDoNotCountInAName(t *testing.T) {
	for text, want := range map[string]string{
		`"last_page":1`:              "1",
		`"lastPage":1`:               "1",
		`"LAST__PAGE_":1`:            "1",
		`"last\u005fpage":1`:         "1",
		`"lastpage":1,"last_page":2`: "2",
		`"last-page":1`:              "",
		`"last page":1`:              "",
		`"lastpages":1`:              "",
		`"lastpag":1`:                "",
		`"":1`:                       "",
		`"ľastpage":1`:               "",
	} {
		list, err := FindList(parsed(t, `{"data":[],`+text+`}`), "images")
		require.NoError(t, err)
		assert.Equal(t, want, string(list.Around.Find("lastpage")), text)
	}
	const text = `{"Meta":{"a":1},"data":{"meta_":{"a":2},"data":[]},"META":3,"a":4}`
	list, err := FindList(parsed(t, text), "images")
	require.NoError(t, err)
	var found []string
	for _, object := range list.Around.Objects("meta") {
		found = append(found, string(object.Find("a")))
	}
	assert.Equal(t, []string{"1", "2"}, found)
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
		`{"next":1,"data":[],"next":2}`:                              "2",
		`{"next":1,"data":[],"next":null}`:                           "null",
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
		assert.Equal(t, want, string(list.Around.Member("next")), text)
	}
	assert.Empty(t, Value("").Member("next"))
	list, err := FindList(parsed(t, `{"data":[]}`), "images")
	require.NoError(t, err)
	assert.Empty(t, list.Around.Member("data"), "the list itself is no member around it")
	list, err = FindList(parsed(t, `{`+strings.Repeat(`"":0,`, 100_000)+`"data":[]}`), "images")
	require.NoError(t, err)
	assert.Len(t, list.Around, maxAround, "a million members would take ten times the memory of their text")
}

func FuzzFindList(f *testing.F) {
	for _, body := range everyFixture(f) {
		f.Add(body, "next")
	}
	f.Fuzz(func(t *testing.T, body []byte, name string) {
		v, err := Parse(body)
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
			require.True(t, strings.Contains(string(body), string(item)))
			assertReadAsEncodingJSONDoes(t, []byte(item))
		}
		if member := list.Around.Member(name); member != "" {
			assertReadAsEncodingJSONDoes(t, []byte(member))
		}
	})
}
