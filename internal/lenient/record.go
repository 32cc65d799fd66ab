package lenient

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxFields   = 12       // of a record
	wrappers    = 2        // objects that may stand around a record or a list
	largeRecord = 16 << 10 // bytes from which on its texts have memory of their own, so that a short one keeps little
)

// field is a field of a record, and the member that it is read from.
type field struct {
	name  string
	index int
	kind  reflect.Kind // String, Bool, Int, or Struct for a time.Time
}

var layouts sync.Map // from the type of a record to its fields

// layout returns the fields of a record that have a json tag.
func layout(record reflect.Type) (fields []field) {
	if known, ok := layouts.Load(record); ok {
		return known.([]field)
	}
	for i := range record.NumField() {
		f := record.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			fields = append(fields, field{name, i, f.Type.Kind()})
		}
	}
	layouts.Store(record, fields)
	return fields
}

// Record finds the record in v, sets the fields of the struct that record points to, and returns the text of what it
// found. A field is read from the member that its json tag names; it is a text, a boolean, an int or a time.Time, and
// there are at most 12. Fields that are null, missing or unreadable are left as they are. Texts share the memory
// of v, unless the record is large.
//
// It looks at v and at the objects under data and under the singular name, two levels deep, and takes the outermost
// with an id and a name. If there is none, it takes the outermost with an id, and after that the outermost that has
// another field of the JSON type it should have. An object that says that it is an error hides what is nested in it,
// and leaves only the first rule for the others: the error is then ErrSaysError. If there is no record, it is
// ErrNoRecord.
func Record(v Value, singular string, record any) (Value, error) {
	target := reflect.ValueOf(record).Elem()
	fields := layout(target.Type())
	// The objects inside objects[i] are objects[2*i+1] and objects[2*i+2].
	objects := [1 + 2 + 4]Value{v}
	var best candidate
	saysError := false
	for i := range objects {
		c := candidate{text: objects[i]}
		c.read(singular, fields)
		switch {
		case (isBlank(c.id) || isBlank(c.name)) && c.text.SaysError():
			saysError = true
			continue
		case c.rank == complete:
			c.fill(target, fields)
			return c.text, nil
		}
		if c.rank > best.rank {
			best = c
		}
		if inside := 2*i + 1; inside < len(objects) {
			copy(objects[inside:], c.inside[:])
		}
	}
	switch {
	case saysError:
		return "", ErrSaysError
	case best.rank == 0:
		return "", ErrNoRecord
	}
	best.fill(target, fields)
	return best.text, nil
}

// Bare sets the fields of the struct that record points to from v itself, which is an object.
func Bare(v Value, record any) {
	target := reflect.ValueOf(record).Elem()
	fields := layout(target.Type())
	c := candidate{text: v}
	c.read("", fields)
	c.fill(target, fields)
}

// HoldsError reports whether v says that it is an error, or an object that may be the record in it does.
func HoldsError(v Value, singular string) bool { return holdsError(v, singular, wrappers) }

func holdsError(v Value, singular string, depth int) bool {
	return v.SaysError() || depth > 0 && (holdsError(v.Member("data"), singular, depth-1) ||
		holdsError(v.Member(singular), singular, depth-1))
}

// What an object has of a record.
const (
	typed      = 1 + iota // a field of its JSON type
	identified            // an id
	complete              // an id and a name, even one that is null
)

// candidate is an object that may be the record.
type candidate struct {
	text    Value
	members [maxFields]Value // in the order of the fields; empty where the value is no string, number or boolean
	inside  [2]Value         // under data and the singular name
	id      Value            // empty for none
	name    Value            // of any type; empty for none
	rank    int
}

// read goes over the object once and takes what it has of a record. Anything else has nothing.
func (c *candidate) read(singular string, fields []field) {
	if !c.text.IsObject() {
		return
	}
	next := 0                                      // Most services send members in much the same order.
	for at := (cursor{text: c.text}); at.more(); { // without the allocations of Members
		name, member := at.name(), at.value()
		key := string(name[1 : len(name)-1]) // quicker than Text, which most names do not need
		i := next
		if i == len(fields) || fields[i].name != key {
			if strings.IndexByte(key, '\\') >= 0 {
				key = name.Text()
			}
			i = slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		}
		next = i + 1
		switch key {
		case "name":
			c.name = member
		case "data":
			c.inside[0] = member
		case singular:
			c.inside[1] = member
		}
		switch {
		case i < 0 || !member.isScalar():
			continue
		case key == "id":
			if member.isBool() || member == `""` {
				continue
			}
			c.id = member
		case hasType(member, fields[i].kind):
			c.rank = typed
		}
		c.members[i] = member
	}
	if c.id != "" && c.name != "" {
		c.rank = complete
	} else if c.id != "" {
		c.rank = identified
	}
}

// hasType reports whether a value has the JSON type of a field.
func hasType(v Value, kind reflect.Kind) bool {
	switch kind {
	case reflect.Bool:
		return v.isBool()
	case reflect.Int:
		return v.IsNumber()
	}
	return v.IsString()
}

// SaysError reports whether an object says that it is an error: see [Members.SaysError].
func (v Value) SaysError() bool {
	if !v.IsObject() {
		return false
	}
	telling := make(Members, 0, 16) // in one pass: the object may hold the whole record
	for at := (cursor{text: v}); at.more(); {
		name, value := at.name(), at.value()
		if len(telling) < maxAround && slices.ContainsFunc(tell, name.names) {
			telling = append(telling, member{name, value})
		}
	}
	return telling.SaysError()
}

// tell are the members that tell an error from a record.
var tell = []string{"id", "name", "error", "errors", "exception", "status", "code", "success", "ok"}

// SaysError reports whether the object with these members says that it is an error: without both an id and a name, it
// has an error, errors or exception, a status of error, fail or failed, a status or code of 400 or more, or a success
// or ok that is false.
func (m Members) SaysError() bool {
	id, status := m.Member("id"), m.Member("status")
	if (id.IsString() || id.IsNumber()) && !isBlank(id) && !isBlank(m.Member("name")) {
		return false
	}
	return !isBlank(m.Member("error")) || !isBlank(m.Member("errors")) || !isBlank(m.Member("exception")) ||
		isFailure(status) || isFailure(m.Member("code")) || isWord(status, "error", "fail", "failed") ||
		isWord(m.Member("success"), "false", "0") || isWord(m.Member("ok"), "false", "0")
}

// isFailure reports whether a status or code is of 400 or more. Most records have none.
func isFailure(v Value) bool { return v != "" && v.Int() >= 400 }

// isBlank reports whether a member is missing, or says nothing.
func isBlank(v Value) bool {
	return len(v) <= len("false") && slices.Contains([]string{"", "null", "false", "0", `""`, "[]", "{}"}, string(v))
}

func isWord(v Value, words ...string) bool { return slices.Contains(words, strings.ToLower(v.Text())) }

// fill sets the fields.
func (c *candidate) fill(target reflect.Value, fields []field) {
	for i, f := range fields {
		v, at := c.members[i], target.Field(f.index)
		switch {
		case v == "":
		case f.kind == reflect.String:
			text := v.Text()
			if len(c.text) >= largeRecord {
				text = strings.Clone(text)
			}
			at.SetString(text)
		case f.kind == reflect.Bool:
			at.SetBool(v.Bool())
		case f.kind == reflect.Int:
			at.SetInt(int64(v.Int()))
		default:
			*at.Addr().Interface().(*time.Time) = v.Time()
		}
	}
}
