// Package redact keeps an API key out of text: response bodies, headers, errors and log lines.
package redact

import (
	"errors"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/url"
	"reflect"
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

// Key is an API key: printable ASCII without spaces. It prints as "[API key]" with every verb of fmt, in JSON and in
// logs. A struct with an unexported field of type Key needs a Format method itself, because fmt cannot call the methods
// of such fields. A key shorter than [MinKey] is not masked.
type Key string

// Format writes "[API key]" whatever the verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, mask) }

// MarshalText returns "[API key]".
func (k Key) MarshalText() ([]byte, error) { return []byte(mask), nil }

// Keys are the keys of a call: one, or several after a renewal. Nil masks nothing.
type Keys []Key

// With returns ks and k, or ks if k is empty or already among them. Longer keys come first, because one may hold
// another.
func (ks Keys) With(k Key) Keys {
	if k == "" || slices.Contains(ks, k) {
		return ks
	}
	shorter := slices.IndexFunc(ks, func(have Key) bool { return len(have) < len(k) })
	if shorter < 0 {
		shorter = len(ks)
	}
	return slices.Insert(slices.Clip(ks), shorter, k)
}

// Text returns s with "[API key]" in place of each copy of a key, plain or encoded. Without a copy it returns s itself.
func (ks Keys) Text(s string) string {
	for _, k := range ks {
		for _, spelling := range k.spellings(len(s)) {
			s = strings.ReplaceAll(s, spelling, mask)
		}
	}
	return s
}

// CutEnd returns s, the beginning of a longer text, without the first part of a key at its end.
func (ks Keys) CutEnd(s string) string {
	begun := 0
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
	// JSON as encoding/json writes it, with and without SetEscapeHTML.
	jsonText     = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	jsonHTML     = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)
	jsonHTMLCaps = strings.NewReplacer("<", `\u003C`, ">", `\u003E`, "&", `\u0026`)
	// PHP's htmlspecialchars has other names for quotes than package html.
	htmlQuotes = strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#039;")
)

// spellings returns the key in the encodings that programs use, the longest first, because one may begin with another.
// It returns none if the key is shorter than [MinKey] or longer than length.
func (k Key) spellings(length int) []string {
	key := string(k)
	if len(key) < MinKey || len(key) > length {
		return nil
	}
	list := []string{key, strings.ToLower(key)} // because net/url lowers the case of hosts
	query, path := url.QueryEscape(key), url.PathEscape(key)
	if query == key {
		return list // because no encoding changes such a key
	}
	inJSON, inHTML := jsonText.Replace(key), html.EscapeString(key)
	list = append(list,
		inJSON, jsonHTML.Replace(inJSON), jsonHTMLCaps.Replace(inJSON), strings.ReplaceAll(inJSON, "/", `\/`),
		query, escapes.ReplaceAllStringFunc(query, strings.ToLower),
		path, escapes.ReplaceAllStringFunc(path, strings.ToLower),
		(&url.URL{Path: "/" + key}).EscapedPath()[1:], // as several segments
		inHTML, htmlQuotes.Replace(inHTML),
	)
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// escapes matches the escapes of URLs. Their letters may have lower case.
var escapes = regexp.MustCompile("%..")

// Header returns a copy of h with masked names and values.
func (ks Keys) Header(h http.Header) http.Header {
	var names Keys // and their forms as header names
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
// The new error matches the same targets of errors.Is. It unwraps to err unless the text of err holds a key: then even
// reflection does not find err.
func (ks Keys) Error(err error) error {
	err = NotNil(err)
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

// NotNil returns err, or an error in place of a nil pointer and of an error that holds one: their methods may panic.
// Nil stays nil.
func NotNil(err error) (sound error) {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("a nil %T", err)
	}
	defer func() {
		if recover() != nil {
			sound = fmt.Errorf("a %T that holds a nil error", err)
		}
	}()
	if err != nil { // call all methods in the tree that package errors calls
		_ = err.Error()
		_, _ = errors.Is(err, errAbsent), errors.As(err, new(*absent))
	}
	return err
}

// absent is the type of no error.
type absent struct{ error }

var errAbsent error = &absent{}

// Joined errors have a text of several lines.
var lineBreaks = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\r", "; ")

// WithoutQueries returns text without the queries of URLs. They may hold personal data or a signature.
func WithoutQueries(text string) string { return queries.ReplaceAllString(text, "$1") }

var queries = regexp.MustCompile(`(://[^\s"'?]*)\?(?:[^\s"']*[^\s"':;,)])?`)

// lineError replaces an error whose text must not be shown.
type lineError struct {
	text string
	err  error            // nil if its text holds a key
	is   func(error) bool // errors.Is of the error; a closure, so that reflection does not find the error
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
