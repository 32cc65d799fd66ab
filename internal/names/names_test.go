package names

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
)

// laravel are the INVISIBLE_CHARACTERS of Illuminate\Support\Str, and the characters that its trim removes besides them
// and the \s of a regular expression, as first and last ones of each range.
var laravel = [][2]rune{
	{0x0000, 0x0000}, {0x0009, 0x000D}, {0x0020, 0x0020}, {0x00A0, 0x00A0}, {0x00AD, 0x00AD}, {0x034F, 0x034F},
	{0x061C, 0x061C}, {0x115F, 0x1160}, {0x17B4, 0x17B5}, {0x180E, 0x180E}, {0x2000, 0x200F}, {0x202F, 0x202F},
	{0x205F, 0x2065}, {0x206A, 0x206F}, {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164}, {0xFEFF, 0xFEFF},
	{0xFFA0, 0xFFA0}, {0x1D159, 0x1D159}, {0x1D173, 0x1D17A}, {0xE0020, 0xE0020},
}

// \s is White_Space in a regular expression with the modifier u. A character that Laravel keeps tells two names apart.
func TestNoOtherCharactersThanThoseOfLaravelAndWhiteSpaceAreTrimmed(t *testing.T) {
	t.Parallel()
	for c := rune(0); c <= unicode.MaxRune; c++ {
		trimmed := unicode.Is(unicode.White_Space, c)
		for _, characters := range laravel {
			trimmed = trimmed || characters[0] <= c && c <= characters[1]
		}
		if trimmed != (Canonical("a"+string(c)) == "a") {
			t.Errorf("%U: trimmed %t", c, !trimmed)
		}
	}
}

func TestCanonicalNameHasNoInvisibleEndsAndOneKindOfBreak(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"nothing":                                {"", ""},
		"white space":                            {" \t\r\n", ""},
		"invisible characters alone":             {"\u200b\ufeff\u2060\u00ad\x00\u2800", ""},
		"a name as it is":                        {"Lighthouse 4", "Lighthouse 4"},
		"a zero width space at an end":           {"a\u200b", "a"},
		"a byte order mark":                      {"\ufeffa", "a"},
		"invisible characters among white space": {"\u200b \ufeff\na\u2060 \u200d\r\n", "a"},
		"invisible characters inside":            {"a\u200bb \u00adc", "a\u200bb \u00adc"},
		"a joined emoji":                         {"\U0001F469\u200D\U0001F4BB", "\U0001F469\u200D\U0001F4BB"},
		"line breaks":                            {"a\r\nb\rc\nd\n\re", "a\nb\nc\nd\n\ne"},
		"case and forms of letters":              {"\u00c9 e\u0301", "\u00c9 e\u0301"},
		"bytes that are not UTF-8":               {"\xffa\xff ", "\xffa\xff"},
		"visible signs":                          {".a\u0301", ".a\u0301"},
		"a flag of tag characters": {
			"\U0001F3F4\U000E0067\U000E0062\U000E007F", "\U0001F3F4\U000E0067\U000E0062\U000E007F",
		},
	} {
		assert.Equal(t, row.want, Canonical(row.text), name)
		assert.Equal(t, row.want, Canonical(Canonical(row.text)), name)
	}
}

func TestTrimKeepsLineBreaksAsTheyAre(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a\r\nb", Trim("\r\n\u200ba\r\nb\ufeff\r\n"))
}
