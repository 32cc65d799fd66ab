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
	lastDay  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// decode returns the value that encoding/json reads, numbers as they stand.
func decode(t testing.TB, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return v
}

// rebuild returns the value that the package reads, in the same form.
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

// Valid JSON must be read as encoding/json reads it, or a record is not the one that was sent.
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
		`{}`, `[]`, `[ ]`, `{ }`, `null`, `true`, `false`, `0`, `-1.5e+10`, `""`, `"a"`, `"\""`, `"\\"`, `"\\\""`,
		`"a\\"`, `["\\","\\\\\""]`, `{"a":1,"b":[{"c":[]},{}],"d":"}]"}`, `[{"a":"}]"},["]}","\"]"],{"{[":"[{"}]`,
		"{ \"a\"\t:\r\n1 , \"b\" : [ 1 , 2 ] }", `[1,2,3]`, `[[],[[]],{"a":{}}]`, `{"a":1,"a":2}`,
		`{"\u0061":1,"a":2}`, `"\u00e9\ud83d\udca1\ud83d \udca1\ud83d\ud83d\udca1\uD83D\uDCA1\u0000"`,
		"\"\xff\xc3\xa9\xe2\x82\"", "\"\xff\\n\xff\"", "{\"\xff\":1}", `"\b\f\n\r\t\/\\"`,
		`[true,false,null,-0,1E5]`,
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

