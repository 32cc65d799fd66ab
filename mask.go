package aicontent

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maskedText stands where the service sent the API key back.
	maskedText = "[API key]"
	// shortestMasked is how long a key must be, in bytes: one of a few letters is none to hide, and may well be part
	// of an ordinary word.
	shortestMasked = 8
	// longestEscape is how many backslashes are taken for one escape: JSON within JSON has three of them before a slash.
	longestEscape = 4
)

// masked hides the key wherever a service has sent it back: in upper or lower case, and with any of its
// characters escaped for a URL, JSON or HTML. Text without the key is returned as it is, and not copied.
func masked[T ~string | ~[]byte](text T, key string) T {
	if len(key) < shortestMasked {
		return text
	}
	var out []byte
	kept := 0
	first := lower(key[0])
	for i := 0; i < len(text); i++ {
		if c := text[i]; lower(c) != first && c != '%' && c != '\\' && c != '&' {
			continue
		}
		if end := echo(text, i, key); end > 0 {
			out = append(append(out, text[kept:i]...), maskedText...)
			kept, i = end, end-1
		}
	}
	if kept == 0 {
		return text
	}
	return T(append(out, text[kept:]...))
}

// uncut takes off the end of a text that was cut where the key may have been.
func uncut(text []byte, key string) []byte {
	if len(key) < shortestMasked {
		return text
	}
	// An HTML character reference is the longest escape.
	for i := max(len(text)-10*len(key), 0); i < len(text); i++ {
		if end, open := follow(text, i, key); end == 0 && open {
			return text[:i]
		}
	}
	return text
}

// echo is where the key that begins at i ends, 0 where none begins.
func echo[T ~string | ~[]byte](text T, i int, key string) int {
	end, _ := follow(text, i, key)
	return end
}

// follow is echo that also reports whether the text ends where the key may go on. A key may itself look escaped, so
// all readings are followed at once.
func follow[T ~string | ~[]byte](text T, i int, key string) (end int, open bool) {
	var room, spare [8]int
	at, next := append(room[:0], i), spare[:0]
	for k := range len(key) {
		next = next[:0]
		for _, i := range at {
			next = readings(next, text, i, key[k])
			// An escape may itself be cut, and none is longer than ten bytes.
			open = open || i > len(text)-10 && (i == len(text) || text[i] == '%' || text[i] == '\\' || text[i] == '&')
		}
		if len(next) == 0 {
			return 0, open
		}
		at, next = next, at
	}
	return slices.Max(at), open
}

// readings adds where the character c may end that begins at i.
func readings[T ~string | ~[]byte](ends []int, text T, i int, c byte) []int {
	add := func(end int, matches bool) {
		if matches && !slices.Contains(ends, end) {
			ends = append(ends, end)
		}
	}
	if i >= len(text) {
		return ends
	}
	add(i+1, lower(text[i]) == lower(c))
	switch text[i] {
	case '%':
		add(i+3, coded(text, i+1, i+3, 16, c))
	case '&':
		end := i + 1
		for end < len(text) && end < i+10 && text[end] != ';' {
			end++
		}
		switch name := strings.ToLower(string(text[i+1 : end])); {
		case strings.HasPrefix(name, "#x"):
			add(end+1, coded(text, i+3, end, 16, c))
		case strings.HasPrefix(name, "#"):
			add(end+1, coded(text, i+2, end, 10, c))
		default:
			add(end+1, map[string]byte{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}[name] == c)
		}
	case '\\':
		for n := i + 1; n < len(text) && n <= i+longestEscape; n++ {
			add(n+1, text[n] == c && strings.IndexByte(`/"'\`, c) >= 0)
			add(n+5, text[n] == 'u' && coded(text, n+1, n+5, 16, c))
			if text[n] != '\\' {
				break
			}
		}
	}
	return ends
}

// coded reports whether the digits from i to end are c's code.
func coded[T ~string | ~[]byte](text T, i, end, base int, c byte) bool {
	if i >= end || end > len(text) {
		return false
	}
	code, err := strconv.ParseUint(string(text[i:end]), base, 32)
	return err == nil && code < utf8.RuneSelf && lower(byte(code)) == lower(c)
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// maskedHeader is a copy. A key may have been made a name too, which HTTP writes in letters of another case.
func maskedHeader(header http.Header, key string) http.Header {
	clean := make(http.Header, len(header))
	for name, list := range header {
		name = masked(name, key)
		for _, value := range list {
			clean[name] = append(clean[name], masked(value, key))
		}
	}
	return clean
}

// oneLine puts a text that anyone may have written on one bounded line, without the key and without what would
// move a terminal's cursor or turn the reading direction.
func oneLine(text, key string) string {
	text = strings.ToValidUTF8(masked(text, key), string(utf8.RuneError))
	return shortened(strings.Join(strings.FieldsFunc(text, unprintable), " "), maxSaid)
}

func unprintable(r rune) bool {
	return r <= ' ' || unicode.IsControl(r) || r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Bidi_Control, r)
}

// cleanError stands in for an error whose text cannot be shown as it is.
type cleanError struct {
	text    string
	err     error            // nil where it holds the key
	is      func(error) bool // a closure holds the error, where no reflection finds it
	timeout bool
}

func (e *cleanError) Error() string        { return e.text }
func (e *cleanError) Unwrap() error        { return e.err }
func (e *cleanError) Is(target error) bool { return e.is(target) }
func (e *cleanError) Timeout() bool        { return e.timeout }

// presentable is err where its text is one bounded line without the key, and one that says the same otherwise.
// Of an error that holds the key only errors.Is finds what it is.
func presentable(err error, key string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	hidden := masked(text, key) != text
	if !hidden && len(text) <= maxSaid && !strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && unprintable(r) }) {
		return err
	}
	var late interface{ Timeout() bool }
	clean := &cleanError{
		text:    oneLine(text, key),
		is:      func(target error) bool { return errors.Is(err, target) },
		timeout: errors.As(err, &late) && late.Timeout(),
	}
	if !hidden {
		clean.err = err
	}
	return clean
}
