package service

import (
	"net/url"
	"strings"
)

// ParseURLEncoded reads a query or form as PHP does: it takes everything, ; is an ordinary character, and a %
// that begins no escape stands for itself.
func ParseURLEncoded(s string) url.Values {
	values := url.Values{}
	for pair := range strings.SplitSeq(s, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name = unescape(name); name != "" {
			values.Add(name, unescape(value))
		}
	}
	return values
}

func unescape(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b = append(b, ' ')
		case isEscape(s[i:]):
			b = append(b, hexDigit(s[i+1])<<4|hexDigit(s[i+2]))
			i += 2
		default:
			b = append(b, s[i])
		}
	}
	return string(b)
}

// wellFormed reports whether each % begins an escape.
func wellFormed(s string) bool {
	for i := range len(s) {
		if s[i] == '%' && !isEscape(s[i:]) {
			return false
		}
	}
	return true
}

// isEscape reports whether s begins with an escape.
func isEscape(s string) bool {
	return len(s) > 2 && s[0] == '%' && isHex(s[1]) && isHex(s[2])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func hexDigit(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}
