package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

const (
	plainKey Key = "sk/live-0123456789"
	// oddKey has each character that one escape or another treats in its own way.
	oddKey Key = `sk/Live+01&"<23>'\4567%2F=|~9`
)

// encodings are the ways in which programs write a key that they were sent.
var encodings = map[string]func(string) string{
	"plain":       func(key string) string { return key },
	"JSON of PHP": strings.NewReplacer("/", `\/`).Replace,
	"query":       url.QueryEscape,
	"path":        url.PathEscape,
}

// A service may send the key back, or an error may quote a URL with it; none of it may reach a log.
func TestKeyIsMaskedPlainAndEscaped(t *testing.T) {
	for _, key := range []Key{
		plainKey, oddKey, `%41%42%43%44`, "%25%25%25%25", "1|abcdEFGH0123456789", "live-key_0.1~2",
	} {
		for name, encode := range encodings {
			x := encode(string(key))
			assert.Equal(t, "<[API key]>[API key]", Keys{key}.Text("<"+x+">"+x), "%s of %s", name, string(key))
		}
	}
}

// A new key may hold the old one: its end must not stay behind.
func TestKeysThatHoldOthersAreMaskedWhole(t *testing.T) {
	const old, renewed = Key("live-key-1"), Key("live-key-1/2")
	for _, keys := range []Keys{Keys{}.With(old).With(renewed), Keys{}.With(renewed).With(old).With(renewed).With("")} {
		assert.Len(t, keys, 2)
		assert.Equal(t, "[API key] [API key]", keys.Text("live-key-1 live-key-1%2F2"))
	}
}

// A call that gets a new key for each attempt masks the last two.
func TestLastTwoKeysAreMasked(t *testing.T) {
	first := Keys{}.With("key-number-1")
	second := first.With("key-number-2")
	assert.Equal(t, Keys{"key-number-2", "key-number-3"}, second.With("key-number-3"))
	assert.Equal(t, Keys{"key-number-2", "key-number-4"}, second.With("key-number-4"), "keys are shared and stay")
}

