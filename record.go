package aicontent

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/internal/lenient"
)

// ID is a record's identifier, assigned by the service. It decodes from a JSON string or, digit for digit, from a JSON
// number of any size.
type ID string

// UnmarshalJSON reads a JSON string or number. A JSON null is a no-op; any other value is an error.
func (id *ID) UnmarshalJSON(data []byte) error {
	v, err := lenient.Parse(data)
	switch {
	case err != nil:
		return fmt.Errorf("aicontent: reading an ID: %w", err)
	case v.IsNull():
	case v.IsString(), v.IsNumber():
		*id = ID(v.Text())
	default:
		return errors.New("aicontent: an ID must be a JSON string or number")
	}
	return nil
}

// record is implemented by pointers to the record types.
type record[T any] interface {
	*T
	// fields appends the record's members, its ID first: the one list from which records are read, compared and
	// printed.
	fields([]lenient.Field) []lenient.Field
	// keep stores the record as sent.
	keep(json.RawMessage)
}

// into is the member of a record that goes to at: a *string, *bool, *int or *time.Time.
func into(name string, at any) lenient.Field { return lenient.Field{Name: name, At: at} }

// readRecord finds the record in a response: bare, under data, or under the collection's singular name.
func readRecord[T any, R record[T]](x *exchange) (R, error) {
	v, err := lenient.Parse(x.body)
	if err != nil {
		return nil, err
	}
	r := R(new(T))
	fields := r.fields(nil)
	raw, err := lenient.Record(v, x.request.op.in.singular, fields)
	if err != nil {
		return nil, err
	}
	if x.request.op.creates() && *fields[0].At.(*string)+*fields[1].At.(*string) == "" {
		return nil, lenient.ErrNoRecord // it names nothing that was created
	}
	if cap(x.body) > 2*len(raw) {
		raw = slices.Clone(raw) // or a record that is kept would keep the whole buffer
	}
	r.keep(raw)
	return r, nil
}

// readDeleted accepts any response to a delete but an HTML page and an error: the API does not specify one.
func readDeleted(x *exchange) (struct{}, error) {
	if contentOf(x.body, x.header) == contentPage {
		return struct{}{}, lenient.ErrHTML
	}
	v, _ := lenient.Parse(x.body)
	_, err := lenient.Record(v, x.request.op.in.singular, nil)
	if err == lenient.ErrSaysError || slices.Contains([]string{"false", "0"}, string(v.Member("deleted"))) {
		return struct{}{}, lenient.ErrSaysError
	}
	return struct{}{}, nil
}

// unmarshalRecord reads a bare record. A JSON null is a no-op.
func unmarshalRecord[T any, R record[T]](r R, data []byte) error {
	v, err := lenient.Parse(data)
	switch {
	case err != nil:
		return fmt.Errorf("aicontent: reading a record: %w", err)
	case v.IsNull():
		return nil
	case !v.IsObject():
		return errors.New("aicontent: a record must be a JSON object")
	}
	*r = *new(T)
	r.keep(lenient.Bare(slices.Clone(v), r.fields(nil)))
	return nil
}

// equalFields compares two records field by field, times as instants.
func equalFields(a, b []lenient.Field) bool {
	return slices.EqualFunc(a, b, func(x, y lenient.Field) bool {
		if t, ok := x.At.(*time.Time); ok {
			return t.Equal(*y.At.(*time.Time))
		}
		return reflect.DeepEqual(x.At, y.At)
	})
}

// goString prints the fields that are set, in their order, for the text of a failed test.
func goString(name string, fields []lenient.Field) string {
	var set []string
	for _, f := range fields {
		v := reflect.ValueOf(f.At).Elem()
		if v.IsZero() {
			continue
		}
		text := fmt.Sprintf("%#v", v.Interface())
		if t, ok := v.Interface().(time.Time); ok {
			text = t.Format(time.RFC3339Nano)
		}
		set = append(set, f.Name+": "+text)
	}
	return "aicontent." + name + "{" + strings.Join(set, ", ") + "}"
}
