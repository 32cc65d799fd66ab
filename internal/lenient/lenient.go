// Package lenient reads JSON whose shape is not specified: a record or a list in any of the usual
// envelopes, with values of any type. A value of an unexpected type costs that value, never the response.
package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

var (
	ErrEmpty     = errors.New("the response is empty")
	ErrHTML      = errors.New("got an HTML page instead of JSON")
	ErrNotJSON   = errors.New("the response is not JSON")
	ErrCutOff    = fmt.Errorf("%w: it ends too early", ErrNotJSON) // a beginning of JSON; it also matches ErrNotJSON
	ErrNoRecord  = errors.New("the response holds no record")
	ErrNoList    = errors.New("the response holds no list")
	ErrTooMany   = fmt.Errorf("the response holds more than %d records", maxItems)
	ErrSaysError = errors.New("the response says that it is an error")
)

// Trim returns body without its byte order mark and the white space around it.
func Trim(body []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
}

// Parse returns body as a value, which is a copy. The error is ErrEmpty, ErrHTML, ErrCutOff or ErrNotJSON.
func Parse(body []byte) (Value, error) {
	text := Trim(body)
	switch {
	case len(text) == 0:
		return "", ErrEmpty
	case json.Valid(text):
		return Value(text), nil
	case text[0] == '<':
		return "", ErrHTML
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage)); errors.Is(err, io.ErrUnexpectedEOF) {
		return "", ErrCutOff
	}
	return "", ErrNotJSON
}
