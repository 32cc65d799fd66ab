// Package names compares texts as the service does, such as the names of records.
package names

import (
	"errors"
	"strings"
	"unicode"
)

// ErrMissing is the error of a search whose list has a record without a name or an ID. Such a list proves nothing.
var ErrMissing = errors.New("the list has a record without a name or an ID")

// invisible are the characters that Laravel's Str::trim removes in addition to white space, and all others of their
// Unicode classes.
var invisible = []*unicode.RangeTable{
	unicode.Cf,
	unicode.Other_Default_Ignorable_Code_Point,
	unicode.Variation_Selector,
	{
		R16: []unicode.Range16{{Lo: 0, Hi: 0, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1}}, // braille blank
		R32: []unicode.Range32{{Lo: 0x1D159, Hi: 0x1D159, Stride: 1}},                          // musical null notehead
	},
}

// Trim returns a text without the white space and the invisible characters at its ends.
func Trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, invisible...) })
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Canonical returns the canonical form of a text. The service treats texts with the same canonical form as equal: it
// trims them, and browsers and databases change line breaks.
func Canonical(text string) string { return Trim(lineBreaks.Replace(text)) }
