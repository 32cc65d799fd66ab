package lenient

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

const (
	maxFields = 12  // of a record
	wrappers  = 2   // objects that may stand around a record or a list
	longText  = 256 // bytes from which on a text has memory of its own; the shorter ones of a record share theirs
)

// Field is a member of a record and where its value goes: a *string, *bool, *int or *time.Time. The field called "id"
// is the record's identity.
type Field struct {
	Name string
	At   any
}

// Record finds the record in v, sets its fields and returns its text. Fields that are null, missing or unreadable are
// left as they are. There are at most 12 fields.
//
// It looks at v and at the objects under data and under the singular name, two levels deep, and takes the outermost
// with an id and a name. If there is none, it takes the outermost with an id, and after that the outermost that has
// another field of the JSON type it should have. An object that says that it is an error hides what is nested in it,
// and leaves only the first rule for the others: the error is then ErrSaysError. If there is no record, it is
// ErrNoRecord.
func Record(v Value, singular string, fields []Field) (json.RawMessage, error) {
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
			return c.fill(fields), nil
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
		return nil, ErrSaysError
	case best.rank == 0:
		return nil, ErrNoRecord
	}
	return best.fill(fields), nil
}

// Bare sets the fields from v itself, which is an object, and returns its text.
func Bare(v Value, fields []Field) json.RawMessage {
	c := candidate{text: v}
	c.read("", fields)
	return c.fill(fields)
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
	members [maxFields]Value // in the order of the fields; nil where the value is no string, number or boolean
	inside  [2]Value         // under data and the singular name
	id      Value            // nil for none
	name    Value            // of any type; nil for none
	rank    int
}

// read goes over the object once and takes what it has of a record. Anything else has nothing.
func (c *candidate) read(singular string, fields []Field) {
	if !c.text.IsObject() {
		return
	}
	next := 0                                      // Most services send members in much the same order.
	for at := (cursor{text: c.text}); at.more(); { // without the allocations of Members
		name, member := at.name(), at.value()
		key := []byte(name[1 : len(name)-1]) // quicker than text, which most names do not need
		if bytes.IndexByte(key, '\\') >= 0 {
			key = name.text(make([]byte, 0, 32))
		}
		i := next
		if i == len(fields) || fields[i].Name != string(key) {
			i = slices.IndexFunc(fields, func(f Field) bool { return f.Name == string(key) })
		}
		next = i + 1
		switch {
		case string(key) == "name":
			c.name = member
		case string(key) == "data":
			c.inside[0] = member
		case string(key) == singular:
			c.inside[1] = member
		}
		switch {
		case i < 0 || !member.isScalar():
			continue
		case string(key) == "id":
			if member.isBool() || string(member) == `""` {
				continue
			}
			c.id = member
		case hasType(member, fields[i].At):
			c.rank = typed
		}
		c.members[i] = member
	}
	if c.id != nil && c.name != nil {
		c.rank = complete
	} else if c.id != nil {
		c.rank = identified
	}
}

// hasType reports whether a value has the JSON type of a field.
func hasType(v Value, at any) bool {
	switch at.(type) {
	case *bool:
		return v.isBool()
	case *int:
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
func isFailure(v Value) bool { return v != nil && v.Int() >= 400 }

// isBlank reports whether a member is missing, or says nothing.
func isBlank(v Value) bool {
	return len(v) <= len("false") && slices.Contains([]string{"", "null", "false", "0", `""`, "[]", "{}"}, string(v))
}

func isWord(v Value, words ...string) bool { return slices.Contains(words, strings.ToLower(v.Text())) }

// fill sets the fields and returns the record's text. The short texts of a record share a piece of memory: a list of
// 100 records has some 800.
func (c *candidate) fill(fields []Field) json.RawMessage {
	size := 0
	for i, f := range fields {
		if _, ok := f.At.(*string); ok && len(c.members[i]) < longText {
			size += len(c.members[i])
		}
	}
	var texts strings.Builder
	texts.Grow(size)
	for i, f := range fields {
		v := c.members[i]
		if v == nil {
			continue
		}
		switch at := f.At.(type) {
		case *string:
			*at = v.textIn(&texts)
		case *bool:
			*at = v.Bool()
		case *int:
			*at = v.Int()
		case *time.Time:
			*at = v.Time()
		}
	}
	return json.RawMessage(c.text)
}

// textIn returns Text, in memory of the builder unless it is long.
func (v Value) textIn(texts *strings.Builder) string {
	if len(v) >= longText {
		return v.Text()
	}
	start := texts.Len()
	texts.Write(v.text(make([]byte, 0, longText)))
	return texts.String()[start:]
}
