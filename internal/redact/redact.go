// Package redact keeps an API key out of text: response bodies, headers, errors and log lines.
package redact

import (
	"bytes"
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
	// MaxLine is how many bytes of text [Key.Line] keeps. An ellipsis follows where there were more.
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

// Text returns s with each copy of the key replaced by "[API key]", as it is and in the encodings that programs use.
// Without a copy in it, s itself is returned.
func (k Key) Text(s string) string {
	for _, spelling := range k.spellings(len(s)) {
		s = strings.ReplaceAll(s, spelling, mask)
	}
	return s
}

// Bytes is [Key.Text] for bytes. It never changes b.
func (k Key) Bytes(b []byte) []byte {
	for _, spelling := range k.spellings(len(b)) {
		if bytes.Contains(b, []byte(spelling)) {
			b = bytes.ReplaceAll(b, []byte(spelling), []byte(mask))
		}
	}
	return b
}

// CutEnd returns b, a text that was cut off at its end, without a tail in which a copy of the key may have begun.
func (k Key) CutEnd(b []byte) []byte {
	begun := 0 // bytes of a spelling
	for _, spelling := range k.spellings(math.MaxInt) {
		for n := range spelling {
			if bytes.HasSuffix(b, []byte(spelling[:n])) {
				begun = max(begun, n)
			}
		}
	}
	return b[:len(b)-begun]
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
func (k Key) Header(h http.Header) http.Header {
	asName := Key(http.CanonicalHeaderKey(string(k)))
	clean := make(http.Header, len(h))
	for name, values := range h {
		name = asName.Text(k.Text(name))
		for _, value := range values {
			clean[name] = append(clean[name], k.Text(value))
		}
	}
	return clean
}

// Line returns s masked, as one line of valid UTF-8 without control characters or characters that change the
// reading direction, with one space for each run of white space, and shortened to [MaxLine].
func (k Key) Line(s string) string {
	// Map also replaces what is no UTF-8.
	printable := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, k.Text(s))
	return Shorten(strings.Join(strings.Fields(printable), " "), MaxLine)
}

// Error returns err where its text is what [Key.Line] and [WithoutQueries] make of it, else an error with that text.
// Where the text holds the key, only errors.Is leads to err: the new error does not unwrap to it, nor does reflection.
func (k Key) Error(err error) error {
	text := err.Error()
	line := k.Line(WithoutQueries(text))
	if line == text {
		return err
	}
	e := &lineError{text: line, is: func(target error) bool { return errors.Is(err, target) }}
	if k.Text(text) == text {
		e.err = err
	}
	return e
}

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
