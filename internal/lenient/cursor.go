package lenient

import "strings"

// cursor reads a valid value from its beginning to its end. Between calls it stands before a value, a name or a
// bracket.
type cursor struct {
	text Value
	at   int
}

// more moves to the first member or element if the cursor stands before an object or array, else to the next one. After
// the last one it moves past the closing bracket and returns false.
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

// name returns the name of a member, in quotes, and moves to its value.
func (c *cursor) name() Value {
	name := c.value()
	c.space()
	c.at++
	c.space()
	return name
}

// value returns a value and moves past it.
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

// skip moves past a value.
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

// closing returns the index of the quote that ends the string at i: the first after an even number of backslashes.
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
