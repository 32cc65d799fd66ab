package response

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// An object keeps the order in which its members are sent.
type object []member

type member struct {
	name  string
	value any
}

// appendJSON writes JSON as PHP does: slashes and everything beyond ASCII are escaped.
func appendJSON(b []byte, value any) []byte {
	switch v := value.(type) {
	case object:
		b = append(b, '{')
		for _, m := range v {
			b = append(appendJSON(b, m.name), ':')
			b = append(appendJSON(b, m.value), ',')
		}
		return append(bytes.TrimSuffix(b, []byte(",")), '}')
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(appendJSON(b, item), ',')
		}
		return append(bytes.TrimSuffix(b, []byte(",")), ']')
	case string:
		return appendString(b, v)
	case time.Time:
		return appendString(b, v.UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic("aicontenttest: a value of an unexpected type")
	}
	return append(b, text...)
}

// shortEscapes are the letters that escape control characters.
var shortEscapes = map[rune]byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '/':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r < utf8.RuneSelf:
			b = append(b, byte(r))
		case shortEscapes[r] != 0:
			b = append(b, '\\', shortEscapes[r])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = appendEscape(appendEscape(b, high), low)
		default:
			b = appendEscape(b, r)
		}
	}
	return append(b, '"')
}

func appendEscape(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
