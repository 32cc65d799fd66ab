package lenient

import (
	"slices"
	"strings"
)

// maxItems limits the length of a list, because a few compressed kilobytes may hold millions of items. It is a thousand
// times the largest documented page.
const maxItems = 100_000

// maxAround limits the number of [Members], because a million of them would take ten times the memory of their text.
// Laravel's plain paginator has 13.
const maxAround = 100

// List is a list in a response.
type List struct {
	Items  []Value
	Around Members // of the objects around the list, from the outermost in, without possible places of the list
}

// Members are members of objects.
type Members []member

type member struct{ name, value Value } // the name in quotes

// gather returns the members of an object, up to maxAround.
func (v Value) gather() Members {
	members := make(Members, 0, 16)
	for name, value := range v.Members() {
		if len(members) == maxAround {
			break
		}
		members = append(members, member{name, value})
	}
	return members
}

// Objects returns the members of each object whose name in m equals the given one apart from case and underscores. The
// given name has neither.
func (m Members) Objects(name string) (list []Members) {
	for _, member := range m {
		if member.value.IsObject() && member.name.resembles(name) {
			list = append(list, member.value.gather())
		}
	}
	return list
}

// Find returns the value of the last member whose name equals the given one apart from case and underscores, or an
// empty value. The given name has neither.
func (m Members) Find(name string) Value {
	for _, member := range slices.Backward(m) {
		if member.name.resembles(name) {
			return member.value
		}
	}
	return ""
}

// Member returns the value of the last member with the name, or an empty value.
func (m Members) Member(name string) Value {
	for _, member := range slices.Backward(m) {
		if member.name.key() == name {
			return member.value
		}
	}
	return ""
}

// FindList finds the list in a response: v itself, or the array under data, under the collection's name, under items or
// under results, the first of these in this order. An object under one of these names may hold the array, up to two
// levels deep. Arrays go before objects. An object whose names are all numbers is a list of its values, because PHP
// writes an array with gaps in this way.
//
// If v reports an error and has no list, or an empty one, the error is ErrSaysError. Otherwise a missing list is
// ErrNull, with the members around, if null stands in its place, else ErrNoList.
func FindList(v Value, collection string) (List, error) {
	list, err := findList(&cursor{text: v}, []string{"data", collection, "items", "results"}, wrappers)
	empty := err == ErrNoList || err == ErrNull || err == nil && len(list.Items) == 0
	if empty && v.SaysError() {
		err = ErrSaysError
	}
	return list, err
}

// findList moves past a value and searches it, with objects up to depth. Without a list the error is ErrNoList or
// ErrNull.
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
		rank := slices.Index(names, name.key())
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

// isNumbered reports whether all names of an object are numbers. It is false for an empty object.
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

// list moves past an array or object and returns its elements or values.
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
