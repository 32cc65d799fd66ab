package response

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJSONIsWrittenAsPHPDoes(t *testing.T) {
	v := object{
		{"a/b", "ü €😀 \"\\\n\x01\x7f\xff<&>"}, {"n", []any{nil, true, 7, json.Number("9007199254740993")}},
		{"o", object{}},
	}
	assert.Equal(t, `{"a\/b":"\u00fc \u20ac\ud83d\ude00 \"\\\n\u0001`+"\x7f"+`\ufffd<&>",`+
		`"n":[null,true,7,9007199254740993],"o":{}}`, string(phpJSON(v)))
}

func FuzzJSONStrings(f *testing.F) {
	f.Add("a/b \" \\ \x00 \u2028 😀 \xff")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		require.NoError(t, json.Unmarshal(phpJSON(s), &got))
		assert.Equal(t, string([]rune(s)), got)
	})
}
