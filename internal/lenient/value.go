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

// Value is the text of one valid JSON value without white space around it, as [Parse] returns it. Its methods do not
// check it again and may panic on anything else. Nil is a value that is missing. What they return shares its memory.
type Value []byte

// IsObject reports whether v is an object.
func (v Value) IsObject() bool { return len(v) > 0 && v[0] == '{' }

// IsArray reports whether v is an array.
func (v Value) IsArray() bool { return len(v) > 0 && v[0] == '[' }

// IsString reports whether v is a string.
func (v Value) IsString() bool { return len(v) > 0 && v[0] == '"' }

// IsNumber reports whether v is a number.
func (v Value) IsNumber() bool { return len(v) > 0 && (v[0] == '-' || '0' <= v[0] && v[0] <= '9') }

// IsNull reports whether v is null or missing.
func (v Value) IsNull() bool { return len(v) == 0 || v[0] == 'n' }

func (v Value) isBool() bool   { return len(v) > 0 && (v[0] == 't' || v[0] == 'f') }
func (v Value) isScalar() bool { return v.IsString() || v.IsNumber() || v.isBool() }

// Members yields the names of an object's members, as strings in quotes, and their values. Anything else has none.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(name, member Value) bool) {
		if !v.IsObject() {
			return
		}
		c := cursor{text: v}
		for c.more() && yield(c.name(), c.value()) {
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
		for c.more() && yield(c.value()) {
		}
	}
}

// Member returns the member with the name, the last one if there are several, and nil if there is none.
func (v Value) Member(name string) Value {
	var found Value
	for key, member := range v.Members() {
		if key.names(name) {
			found = member
		}
	}
	return found
}

// names reports whether v is the name of a member, in quotes. It makes no copy of what has no escapes.
func (v Value) names(name string) bool {
	plain := v[1 : len(v)-1]
	return string(plain) == name || bytes.IndexByte(plain, '\\') >= 0 && v.Text() == name
}

// Text returns the text of a string, number or boolean. Anything else has none. Bytes that are not UTF-8 are
// replaced by U+FFFD.
func (v Value) Text() string { return string(v.text(make([]byte, 0, 64))) }

// text returns Text: a part of v or, where that has escapes, what it appends to room, which is empty.
func (v Value) text(room []byte) []byte {
	switch {
	case !v.isScalar():
		return nil
	case !v.IsString():
		return v
	}
	rest := v[1 : len(v)-1]
	if !utf8.Valid(rest) {
		return v.unmarshaled(room)
	}
	for {
		escape := bytes.IndexByte(rest, '\\')
		if escape < 0 && len(room) == 0 {
			return rest
		}
		if escape < 0 {
			return append(room, rest...)
		}
		room = append(room, rest[:escape]...)
		c := rest[escape+1]
		rest = rest[escape+2:]
		if c != 'u' {
			room = append(room, "\"\\/\b\f\n\r\t"[strings.IndexByte(`"\/bfnrt`, c)])
			continue
		}
		unit, _ := strconv.ParseUint(string(rest[:4]), 16, 16)
		if utf16.IsSurrogate(rune(unit)) {
			return v.unmarshaled(room[:0])
		}
		room, rest = utf8.AppendRune(room, rune(unit)), rest[4:]
	}
}

// unmarshaled is text for what is rare: characters in two escapes, and bytes that are not UTF-8.
func (v Value) unmarshaled(room []byte) []byte {
	var text string
	_ = json.Unmarshal(v, &text)
	return append(room, text...)
}
