package service

import "strings"

// fold lowers ASCII letters, the only ones whose case a search ignores.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// A pattern is the operand of SQL's LIKE: % is any text, _ any character, and a backslash escapes. Its
// literals are folded.
type pattern []token

type token struct {
	literal rune
	any     bool // any character
	many    bool // any text
}

// containing returns the pattern that a search becomes: the text between two %, as it is. A backslash at its
// end escapes the second.
func containing(search string) pattern {
	p := pattern{}
	escaped := false
	for _, r := range "%" + fold(search) + "%" {
		switch {
		case escaped:
			p = append(p, token{literal: r})
			escaped = false
		case r == '\\':
			escaped = true
		default:
			p = append(p, token{r, r == '_', r == '%'})
		}
	}
	return p
}

// matches reports whether the folded text matches.
func (p pattern) matches(folded string) bool {
	text := []rune(folded)
	at, retry, retryAt := 0, -1, 0
	for i := 0; i < len(text); {
		switch {
		case at < len(p) && p[at].many:
			retry, retryAt = at+1, i
			at++
		case at < len(p) && (p[at].any || p[at].literal == text[i]):
			at++
			i++
		case retry >= 0:
			retryAt++
			at, i = retry, retryAt
		default:
			return false
		}
	}
	for at < len(p) && p[at].many {
		at++
	}
	return at == len(p)
}
