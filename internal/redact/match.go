package redact

import (
	"encoding/hex"
	"html"
	"strings"
)

const (
	minKey    = 8  // the length of the shortest key that is masked
	maxEscape = 10 // the length of the longest escape of one byte: an HTML character reference with leading zeros
)

func masked[T string | []byte](text T, key Key) T {
	if len(key) < minKey {
		return text
	}
	var out []byte
	kept := 0
	for i := 0; i < len(text); i++ {
		if lower(text[i]) != lower(key[0]) && !beginsEscape(text[i]) {
			continue
		}
		if end, _ := match(text, i, key); end > 0 {
			out = append(append(out, text[kept:i]...), mask...)
			kept, i = end, end-1
		}
	}
	if kept == 0 {
		return text
	}
	return T(append(out, text[kept:]...))
}

// match returns where the longest copy of the key that begins at i ends, or 0. open is true where the text ends before a
// copy that begins there may. A key may look escaped itself, so a copy is read once as it stands and once with escapes;
// each reading is a single pass over the key, which keeps masking linear.
func match[T string | []byte](text T, i int, key Key) (end int, open bool) {
	for _, escaped := range []bool{false, true} {
		at, k := i, 0
		for ; k < len(key) && at < len(text); k++ {
			n := 0
			if escaped && beginsEscape(text[at]) {
				n = escape(text[at:min(at+maxEscape, len(text))], key[k])
				open = open || len(text)-at < maxEscape
			}
			if n == 0 && lower(text[at]) == lower(key[k]) {
				n = 1
			}
			if n == 0 {
				break
			}
			at += n
		}
		if k == len(key) {
			end = max(end, at)
		} else {
			open = open || at == len(text)
		}
	}
	return end, open
}

// escape returns the length of the escape for c that text begins with, or 0.
func escape[T string | []byte](text T, c byte) int {
	switch text[0] {
	case '%':
		if hexIs(text, 1, c) {
			return 3
		}
	case '&':
		n := strings.IndexByte(string(text), ';') + 1
		if strings.EqualFold(html.UnescapeString(string(text[:n])), string(rune(c))) {
			return n
		}
	case '\\':
		// JSON within JSON has more than one backslash.
		n := 1
		for n < len(text) && text[n] == '\\' {
			n++
		}
		switch {
		case strings.HasPrefix(string(text[n:]), "u00") && hexIs(text, n+3, c):
			return n + 5
		case c == '\\' && n > 1:
			return 2
		case n < len(text) && text[n] == c && strings.IndexByte(`/"'`, c) >= 0:
			return n + 1
		}
	}
	return 0
}

// hexIs reports whether the two digits at i are the code of c, in upper or lower case.
func hexIs[T string | []byte](text T, i int, c byte) bool {
	var code [1]byte
	if i+2 > len(text) {
		return false
	}
	_, err := hex.Decode(code[:], []byte(text[i:i+2]))
	return err == nil && lower(code[0]) == lower(c)
}

func beginsEscape(b byte) bool { return b == '%' || b == '&' || b == '\\' }

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
