package lenient

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxFields   = 12       // of a record
	wrappers    = 2        // most objects around a record or a list
	largeRecord = 16 << 10 // size, in bytes, from which each text is copied, so that one does not keep the whole record
)

// field is a field of a record and the name of its member.
type field struct {
	name  string
	index int
	kind  reflect.Kind // String, Bool, Int, or Struct for a time.Time
}

var layouts sync.Map // of fields, by the type of the record

// layout returns the fields of a record with a json tag.
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

// Record finds the record in a response, sets the fields of the struct that record points to, and returns the
// record's text. The json tag of a field is the name of its member. A field is a string, a bool, an int or a time.Time,
// and a struct has at most 12. A null, missing or unreadable member leaves its field unchanged. The record owns its
// memory: its texts are parts of one copy or, in a large record, copies of their own. A record that is most of v is not
// copied, unless a text has an escape.
//
// Candidates are v and the objects under data and under the singular name, two levels deep. Record takes
//
//   - the outermost with an id and a name, else
//   - the outermost with an id, else
//   - the outermost with any field of the right JSON type
//
// An array of one object counts as the object, unless an object outside of arrays has an id.
//
// Record ignores an object that reports an error, and the objects inside it. Then it takes only an object with an id
// and a name, or returns ErrSaysError. Without a record the error is ErrNoRecord.
func Record(v Value, singular string, record any) (Value, error) {
	return find(v, singular, record, len(v), Value.only)
}

// Element is [Record] for an element of a list. It does not look into arrays.
func Element(v Value, singular string, record any) (Value, error) {
	return find(v, singular, record, math.MaxInt, func(v Value) (Value, bool) { return v, false })
}

// find is Record with a function that returns the element of an array, and whether there was one. A record that is more
// than half of the whole, in bytes, shares its memory.
func find(v Value, singular string, record any, whole int, unwrap func(Value) (Value, bool)) (Value, error) {
	target := reflect.ValueOf(record).Elem()
	fields := layout(target.Type())
	// The objects inside objects[i] are objects[2*i+1] and objects[2*i+2].
	objects, listed := [1 + 2 + 4]Value{v}, [1 + 2 + 4]bool{}
	var best candidate
	err := ErrNoRecord
	for i := 0; i < len(objects) && best.rank < complete; i++ {
		text, unwrapped := unwrap(objects[i])
		listed[i] = unwrapped || i > 0 && listed[(i-1)/2]
		c := candidate{text: text}
		c.read(singular, fields)
		if (isBlank(c.id) || isBlank(c.name)) && c.text.SaysError() {
			err = ErrSaysError
			continue
		}
		if listed[i] {
			c.rank = inArray[c.rank]
		}
		if c.rank > best.rank {
			best = c
		}
		if inside := 2*i + 1; inside < len(objects) {
			copy(objects[inside:], c.inside[:])
		}
	}
	if best.rank == 0 || err == ErrSaysError && best.rank < complete {
		return "", err
	}
	return best.fill(target, fields, 2*len(best.text) > whole), nil
}

// only returns the element of an array of one object. It returns anything else itself.
func (v Value) only() (element Value, ok bool) {
	count := 0
	for element = range v.Elements() {
		if count++; count > 1 {
			break
		}
	}
	if count != 1 || !element.IsObject() {
		return v, false
	}
	return element, true
}

// Bare is [Record] for v itself, an object, without a search for the record.
func Bare(v Value, record any) Value {
	target := reflect.ValueOf(record).Elem()
	fields := layout(target.Type())
	c := candidate{text: v}
	c.read("", fields)
	return c.fill(target, fields, false)
}

// HoldsError reports whether v, or a candidate for its record, reports an error.
func HoldsError(v Value, singular string) bool { return holds(v, singular, wrappers, Value.SaysError) }

// HoldsRecord reports whether v, or a candidate for its record, reports a record as present: its member deleted is
// false.
func HoldsRecord(v Value, singular string) bool {
	return holds(v, singular, wrappers, func(v Value) bool { return isWord(v.Member("deleted"), "false", "0") })
}

func holds(v Value, singular string, depth int, what func(Value) bool) bool {
	return what(v) || depth > 0 && (holds(v.Member("data"), singular, depth-1, what) ||
		holds(v.Member(singular), singular, depth-1, what))
}

// The ranks of a candidate, the best last.
const (
	typedInArray = 1 + iota
	typed        // it has a field of the right JSON type
	identifiedInArray
	completeInArray
	identified // it has an id
	complete   // it has an id and a name, which may be null
)

var inArray = map[int]int{typed: typedInArray, identified: identifiedInArray, complete: completeInArray}

// span is a part of a text. An empty one stands for a missing value.
type span struct{ from, to int }

