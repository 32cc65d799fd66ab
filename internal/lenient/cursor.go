package lenient

import "strings"

// cursor reads a valid value once, from its beginning to its end. It stands before a value, a name or a bracket.
type cursor struct {
	text Value
	at   int
}

// more goes to the next member or element, the first one if it stands before an object or array, or past the end of
// that if there is none: for c.more() visits each of them.
func (c *cursor) more() bool {
	c.space()
	if next := c.text[c.at]; next == ',' || next == '{' || next == '[' {
		c.at++
		c.space()
	}
	if next := c.text[c.at]; next == '}' || next == ']' {
		c.at++
		return false
	}
	return true
}

// name takes the name of a member, in quotes, and goes to its value.
func (c *cursor) name() Value {
	name := c.value()
	c.space()
	c.at++
	c.space()
	return name
}

// value takes a value.
func (c *cursor) value() Value {
	start := c.at
	c.skip()
	return c.text[start:c.at]
}

func (c *cursor) space() {
	for c.text[c.at] <= ' ' {
		c.at++
	}
}

// skip goes past a value.
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

// closing returns the index of the quote that ends the string at i: one behind an even number of backslashes.
func closing(text Value, i int) int {
	for {
		i += 1 + strings.IndexByte(string(text[i+1:]), '"')
		escapes := 0
		for text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}
