package aicontent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// decode is what encoding/json makes of a text, numbers as they stand.
func decode(t testing.TB, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return v
}

// rebuild is what the walker makes of a text, in the same form.
func rebuild(v value) any {
	switch {
	case v.isObject():
		members := map[string]any{}
		for key, member := range v.members() {
			members[key.text()] = rebuild(member)
		}
		return members
	case v.isArray():
		elements := []any{}
		for element := range v.elements() {
			elements = append(elements, rebuild(element))
		}
		return elements
	case v.isString():
		return v.text()
	case v.isNull():
		return nil
	case v[0] == 't', v[0] == 'f':
		return v.text() == "true"
	}
	return json.Number(v.text())
}

// The walker must read valid text as encoding/json does, or a record is not what was sent.
func assertWalked(t testing.TB, text []byte) {
	t.Helper()
	want := decode(t, text)
	got := rebuild(text)
	require.Equal(t, fmt.Sprintf("%#v", want), fmt.Sprintf("%#v", got))
	c := cursor{text: text}
	require.Equal(t, string(text), string(c.value()), "skipped")
	object, ok := want.(map[string]any)
	if !ok {
		return
	}
	for key, member := range object {
		quoted, err := json.Marshal(key)
		require.NoError(t, err)
		if utf8.ValidString(key) && !strings.ContainsRune(key, utf8.RuneError) {
			require.Equal(t, fmt.Sprintf("%#v", member), fmt.Sprintf("%#v", rebuild(value(text).member(key))), key)
			require.True(t, value(quoted).is(key))
		}
	}
	require.Nil(t, value(text).member("no such member \x00"))
}

func TestWalkerReadsAsEncodingJSONDoes(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `[ ]`, `{ }`, `null`, `true`, `false`, `0`, `-1.5e+10`, `""`, `"a"`, `"\""`, `"\\"`, `"\\\""`, `"a\\"`, `["\\","\\\\\""]`,
		`{"a":1,"b":[{"c":[]},{}],"d":"}]"}`, "{ \"a\"\t:\r\n1 , \"b\" : [ 1 , 2 ] }", `[1,2,3]`, `[[],[[]],{"a":{}}]`, `{"a":1,"a":2}`, `{"\u0061":1,"a":2}`,
		`"\u00e9\ud83d\udca1\ud83d \udca1\ud83d\ud83d\udca1\uD83D\uDCA1\u0000"`, "\"\xff\xc3\xa9\xe2\x82\"", "{\"\xff\":1}", `"\b\f\n\r\t\/\\"`, `[true,false,null,-0,1E5]`,
		`[` + strings.Repeat("[", 9998) + strings.Repeat("]", 9998) + `]`,
	} {
		require.True(t, json.Valid([]byte(text)))
		assertWalked(t, []byte(text))
	}
}

// Every answer of testdata is walked as encoding/json reads it.
func TestWalkerReadsAnswers(t *testing.T) {
	walked := 0
	for _, body := range everyAnswer(t) {
		if text := trimmed(body); json.Valid(text) {
			assertWalked(t, text)
			walked++
		}
	}
	assert.Greater(t, walked, 100)
}

// everyAnswer is all bodies of testdata, whole HTTP answers excepted.
func everyAnswer(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*")
	require.NoError(t, err)
	var bodies [][]byte
	for _, file := range files {
		if strings.HasPrefix(file, "testdata/fuzz") || strings.HasSuffix(file, ".http") {
			continue
		}
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		bodies = append(bodies, body)
	}
	require.NotEmpty(t, bodies)
	return bodies
}

// What stands around or follows a value is not the value's: a caller who appends to Raw must not write into its neighbour.
func TestValuesEndWhereTheyEnd(t *testing.T) {
	page, err := readPage[Image](&answer{body: []byte(`[{"id":1},{"id":2}]`)}, "images")
	require.NoError(t, err)
	_ = append(page.Items[0].Raw(), "overwritten"...)
	assert.Equal(t, `{"id":2}`, string(page.Items[1].Raw()))
}

func FuzzWalker(f *testing.F) {
	for _, body := range everyAnswer(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		text := trimmed(body)
		if !json.Valid(text) {
			require.Error(t, invalid(text))
			return
		}
		assertWalked(t, text)
	})
}
