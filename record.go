package aicontent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// ID is a record's identifier, assigned by the service. It is text here whatever the deployment sends: it
// decodes from a JSON string and, digit for digit, from a number of any size.
type ID string

// UnmarshalJSON takes a string or a number.
func (id *ID) UnmarshalJSON(data []byte) error {
	v := value(trimmed(data))
	if !valid(v) {
		return invalid(v)
	}
	if v.isObject() || v.isArray() {
		return fmt.Errorf("an id must be a string or a number, not %s", shortened(string(v), 40))
	}
	*id = ID(v.text())
	return nil
}

// field ties a member of a record to where it is kept: a *string, *bool, *int or *time.Time. It is the one list
// from which records are read and written.
type field struct {
	name string
	at   any
}

// record is what the readers ask of a pointer to a record type.
type record[T any] interface {
	*T
	// fields appends the record's members in the order of the interface document, those behind it last.
	fields([]field) []field
	// keep stores the record as it was sent.
	keep(json.RawMessage)
	// identity is the id.
	identity() ID
}

// maxFields is how many fields a record may have.
const maxFields = 12

var (
	errNoRecord = errors.New("the answer holds no record")
	errNoList   = errors.New("the answer holds no list")
	errTooMany  = fmt.Errorf("the answer holds more than %d records", maxRecords)
)

// favoriteField is the one boolean of the interface.
const favoriteField = "favorite"

// Ptr returns a pointer to v, for the parameters where nil means "not given".
func Ptr[T any](v T) *T { return &v }

// readRecord finds the record in an answer: bare, under data (two levels of it), or under the collection's singular name.
func readRecord[T any, R record[T]](a *answer, singular string) (R, error) {
	text, err := parse(a.body)
	if err != nil {
		return nil, err
	}
	r := R(new(T))
	rd := newReader(singular, r.fields(make([]field, 0, maxFields)))
	if !rd.find(&cursor{text: text}) {
		return nil, errNoRecord
	}
	r.keep(rd.fill())
	return r, nil
}

// readDeleted takes any answer for a deletion that is no page: the interface shows none.
func readDeleted(a *answer) (struct{}, error) {
	if _, err := parse(a.body); errors.Is(err, errPage) {
		return struct{}{}, err
	}
	return struct{}{}, nil
}

// marshal writes a record: as it was sent, with the fields that were changed since, so that unknown members are kept. A
// record that was never sent has all the members that a record can have.
func marshal[T any, R record[T]](r R, raw json.RawMessage) ([]byte, error) {
	sent := R(new(T))
	now, was := r.fields(nil), sent.fields(nil)
	readBare(was, raw)
	out := bytes.NewBuffer([]byte{'{'})
	put := func(key, member []byte) {
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(member)
	}
	written := make([]bool, len(now))
	for key, member := range value(raw).members() {
		i := slices.IndexFunc(now, func(f field) bool { return key.is(f.name) })
		if i >= 0 {
			written[i] = true
			if !same(now[i].at, was[i].at) {
				member = encoded(now[i].at)
			}
		}
		put(key, member)
	}
	for i, f := range now {
		if !written[i] && (len(raw) == 0 || !same(f.at, was[i].at)) {
			put([]byte(strconv.Quote(f.name)), encoded(f.at))
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func same(a, b any) bool {
	if a, ok := a.(*time.Time); ok {
		return a.Equal(*b.(*time.Time))
	}
	return reflect.DeepEqual(a, b)
}

// encoded is a field's value as JSON; a time that is not set is null.
func encoded(at any) []byte {
	if t, ok := at.(*time.Time); ok && t.IsZero() {
		return []byte("null")
	}
	// It fails for times beyond the year 9999 alone.
	b, err := json.Marshal(at)
	if err != nil {
		return []byte("null")
	}
	return b
}

// unmarshal reads a record as the service sends it, so that one that was marshalled comes back.
func unmarshal[T any, R record[T]](r R, data []byte) error {
	text := trimmed(data)
	if !valid(text) {
		return invalid(text)
	}
	*r = *new(T)
	if v := value(text); !v.isObject() {
		if v.isNull() {
			return nil
		}
		return fmt.Errorf("a record must be a JSON object, not %s", shortened(string(v), 40))
	}
	r.keep(readBare(r.fields(nil), bytes.Clone(text)))
	return nil
}

// readBare reads a record that nothing wraps; nil for what is none.
func readBare(fields []field, text []byte) json.RawMessage {
	rd := newReader("", fields)
	if len(text) == 0 || !rd.find(&cursor{text: text}) {
		return nil
	}
	return rd.fill()
}
