package lenient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
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

// decode returns what encoding/json reads, numbers as they stand.
func decode(t testing.TB, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return v
}

// rebuild returns what the package reads, in the same form.
func rebuild(v Value) any {
	switch {
	case v.IsObject():
		members := map[string]any{}
		for name, member := range v.Members() {
			members[name.Text()] = rebuild(member)
		}
		return members
	case v.IsArray():
		elements := []any{}
		for element := range v.Elements() {
			elements = append(elements, rebuild(element))
		}
		return elements
	case v.IsString():
		return v.Text()
	case v.IsNull():
		return nil
	case v[0] == 't', v[0] == 'f':
		return v.Bool()
	}
	return json.Number(v.Text())
}

// Valid JSON must be read as encoding/json reads it, or a record is not what was sent.
func assertReadAsEncodingJSONDoes(t testing.TB, text []byte) {
	t.Helper()
	want := decode(t, text)
	require.Equal(t, fmt.Sprintf("%#v", want), fmt.Sprintf("%#v", rebuild(Value(text))))
	object, ok := want.(map[string]any)
	if !ok {
		return
	}
	for name, member := range object {
		if utf8.ValidString(name) && !strings.ContainsRune(name, utf8.RuneError) {
			require.Equal(t, fmt.Sprintf("%#v", member), fmt.Sprintf("%#v", rebuild(Value(text).Member(name))), name)
		}
	}
	require.Empty(t, Value(text).Member("no such member \x00"))
}

func TestValuesAreReadAsEncodingJSONDoes(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `[ ]`, `{ }`, `null`, `true`, `false`, `0`, `-1.5e+10`, `""`, `"a"`, `"\""`, `"\\"`, `"\\\""`, `"a\\"`, `["\\","\\\\\""]`,
		`{"a":1,"b":[{"c":[]},{}],"d":"}]"}`, `[{"a":"}]"},["]}","\"]"],{"{[":"[{"}]`, "{ \"a\"\t:\r\n1 , \"b\" : [ 1 , 2 ] }", `[1,2,3]`, `[[],[[]],{"a":{}}]`, `{"a":1,"a":2}`, `{"\u0061":1,"a":2}`,
		`"\u00e9\ud83d\udca1\ud83d \udca1\ud83d\ud83d\udca1\uD83D\uDCA1\u0000"`, "\"\xff\xc3\xa9\xe2\x82\"", "\"\xff\\n\xff\"", "{\"\xff\":1}", `"\b\f\n\r\t\/\\"`, `[true,false,null,-0,1E5]`,
		`[` + strings.Repeat("[", 9998) + strings.Repeat("]", 9998) + `]`,
	} {
		require.True(t, json.Valid([]byte(text)))
		assertReadAsEncodingJSONDoes(t, []byte(text))
	}
	read := 0
	for _, body := range everyFixture(t) {
		if text := []byte(Trim(string(body))); json.Valid(text) {
			assertReadAsEncodingJSONDoes(t, text)
			read++
		}
	}
	assert.Greater(t, read, 80)
}

func FuzzWalker(f *testing.F) {
	for _, body := range everyFixture(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := Parse(body)
		require.Equal(t, json.Valid([]byte(Trim(string(body)))), err == nil)
		if err == nil {
			assertReadAsEncodingJSONDoes(t, []byte(v))
		}
	})
}

// A missing value is what an optional member is that was not sent.
func TestMissingValues(t *testing.T) {
	for _, v := range []Value{"", Value("null"), Value("{}"), Value("[]"), Value("7").Member("x")} {
		assert.Empty(t, v.Member("x"))
		assert.Empty(t, v.Text())
		assert.Zero(t, v.Int())
		assert.False(t, v.Bool())
		assert.True(t, v.Time().IsZero())
		for range v.Elements() {
			t.Fatal("an element")
		}
	}
	assert.True(t, Value("").IsNull())
	assert.True(t, Value("null").IsNull())
	assert.False(t, Value("0").IsNull())
}