// An optional member that was not sent is a missing value.
func TestMissingValuesAreZero(t *testing.T) {
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
func TestNamesMayBeEscaped(t *testing.T) {
	for _, text := range []string{
		`{"\u006eext":1}`, `{"ne\u0078t":1}`, `{"nex\u0074":1}`, `{"\u006e\u0065\u0078\u0074":1}`,
	} {
		assert.Equal(t, "1", string(Value(text).Member("next")), text)
	}
	for _, text := range []string{`{"nex":1}`, `{"nexts":1}`, `{"n\\ext":1}`, `{"\u006dext":1}`, `{"Next":1}`} {
		assert.Empty(t, Value(text).Member("next"), text)
	}
}

// The loops over members and elements may be left early.
func TestLoopsMayBeLeftEarly(t *testing.T) {
	for name, member := range Value(`{"a":1,"b":2}`).Members() {
		assert.Equal(t, `"a" 1`, string(name)+" "+string(member))
		break
	}
	for element := range Value(`[1,2]`).Elements() {
		assert.Equal(t, "1", string(element))
		break
	}
}

// A time that is read wrong makes a record look older than it is, and programs delete old records.
func TestTimesOfEveryFormatAreReadRightOrNotAtAll(t *testing.T) {
	day := noon.Truncate(24 * time.Hour)
	for want, texts := range map[time.Time][]string{
		noon: {
			// RFC 3339 and ISO 8601, as JavaScript, Python, PHP and Go write them.
			`"2024-05-04T10:11:12Z"`, `"2024-05-04T10:11:12.000000Z"`, `"2024-05-04T12:11:12\u002b02:00"`,
			`"2024-05-04 12:11:12+02:00"`, `"2024-05-04T10:11:12"`, `"2024-05-05 10:10:12+23:59"`,
			`"2024-05-03T10:12:12-23:59"`, `"2024-05-04T10:11:12+0000"`, `"2024-05-04T12:11:12+0200"`,
			`"2024-05-04T10:11:12+00"`, `"2024-05-04T10:11:12z"`, `"+2024-05-04T10:11:12+00:00"`,
			`"2024-05-04T10:11:12 Z"`, `"20240504T101112Z"`, `"20240504T121112+0200"`, `" 2024-05-04T10:11:12+0000 "`,
			`"2024-05-04 12:11:12 +0200"`, `"2024-05-04 10:11:12 +0000 UTC"`, `"2024-05-04 10:11:12 UTC"`,
			`"2024-05-04 06:11:12 EDT"`,
			// PostgreSQL.
			`"2024-05-04 15:41:12+05:30"`, `"2024-05-04 10:30:40+00:19:28"`, `"2024-05-04 06:41:12-03:30"`,
			// HTTP, mail, PHP's constants, JavaScript's toString and toUTCString, C's ctime.
			`"Sat, 04 May 2024 10:11:12 GMT"`, `"Sat, 4 May 2024 12:11:12 +0200"`, `"Saturday, 04-May-24 10:11:12 GMT"`,
			`"Saturday, 04-May-2024 10:11:12 UTC"`, `"Sat, 04 May 24 10:11:12 +0000"`, `"04 May 2024 10:11:12 GMT"`,
			`"Sat, 04 May 2024 05:11:12 CDT"`, `"Sat May  4 10:11:12 2024"`, `"Sat May 04 2024 10:11:12 GMT+0000"`,
			`"Sat May 04 2024 12:11:12 GMT+0200 (Central European Summer Time)"`, `"sat, 04 may 2024 10:11:12 gmt"`,
			// A DateTime of PHP.
			`{"date":"2024-05-04 10:11:12.000000","timezone_type":3,"timezone":"UTC"}`,
			`{"date":"2024-05-04 12:11:12.000000","timezone_type":1,"timezone":"+02:00"}`,
			`{"date":"2024-05-04 06:11:12","timezone_type":2,"timezone":"EDT"}`,
			`{"date":"2024-05-04 10:11:12.000000"}`, `{"date":"2024-05-04 10:11:12.000000","timezone":"Z"}`,
			// Numbers.
			`1714817472`, `"1714817472"`, `1714817472.0`, `1.714817472e9`, `1.714817472E+9`, `1714817472000`,
			`20240504101112`, `"20240504101112"`,
		},
		halfPast: {
			`"2024-05-04T10:11:12.500Z"`, `"2024-05-04 10:11:12.500"`, `"2024-05-04T03:11:12.5-07"`,
			`"Sat May 04 10:11:12.500 2024 UTC"`, `1714817472.5`, `"1714817472.500000"`, `"1714817472500"`,
			`1.7148174725e12`,
			`{"date":"2024-05-04 12:11:12.500000","timezone_type":3,"timezone":"Europe\/Berlin"}`,
		},
		noon.Add(123456 * time.Microsecond): {
			`"2024-05-04T10:11:12.123456+00:00"`, `"2024-05-04T10:11:12,123456"`, `"2024-05-04 10:11:12.123456+00"`,
			`1714817472123.456`, `1714817472123456`, `1714817472123456000`,
		},
		noon.Truncate(time.Minute): {`"2024-05-04T10:11"`, `"2024-05-04 10:11Z"`},
		day:                        {`"2024-05-04"`, `20240504`, `"20240504"`},
		lastDay:                    {`"9999-12-31 23:59:59"`, `253402300799`},
		time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC): {`946684800000`},
		time.Unix(99999999, 0).UTC():                {`99999999`},
		time.Unix(1, 0).UTC():                       {`1`},
	} {
		for _, text := range texts {
			got := Value(text).Time()
			assert.Equal(t, want, got.UTC(), text)
			_, err := got.MarshalJSON()
			assert.NoError(t, err, text)
		}
	}
	for _, text := range []string{
		`"2024"`, `"NaN"`, `"Inf"`, `"2024-13-04T10:11:12Z"`, `"2024-05-04T"`, `"2024-05"`, `"12345678"`, `"99991231"`,
		`"1"`, `"20240504.5"`, `0`, `-0`, `0.0`, `"0"`, `-5`, `-1714817472`, `"-1714817472"`, `"+1714817472"`, `1e300`,
		`-1e9`, `17148174720000`, `171481747200000`, `17148174720000000`, `18446744073709551617`, `""`, `"."`, `"e"`,
		`"now"`, `true`, `null`, `["2024-05-04"]`, `"0000-00-00 00:00:00"`, `"2024-05-04 10:11:12+24:00"`,
		`"2024-05-04 10:11:12-24:00"`, `"2024-05-04T10:11:12+24:00"`, `"2024-05-04 10:11:12+23:60"`,
		`"2024-05-04+02:00"`, `"2024-05-04T10:11:12+2"`, `"2024-05-04T10:11:12+0260"`,
		`"2024-05-04 10:11:12 +0000 EST"`, `"2024-05-04 10:11:12 GMT+24:00"`, `"2024-05-04 10:11:12 +0000 +0000"`,
		// The zone or the order of day and month could be another one.
		`"2024-05-04 10:11:12 CET"`, `"2024-05-04 10:11:12 IST"`, `"2024-05-04 10:11:12 CEST"`,
		`"2024-05-04 10:11:12 Europe/Berlin"`, `"2024-05-04 10:11:12 AM"`, `"04/05/2024 10:11:12"`,
		`"5/4/2024, 10:11:12 AM"`, `"04.05.2024 10:11:12"`, `"05-04-2024"`,
		`"infinity"`, `"May 2024"`, `"Sat, 04 May"`, `"24:00"`, `"2024-02-30 10:11:12"`, `"2024-05-04T25:11:12Z"`,
		`{}`, `{"timezone":"UTC"}`, `{"date":"yesterday","timezone":"UTC"}`, `{"date":1714817472,"timezone":"UTC"}`,
		`{"date":"2024-05-04 10:11:12","timezone":"CEST"}`, `{"date":"2024-05-04 10:11:12","timezone":"Local"}`,
		`{"date":"2024-05-04 10:11:12","timezone":"Mars\/Olympus"}`,
		`{"date":"2024-05-04 10:11:12","timezone":"..\/..\/etc\/passwd"}`,
		`{"date":"2024-05-04 10:11:12","timezone":"+24:00"}`,
		`"` + strings.Repeat("9", 500) + `"`, `"` + strings.Repeat("2024-05-04 ", 50) + `"`,
	} {
		assert.Zero(t, Value(text).Time(), text)
	}
	for _, text := range []string{
		`"2024-05-04 10:11:12"`, `1714817472`, `"2024-05-04T10:11:12+0000"`, `"Sat, 04 May 2024 10:11:12 GMT"`,
	} {
		assert.Equal(t, time.UTC, Value(text).Time().Location(), text)
	}
}

