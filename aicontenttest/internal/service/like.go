package service

import (
	"regexp"
	"strings"
)

// fold lowers ASCII letters, the only ones whose case a search ignores.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// like returns an expression that matches folded text as SQL's LIKE does with the search between two %: % is any text,
// _ any character, and a backslash escapes. A backslash at the end escapes the second %.
func like(search string) *regexp.Regexp {
	expression, escaped := "(?s)", false
	for _, r := range fold(search) {
		switch {
		case !escaped && r == '\\':
			escaped = true
			continue
		case !escaped && r == '%':
			expression += ".*"
		case !escaped && r == '_':
			expression += "."
		default:
			expression += regexp.QuoteMeta(string(r))
		}
		escaped = false
	}
	if escaped {
		expression += "%$"
	}
	return regexp.MustCompile(expression)
}
