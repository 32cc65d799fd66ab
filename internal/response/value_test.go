package response

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

// fixtures returns the files of a folder in testdata. With a table, they must be those of its rows.
func fixtures[T any](t testing.TB, folder string, table map[string]T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.*"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	bodies := map[string]string{}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		bodies[filepath.Base(path)] = string(body)
	}
	if table != nil {
		require.ElementsMatch(t, slices.Collect(maps.Keys(table)), slices.Collect(maps.Keys(bodies)))
	}
	return bodies
}

func parsed(t testing.TB, body string) Value {
	t.Helper()
	v, err := Parse(body)
	require.NoError(t, err)
	return v
}

// decode returns the value that encoding/json reads, numbers as they stand.
func decode(t testing.TB, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return v
}

// rebuild returns the value that the package reads, in the same form.
func rebuild(v Value) any {
	switch v.Kind() {
	case '{':
		members := map[string]any{}
		for name, member := range v.members() {
			members[name] = rebuild(member)
		}
		return members
	case '[':
		elements := []any{}
		list, _ := v.elements(0)
		for _, element := range list {
			elements = append(elements, rebuild(element))
		}
		return elements
	case '"':
		return v.Text()
	case 'n':
		return nil
	case 't', 'f':
		return v.isTrue()
	}
	return json.Number(v.Text())
}

// Valid JSON must be read as encoding/json reads it, or a record is not the one that was sent. The names of members
// alone keep their invalid UTF-8.
func assertReadAsEncodingJSONDoes(t testing.TB, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	want := decode(t, text)
	require.Equal(t, fmt.Sprintf("%#v", want), fmt.Sprintf("%#v", rebuild(Value(text))))
	object, _ := want.(map[string]any)
	for name, member := range object {
		require.Equal(t, fmt.Sprintf("%#v", member), fmt.Sprintf("%#v", rebuild(Value(text).member(name))), name)
	}
	require.Empty(t, Value(text).member("no such member \x00"))
}

func TestValuesAreReadAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `[ ]`, `{ }`, `null`, `true`, `false`, `0`, `-1.5e+10`, `""`, `"a"`, `"\""`, `"\\"`, `"\\\""`,
		`"a\\"`, `["\\","\\\\\""]`, `{"a":1,"b":[{"c":[]},{}],"d":"}]"}`, `[{"a":"}]"},["]}","\"]"],{"{[":"[{"}]`,
		"{ \"a\"\t:\r\n1 , \"b\" : [ 1 , 2 ] }", `[1,2,3]`, `[[],[[]],{"a":{}}]`, `{"a":1,"a":2}`,
		`{"\u0061":1,"a":2}`, `{"a":2,"\u0061":1}`, `{"a\/b":1,"a\\/b":2}`,
		`"\u00e9\ud83d\udca1\ud83d \udca1\ud83d\ud83d\udca1\uD83D\uDCA1\u0000"`,
		`"\b\f\n\r\t\/\\"`, `"a\/b\\/c\\\/d\\\\/e\/"`, `"\/\u002f\\u002f\\\u002f"`, `"\\x41\/"`, `"\\'\/"`,
		"\"\u007f\\/\"",
		`[true,false,null,-0,1E5]`,
		`[` + strings.Repeat("[", 9998) + strings.Repeat("]", 9998) + `]`,
	} {
		require.True(t, json.Valid([]byte(text)), text)
		assertReadAsEncodingJSONDoes(t, text)
	}
	for _, folder := range []string{"records", "lists", "refused", "errors"} {
		for name, body := range fixtures[any](t, folder, nil) {
			if strings.HasSuffix(name, ".json") && json.Valid([]byte(Trim(body))) {
				assertReadAsEncodingJSONDoes(t, Trim(body))
			}
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, folder := range []string{"records", "lists", "refused", "refused-lists", "errors"} {
		for _, body := range fixtures[any](f, folder, nil) {
			f.Add([]byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := Parse(string(body))
		require.Equal(t, json.Valid(bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))), err == nil)
		if err == nil {
			assertReadAsEncodingJSONDoes(t, string(v))
		}
	})
}

// A caller decides by these errors whether the service, a proxy or the network is at fault.
func TestParseTellsEmptyHTMLAndCutOffBodiesApart(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string { return strings.Repeat("[", depth) }
	closed := func(depth int) string { return nested(depth) + strings.Repeat("]", depth) }
	for want, bodies := range map[error][]string{
		ErrEmpty:  {"", " \r\n", "\ufeff", "\ufeff \n"},
		ErrHTML:   {"<html>", " <!DOCTYPE html>", "<br />{}"},
		ErrCutOff: {"{", `{"a`, `{"a":`, "[1,", "[tru", nested(10_000)},
		ErrNotJSON: {
			"OK", "{} {}", `{"a":1}}`, "{a}", `"\x41"`, "01", nested(10_001), closed(10_001),
		},
		nil: {`{"a":"<"}`, "7", "null", "\ufeff {}\n", closed(10_000)},
	} {
		for _, body := range bodies {
			v, err := Parse(body)
			if want == nil {
				assert.NoError(t, err, "%.40q", body)
				assert.Equal(t, Trim(body), string(v))
				continue
			}
			assert.ErrorIs(t, err, want, "%.40q", body)
			assert.Equal(t, want == ErrCutOff, err == ErrCutOff, "%.40q", body)
			assert.Empty(t, v)
		}
	}
	assert.ErrorIs(t, ErrCutOff, ErrNotJSON)
	_, err := Parse(`{"id":7} PHP`)
	assert.ErrorContains(t, err, "invalid character 'P' after top-level value")
}

