// Package redact keeps an API key out of text: response bodies, headers, errors and log lines.
package redact

import (
	"errors"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	// MaxLine is how many bytes of text [Keys.Line] keeps. An ellipsis follows where there were more.
	MaxLine = 1000

	// MinKey is the length of the shortest key that is masked: a shorter one may be a part of ordinary words.
	MinKey = 8

	mask = "[API key]"
)

// Key is an API key: printable ASCII without spaces. It prints as "[API key]" with every verb of fmt, in JSON and in
// logs. A struct with an unexported field of type Key needs a Format method itself, because fmt calls no methods of
// such fields. A key of fewer than 8 bytes is masked nowhere: it may be a part of ordinary words.
type Key string

// Format writes "[API key]" whatever the verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, mask) }

// MarshalText returns "[API key]".
func (k Key) MarshalText() ([]byte, error) { return []byte(mask), nil }

// Keys are the keys of a call: one, or several after a renewal. Nil masks nothing.
type Keys []Key

// With returns the keys with another one, unless it is empty or among them.
func (ks Keys) With(k Key) Keys {
	if k == "" || slices.Contains(ks, k) {
		return ks
	}
	return append(slices.Clip(ks), k)
}

// Text returns s with each copy of a key replaced by "[API key]", as it is and in the encodings that programs use.
// Without a copy in it, s itself is returned.
func (ks Keys) Text(s string) string {
	for _, k := range ks {
		for _, spelling := range k.spellings(len(s)) {
			s = strings.ReplaceAll(s, spelling, mask)
		}
	}
	return s
}

// CutEnd returns s, a text that was cut off at its end, without a tail in which a copy of a key may have begun.
func (ks Keys) CutEnd(s string) string {
	begun := 0 // bytes of a spelling
	for _, k := range ks {
		for _, spelling := range k.spellings(math.MaxInt) {
			for n := range spelling {
				if strings.HasSuffix(s, spelling[:n]) {
					begun = max(begun, n)
				}
			}
		}
	}
	return s[:len(s)-begun]
}

var (
	// Text in JSON, as encoding/json writes it, with and without what protects HTML.
	jsonText     = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	jsonHTML     = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)
	jsonHTMLCaps = strings.NewReplacer("<", `\u003C`, ">", `\u003E`, "&", `\u0026`)
	// PHP's htmlspecialchars has other names for quotes than package html.
	htmlQuotes = strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#039;")
)

// spellings returns the ways in which programs write the key, as far as they fit in a text of the given length. The
// longest is the first, as one may begin with another.
func (k Key) spellings(length int) []string {
	key := string(k)
	if len(key) < MinKey || len(key) > length {
		return nil
	}
	// Hosts are compared in lower case.
	list := []string{key, strings.ToLower(key)}
	query, path := url.QueryEscape(key), url.PathEscape(key)
	if query == key {
		return list // no encoding has anything to escape
	}
	inJSON, inHTML := jsonText.Replace(key), html.EscapeString(key)
	list = append(list,
		inJSON, jsonHTML.Replace(inJSON), jsonHTMLCaps.Replace(inJSON), strings.ReplaceAll(inJSON, "/", `\/`),
		query, escapes.ReplaceAllStringFunc(query, strings.ToLower),
		path, escapes.ReplaceAllStringFunc(path, strings.ToLower),
		inHTML, htmlQuotes.Replace(inHTML),
	)
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// escapes are those of URLs, whose letters may be small.
var escapes = regexp.MustCompile("%..")

// Header returns a copy of h with masked names and values.
func (ks Keys) Header(h http.Header) http.Header {
	var names Keys // as header names
	for _, k := range ks {
		names = names.With(k).With(Key(http.CanonicalHeaderKey(string(k))))
	}
	clean := make(http.Header, len(h))
	for name, values := range h {
		name = names.Text(name)
		for _, value := range values {
			clean[name] = append(clean[name], ks.Text(value))
		}
	}
	return clean
}

// Line returns s masked, as one line of valid UTF-8 without control characters or characters that change the
// reading direction, with one space for each run of white space, and shortened to [MaxLine].
func (ks Keys) Line(s string) string {
	// Map also replaces what is no UTF-8.
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

// Error returns err if [Keys.Line] and [WithoutQueries] leave its text as it is, else an error with the clean text. If
// the text holds a key, only errors.Is leads to err: the new error does not unwrap to it, nor does reflection find it.
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

// Errors on several lines, such as joined ones, are separated by semicolons on one.
var lineBreaks = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\r", "; ")

// WithoutQueries returns text with URLs that end before their queries, which may be personal or signed.
func WithoutQueries(text string) string { return queries.ReplaceAllString(text, "$1") }

var queries = regexp.MustCompile(`(://[^\s"'?]*)\?(?:[^\s"']*[^\s"':;,)])?`)

// lineError stands in for an error whose text must not be shown as it is.
type lineError struct {
	text string
	err  error            // nil where it holds the key
	is   func(error) bool // holds the error where reflection does not find it
}

func (e *lineError) Error() string        { return e.text }
func (e *lineError) Unwrap() error        { return e.err }
func (e *lineError) Is(target error) bool { return e.is(target) }

// Shorten returns s where it has at most limit bytes, else about its first limit bytes, cut between runes, and an
// ellipsis.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Quote returns the first 80 bytes of s as a quoted Go string.
func Quote(s string) string { return strconv.Quote(Shorten(s, 80)) }
