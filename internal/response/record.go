package response

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Record finds the record in a response, sets the fields of the struct that record points to as [Fill] does, and
// returns the record's text. It is a copy unless the record is most of v. The record is the first of v, the objects
// under data and under the singular name, and the objects under these names in one of them, that has
//
//   - an id and a name, else
//   - an id, else
//   - a name
//
// Record passes over an object that reports an error, and the objects inside it. Then it takes only an object with an
// id and a name, or returns ErrSaysError. Without a record the error is ErrNoRecord.
func Record(v Value, singular string, record any) (Value, error) {
	var found Value
	best := none
	places := [1 + 2 + 4]Value{v} // the objects inside places[i] are places[2*i+1] and places[2*i+2]
	for i := 0; i < len(places) && best < complete; i++ {
		rank, data, inside := places[i].rank(singular)
		if rank > best {
			found, best = places[i], rank
		}
		if rank < refused && 2*i+2 < len(places) {
			places[2*i+1], places[2*i+2] = data, inside
		}
	}
	switch best {
	case none:
		return "", ErrNoRecord
	case refused:
		return "", ErrSaysError
	}
	if 2*len(found) < len(v) {
		found = Value(strings.Clone(string(found)))
	}
	Fill(found, record)
	return found, nil
}

// The ranks of an object, the best last.
const (
	none = iota
	named
	identified
	refused  // it reports an error: one with less than an id and a name is no record
	complete // it has an id and a name, which may be null
)

// rank returns the rank of an object, and the values under data and under the singular name. It stops at an id and a
// name, because an object with both is the record whatever it has besides.
func (v Value) rank(singular string) (rank int, data, inside Value) {
	var id, title Value
	for name, value := range v.members() {
		switch name {
		case "id":
			id = value
		case "name":
			title = value
		case "data":
			data = value
		case singular:
			inside = value
		default:
			if saysError(name, value) {
				rank = refused
			}
		}
		if id.Text() != "" && !id.isBlank() && !title.isBlank() {
			return complete, data, inside
		}
	}
	switch {
	case rank == refused:
	case id.Text() != "" && title != "":
		rank = complete
	case id.Text() != "":
		rank = identified
	case title.Kind() == '"':
		rank = named
	}
	return rank, data, inside
}

// saysError reports whether a member reports an error.
func saysError(name string, v Value) bool {
	switch name {
	case "error", "errors", "exception":
		return !v.isBlank()
	case "status", "code":
		status := v.int()
		return status >= 400 && status <= 599 || slices.Contains([]string{"error", "fail", "failed"}, v.Text())
	case "success", "ok":
		return v.isFalse()
	}
	return false
}

// SaysError reports whether v is an object that reports an error: it lacks an id or a name, and has an error, errors or
// exception that is not empty, a status or code from 400 to 599 or of error, fail or failed, or a false success or ok.
func (v Value) SaysError() bool {
	rank, _, _ := v.rank("")
	return rank == refused
}

// IsRefusal reports whether v, the response to a Delete, reports an error or a record that was not deleted, itself or
// in the object under data or the singular name.
func (v Value) IsRefusal(singular string) bool {
	return slices.ContainsFunc([]Value{v, v.member("data"), v.member(singular)}, func(v Value) bool {
		return v.SaysError() || v.member("deleted").isFalse()
	})
}

// Fill sets the fields of the struct that record points to from the members of an object. The json tag of a field is
// the name of its member. A field is a string, a bool, an int or a time.Time. A null or missing member leaves its field
// unchanged, and an unreadable one makes it zero. Texts without escapes share the memory of v.
func Fill(v Value, record any) {
	target := reflect.ValueOf(record).Elem()
	names := namesOf(target.Type())
	for name, value := range v.members() {
		index := slices.Index(names, name)
		if index < 0 || value.Kind() == 'n' {
			continue
		}
		switch field := target.Field(index); field.Kind() {
		case reflect.String:
			field.SetString(value.Text())
		case reflect.Bool:
			field.SetBool(value.isTrue())
		case reflect.Int:
			field.SetInt(int64(value.int()))
		case reflect.Struct:
			*field.Addr().Interface().(*time.Time) = value.time()
		}
	}
}

var structs sync.Map // of the names of fields, by the type of the struct

// namesOf returns the names of the members for the fields of a struct, from their json tags. They are empty for none.
func namesOf(record reflect.Type) []string {
	if known, ok := structs.Load(record); ok {
		return known.([]string)
	}
	names := make([]string, record.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(record.Field(i).Tag.Get("json"), ",")
	}
	structs.Store(record, names)
	return names
}
