package aicontent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10_000

// plain marks the bytes that stand in a string as they are.
var plain = func() (table [256]bool) {
	for c := range table {
		table[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return table
}()

// valid gives the answers of json.Valid in a third of its time: most of an answer is the inside of strings,
// which is run over without a state for each byte.
func valid(text []byte) bool {
	var room [64]byte
	open := room[:0] // the brackets that are not closed yet
	i := 0
	for {
		// A value begins.
		if i = blank(text, i); i == len(text) {
			return false
		}
		switch c := text[i]; {
		case c == '"':
			if i = quotedEnd(text, i); i < 0 {
				return false
			}
		case c == '{':
			if open = append(open, c); len(open) > maxDepth {
				return false
			}
			if i = blank(text, i+1); i < len(text) && text[i] == '}' {
				open = open[:len(open)-1]
				i++
				break
			}
			if i = keyEnd(text, i); i < 0 {
				return false
			}
			continue
		case c == '[':
			if open = append(open, c); len(open) > maxDepth {
				return false
			}
			if i = blank(text, i+1); i < len(text) && text[i] == ']' {
				open = open[:len(open)-1]
				i++
				break
			}
			continue
		case c == '-' || c >= '0' && c <= '9':
			if i = numberEnd(text, i); i < 0 {
				return false
			}
		default:
			if i = wordEnd(text, i); i < 0 {
				return false
			}
		}
		// A value has ended.
		for {
			i = blank(text, i)
			if len(open) == 0 {
				return i == len(text)
			}
			if i == len(text) {
				return false
			}
			object := open[len(open)-1] == '{'
			if text[i] == ',' {
				i++
				if object {
					if i = keyEnd(text, blank(text, i)); i < 0 {
						return false
					}
				}
				break
			}
			if object && text[i] != '}' || !object && text[i] != ']' {
				return false
			}
			open = open[:len(open)-1]
			i++
		}
	}
}

// blank is the first position from i on that holds no white space.
func blank(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// quotedEnd is the position behind the string that begins at i; -1 where it is none.
func quotedEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		c := text[i]
		if plain[c] {
			continue
		}
		switch c {
		case '"':
			return i + 1
		case '\\':
			if i++; i == len(text) {
				return -1
			}
			switch text[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if i+4 >= len(text) {
					return -1
				}
				for _, h := range text[i+1 : i+5] {
					if (h < '0' || h > '9') && (h|0x20 < 'a' || h|0x20 > 'f') {
						return -1
					}
				}
				i += 4
			default:
				return -1
			}
		default:
			return -1
		}
	}
	return -1
}

// keyEnd is the position behind the key at i and its colon; -1 where they are none.
func keyEnd(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return -1
	}
	if i = quotedEnd(text, i); i < 0 {
		return -1
	}
	if i = blank(text, i); i == len(text) || text[i] != ':' {
		return -1
	}
	return i + 1
}

// digits is the position behind the digits at i; -1 where there is none.
func digits(text []byte, i int) int {
	start := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// numberEnd is the position behind the number that begins at i; -1 where it is none.
func numberEnd(text []byte, i int) int {
	if text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if i = digits(text, i); i < 0 {
		return -1
	}
	if i < len(text) && text[i] == '.' {
		if i = digits(text, i+1); i < 0 {
			return -1
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		return digits(text, i)
	}
	return i
}

// wordEnd is the position behind true, false or null; -1 where it is none.
func wordEnd(text []byte, i int) int {
	for _, word := range [...]string{"null", "true", "false"} {
		if len(text)-i >= len(word) && string(text[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return -1
}

// invalid says what is wrong with a text that is not valid JSON.
func invalid(text []byte) error {
	var whole json.RawMessage
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&whole)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errCutOff
	case err == nil:
		return fmt.Errorf("%w: something follows it", errJSON)
	case tooDeep(text):
		return errTooDeep
	}
	return fmt.Errorf("%w: %w", errJSON, err)
}

var errTooDeep = fmt.Errorf("%w that can be read: it is nested more than %d levels deep", errJSON, maxDepth)

func tooDeep(text []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(text) && depth <= maxDepth; i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		}
	}
	return depth > maxDepth
}
