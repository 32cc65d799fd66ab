package lenient

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// maxFields is how many fields a record may have.
const maxFields = 12

// wrappers is how many objects may stand around a record or a list.
const wrappers = 2

// longText is from how many bytes on a text has memory of its own. The shorter ones of a record share theirs.
const longText = 256

// Field is a member of a record and where its value goes: a *string, *bool, *int or *time.Time. The field called "id" is the
// record's identity.
type Field struct {
	Name string
	At   any
}

// Record finds the record in v, sets its fields and returns its text. Fields that are null, missing or unreadable are
// left as they are. There are at most 12 fields.
//
// It looks at v and at the objects under data and under the singular name, two levels deep, and takes the outermost
// with an id and a name. If there is none, it takes the outermost with an id, and after that the outermost that has another field
// of the JSON type it should have. If no object has an id and one says that it is an error, the error is
// ErrSaysError. If there is no record, it is ErrNoRecord.
func Record(v Value, singular string, fields []Field) (json.RawMessage, error) {
	// The objects inside objects[i] are objects[2*i+1] and objects[2*i+2].
	objects := [1 + 2 + 4]Value{v}
	var best candidate
	for i := range objects {
		object := objects[i]
		if !object.IsObject() {
			continue
		}
		c := candidate{text: object}
		if c.read(singular, fields); c.rank == complete {
			return c.fill(fields), nil
		}
		if c.rank > best.rank {
			best = c
		}
		if inside := 2*i + 1; inside < len(objects) {
			objects[inside], objects[inside+1] = c.inside[0], c.inside[1]
		}
	}
	switch {
	case best.rank >= identified:
		return best.fill(fields), nil
	case slices.ContainsFunc(objects[:], Value.saysError):
		return nil, ErrSaysError
	case best.rank == typed:
		return best.fill(fields), nil
	}
	return nil, ErrNoRecord
}

// Bare sets the fields from v itself and returns its text, nil if v is no object.
func Bare(v Value, fields []Field) json.RawMessage {
	if !v.IsObject() {
		return nil
	}
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
	rank    int
}

// read goes over the object once and takes what it has of a record.
func (c *candidate) read(singular string, fields []Field) {
	hasID, hasName := false, false
	expected := 0
	cur := cursor{text: c.text}
	for cur.enter(); cur.more(); {
		i := expected
		if i == len(fields) || !cur.named(fields[i].Name) {
			name := cur.name()
			if i = index(fields, expected, name); i < 0 {
				switch member := cur.value(); {
				case !member.IsObject():
				case name.is("data"):
					c.inside[0] = member
				case name.is(singular):
					c.inside[1] = member
				}
				continue
			}
		}
		member := cur.value()
		expected = i + 1
		f := fields[i]
		hasName = hasName || f.Name == "name"
		switch {
		case !member.isScalar():
			continue
		case f.Name == "id":
			if member.isBool() || len(member) == len(`""`) && member.IsString() {
				continue
			}
			hasID = true
		case hasType(member, f.At):
			c.rank = typed
		}
		c.members[i] = member
	}
	if hasID && hasName {
		c.rank = complete
	} else if hasID {
		c.rank = identified
	}
}

// index returns the index of the field with the name, -1 if there is none. It begins at the expected one, as most services send
// members in much the same order.
func index(fields []Field, expected int, name Value) int {
	for i := range fields {
		if i += expected; i >= len(fields) {
			i -= len(fields)
		}
		if fields[i].Name == string(name[1:len(name)-1]) {
			return i
		}
	}
	return slices.IndexFunc(fields, func(f Field) bool { return name.is(f.Name) })
}

// hasType reports whether a value has the JSON type of a field.
func hasType(v Value, at any) bool {
	switch at.(type) {
	case *bool:
		return v.isBool()
	case *int:
		return v.isNumber()
	}
	return v.IsString()
}

// saysError reports whether an object says that it is an error.
func (v Value) saysError() bool {
	status := v.Member("status").Text()
	if strings.EqualFold(status, "error") || strings.EqualFold(status, "fail") {
		return true
	}
	return slices.ContainsFunc([]string{"error", "errors", "exception"}, func(name string) bool {
		switch string(v.Member(name)) {
		case "", "null", "false", "0", `""`, "[]", "{}":
			return false
		}
		return true
	})
}

// fill sets the fields and returns the record's text.
func (c *candidate) fill(fields []Field) json.RawMessage {
	var room [2 * longText]byte
	var ends [maxFields]int
	short := room[:0]
	for i, f := range fields {
		if v := c.members[i]; v != nil {
			switch at := f.At.(type) {
			case *string:
				if *at = ""; len(v) < longText {
					short = v.appendText(short)
				} else {
					*at = v.Text()
				}
			case *bool:
				*at = v.Bool()
			case *int:
				*at = v.Int()
			case *time.Time:
				*at = v.Time()
			}
		}
		ends[i] = len(short)
	}
	shared, start := string(short), 0
	for i, f := range fields {
		if end := ends[i]; end > start {
			*f.At.(*string) = shared[start:end]
			start = end
		}
	}
	return json.RawMessage(c.text)
}
