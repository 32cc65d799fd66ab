// Package lenient reads JSON of unspecified shape: a record or a list in any of the usual envelopes, with values of any
// type. It ignores a value of an unexpected type and reads the rest of the response.
package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

var (
	ErrEmpty     = errors.New("the response is empty")
	ErrHTML      = errors.New("got an HTML page instead of JSON")
	ErrNotJSON   = errors.New("the response is not JSON")
	ErrCutOff    = fmt.Errorf("%w: it ends too early", ErrNotJSON) // matches ErrNotJSON, too
	ErrNoRecord  = errors.New("the response holds no record")
	ErrNoList    = errors.New("the response holds no list")
	ErrNull      = fmt.Errorf("%w: it has null in its place", ErrNoList)
	ErrTooMany   = fmt.Errorf("the response holds more than %d records", maxItems)
	ErrSaysError = errors.New("the response says that it is an error")
)

const byteOrderMark = '\ufeff'

// Trim returns body without the byte order marks and the white space around it. PHP sends a mark for each of its files
// that begins with one.
func Trim(body string) string { return strings.TrimFunc(body, isAround) }

func isAround(r rune) bool { return r == byteOrderMark || unicode.IsSpace(r) }

// Parse checks body and returns it as a value. It copies a body of bytes. The error is ErrEmpty, ErrHTML or ErrCutOff,
// or it matches ErrNotJSON and describes the place and the cause.
func Parse[T string | []byte](body T) (Value, error) {
	text := Trim(string(body))
	switch {
	case text == "":
		return "", ErrEmpty
	case json.Valid(bytes.TrimFunc([]byte(body), isAround)): // no copy of bytes
		return Value(text), nil
	case text[0] == '<':
		return "", ErrHTML
	}
	err := json.NewDecoder(strings.NewReader(text)).Decode(new(json.RawMessage))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "", ErrCutOff
	}
	if err == nil { // the beginning is JSON
		err = json.Unmarshal([]byte(text), new(json.RawMessage))
	}
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset := strings.Index(string(body), text) + int(at.Offset) - 1
		return "", fmt.Errorf("%w: %w at byte %d", ErrNotJSON, err, offset)
	}
	return "", fmt.Errorf("%w: %w", ErrNotJSON, err)
}