// Text without the key must be left as the service sent it.
func TestTextWithoutKeyStays(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"nothing here":             "nothing here",
		"sk/live-012345678":        "sk/live-012345678",
		"ssk/live-0123456789!":     "s[API key]!",
		`sk\/live-0123456789`:      "[API key]",
		`sk\zlive-0123456789`:      `sk\zlive-0123456789`,
		"sk%2Flive-0123456789%":    "[API key]%",
		"sk%2live-0123456789":      "sk%2live-0123456789",
		`\`:                        `\`,
		"%%%sk/live-0123456789&\\": "%%%[API key]&\\",
		"[API key]":                "[API key]",
	} {
		assert.Equal(t, want, Keys{plainKey}.Text(text), text)
	}
	for short, text := range map[Key]string{"": "text", "a": "a word", "a key o": "a key of seven"} {
		assert.Equal(t, text, Keys{short}.Text(text))
	}
	assert.Equal(t, "[API key]t", Keys{Key("a key of")}.Text("a key oft"))
	assert.Equal(t, "[API key]bcdefga", Keys{Key("abcdefga")}.Text("abcdefgabcdefga"), "copies that overlap")
}

// The service chooses the text that is searched, and must not be able to keep a client busy with it: with time that
// grows with the square of the text, this test would take minutes.
func TestMaskingIsLinear(t *testing.T) {
	for _, key := range []Key{plainKey, oddKey, "%%%%%%%%%%x", `\\\\\x`, "&&&&&&&&&&x", `%\&%\&%\&x`} {
		for _, unit := range []string{"%", "%2", "%25", `\`, `\\u0025`, `\u005c`, "&", "&amp;", "&#37;", `%\&`, "s"} {
			text := strings.Repeat(unit, (1<<18)/len(unit))
			assert.Len(t, Keys{key}.Text(text), len(text), "%s in %s", string(key), unit)
		}
	}
}

func TestHeaderIsMasked(t *testing.T) {
	const key = "Sk-Test-0123456789"
	header := http.Header{"X-Debug": {"key=" + key, "2"}, key: {"1"}, "Plain": nil}
	clean := Keys{Key(key)}.Header(header)
	assert.Equal(t, http.Header{"X-Debug": {"key=[API key]", "2"}, "[API key]": {"1"}}, clean)
	assert.Equal(t, "key="+key, header["X-Debug"][0], "the response itself stays as it was")
}

// A log line that a service can break, blank or turn around hides the truth.
func TestLineIsOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\r\n\tb":                   "a b",
		"  a  b ":                    "a b",
		"a\x00b\x1b[2Jc":             "a b [2Jc",
		"a\u009b2Jb\x7fc":            "a 2Jb c",
		"a\u202eb\u2066c":            "a b c",
		"a\u2028b\u2029c":            "a b c",
		"a\xffb":                     "a\uFFFDb",
		"é日本":                        "é日本",
		"a\u00a0\u3000b":             "a b",
		"with sk\\/live-0123456789!": "with [API key]!",
		strings.Repeat("x", MaxLine): strings.Repeat("x", MaxLine),
		strings.Repeat("é", 600):     strings.Repeat("é", 500) + "…",
		strings.Repeat("x", 985) + " " + "sk/live-0123456789": strings.Repeat("x", 985) + " [API key]",
		strings.Repeat("x", 995) + " " + "sk/live-0123456789": strings.Repeat("x", 995) + " [API…",
	} {
		assert.Equal(t, want, Keys{plainKey}.Line(text))
	}
}

type lateError struct{}

func (lateError) Error() string { return "late" }

// An error that quotes the request is still one to compare with, and shows no key.
func TestErrorsAreMasked(t *testing.T) {
	fine := fmt.Errorf("%s: %w", strings.Repeat("x", MaxLine-5), io.EOF)
	assert.Same(t, fine, Keys{plainKey}.Error(fine), "an error that can be shown is left alone")

	keyed := Keys{plainKey}.Error(fmt.Errorf("with %s: %w", string(plainKey), io.EOF))
	require.EqualError(t, keyed, "with [API key]: EOF")
	require.ErrorIs(t, keyed, io.EOF)
	require.NotErrorIs(t, keyed, io.ErrUnexpectedEOF)
	require.NoError(t, errors.Unwrap(keyed), "the error with the key is not handed out")
	fakes.AssertNoKey(t, keyed, string(plainKey))

	for name, err := range map[string]error{
		"two; lines: late":                 fmt.Errorf("two\nlines: %w", lateError{}),
		"\uFFFD: late":                     fmt.Errorf("\xff: %w", lateError{}),
		strings.Repeat("x", MaxLine) + "…": fmt.Errorf("%s: %w", strings.Repeat("x", MaxLine), lateError{}),
	} {
		clean := Keys{plainKey}.Error(err)
		require.EqualError(t, clean, name)
		var late lateError
		assert.ErrorAs(t, clean, &late, "no key, nothing to hide")
	}
}

// A key must not appear because a value that holds it was printed.
func TestKeyPrintsAsMask(t *testing.T) {
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T%[1]v"} {
		for _, v := range []any{plainKey, []Key{plainKey}, struct{ K Key }{plainKey}} {
			assert.NotContains(t, fmt.Sprintf(format, v), string(plainKey[:7]), format)
		}
	}
	assert.Equal(t, "[API key] [API key] [API key]", fmt.Sprintf("%v %#v %d", plainKey, plainKey, plainKey))
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("call", "key", plainKey)
	assert.Contains(t, log.String(), `key="[API key]"`)
}

func TestShortenCutsNoCharacter(t *testing.T) {
	for _, test := range []struct {
		s     string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"éé", 3, "é…"},
		{"日本", 5, "日…"},
		{"日本", 2, "…"},
		{"\x80\x80\x80\x80\x80\x80\x80\x80", 7, "…"},
	} {
		assert.Equal(t, test.want, Shorten(test.s, test.limit), "%q at %d", test.s, test.limit)
	}
}

func TestQuoteEscapesAndShortens(t *testing.T) {
	assert.Equal(t, `"a\n\"b"`, Quote("a\n\"b"))
	assert.Equal(t, `"`+strings.Repeat("x", 80)+`…"`, Quote(strings.Repeat("x", 81)))
	assert.Equal(t, `"`+strings.Repeat("é", 40)+`…"`, Quote(strings.Repeat("é", 41)))
}

// unprintable reports whether r breaks, blanks or turns a line.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

func FuzzKey(f *testing.F) {
	f.Add(string(plainKey), "<", "key=")
	f.Add("1|abcdEFGH", `\`, "&")
	f.Add(`"<'>/"<'>/`, "%2", "\xff")
	f.Fuzz(func(t *testing.T, k, before, after string) {
		key := Key(k)
		_ = Keys{key}.Line(before)
		if len(key) < MinKey || strings.ContainsFunc(k, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return
		}
		for name, encode := range encodings {
			x := encode(k)
			text := before + x + after
			clean := Keys{key}.Text(text)
			require.NotContains(t, strings.ReplaceAll(clean, mask, "\x00"), x, name)
			if !strings.ContainsAny(k, "[]") { // a key that fits the mask's ends may be completed by them
				require.Equal(t, clean, Keys{key}.Text(clean))
			}
			line := Keys{key}.Line(text)
			require.LessOrEqual(t, len(line), MaxLine+len("…"))
			require.True(t, utf8.ValidString(line))
			require.False(t, strings.ContainsFunc(line, unprintable), "%q", line)
		}
	})
}