// candidate is an object that may be the record.
type candidate struct {
	text       Value
	members    [maxFields]span // in the order of the fields; empty for a missing or unreadable member
	attributes span            // in JSON:API it has the fields
	inside     [2]Value        // under data and the singular name
	id         Value           // empty for none
	name       Value           // of any type; empty for none
	rank       int
}

func (c *candidate) value(s span) Value { return c.text[s.from:s.to] }

// read sets the fields of c from its text. A text other than an object has none.
func (c *candidate) read(singular string, fields []field) {
	if !c.text.IsObject() {
		return
	}
	c.take(cursor{text: c.text}, singular, fields)
	if c.name == "" && c.value(c.attributes).IsObject() {
		c.take(cursor{text: c.text, at: c.attributes.from}, singular, fields)
		c.inside = [2]Value{}
		c.take(cursor{text: c.text}, singular, fields) // again, because its own members go first
	}
	if c.id != "" && c.name != "" {
		c.rank = complete
	} else if c.id != "" {
		c.rank = identified
	}
}

// take reads the members of the object at the cursor.
func (c *candidate) take(at cursor, singular string, fields []field) {
	next := 0       // because most services send the members in the order of the fields
	for at.more() { // without the allocations of Members
		key := at.name().key()
		from := at.at
		at.skip()
		s := span{from, at.at}
		member := c.value(s)
		i := next
		if i == len(fields) || fields[i].name != key {
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

// hasType reports whether a value has the JSON type for a field of this kind.
func hasType(v Value, kind reflect.Kind) bool {
	switch kind {
	case reflect.Bool:
		return v.isBool()
	case reflect.Int:
		return v.IsNumber()
	}
	return v.IsString()
}

// SaysError reports whether v is an object that reports an error: see [Members.SaysError].
func (v Value) SaysError() bool {
	telling := make(Members, 0, 16) // in one pass, because the object may hold the whole record
	for name, value := range v.Members() {
		if len(telling) < maxAround && slices.Contains(tell, name.key()) {
			telling = append(telling, member{name, value})
		}
	}
	return len(telling) > 0 && telling.SaysError() // an envelope often has none of them
}

// tell are the members that SaysError reads.
var tell = []string{"id", "name", "error", "errors", "exception", "status", "code", "success", "ok"}

// SaysError reports whether the object with these members reports an error. An object with both an id and a name never
// does. Any other does if it has an error, errors or exception, a status of error, fail or failed, a status or code
// from 400 to 599, or a false success or ok.
func (m Members) SaysError() bool {
	id, status := m.Member("id"), m.Member("status")
	if (id.IsString() || id.IsNumber()) && !isBlank(id) && !isBlank(m.Member("name")) {
		return false
	}
	return !isBlank(m.Member("error")) || !isBlank(m.Member("errors")) || !isBlank(m.Member("exception")) ||
		isFailure(status) || isFailure(m.Member("code")) || isWord(status, "error", "fail", "failed") ||
		isWord(m.Member("success"), "false", "0") || isWord(m.Member("ok"), "false", "0")
}

// isFailure reports whether a status or code is an HTTP status of an error.
func isFailure(v Value) bool { return v != "" && v.Int() >= 400 && v.Int() <= 599 }

// isBlank reports whether a value is missing, null, false, zero or empty.
func isBlank(v Value) bool {
	if v.IsObject() || v.IsArray() {
		c := cursor{text: v}
		return !c.more() // there may be white space between the brackets
	}
	return len(v) <= len("false") && slices.Contains([]string{"", "null", "false", "0", `""`}, string(v))
}

func isWord(v Value, words ...string) bool { return slices.Contains(words, strings.ToLower(v.Text())) }

// fill sets the fields and returns the text: a copy, unless keep is set and no text has an escape. Texts with escapes
// stand behind the copy in the same memory.
func (c *candidate) fill(target reflect.Value, fields []field, keep bool) Value {
	large := len(c.text) >= largeRecord
	plain := isPlain(string(c.text)) // then every text is, without a look at each
	size := len(c.text)
	for i, f := range fields {
		if v := c.value(c.members[i]); f.kind == reflect.String && !large && !plain && !v.isPlain() {
			size += len(v)
		}
	}
	var memory strings.Builder
	own := c.text
	if !keep || size > len(own) {
		memory.Grow(size)
		memory.WriteString(string(c.text))
		own = Value(memory.String())
	}
	for i, f := range fields {
		v, at := own[c.members[i].from:c.members[i].to], target.Field(f.index)
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
		case plain && v.IsString():
			at.SetString(string(v[1 : len(v)-1]))
		case v.isPlain():
			at.SetString(v.Text())
		default:
			from := memory.Len()
			v.write(&memory)
			at.SetString(memory.String()[from:])
		}
	}
	return own
}
