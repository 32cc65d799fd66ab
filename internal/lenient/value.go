package lenient

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Value is the text of one valid JSON value without white space around it, as [Parse] returns it. Its methods
// do not check it again and may panic on anything else. Nil is a value that is missing. What they return shares its memory.
type Value []byte

// IsObject reports whether v is an object.
func (v Value) IsObject() bool { return len(v) > 0 && v[0] == '{' }

// IsArray reports whether v is an array.
func (v Value) IsArray() bool { return len(v) > 0 && v[0] == '[' }

// IsString reports whether v is a string.
func (v Value) IsString() bool { return len(v) > 0 && v[0] == '"' }

// IsNull reports whether v is null or missing.
func (v Value) IsNull() bool { return len(v) == 0 || v[0] == 'n' }

func (v Value) isBool() bool   { return len(v) > 0 && (v[0] == 't' || v[0] == 'f') }
func (v Value) isNumber() bool { return len(v) > 0 && (v[0] == '-' || '0' <= v[0] && v[0] <= '9') }
func (v Value) isScalar() bool { return v.IsString() || v.isNumber() || v.isBool() }

// Members yields the names of an object's members, as strings in quotes, and their values. Anything else has none.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(name, member Value) bool) {
		if !v.IsObject() {
			return
		}
		c := cursor{text: v}
		for c.enter(); c.more(); {
			if !yield(c.name(), c.value()) {
				return
			}
		}
	}
}

// Elements yields the elements of an array. Anything else has none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if !v.IsArray() {
			return
		}
		c := cursor{text: v}
		for c.enter(); c.more(); {
			if !yield(c.value()) {
				return
			}
		}
	}
}

// Member returns the member with the name, the last one if there are several, and nil if there is none.
func (v Value) Member(name string) Value {
	var found Value
	for key, member := range v.Members() {
		if key.is(name) {
			found = member
		}
	}
	return found
}

// is reports whether v, a string, holds the text, escaped or not.
func (v Value) is(text string) bool {
	inner := v[1 : len(v)-1]
	if string(inner) == text {
		return true
	}
	return len(inner) > len(text) && bytes.IndexByte(inner, '\\') >= 0 && v.Text() == text
}

// Text returns the text of a string, number or boolean. Anything else has none. Bytes that are not UTF-8 are
// replaced by U+FFFD.
func (v Value) Text() string {
	var room [64]byte
	return string(v.appendText(room[:0]))
}

// appendText appends Text to b.
func (v Value) appendText(b []byte) []byte {
	switch {
	case !v.isScalar():
		return b
	case !v.IsString():
		return append(b, v...)
	}
	rest, start := v[1:len(v)-1], len(b)
	if !utf8.Valid(rest) {
		return v.appendUnmarshaled(b)
	}
	for {
		escape := bytes.IndexByte(rest, '\\')
		if escape < 0 {
			return append(b, rest...)
		}
		b = append(b, rest[:escape]...)
		c := rest[escape+1]
		rest = rest[escape+2:]
		switch c {
		case '/', '"', '\\':
			b = append(b, c)
		case 'u':
			unit, _ := strconv.ParseUint(string(rest[:4]), 16, 16)
			if utf16.IsSurrogate(rune(unit)) {
				return v.appendUnmarshaled(b[:start])
			}
			b, rest = utf8.AppendRune(b, rune(unit)), rest[4:]
		default:
			b = append(b, "\b\f\n\r\t"[strings.IndexByte("bfnrt", c)])
		}
	}
}

// appendUnmarshaled is appendText for what is rare: characters in two escapes, and bytes that are not UTF-8.
func (v Value) appendUnmarshaled(b []byte) []byte {
	var text string
	_ = json.Unmarshal(v, &text)
	return append(b, text...)
}
