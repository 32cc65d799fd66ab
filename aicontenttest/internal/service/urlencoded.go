package service

import (
	"net/url"
	"strconv"
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
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b = append(b, ' ')
		case isEscape(s[i:]):
			c, _ := strconv.ParseUint(s[i+1:i+3], 16, 8)
			b = append(b, byte(c))
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
	if len(s) < 3 || s[0] != '%' {
		return false
	}
	_, err := strconv.ParseUint(s[1:3], 16, 8)
	return err == nil
}
