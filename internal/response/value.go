// Package response reads responses of unspecified shape: records and lists in JSON, the page that follows a page, and
// the messages of errors. It ignores a value of an unexpected type and reads the rest of the response.
package response

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	ErrEmpty     = errors.New("the response is empty")
	ErrHTML      = errors.New("got an HTML page instead of JSON")
	ErrNotJSON   = errors.New("the response is not JSON")
	ErrCutOff    = fmt.Errorf("%w: it ends too early", ErrNotJSON) // matches ErrNotJSON, too
	ErrNoRecord  = errors.New("the response holds no record")
	ErrNoList    = errors.New("the response holds no list")
	ErrTooMany   = fmt.Errorf("the response holds more than %d records", maxItems)
	ErrSaysError = errors.New("the response says that it is an error")
)

// Value is the text of one valid JSON value without white space around it, as [Parse] returns it. The empty Value is a
// missing value. The methods may panic on any other text.
type Value string

// Parse checks body and returns it as a value, which shares its memory. The error is ErrEmpty, ErrHTML or ErrCutOff, or
// it matches ErrNotJSON and names the character that does not fit.
func Parse(body string) (Value, error) {
	text := Trim(body)
	switch {
	case json.Valid([]byte(text)):
		return Value(text), nil
	case text == "":
		return "", ErrEmpty
	case text[0] == '<':
		return "", ErrHTML
	}
	raw := new(json.RawMessage)
	if err := json.NewDecoder(strings.NewReader(text)).Decode(raw); errors.Is(err, io.ErrUnexpectedEOF) {
		return "", ErrCutOff
	}
	return "", fmt.Errorf("%w: %w", ErrNotJSON, json.Unmarshal([]byte(text), raw))
}

// Trim returns body without a byte order mark and the white space around it.
func Trim(body string) string { return strings.TrimSpace(strings.TrimPrefix(body, "\ufeff")) }

// Kind returns the first byte of a value: n, t, f, ", [ or {, or that of a number. It is a space for a missing value.
func (v Value) Kind() byte {
	if v == "" {
		return ' '
	}
	return v[0]
}

// next returns the index of the next value, name or closing bracket, from index i on.
func (v Value) next(i int) int {
	for v[i] <= ' ' || v[i] == ',' || v[i] == ':' {
		i++
	}
	return i
}

// end returns the index after the value at index i.
func (v Value) end(i int) int {
	switch v[i] {
	case '"':
		for i++; v[i] != '"'; i++ {
			if v[i] == '\\' {
				i++
			}
		}
		return i + 1
	case '{', '[':
		for depth := 0; ; i++ {
			switch v[i] {
			case '"':
				i = v.end(i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(v) && v[i] > ' ' && v[i] != ',' && v[i] != '}' && v[i] != ']' {
		i++
	}
	return i
}

// members yields the names and values of an object's members. Anything else has none.
func (v Value) members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != '{' {
			return
		}
		for i := v.next(1); v[i] != '}'; i = v.next(i) {
			end := v.end(i)
			name, from := v[i:end].name(), v.next(end)
			if i = v.end(from); !yield(name, v[from:i]) {
				return
			}
		}
	}
}

// name returns the text of the name of a member. It does not replace invalid UTF-8.
func (v Value) name() string {
	if strings.IndexByte(string(v), '\\') >= 0 {
		return v.decoded()
	}
	return string(v[1 : len(v)-1])
}

// member returns the value of an object's last member with the name, or an empty value.
func (v Value) member(name string) (found Value) {
	for key, value := range v.members() {
		if key == name {
			found = value
		}
	}
	return found
}

// Text returns the text of a string, or a number as sent. Anything else has none. U+FFFD replaces invalid UTF-8.
func (v Value) Text() string {
	switch v.Kind() {
	case ' ', 'n', 't', 'f', '[', '{':
		return ""
	case '"':
		if text := string(v[1 : len(v)-1]); strings.IndexByte(text, '\\') < 0 && utf8.ValidString(text) {
			return text
		}
		return v.decoded()
	}
	return string(v)
}

// decoded returns the text of a string with escapes or invalid UTF-8. It is not a part of Text, because json.Unmarshal
// would move each text there to the heap.
func (v Value) decoded() string {
	plain := strings.ReplaceAll(string(v), `\/`, "/")    // an escape of PHP alone
	if text, err := strconv.Unquote(plain); err == nil { // has no other escape of JSON than
		return text
	}
	var text string
	_ = json.Unmarshal([]byte(v), &text)
	return text
}

// isTrue reports whether v is true or 1, also as a string.
func (v Value) isTrue() bool { return slices.Contains([]Value{"true", `"true"`, "1", `"1"`}, v) }

// isFalse reports whether v is false or 0, also as a string.
func (v Value) isFalse() bool { return slices.Contains([]Value{"false", `"false"`, "0", `"0"`}, v) }

// isBlank reports whether v is missing, null, false, zero or empty.
func (v Value) isBlank() bool {
	return slices.Contains([]Value{"", "null", "false", "0", `""`, "[]", "{}"}, v)
}

// int returns a whole number, also from a string. Anything else is 0.
func (v Value) int() int { return atoi(v.Text()) }

func atoi(text string) int {
	if text == "" { // without the allocations of an error
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// layouts are those of RFC 3339, SQL, PHP and PostgreSQL, and of a date. Seconds may have a fraction.
var layouts = []string{
	time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05Z07", time.DateOnly,
}

// time returns a time in UTC. It reads the layouts, without a zone as UTC, and Unix seconds and milliseconds from 2001
// to 2286. Anything else is the zero time.
func (v Value) time() time.Time {
	text := v.Text()
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	switch n, _ := strconv.ParseFloat(text, 64); {
	case n >= 1e9 && n < 1e10:
		return time.UnixMilli(int64(n * 1000)).UTC()
	case n >= 1e12 && n < 1e13:
		return time.UnixMilli(int64(n)).UTC()
	}
	return time.Time{}
}