// Some services escape letters that need no escape: the member has the same name all the same.
func TestEscapedNames(t *testing.T) {
	for _, text := range []string{`{"\u006eext":1}`, `{"ne\u0078t":1}`, `{"nex\u0074":1}`, `{"\u006e\u0065\u0078\u0074":1}`} {
		assert.Equal(t, "1", string(Value(text).Member("next")), text)
	}
	for _, text := range []string{`{"nex":1}`, `{"nexts":1}`, `{"n\\ext":1}`, `{"\u006dext":1}`, `{"Next":1}`} {
		assert.Empty(t, Value(text).Member("next"), text)
	}
}

// The loops over members and elements may be left early.
func TestLoopsEnd(t *testing.T) {
	for name, member := range Value(`{"a":1,"b":2}`).Members() {
		assert.Equal(t, `"a" 1`, string(name)+" "+string(member))
		break
	}
	for element := range Value(`[1,2]`).Elements() {
		assert.Equal(t, "1", string(element))
		break
	}
}

func TestTimes(t *testing.T) {
	day := noon.Truncate(24 * time.Hour)
	for text, want := range map[string]time.Time{
		`"2024-05-04T10:11:12Z"`: noon, `"2024-05-04T10:11:12.000000Z"`: noon, `"2024-05-04T12:11:12\u002b02:00"`: noon,
		`"2024-05-04 12:11:12+02:00"`: noon, `"2024-05-04T10:11:12"`: noon, `"2024-05-04 10:11:12.500"`: halfPast, `"2024-05-04"`: day,
		`"2024-05-05 10:10:12+23:59"`: noon, `"2024-05-03T10:12:12-23:59"`: noon,
		`"9999-12-31 23:59:59"`: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		`1714817472`:            noon, `1`: time.Unix(1, 0).UTC(), `253402300799`: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	} {
		got := Value(text).Time()
		assert.Equal(t, want, got.UTC(), text)
		_, err := got.MarshalJSON()
		assert.NoError(t, err, text)
	}
	for _, text := range []string{
		`"2024"`, `"20240504"`, `"NaN"`, `"2024-05-04 12:11:12 +0200"`, `"Sat, 04 May 2024 10:11:12 GMT"`, `"2024-13-04T10:11:12Z"`, `"2024-05-04T"`,
		`0`, `-0`, `-5`, `-1714817472`, `1e300`, `1714817472.5`, `1714817472.0`, `1e9`, `1714817472000`, `253402300800`, `18446744073709551617`, `"1714817472"`, `""`, `"."`, `"e"`, `"now"`, `true`, `null`, `["2024-05-04"]`, `"0000-00-00 00:00:00"`,
		`"2024-05-04 10:11:12+24:00"`, `"2024-05-04 10:11:12-24:00"`, `"2024-05-04T10:11:12+24:00"`, `"2024-05-04 10:11:12+23:60"`, `"2024-05-04+02:00"`,
		`"` + strings.Repeat("9", 500) + `"`,
	} {
		assert.Zero(t, Value(text).Time(), text)
	}
	for _, text := range []string{`"2024-05-04 10:11:12"`, `1714817472`} {
		assert.Equal(t, time.UTC, Value(text).Time().Location(), text)
	}
}

func TestBooleans(t *testing.T) {
	for text, want := range map[string]bool{
		`true`: true, `false`: false, `1`: true, `0`: false, `2`: true, `-1`: true, `0.0`: false, `1e-5`: true, `"1"`: true, `"0"`: false, `""`: false, `"true"`: true,
		`"TRUE"`: true, `"false"`: false, `"maybe"`: false, `"\u0074rue"`: true, `1e999`: false, `[true]`: false,
	} {
		assert.Equal(t, want, Value(text).Bool(), text)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]int64{
		`7`: 7, `-7`: -7, `"7"`: 7, `7.0`: 7, `7e2`: 700, `7.5`: 0, `"seven"`: 0, `""`: 0, `true`: 0, `null`: 0, `{}`: 0, `1e300`: 0, `"NaN"`: 0, `"Inf"`: 0,
		`9007199254740991`: 9007199254740991, `9007199254740992`: 0, `-9007199254740992`: 0, `2147483647`: 2147483647, // a float may have been rounded to the second
	} {
		if want > math.MaxInt {
			want = 0
		}
		assert.EqualValues(t, want, Value(text).Int(), text)
	}
}
