//go:build !go1.27

package lenient

import (
	"encoding/json"
	"slices"
)

// valid reports what json.Valid does, which before Go 1.27 spends most of its time on the text in strings. It is given the strings without
// their text but for the escapes.
func valid(text []byte) bool {
	var room [512]byte
	rest := slices.Grow(room[:0], len(text)/4)
	for i := 0; i < len(text); i++ {
		rest = append(rest, text[i])
		if text[i] != '"' {
			continue
		}
		for i++; i < len(text) && text[i] != '"'; i++ {
			switch c := text[i]; {
			case c < ' ':
				return false
			case c == '\\':
				escape := text[i:min(i+len(`\u000a`), len(text))]
				if len(escape) > 1 && escape[1] != 'u' {
					escape = escape[:2]
				}
				rest = append(rest, escape...)
				i += len(escape) - 1
			}
		}
		if i >= len(text) {
			return false
		}
		rest = append(rest, '"')
	}
	return json.Valid(rest)
}
