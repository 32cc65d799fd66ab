// Package names compares texts as the service does, such as the names of records.
package names

import (
	"strings"
	"unicode"
)

// invisible are the characters that Str::trim of Laravel removes in addition to white space: its INVISIBLE_CHARACTERS
// and NUL. Other invisible characters, such as those of flags, belong to a name.
const invisible = "\x00\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180E" +
	"\u200B\u200C\u200D\u200E\u200F\u2060\u2061\u2062\u2063\u2064\u2065\u206A\u206B\u206C\u206D\u206E\u206F" +
	"\u2800\u3164\uFEFF\uFFA0\U0001D159" +
	"\U0001D173\U0001D174\U0001D175\U0001D176\U0001D177\U0001D178\U0001D179\U0001D17A\U000E0020"

// Trim returns a text without the white space and the invisible characters at its ends.
func Trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(invisible, r) })
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Canonical returns the canonical form of a text. The service treats texts with the same canonical form as equal: it
// trims them, and browsers and databases change line breaks.
func Canonical(text string) string { return Trim(lineBreaks.Replace(text)) }
