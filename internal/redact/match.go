package redact

import (
	"html"
	"strings"
)

const (
	// minKey is the length of the shortest key that is masked.
	minKey = 8
	// maxEscape is the length of the longest escape of one byte: an HTML character reference with leading zeros.
	maxEscape = 10
	// maxSlashes is how many backslashes make an escape at most: JSON within JSON writes one backslash as four.
	maxSlashes = 4
)

// style says how a copy of the key is taken to write those of its bytes that themselves begin escapes. All other bytes
// may be escaped or not. With a style each byte of a text has one reading, so a match costs one pass over the key.
type style struct {
	percent, amp bool // written as %25, as &amp;
	slashes      int  // backslashes for one
}

// matcher looks for a key in one style after the other: in a single one, unless the key has bytes that begin escapes.
type matcher struct {
	key    Key
	styles []style
}

func newMatcher(key Key) matcher {
	m := matcher{key: key}
	has := func(c byte) bool { return strings.IndexByte(string(key), c) >= 0 }
	for _, slashes := range []int{1, 2, maxSlashes} {
		for _, percent := range []bool{false, true} {
			for _, amp := range []bool{false, true} {
				if (slashes == 1 || has('\\')) && (!percent || has('%')) && (!amp || has('&')) {
					m.styles = append(m.styles, style{percent, amp, slashes})
				}
			}
		}
	}
	return m
}

func masked[T string | []byte](text T, key Key) T {
	if len(key) < minKey {
		return text
	}
	m := newMatcher(key)
	first := lower(key[0])
	var out []byte
	kept := 0
	for i := 0; i < len(text); i++ {
		if lower(text[i]) != first && !beginsEscape(text[i]) {
			continue
		}
		if end, _ := match(text, i, &m); end > 0 {
			out = append(append(out, text[kept:i]...), mask...)
			kept, i = end, end-1
		}
	}
	if kept == 0 {
		return text
	}
	return T(append(out, text[kept:]...))
}

// match returns where the copy of the key ends that begins at i, or 0. open is true where the text ends before a copy
// that begins at i could.
func match[T string | []byte](text T, i int, m *matcher) (end int, open bool) {
	for _, s := range m.styles {
		at, k := i, 0
		for next := i; k < len(m.key) && at < len(text); k++ {
			if next = read(text, at, m.key[k], s); next == 0 {
				break
			}
			at = next
		}
		switch {
		case k == len(m.key):
			end = max(end, at)
		case at == len(text), beginsEscape(text[at]) && len(text)-at < maxEscape:
			open = true
		}
	}
	return end, open
}

// read returns where what stands for the key's byte c at i ends, or 0 where something else stands there.
func read[T string | []byte](text T, i int, c byte, s style) int {
	b := text[i]
	if !beginsEscape(b) || b == c && (b == '%' && !s.percent || b == '&' && !s.amp || b == '\\' && s.slashes == 1) {
		if lower(b) == lower(c) {
			return i + 1
		}
		return 0
	}
	end := 0
	switch b {
	case '%':
		if end = i + 3; !hexIs(text, i+1, end, c) {
			return 0
		}
	case '&':
		for end = i + 1; end < len(text) && text[end] != ';'; end++ {
			if end-i == maxEscape {
				return 0
			}
		}
		if end++; end > len(text) || !strings.EqualFold(html.UnescapeString(string(text[i:end])), string(rune(c))) {
			return 0
		}
	case '\\':
		n := i + 1
		for n < len(text) && n < i+maxSlashes && text[n] == '\\' {
			n++
		}
		switch {
		case n < len(text) && text[n] == 'u' && hexIs(text, n+1, n+5, c):
			end = n + 5
		case c == '\\' && n-i >= s.slashes:
			end = i + s.slashes
		case n < len(text) && text[n] == c && strings.IndexByte(`/"'`, c) >= 0:
			end = n + 1
		}
	}
	return end
}

// hexIs reports whether the hexadecimal digits from i to end are the code of c, in upper or lower case.
func hexIs[T string | []byte](text T, i, end int, c byte) bool {
	if end > len(text) {
		return false
	}
	code := 0
	for ; i < end; i++ {
		digit := strings.IndexByte("0123456789abcdef", lower(text[i]))
		if digit < 0 {
			return false
		}
		code = code<<4 | digit
	}
	return code <= 0xff && lower(byte(code)) == lower(c)
}

func beginsEscape(b byte) bool { return b == '%' || b == '&' || b == '\\' }

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
