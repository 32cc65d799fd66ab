package response

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	name  string
	value any
}

// row returns the object with the named members, in the order of names. A missing value is null.
func row(names string, values map[string]any) object {
	var o object
	for name := range strings.FieldsSeq(names) {
		o = append(o, member{name, values[name]})
	}
	return o
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	text := bytes.NewBufferString("{")
	for i, m := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		if err := encode(text, m.name); err != nil {
			return nil, err
		}
		text.WriteByte(':')
		if err := encode(text, m.value); err != nil {
			return nil, err
		}
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// encode writes v and a line break.
func encode(text *bytes.Buffer, v any) error {
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// phpJSON returns v as PHP encodes it: with slashes and everything beyond ASCII escaped.
func phpJSON(v any) []byte {
	var text bytes.Buffer
	if err := encode(&text, v); err != nil {
		panic("aicontenttest: " + err.Error()) // a value of an unexpected type
	}
	var escaped []byte
	for _, r := range strings.TrimSpace(text.String()) {
		switch {
		case r == '/': // which JSON has in strings alone
			escaped = append(escaped, `\/`...)
		case r < utf8.RuneSelf:
			escaped = append(escaped, byte(r))
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				escaped = fmt.Appendf(escaped, `\u%04x`, unit)
			}
		}
	}
	return escaped
}
