package lenient

import (
	"cmp"
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

// Record finds the record in a response, sets the fields of the struct that record points to, and returns a copy of the
// record's text. A field is read from the member that its json tag names; it is a text, a boolean, an int or a
// time.Time, and there are at most 12. Fields that are null, missing or unreadable are left as they are. The record
// owns its memory: its texts are parts of the copy or, in a large record, have memory of their own.
//
// Record looks at v and at the objects under data and under the singular name, two levels deep, and takes the outermost
// with an id and a name. If there is none, it takes the outermost with an id, and after that the outermost that has
// another field of the JSON type it should have. An array of one object counts as the object, unless an object outside
// of arrays has an id. An object that says that it is an error hides what is nested in it, and leaves only the first
// rule for the others: the error is then ErrSaysError. If there is no record, it is ErrNoRecord.
func Record(v Value, singular string, record any) (Value, error) {
	return find(v, singular, record, Value.only)
}

// Element is [Record] for an element of a list, in which an array is no record.
func Element(v Value, singular string, record any) (Value, error) {
	return find(v, singular, record, func(v Value) (Value, bool) { return v, false })
}

// find is Record with a function that unwraps arrays and reports whether it did.
func find(v Value, singular string, record any, unwrap func(Value) (Value, bool)) (Value, error) {
	target := reflect.ValueOf(record).Elem()
	fields := layout(target.Type())
	// The objects inside objects[i] are objects[2*i+1] and objects[2*i+2].
	objects, listed := [1 + 2 + 4]Value{v}, [1 + 2 + 4]bool{}
	var best, bestListed candidate
	saysError := false
	for i := range objects {
		text, unwrapped := unwrap(objects[i])
		listed[i] = unwrapped || i > 0 && listed[(i-1)/2]
		c := candidate{text: text}
		c.read(singular, fields)
		switch {
		case (isBlank(c.id) || isBlank(c.name)) && c.text.SaysError():
			saysError = true
			continue
		case c.rank == complete && !listed[i]:
			return c.fill(target, fields), nil
		case listed[i] && c.rank > bestListed.rank:
			bestListed = c
		case !listed[i] && c.rank > best.rank:
			best = c
		}
		if inside := 2*i + 1; inside < len(objects) {
			copy(objects[inside:], c.inside[:])
		}
	}
	if best.rank < identified && bestListed.rank > best.rank {
		best = bestListed
	}
	switch {
	case saysError:
		return "", ErrSaysError
	case best.rank == 0:
		return "", ErrNoRecord
	}
	return best.fill(target, fields), nil
}

// only returns the element of an array of one object, and v itself if it is anything else.
func (v Value) only() (element Value, ok bool) {
	if !v.IsArray() {
		return v, false
	}
	at := cursor{text: v}
	if at.more() {
		element = at.value()
	}
	if !element.IsObject() || at.more() {
		return v, false
	}
	return element, true
}

// Bare sets the fields of the struct that record points to from v itself, which is an object, and returns a copy of v
// as Record does.
func Bare(v Value, record any) Value {
	target := reflect.ValueOf(record).Elem()
	fields := layout(target.Type())
	c := candidate{text: v}
	c.read("", fields)
	return c.fill(target, fields)
}

// HoldsError reports whether v says that it is an error, or an object that may be the record in it does.
func HoldsError(v Value, singular string) bool { return holds(v, singular, wrappers, Value.SaysError) }

// HoldsRecord reports whether v says of a record that it is still there: deleted is false in v, or in an object that
// may be the record in it.
func HoldsRecord(v Value, singular string) bool {
	return holds(v, singular, wrappers, func(v Value) bool { return isWord(v.Member("deleted"), "false", "0") })
}

func holds(v Value, singular string, depth int, what func(Value) bool) bool {
	return what(v) || depth > 0 && (holds(v.Member("data"), singular, depth-1, what) ||
		holds(v.Member(singular), singular, depth-1, what))
}

// What an object has of a record.
const (
	typed      = 1 + iota // a field of its JSON type
	identified            // an id
	complete              // an id and a name, even one that is null
)

// span is a part of a text. Empty is a value that is missing.
type span struct{ from, to int }

// candidate is an object that may be the record.
type candidate struct {
	text       Value
	members    [maxFields]span // in the order of the fields; empty where the value is not one of a field
	attributes span            // the member of that name, which has the fields in JSON:API
	inside     [2]Value        // under data and the singular name
	id         Value           // empty for none
	name       Value           // of any type; empty for none
	rank       int
}

func (c *candidate) value(s span) Value { return c.text[s.from:s.to] }

// read takes the members of a record from the object. A text that is no object has none.
func (c *candidate) read(singular string, fields []field) {
	if !c.text.IsObject() {
		return
	}
	c.take(cursor{text: c.text}, singular, fields)
	if c.name == "" && c.value(c.attributes).IsObject() {
		outer, inside := *c, c.inside
		c.take(cursor{text: c.text, at: c.attributes.from}, singular, fields)
		c.inside = inside
		for i, s := range outer.members {
			if s.to > 0 {
				c.members[i] = s
			}
		}
		c.id = cmp.Or(outer.id, c.id)
	}
	if c.id != "" && c.name != "" {
		c.rank = complete
	} else if c.id != "" {
		c.rank = identified
	}
}

// take takes the members of the object before which the cursor stands.
func (c *candidate) take(at cursor, singular string, fields []field) {
	next := 0       // Most services send members in much the same order.
	for at.more() { // without the allocations of Members
		name := at.name()
		from := at.at
		at.skip()
		s := span{from, at.at}
		member := c.value(s)
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
		case "attributes":
			c.attributes = s
		case "data":
			c.inside[0] = member
		case singular:
			c.inside[1] = member
		}
		switch {
		case i < 0 || !member.isScalar() && !(fields[i].kind == reflect.Struct && member.IsObject()):
			continue
		case key == "id":
			if member.isBool() || member == `""` {
				continue
			}
			c.id = member
		case hasType(member, fields[i].kind):
			c.rank = typed
		}
		c.members[i] = s
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
// has an error, errors or exception, a status of error, fail or failed, a status or code from 400 to 599, or a success
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

// isFailure reports whether a status or code is one of HTTP's for an error. Most records have none.
func isFailure(v Value) bool { return v != "" && v.Int() >= 400 && v.Int() <= 599 }

// isBlank reports whether a member is missing, or says nothing.
func isBlank(v Value) bool {
	return len(v) <= len("false") && slices.Contains([]string{"", "null", "false", "0", `""`, "[]", "{}"}, string(v))
}

func isWord(v Value, words ...string) bool { return slices.Contains(words, strings.ToLower(v.Text())) }

// fill sets the fields, and returns a copy of the text. In one piece of memory with it are the texts that differ from
// their JSON.
func (c *candidate) fill(target reflect.Value, fields []field) Value {
	large := len(c.text) >= largeRecord
	size := len(c.text)
	for i, f := range fields {
		if v := c.value(c.members[i]); f.kind == reflect.String && !large && !v.isPlain() {
			size += len(v)
		}
	}
	var memory strings.Builder
	memory.Grow(size)
	memory.WriteString(string(c.text))
	var texts [maxFields]span
	for i, f := range fields {
		v, at := c.value(c.members[i]), target.Field(f.index)
		switch {
		case v == "":
		case f.kind == reflect.Bool:
			at.SetBool(v.Bool())
		case f.kind == reflect.Int:
			at.SetInt(int64(v.Int()))
		case f.kind == reflect.Struct:
			*at.Addr().Interface().(*time.Time) = v.Time()
		case f.name == "id" && v.ID() != v.Text():
			at.SetString(v.ID())
		case large:
			at.SetString(strings.Clone(v.Text()))
		case v.isPlain() && v.IsString():
			texts[i] = span{c.members[i].from + 1, c.members[i].to - 1}
		case v.isPlain():
			texts[i] = c.members[i]
		default:
			texts[i].from = memory.Len()
			v.write(&memory)
			texts[i].to = memory.Len()
		}
	}
	all := memory.String()
	for i, s := range texts {
		if s.to > 0 {
			target.Field(fields[i].index).SetString(all[s.from:s.to])
		}
	}
	return Value(all[:len(c.text)])
}
