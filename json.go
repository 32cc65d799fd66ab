package aicontent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
	"unicode/utf8"
)

// value is the text of one JSON value that is known to be valid, without white space around it. So nothing
// below has an error to return, and none of it recurses.
type value []byte

func valid(text []byte) bool { return json.Valid(text) }

// cutOff reports whether text that is not JSON ends too early, as opposed to being wrong before its end. It reads
// whole values: by tokens a nest of a few kilobytes, compressed, would take a gigabyte.
func cutOff(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var one json.RawMessage
		if err := decoder.Decode(&one); err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

func (v value) isObject() bool { return len(v) > 0 && v[0] == '{' }
func (v value) isArray() bool  { return len(v) > 0 && v[0] == '[' }
func (v value) isString() bool { return len(v) > 0 && v[0] == '"' }
func (v value) isNull() bool   { return len(v) == 0 || v[0] == 'n' }

// members walks over an object's members in their order. Anything else has none.
func (v value) members() iter.Seq2[value, value] {
	return func(yield func(key, member value) bool) { v.eachMember(yield) }
}

func (v value) eachMember(yield func(key, member value) bool) {
	if !v.isObject() {
		return
	}
	for i := space(v, 1); v[i] != '}'; {
		end := closing(v, i) + 1
		key := v[i:end]
		i = space(v, space(v, end)+1)
		end = skip(v, i)
		if !yield(key, v[i:end]) {
			return
		}
		if i = space(v, end); v[i] == ',' {
			i = space(v, i+1)
		}
	}
}

// elements walks over an array. Anything else has none.
func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) { v.eachElement(yield) }
}

func (v value) eachElement(yield func(value) bool) {
	if !v.isArray() {
		return
	}
	for i := space(v, 1); v[i] != ']'; {
		end := skip(v, i)
		if !yield(v[i:end]) {
			return
		}
		if i = space(v, end); v[i] == ',' {
			i = space(v, i+1)
		}
	}
}

// member is the last member of the name, as encoding/json takes the last of duplicates; nil where there is none.
func (v value) member(name string) value {
	var found value
	for key, member := range v.members() {
		if key.is(name) {
			found = member
		}
	}
	return found
}

// space is the first position from i on that holds no white space.
func space(v value, i int) int {
	for v[i] == ' ' || v[i] == '\n' || v[i] == '\t' || v[i] == '\r' {
		i++
	}
	return i
}

// skip is the position behind the value that begins at i.
func skip(v value, i int) int {
	depth := 0
	for ; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = closing(v, i)
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// closing is the position of the quote that ends the string beginning at i.
func closing(v value, i int) int {
	for {
		i += 1 + bytes.IndexByte(v[i+1:], '"')
		escapes := 0
		for v[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// bytes is what a string holds, and the letters of any other plain value. Only a string with escapes or invalid UTF-8 is
// copied.
func (v value) bytes() []byte {
	if !v.isString() {
		return v
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	var s string
	// It cannot fail: the text is valid.
	_ = json.Unmarshal(v, &s)
	return []byte(s)
}

// text is the string, number or boolean as text. Null, objects and arrays have none.
func (v value) text() string {
	if v.isNull() || v.isObject() || v.isArray() {
		return ""
	}
	return string(v.bytes())
}

// is reports whether a string, such as a member's key, holds the name.
func (v value) is(name string) bool { return string(v.bytes()) == name }

// line is text on one line.
func (v value) line() string { return strings.Join(strings.Fields(v.text()), " ") }
