package lenient

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Value is the text of one valid JSON value without white space around it, as [Parse] returns it. The empty Value is a
// missing value. The methods may panic on any other text. Their results share the memory of the Value.
type Value string

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

// Members yields the names, in quotes, and values of an object's members. Anything else has none.
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

// Member returns the value of an object's last member with the name, or an empty value.
func (v Value) Member(name string) Value {
	var found Value
	for key, member := range v.Members() {
		if key.key() == name {
			found = member
		}
	}
	return found
}

// key returns the text of v, the name of a member in quotes. It does not replace invalid UTF-8.
func (v Value) key() string {
	if strings.IndexByte(string(v), '\\') >= 0 {
		return v.Text()
	}
	return string(v[1 : len(v)-1])
}

// resembles reports whether v, the name of a member in quotes, equals the given name apart from case and underscores.
// The given name has neither.
func (v Value) resembles(name string) bool {
	at := 0
	for _, c := range []byte(v.key()) {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		switch {
		case c == '_':
			continue
		case at == len(name) || name[at] != c:
			return false
		}
		at++
	}
	return at == len(name)
}

// Text returns the text of a string, number or boolean. Anything else has none. U+FFFD replaces invalid UTF-8. A text
// without escapes and invalid UTF-8 is a part of v.
func (v Value) Text() string {
	switch {
	case !v.isScalar():
		return ""
	case !v.IsString():
		return string(v)
	case v.isPlain():
		return string(v[1 : len(v)-1])
	}
	var text strings.Builder
	text.Grow(len(v))
	v.write(&text)
	return text.String()
}

// isPlain reports whether the text of v is a part of it.
func (v Value) isPlain() bool { return !v.IsString() || isPlain(string(v)) }

// isPlain reports whether text in JSON has no escapes and no invalid UTF-8.
func isPlain(text string) bool { return strings.IndexByte(text, '\\') < 0 && utf8.ValidString(text) }

// write writes the text of a string.
func (v Value) write(text *strings.Builder) {
	rest := string(v[1 : len(v)-1])
	if !utf8.ValidString(rest) {
		rest = string([]rune(rest))
	}
	for escape := strings.IndexByte(rest, '\\'); escape >= 0; escape = strings.IndexByte(rest, '\\') {
		text.WriteString(rest[:escape])
		c := rest[escape+1]
		rest = rest[escape+2:]
		if c != 'u' {
			text.WriteByte("\"\\/\b\f\n\r\t"[strings.IndexByte(`"\/bfnrt`, c)])
			continue
		}
		r := unit(rest)
		rest = rest[4:]
		if low, ok := strings.CutPrefix(rest, `\u`); ok && utf16.IsSurrogate(r) {
			if r = utf16.DecodeRune(r, unit(low)); r != utf8.RuneError {
				rest = low[4:]
			}
		}
		text.WriteRune(r)
	}
	text.WriteString(rest)
}

// unit returns the UTF-16 unit of the escape whose digits come first.
func unit(digits string) rune {
	n, _ := strconv.ParseUint(digits[:min(len(digits), 4)], 16, 16)
	return rune(n)
}
