package lenient

import "bytes"

// cursor reads a valid value once, from its beginning to its end. It stands before a value, a name or a bracket.
type cursor struct {
	text Value
	at   int
}

// enter goes into an object or an array: for c.enter(); c.more(); visits each member or element.
func (c *cursor) enter() { c.at++ }

// more goes to the next member or element, or past the end of the object or array if there is none.
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

// name takes the name of a member, in quotes, and goes to its value.
func (c *cursor) name() Value {
	start := c.at
	c.at = closing(c.text, start) + 1
	name := c.text[start:c.at:c.at]
	c.space()
	c.at++ // the colon
	c.space()
	return name
}

// value takes a value.
func (c *cursor) value() Value {
	start := c.at
	c.skip()
	return c.text[start:c.at:c.at]
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

// closing returns the index of the quote that ends the string at i.
func closing(text Value, i int) int {
	for {
		i += 1 + bytes.IndexByte(text[i+1:], '"')
		backslashes := 0
		for text[i-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i
		}
	}
}
