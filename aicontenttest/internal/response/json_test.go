package response

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJSONIsWrittenAsPHPDoes(t *testing.T) {
	at := time.Date(2024, 5, 4, 12, 11, 12, 0, time.FixedZone("", 7200))
	v := object{
		{"a/b", "ü €😀 \"\\\n\x01\x7f\xff"}, {"n", []any{nil, true, 7, json.Number("9007199254740993")}},
		{"t", at}, {"o", object{}},
	}
	got := appendJSON(nil, v)
	assert.Equal(t, `{"a\/b":"\u00fc \u20ac\ud83d\ude00 \"\\\n\u0001`+"\x7f"+`\ufffd",`+
		`"n":[null,true,7,9007199254740993],"t":"2024-05-04T10:11:12.000000Z","o":{}}`, string(got))
}

func FuzzJSONStrings(f *testing.F) {
	f.Add("a/b \" \\ \x00 \u2028 😀 \xff")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		require.NoError(t, json.Unmarshal(appendString(nil, s), &got))
		assert.Equal(t, string([]rune(s)), got)
	})
}
