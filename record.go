package aicontent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ID is a record's identifier, assigned by the service. It is text here whatever the deployment sends: it
// decodes from a JSON string and, digit for digit, from a number of any size.
type ID string

// UnmarshalJSON takes a string or a number.
func (id *ID) UnmarshalJSON(data []byte) error {
	v := value(trimmed(data))
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

// maxFields is room enough for the fields of any record.
const maxFields = 16

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
	v, err := parse(a.body)
	if err != nil {
		return nil, err
	}
	room := make([]field, 0, maxFields)
	for _, candidate := range []value{v.member("data").member("data"), v.member("data"), v.member(singular), v} {
		if r := R(new(T)); fill(r, candidate, room) {
			return r, nil
		}
	}
	return nil, errNoRecord
}

// fill reads an object's members into r, and reports whether it had any that a record has. A member of an unexpected
// type costs that member alone. room is reused from record to record.
func fill[T any, R record[T]](r R, v value, room []field) bool {
	fields := r.fields(room)
	found, next := false, 0
	for key, member := range v.members() {
		// Deployments send members in much the same order: the next field is the best guess.
		for tried := range fields {
			i := (next + tried) % len(fields)
			if key.is(fields[i].name) {
				assign(fields[i].at, member)
				found, next = true, i+1
				break
			}
		}
	}
	if found {
		r.keep(json.RawMessage(v))
	}
	return found
}

// assign reads a member as what its place holds. Null and what cannot be read leave the zero value.
func assign(at any, v value) {
	switch at := at.(type) {
	case *string:
		*at = documented(v)
	case *bool:
		*at = v.truth()
	case *int:
		*at = v.number()
	case *time.Time:
		*at = v.time()
	}
}

// documented is text, without a copy where it is one of the interface's own values.
func documented(v value) string {
	if v.isString() && len(v) <= 16 {
		if term, ok := interned[string(v[1:len(v)-1])]; ok {
			return term
		}
	}
	return v.text()
}

// interned holds the values that many records share.
var interned = func() map[string]string {
	m := map[string]string{}
	intern(m, resolutions)
	intern(m, styles)
	intern(m, mediums)
	intern(m, filters)
	for code := range strings.FieldsSeq(countryCodes) {
		m[code] = code
	}
	return m
}()

func intern[T ~string](m map[string]string, terms []term[T]) {
	for _, t := range terms {
		m[string(t.value)] = string(t.value)
	}
}

// truth reads booleans, numbers and their texts: favorite comes as any of them.
func (v value) truth() bool {
	switch strings.ToLower(v.text()) {
	case "", "0", "false", "no", "off":
		return false
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.ParseFloat(v.text(), 64)
	return err == nil && n != 0
}

// number reads whole numbers, also as text and with a fraction of zero.
func (v value) number() int {
	text := v.text()
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == float64(int(f)) {
		return int(f)
	}
	return 0
}

// timeLayouts are those of deployments other than RFC 3339; without a zone it is UTC.
var timeLayouts = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04:05-0700", "2006-01-02", time.RFC1123, time.RFC1123Z}

// time reads the layouts above and unix seconds, as number or text.
func (v value) time() time.Time {
	var t time.Time
	b := v.bytes()
	if v.isString() && t.UnmarshalText(b) == nil {
		return t
	}
	text := strings.TrimSpace(v.text())
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	const year10000 = 253402300800
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < year10000 {
		whole := int64(seconds)
		return time.Unix(whole, int64((seconds-float64(whole))*1e9)).UTC()
	}
	return time.Time{}
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
	fill(sent, value(raw), nil)
	now, was := r.fields(nil), sent.fields(nil)
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
	*r = *new(T)
	if v := value(trimmed(data)); !v.isObject() {
		if v.isNull() {
			return nil
		}
		return fmt.Errorf("a record must be a JSON object, not %s", shortened(string(v), 40))
	}
	fill(r, value(bytes.Clone(trimmed(data))), nil)
	return nil
}