// A time that is read wrong makes a record look older than it is, and programs delete old records.
func TestTimesAreReadRightOrNotAtAll(t *testing.T) {
	t.Parallel()
	for want, texts := range map[time.Time][]string{
		noon: {
			`"2024-05-04T10:11:12Z"`, `"2024-05-04T10:11:12.000000Z"`, `"2024-05-04T12:11:12\u002b02:00"`,
			`"2024-05-04T10:11:12"`, `"2024-05-04T10:11:12+0000"`, `"2024-05-04T12:11:12+0200"`,
			`"2024-05-04 10:11:12"`, `"2024-05-04 12:11:12+02:00"`, `"2024-05-04 10:11:12Z"`,
			`"2024-05-05 10:10:12+23:59"`, `"2024-05-04 15:41:12+05:30"`, `"2024-05-04 10:11:12+00"`,
			`1714817472`, `"1714817472"`, `1714817472.0`, `1.714817472e9`, `1714817472000`, `"1714817472000"`,
		},
		halfPast: {
			`"2024-05-04T10:11:12.500Z"`, `"2024-05-04 10:11:12.500"`, `"2024-05-04 10:11:12.5+00"`,
			`1714817472.5`, `"1714817472.500000"`, `1714817472500`,
		},
		noon.Add(123456 * time.Microsecond): {
			`"2024-05-04T10:11:12.123456+00:00"`, `"2024-05-04 10:11:12.123456"`,
		},
		noon.Truncate(24 * time.Hour):                    {`"2024-05-04"`},
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC): {`"9999-12-31 23:59:59"`},
	} {
		for _, text := range texts {
			assert.Equal(t, want, Value(text).time(), text)
		}
	}
	for _, text := range []string{
		`"2024"`, `2024`, `"NaN"`, `"Inf"`, `"2024-13-04T10:11:12Z"`, `"2024-05"`, `20240504`, `20240504101112`, `0`,
		`-5`, `-1714817472`, `1e300`, `17148174720000`, `1714817472000000`, `999999999`, `10000000000`,
		`""`, `"now"`, `true`, `null`, `["2024-05-04"]`, `"` + strings.Repeat("9", 500) + `"`,
		`"0000-00-00 00:00:00"`, `"2024-02-30 10:11:12"`, `"2024-05-04T25:11:12Z"`, `"2024-05-04 10:11:12 CET"`,
		`"04/05/2024 10:11:12"`, `"Sat, 04 May 2024 10:11:12 GMT"`, `"Sat May 04 2024 10:11:12 GMT+0000"`,
		`{"date":"2024-05-04 10:11:12.000000","timezone_type":3,"timezone":"UTC"}`,
	} {
		assert.Zero(t, Value(text).time(), text)
	}
}

// Whatever a service sends as a time, it is read as one that can be written again, or not at all.
func FuzzTime(f *testing.F) {
	for _, text := range []string{
		"2024-05-04T10:11:12Z", "2024-05-04 10:11:12.5+00", "1714817472.5", "2024-05-04", "2024-05-04T10:11:12+24:00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		read := Value(quoted).time()
		written, err := read.MarshalJSON()
		if year := read.Year(); year < 0 || year > 9999 { // its UTC is beyond a year that can be written
			return
		}
		require.NoError(t, err)
		require.True(t, read.Equal(Value(written).time()) || read.IsZero(), "%s %s", read, written)
	})
}

func TestNumbersAndBooleansAreReadFromTexts(t *testing.T) {
	t.Parallel()
	for want, texts := range map[int][]string{
		7: {`7`, `"7"`}, -7: {`-7`}, 2147483647: {`2147483647`},
		0: {`7.5`, `"seven"`, `""`, `true`, `null`, `{}`, `1e300`, `"NaN"`, `99999999999999999999`},
	} {
		for _, text := range texts {
			assert.Equal(t, want, Value(text).int(), text)
		}
	}
	for want, texts := range map[bool][]string{
		true:  {`true`, `1`, `"1"`, `"true"`},
		false: {`false`, `0`, `"0"`, `""`, `"false"`, `null`, `2`, `"maybe"`, `[true]`, ``},
	} {
		for _, text := range texts {
			assert.Equal(t, want, Value(text).isTrue(), text)
		}
	}
}
