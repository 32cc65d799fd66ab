// Package redact keeps an API key out of text: response bodies, headers, errors and log lines.
package redact

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	// MaxLine is the largest length, in bytes, of a text from [Keys.Line], before the ellipsis of a shortened one.
	MaxLine = 1000

	// MinKey is the length of the shortest key that this package masks. A shorter one may be part of ordinary words.
	MinKey = 8

	mask = "[API key]"
)

// Key is an API key: printable ASCII without spaces. It prints as "[API key]" with every verb of fmt. A struct with an
// unexported field of type Key needs a Format method itself, because fmt cannot call the methods of such fields. A key
// shorter than [MinKey] is not masked.
type Key string

// Format writes "[API key]" whatever the verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, mask) }

// Keys are the keys of a call: one or, after a renewal, the last two. Nil masks nothing.
type Keys []Key

// With returns the last key of ks and k, or ks if k is empty or already among them.
func (ks Keys) With(k Key) Keys {
	if k == "" || slices.Contains(ks, k) {
		return ks
	}
	return append(slices.Clone(ks[max(0, len(ks)-1):]), k)
}

// Text returns s with "[API key]" in place of each copy of a key: plain, escaped in a URL's query or path, or in JSON
// as PHP writes it.
func (ks Keys) Text(s string) string {
	var spellings []string
	for _, k := range ks {
		if key := string(k); len(key) >= MinKey {
			spellings = append(spellings,
				key, url.QueryEscape(key), url.PathEscape(key), strings.ReplaceAll(key, "/", `\/`))
		}
	}
	// The longest first, because one may hold another.
	slices.SortFunc(spellings, func(a, b string) int { return len(b) - len(a) })
	for _, spelling := range spellings {
		s = strings.ReplaceAll(s, spelling, mask)
	}
	return s
}

// Header returns a copy of h with masked names and values.
func (ks Keys) Header(h http.Header) http.Header {
	clean := make(http.Header, len(h))
	for name, values := range h {
		name = ks.Text(name)
		for _, value := range values {
			clean[name] = append(clean[name], ks.Text(value))
		}
	}
	return clean
}

// Line returns s masked and shortened to [MaxLine], as one line of valid UTF-8. One space replaces each run of white
// space, control characters and characters that change the reading direction.
func (ks Keys) Line(s string) string {
	// Map also replaces invalid UTF-8.
	printable := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, ks.Text(s))
	return Shorten(strings.Join(strings.Fields(printable), " "), MaxLine)
}

// Line is [Keys.Line] without a key.
func Line(s string) string { return Keys(nil).Line(s) }

// Error returns err if [Keys.Line] and [WithoutQueries] do not change its text, else an error with the changed text.
// The new error matches the same targets of errors.Is. It unwraps to err unless the text of err holds a key.
func (ks Keys) Error(err error) error {
	text := err.Error()
	line := ks.Line(WithoutQueries(lineBreaks.Replace(text)))
	if line == text {
		return err
	}
	e := &lineError{text: line, is: func(target error) bool { return errors.Is(err, target) }}
	if ks.Text(text) == text {
		e.err = err
	}
	return e
}

// Joined errors have a text of several lines.
var lineBreaks = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\r", "; ")

// WithoutQueries returns text without the queries of URLs. They may hold personal data or a signature.
func WithoutQueries(text string) string { return queries.ReplaceAllString(text, "$1") }

var queries = regexp.MustCompile(`(://[^\s"'?]*)\?(?:[^\s"']*[^\s"':;,)])?`)

// lineError replaces an error whose text must not be shown.
type lineError struct {
	text string
	err  error            // nil if its text holds a key
	is   func(error) bool // errors.Is of the error; a closure, so that fmt does not print the error
}

func (e *lineError) Error() string        { return e.text }
func (e *lineError) Unwrap() error        { return e.err }
func (e *lineError) Is(target error) bool { return e.is(target) }

// Shorten returns s if it has at most limit bytes. Otherwise it cuts s between two runes and adds an ellipsis.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Quote returns the first 80 bytes of s as a quoted Go string.
func Quote(s string) string { return strconv.Quote(Shorten(s, 80)) }
