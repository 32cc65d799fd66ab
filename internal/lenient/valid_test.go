package lenient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Text that is taken for JSON and is none would make the methods of Value panic.
func TestValidIsThatOfEncodingJSON(t *testing.T) {
	texts := []string{
		``, `0`, `-0`, `00`, `01`, `-`, `-01`, `1.`, `1.5`, `.5`, `1e`, `1e5`, `1E+5`, `1e-`, `1e+07`, `-12.5e-3`, `1x`, `0x1`, `+1`,
		`"`, `"a`, `"a"`, `"\"`, `"\""`, `"\\"`, `"\u00e4"`, `"\u00eg"`, `"\u12"`, `"\uABcd"`, `"\x"`, "\"\n\"", "\"\x7f\xff\"", `"a"b`, "\"\\\x00\"",
		`true`, `tru`, `truest`, `false`, `fals`, `null`, `nul`, `nil`, `t`, `True`,
		`{}`, `{ }`, `{`, `}`, `{"a"}`, `{"a":}`, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a" : 1 , "b" :[ ] }`, `{"a":1 "b":2}`, `{1:2}`, `{"a":1]`, `{"a" 1}`, `{"a":1}}`,
		`[]`, `[ ]`, `[`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `[1,2]`, `[[],{},[1]]`, `[}`, `[1}`, "[\v1]", "[1\x00]", "\x00", `[1]]`, "[\u00a01]",
	}
	for _, depth := range []int{9_999, 10_000, 10_001} {
		texts = append(texts, strings.Repeat("[", depth)+strings.Repeat("]", depth), strings.Repeat("[", depth)+"1"+strings.Repeat("]", depth),
			strings.Repeat(`{"a":`, depth)+"{}"+strings.Repeat("}", depth), strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth))
	}
	files, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts = append(texts, string(Trim(text)))
	}
	for _, text := range texts {
		assert.Equal(t, json.Valid([]byte(text)), valid([]byte(text)), "%.80q of %d bytes", text, len(text))
	}
	// Cut off anywhere, and with any byte changed.
	whole := []byte(`{"a":[1,-2.5e+3,"b\u00e4\n",true,false,null,{"c":{}}],"d":""}`)
	require.True(t, valid(whole))
	for i := range whole {
		assert.False(t, valid(whole[:i]), "%s", whole[:i])
		for _, c := range []byte("\"\\{}[],:0eE-+.tn\x00\xff x") {
			changed := append([]byte(nil), whole...)
			changed[i] = c
			assert.Equal(t, json.Valid(changed), valid(changed), "%s", changed)
		}
	}
}

func FuzzValid(f *testing.F) {
	f.Add([]byte(`{"a":[1,-2.5e+3,"b\u00e4\n",true,false,null,{"c":{}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if text = Trim(text); valid(text) != json.Valid(text) {
			t.Errorf("%q", text)
		}
	})
}
