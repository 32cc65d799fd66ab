// Package lenient reads JSON whose shape is not specified: a record or a list in any of the usual
// envelopes, with values of any type. A value of an unexpected type costs that value, never the response.
package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

var (
	ErrEmpty     = errors.New("the response is empty")
	ErrHTML      = errors.New("got an HTML page instead of JSON")
	ErrNotJSON   = errors.New("the response is not JSON")
	ErrCutOff    = fmt.Errorf("%w: it ends too early", ErrNotJSON) // a beginning of JSON; it also matches ErrNotJSON
	ErrNoRecord  = errors.New("the response holds no record")
	ErrNoList    = errors.New("the response holds no list")
	ErrNull      = fmt.Errorf("%w: it has null in its place", ErrNoList)
	ErrTooMany   = fmt.Errorf("the response holds more than %d records", maxItems)
	ErrSaysError = errors.New("the response says that it is an error")
)

const byteOrderMark = "\xef\xbb\xbf"

// Trim returns body without its byte order mark and the white space around it.
func Trim(body string) string { return strings.TrimSpace(strings.TrimPrefix(body, byteOrderMark)) }

// Parse returns body as a value, which is a copy if body is no string. The error is ErrEmpty, ErrHTML or ErrCutOff, or
// matches ErrNotJSON and says where and why.
func Parse[T string | []byte](body T) (Value, error) {
	text := Trim(string(body))
	switch {
	case text == "":
		return "", ErrEmpty
	case json.Valid(bytes.TrimSpace(bytes.TrimPrefix([]byte(body), []byte(byteOrderMark)))): // of bytes, without a copy
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
