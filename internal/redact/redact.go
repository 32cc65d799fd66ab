// Package redact keeps an API key out of text: response bodies, headers, errors and log lines.
package redact

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxLine is how many bytes of text [Key.Line] keeps. An ellipsis follows where there were more.
	MaxLine = 1000

	mask      = "[API key]"
	minKey    = 8  // the length of the shortest key that is masked
	maxEscape = 10 // the length of the longest escape of one byte: an HTML character reference with leading zeros
)

// Key is an API key. It prints as "[API key]" with every verb of fmt, in JSON and in logs. A struct with an unexported
// field of type Key needs a Format method itself, because fmt calls no methods of such fields. A key of fewer than 8 bytes
// is masked nowhere: it may be a part of ordinary words.
type Key string

// Format writes "[API key]" whatever the verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, mask) }

// MarshalText returns "[API key]".
func (k Key) MarshalText() ([]byte, error) { return []byte(mask), nil }

// Text returns s with each copy of the key replaced by "[API key]", in upper or lower case and with any of its characters
// escaped for URLs, JSON or HTML. Without a copy in it, s itself is returned.
func (k Key) Text(s string) string { return masked(s, k) }

// Bytes is [Key.Text] for bytes. It never changes b.
func (k Key) Bytes(b []byte) []byte { return masked(b, k) }

// CutEnd returns b, a text that was cut off at its end, without a tail in which a copy of the key may have begun.
func (k Key) CutEnd(b []byte) []byte {
	if len(k) < minKey {
		return b
	}
	for i := max(len(b)-maxEscape*len(k), 0); i < len(b); i++ {
		if end, open := match(b, i, k); end == 0 && open {
			return b[:i]
		}
	}
	return b
}

// Header returns a copy of h with masked names and values.
func (k Key) Header(h http.Header) http.Header {
	clean := make(http.Header, len(h))
	for name, values := range h {
		name = k.Text(name)
		for _, value := range values {
			clean[name] = append(clean[name], k.Text(value))
		}
	}
	return clean
}

// Line returns s masked, as one line of valid UTF-8 without control characters or characters that change the
// reading direction, and shortened to [MaxLine].
func (k Key) Line(s string) string {
	s = strings.ToValidUTF8(k.Text(s), string(utf8.RuneError))
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || unprintable(r) })
	return Shorten(strings.Join(words, " "), MaxLine)
}

func unprintable(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// Error returns err where its text is what [Key.Line] makes of it. Otherwise it returns an error with that text, for which
// errors.Is, Timeout and Temporary report what they do for err. Where the text holds the key, the new error does not
// unwrap to err, and reflection does not lead there.
func (k Key) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	line := k.Line(text)
	if line == text {
		return err
	}
	e := &lineError{text: line, is: func(target error) bool { return errors.Is(err, target) }}
	var timeout interface{ Timeout() bool }
	var temporary interface{ Temporary() bool }
	e.timeout = errors.As(err, &timeout) && timeout.Timeout()
	e.temporary = errors.As(err, &temporary) && temporary.Temporary()
	if k.Text(text) == text {
		e.err = err
	}
	return e
}

// lineError stands in for an error whose text must not be shown as it is.
type lineError struct {
	text               string
	err                error            // nil where it holds the key
	is                 func(error) bool // holds the error where reflection does not find it
	timeout, temporary bool
}

func (e *lineError) Error() string        { return e.text }
func (e *lineError) Unwrap() error        { return e.err }
func (e *lineError) Is(target error) bool { return e.is(target) }
func (e *lineError) Timeout() bool        { return e.timeout }
func (e *lineError) Temporary() bool      { return e.temporary }

// Shorten returns s where it has at most limit bytes, else about its first limit bytes, cut between runes, and an ellipsis.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit
	for end > max(limit-utf8.UTFMax, 0) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// Quote returns the first 80 bytes of s as a quoted Go string.
func Quote(s string) string { return strconv.Quote(Shorten(s, 80)) }

func masked[T string | []byte](text T, key Key) T {
	if len(key) < minKey {
		return text
	}
	var out []byte
	kept := 0
	for i := 0; i < len(text); i++ {
		if !same(text[i], key[0]) && !beginsEscape(text[i]) {
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
				n = escape(string(text[at:min(at+maxEscape, len(text))]), key[k])
				open = open || len(text)-at < maxEscape
			}
			if n == 0 && same(text[at], key[k]) {
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
func escape(text string, c byte) int {
	switch text[0] {
	case '%':
		if isHex(text[1:], c) {
			return 3
		}
	case '&':
		n := strings.IndexByte(text, ';') + 1
		if strings.EqualFold(html.UnescapeString(text[:n]), string(rune(c))) {
			return n
		}
	case '\\':
		// JSON within JSON has more than one backslash.
		rest := strings.TrimLeft(text, `\`)
		n := len(text) - len(rest)
		switch {
		case strings.HasPrefix(rest, "u00") && isHex(rest[3:], c):
			return n + 5
		case c == '\\' && n > 1:
			return 2
		case strings.IndexByte(`/"'`, c) >= 0 && strings.HasPrefix(rest, string(rune(c))):
			return n + 1
		}
	}
	return 0
}

// isHex reports whether text begins with the two digits of c's code, in upper or lower case.
func isHex(text string, c byte) bool {
	code, err := strconv.ParseUint(text[:min(2, len(text))], 16, 8)
	return err == nil && len(text) > 1 && same(byte(code), c)
}

func beginsEscape(b byte) bool { return b == '%' || b == '&' || b == '\\' }

// same reports whether a and b are equal, or the same ASCII letter in two cases.
func same(a, b byte) bool { return a == b || a^b == ' ' && 'a' <= a|' ' && a|' ' <= 'z' }
