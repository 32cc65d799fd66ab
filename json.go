package aicontent

import (
	"bytes"
	"iter"
	"unicode/utf16"
	"unicode/utf8"
)

// value is the text of one JSON value that is known to be valid, without white space around it. So nothing
// below has an error to return. Its length ends where its capacity does.
type value []byte

func (v value) isObject() bool { return len(v) > 0 && v[0] == '{' }
func (v value) isArray() bool  { return len(v) > 0 && v[0] == '[' }
func (v value) isString() bool { return len(v) > 0 && v[0] == '"' }
func (v value) isNull() bool   { return len(v) == 0 || v[0] == 'n' }

// isPlain reports whether it is a string, a number or a boolean.
func (v value) isPlain() bool { return !v.isNull() && !v.isObject() && !v.isArray() }

// cursor reads a valid text once, from its beginning to its end. It stands before a value, a key or a bracket.
type cursor struct {
	text value
	at   int
}

// kind is the first byte of what is next, which tells what it is.
func (c *cursor) kind() byte { return c.text[c.at] }

// enter goes into an object or an array: for c.enter(); c.more(); takes each member or element in turn.
func (c *cursor) enter() { c.at++ }

// more goes to the next member or element, or behind the end of the object or array when there is none.
func (c *cursor) more() bool {
	c.space()
	switch c.text[c.at] {
	case ',':
		c.at++
		c.space()
	case '}', ']':
		c.at++
		return false
	}
	return true
}

// key takes a member's key, quotes included, and goes to its value.
func (c *cursor) key() value {
	end := closing(c.text, c.at) + 1
	key := c.text[c.at:end:end]
	c.colon(end)
	return key
}

// keyed takes a member's key where it is the name as it stands, and reports whether it was.
func (c *cursor) keyed(name string) bool {
	end := c.at + 1 + len(name)
	if end >= len(c.text) || c.text[end] != '"' || string(c.text[c.at+1:end]) != name {
		return false
	}
	c.colon(end + 1)
	return true
}

// colon goes from behind a key to its value.
func (c *cursor) colon(at int) {
	c.at = at
	c.space()
	c.at++
	c.space()
}

// value takes a whole value.
func (c *cursor) value() value {
	start := c.at
	c.skip()
	return c.text[start:c.at:c.at]
}

func (c *cursor) space() {
	for c.text[c.at] <= ' ' {
		c.at++
	}
}

// skip goes behind a value.
func (c *cursor) skip() {
	text, i := c.text, c.at
	switch text[i] {
	case '"':
		i = closing(text, i) + 1
	case '{', '[':
		i++
		for depth := 1; depth > 0; i++ {
			switch text[i] {
			case '"':
				i = closing(text, i)
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
		}
	default:
		for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && text[i] > ' ' {
			i++
		}
	}
	c.at = i
}

// closing is the position of the quote that ends the string beginning at i.
func closing(text value, i int) int {
	for {
		i += 1 + bytes.IndexByte(text[i+1:], '"')
		escapes := 0
		for text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// members walks over an object's members in their order. Anything else has none.
func (v value) members() iter.Seq2[value, value] {
	return func(yield func(key, member value) bool) {
		if !v.isObject() {
			return
		}
		c := cursor{text: v}
		for c.enter(); c.more(); {
			if !yield(c.key(), c.value()) {
				return
			}
		}
	}
}

// elements walks over an array. Anything else has none.
func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		if !v.isArray() {
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

// is reports whether a string, such as a member's key, holds the name, escaped or not.
func (v value) is(name string) bool {
	inner := v[1 : len(v)-1]
	return string(inner) == name ||
		len(inner) > len(name) && bytes.IndexByte(inner, '\\') >= 0 && v.text() == name
}

// text is the string, number or boolean as text. Null, objects and arrays have none.
func (v value) text() string {
	switch {
	case !v.isPlain():
		return ""
	case !v.isString():
		return string(v)
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	return string(v.appendText(nil, utf8.Valid(inner)))
}

// appendText appends text's bytes. clean says that the value is known to be UTF-8.
func (v value) appendText(to []byte, clean bool) []byte {
	switch {
	case !v.isPlain():
		return to
	case !v.isString():
		return append(to, v...)
	}
	rest := v[1 : len(v)-1]
	for {
		escape := bytes.IndexByte(rest, '\\')
		piece := rest
		if escape >= 0 {
			piece = rest[:escape]
		}
		if clean {
			to = append(to, piece...)
		} else {
			to = appendClean(to, piece)
		}
		if escape < 0 {
			return to
		}
		to, rest = appendEscape(to, rest[escape:])
	}
}

// appendClean puts U+FFFD in place of every byte that is not UTF-8, as encoding/json does.
func appendClean(to, piece []byte) []byte {
	for len(piece) > 0 {
		r, size := utf8.DecodeRune(piece)
		to = utf8.AppendRune(to, r)
		piece = piece[size:]
	}
	return to
}

// appendEscape takes the escape with which a text begins, two of them where they are one character together.
func appendEscape(to []byte, text value) ([]byte, value) {
	switch text[1] {
	case 'u':
		r := codeUnit(text)
		rest := text[6:]
		if utf16.IsSurrogate(r) {
			low := rune(utf8.RuneError)
			if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
				low = codeUnit(rest)
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				rest = rest[6:]
			}
		}
		return utf8.AppendRune(to, r), rest
	case 'b':
		return append(to, '\b'), text[2:]
	case 'f':
		return append(to, '\f'), text[2:]
	case 'n':
		return append(to, '\n'), text[2:]
	case 'r':
		return append(to, '\r'), text[2:]
	case 't':
		return append(to, '\t'), text[2:]
	}
	return append(to, text[1]), text[2:]
}

// codeUnit reads the four digits of \u00e9.
func codeUnit(text value) rune {
	var r rune
	for _, digit := range text[2:6] {
		if r <<= 4; digit <= '9' {
			r += rune(digit - '0')
			continue
		}
		r += rune(digit|0x20-'a') + 10
	}
	return r
}
