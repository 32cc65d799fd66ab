package aicontent

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestMasked(t *testing.T) {
	const key = "sk/live-0123456789"
	for text, want := range map[string]string{
		"":                                  "",
		"nothing here":                      "nothing here",
		key:                                 "[API key]",
		"a " + key + " b":                   "a [API key] b",
		key + key:                           "[API key][API key]",
		key[:17]:                            key[:17],
		"s" + key:                           "s[API key]",
		"SK/LIVE-0123456789":                "[API key]",
		`sk\/live-0123456789`:               "[API key]",
		`sk\\\/live-0123456789`:             "[API key]",
		`sk\u002flive-0123456789`:           "[API key]",
		`sk\u002Flive\u002d01234567\u00389`: "[API key]",
		"sk%2Flive-0123456789":              "[API key]",
		"%73k%2flive-0123456789%":           "[API key]%",
		"sk&#47;live-0123456789;":           "[API key];",
		"sk&#x2F;live-012345678&#57;":       "[API key]",
		"sk&#x2F;live-012345678&#58;":       "sk&#x2F;live-012345678&#58;",
		"sk%2live-0123456789":               "sk%2live-0123456789",
		"100%":                              "100%",
		`\`:                                 `\`,
		"&":                                 "&",
		"&#;&#x;&;":                         "&#;&#x;&;",
		"%%%sk/live-0123456789&\\":          "%%%[API key]&\\",
	} {
		assert.Equal(t, want, masked(text, key), text)
		assert.Equal(t, want, string(masked([]byte(text), key)), text)
	}
	// A key that looks escaped itself, plain and escaped once more.
	for _, odd := range []string{`%41%42%43%44`, `\\\\\\\\\\`, `&amp;&amp;`, `\u0041\u0042`, "%25%25%25%25", `a\/b\/c\/d`} {
		assert.Equal(t, "<[API key]>", masked("<"+odd+">", odd), odd)
		for spelling, escape := range echoes {
			assert.NotContains(t, masked("<"+escape(odd)+">", odd), escape(odd), "%s %s", spelling, odd)
		}
	}
	assert.Equal(t, "a key of seven", masked("a key of seven", "a key o"), "a short key is a part of words")
}

// The service decides what is looked through, so that the time must not depend on it.
func TestMaskingTakesNoLongerForHostileText(t *testing.T) {
	key := strings.Repeat("%", 40) + "x"
	for _, unit := range []string{"%", "%2", "%25", `\`, `\\u0025`, "&", "&#37;", "&#x25;", "x"} {
		text := strings.Repeat(unit, (1<<18)/len(unit))
		assert.NotContains(t, masked(text, key), maskedText)
	}
}

func TestUncut(t *testing.T) {
	const key = "sk/live-0123456789"
	for text, want := range map[string]string{
		"":                     "",
		"nothing":              "nothing",
		"a sk/live":            "a ",
		"a s":                  "a ",
		"a sk%2":               "a ",
		`a sk\`:                "a ",
		`a sk\u00`:             "a ",
		"a sk&#4":              "a ",
		"a sk/live-012345678":  "a ",
		"a sk/live-0123456789": "a sk/live-0123456789",
		"a sk/lime":            "a sk/lime",
	} {
		assert.Equal(t, want, string(uncut([]byte(text), key)), text)
	}
	assert.Equal(t, "a sho", string(uncut([]byte("a sho"), "short")))
}

func TestMaskedHeader(t *testing.T) {
	header := http.Header{"X-Debug": {"key=" + aKey, "2"}, http.CanonicalHeaderKey(aKey): {"1"}, "Plain": nil}
	clean := maskedHeader(header, aKey)
	assert.Equal(t, http.Header{"X-Debug": {"key=[API key]", "2"}, "[API key]": {"1"}}, clean)
	assert.Equal(t, "key="+aKey, header["X-Debug"][0], "the answer itself stays as it was")
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\r\n\tb":               "a b",
		"a\x00b\x1b[2Jc":         "a b [2Jc",
		"a\u009b2Jb":             "a 2Jb",
		"a\u202eb\u2066c":        "a b c",
		"a\u2028b\u2029c":        "a b c",
		"a\xffb":                 "a\uFFFDb",
		"é日本":                    "é日本",
		strings.Repeat("é", 600): strings.Repeat("é", 500) + "…",
	} {
		assert.Equal(t, want, oneLine(text, aKey))
	}
}

func TestPresentable(t *testing.T) {
	assert.NoError(t, presentable(nil, aKey))
	plain := fmt.Errorf("plain: %w", io.EOF)
	assert.Same(t, plain, presentable(plain, aKey), "an error that can be shown is left alone")

	keyed := presentable(fmt.Errorf("with %s: %w", aKey, io.EOF), aKey)
	assert.EqualError(t, keyed, "with [API key]: EOF")
	assert.ErrorIs(t, keyed, io.EOF)
	assert.NoError(t, errors.Unwrap(keyed), "what holds the key is not handed out")
	assertNoKey(t, keyed, aKey)

	late := &timeoutError{limit: time.Second}
	lines := presentable(fmt.Errorf("two\nlines: %w", late), aKey)
	assert.EqualError(t, lines, "two lines: "+late.Error())
	var found *timeoutError
	assert.ErrorAs(t, lines, &found)
	assert.True(t, (&TransportError{Err: lines}).Timeout())
	assert.True(t, (&TransportError{Err: presentable(fmt.Errorf("%s: %w", aKey, late), aKey)}).Timeout())
}