// Whatever a service sends as a time, it is read as one that can be written again, or not at all.
func FuzzTime(f *testing.F) {
	for _, text := range []string{
		"2024-05-04T10:11:12Z", "2024-05-04 10:11:12.5+00", "Sat, 04 May 2024 10:11:12 GMT",
		"Sat May 04 2024 12:11:12 GMT+0200 (CEST)", "Saturday, 04-May-24 10:11:12 EST", "1714817472.5",
		"20240504101112", "+2024-05-04T10:11:12-23:59:59", "Sat May  4 10:11:12 2024",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		read := Value(quoted).Time()
		if read.IsZero() {
			return
		}
		written, err := read.MarshalJSON()
		require.NoError(t, err)
		require.True(t, Value(written).Time().Equal(read), "%s %s", read, written)
	})
}

func TestIDsThatAreWholeNumbersKeepEachDigit(t *testing.T) {
	for want, texts := range map[string][]string{
		"7":                      {`7`, `7.0`, `7.00`, `70e-1`, `0.7e1`},
		"-7":                     {`-7.0`},
		"0":                      {`0.0`, `-0.0`, `0e9`},
		"12":                     {`1200e-2`},
		"100":                    {`1e2`, `100.0`},
		"690000000000000":        {`6.9e+14`, `6.9E14`},
		"9007199254740993":       {`9007199254740993`, `9007199254740993.0`},
		"18446744073709551617":   {`18446744073709551617.0`},
		"12345678901234567890":   {`1.2345678901234567890e19`},
		"7.5":                    {`7.5`},
		"7.0":                    {`"7.0"`},
		"0007":                   {`"0007"`},
		"6.9e+14":                {`"6.9e+14"`},
		"6.95e1":                 {`6.95e1`},
		"1e-3":                   {`1e-3`},
		"1e300":                  {`1e300`},
		"1e99999999999999999999": {`1e99999999999999999999`},
		"true":                   {`true`},
		"":                       {`null`},
	} {
		for _, text := range texts {
			assert.Equal(t, want, Value(text).ID(), text)
		}
	}
}

func TestBooleansAreReadFromNumbersAndWords(t *testing.T) {
	for want, texts := range map[bool][]string{
		true:  {`true`, `1`, `2`, `-1`, `1e-5`, `"1"`, `"true"`, `"TRUE"`, `"\u0074rue"`},
		false: {`false`, `0`, `0.0`, `1e999`, `"0"`, `""`, `"false"`, `"maybe"`, `[true]`},
	} {
		for _, text := range texts {
			assert.Equal(t, want, Value(text).Bool(), text)
		}
	}
}

func TestNumbersThatAreNotExactAreZero(t *testing.T) {
	for want, texts := range map[int64][]string{
		7:                {`7`, `"7"`, `7.0`},
		-7:               {`-7`},
		700:              {`7e2`},
		2147483647:       {`2147483647`},
		9007199254740991: {`9007199254740991`},
		0: {
			`7.5`, `"seven"`, `""`, `true`, `null`, `{}`, `1e300`, `"NaN"`, `"Inf"`,
			`9007199254740992`, `-9007199254740992`, // a float may have been rounded to these
		},
	} {
		if want > math.MaxInt {
			want = 0
		}
		for _, text := range texts {
			assert.EqualValues(t, want, Value(text).Int(), text)
		}
	}
}
