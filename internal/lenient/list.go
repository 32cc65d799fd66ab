package lenient

import (
	"slices"
	"strings"
)

// maxItems bounds a list to a thousand times the largest documented page: a few kilobytes, compressed, can be
// millions of items and gigabytes of memory.
const maxItems = 100_000

// maxAround is how many members are kept of an object around a list, or of one that may say that it is an error.
// Laravel's plain paginator has 13; a million of them would take ten times the memory of their text.
const maxAround = 100

// List is a list that was found in a response.
type List struct {
	Items  []Value
	Around Members // of the objects around the list, the outer one's first, without those that may be a list
}

// Members are members of objects.
type Members []member

type member struct{ name, value Value } // the name in quotes

// gather returns the members of an object, up to a limit that no object around a list exceeds.
func (v Value) gather() (members Members) {
	if !v.IsObject() {
		return nil
	}
	members = make(Members, 0, 16)
	for at := (cursor{text: v}); at.more() && len(members) < maxAround; {
		name := at.name()
		members = append(members, member{name, at.value()})
	}
	return members
}

// Objects returns the members of each object that m has under the name, apart from case and underscores.
func (m Members) Objects(name string) (list []Members) {
	for _, member := range m {
		if member.value.IsObject() && member.name.resembles(name) {
			list = append(list, member.value.gather())
		}
	}
	return list
}

// Find returns the value of the last member whose name is equal apart from case and underscores. It is empty if there
// is none. The name given has neither.
func (m Members) Find(name string) Value {
	for _, member := range slices.Backward(m) {
		if member.name.resembles(name) {
			return member.value
		}
	}
	return ""
}

// Member returns the value of the last member with the name, and an empty one if there is none.
func (m Members) Member(name string) Value {
	for _, member := range slices.Backward(m) {
		if member.name.names(name) {
			return member.value
		}
	}
	return ""
}

// FindList finds a list: v itself, or the array that it has under data, the collection's name, items or results, in
// this order. An object under one of these names may have the array, two levels deep; arrays go before objects. An
// object whose members have numbers for names is a list of their values, as PHP writes an array with gaps.
//
// If there is no list, or an empty one, the error is ErrSaysError if v says that it is an error. Else it is ErrNull,
// with the members around, if there is a null in the place of the list, and ErrNoList if there is not.
func FindList(v Value, collection string) (List, error) {
	list, err := findList(&cursor{text: v}, []string{"data", collection, "items", "results"}, wrappers)
	empty := err == ErrNoList || err == ErrNull || err == nil && len(list.Items) == 0
	if empty && v.SaysError() {
		err = ErrSaysError
	}
	return list, err
}

// findList goes past a value, and into objects as deep as it may. Without a list the error is ErrNoList or ErrNull.
func findList(c *cursor, names []string, depth int) (list List, err error) {
	switch first := c.text[c.at]; {
	case first == '[', first == '{' && c.isNumbered():
		return c.list()
	case first == 'n':
		c.skip()
		return List{}, ErrNull
	case first != '{' || depth == 0:
		c.skip()
		return List{}, ErrNoList
	}
	best := 2 * len(names)
	around := make(Members, 0, 16)
	err = ErrNoList
	for c.more() {
		name := c.name()
		rank := slices.Index(names, name.Text())
		if rank >= 0 && c.text[c.at] != '[' {
			rank += len(names)
		}
		if rank >= 0 && rank <= best {
			found, failed := findList(c, names, depth-1)
			switch {
			case failed != ErrNoList && failed != ErrNull:
				list, err, best = found, failed, rank
			case failed == ErrNull && err == ErrNoList:
				list, err = found, failed
			}
		} else if value := c.value(); len(around) < maxAround {
			around = append(around, member{name, value})
		}
	}
	if err == nil || err == ErrNull {
		list.Around = append(around, list.Around...)
	}
	return list, err
}

// isNumbered reports whether the names of an object are numbers. An empty object is not one of these.
func (c cursor) isNumbered() bool {
	count := 0
	for ; c.more(); count++ {
		if strings.Trim(string(c.name()), `"0123456789`) != "" {
			return false
		}
		c.skip()
	}
	return count > 0
}

// list goes past an array, or an object, and returns its elements or values.
func (c *cursor) list() (List, error) {
	items := make([]Value, 0, 16)
	for named := c.text[c.at] == '{'; c.more(); {
		if named {
			c.name()
		}
		if item := c.value(); len(items) <= maxItems {
			items = append(items, item)
		}
	}
	if len(items) > maxItems {
		return List{}, ErrTooMany
	}
	return List{Items: items}, nil
}
