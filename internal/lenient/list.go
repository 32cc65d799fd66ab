package lenient

import "slices"

// maxItems bounds a list to a thousand times the largest documented page: a few kilobytes, compressed, can be
// millions of items and gigabytes of memory.
const maxItems = 100_000

// maxAround is how many members are kept of an object around a list, or of one that may say that it is an error.
// Laravel's plain paginator has 13; a million of them would take ten times the memory of their text.
const maxAround = 100

// List is a list that was found in a response.
type List struct {
	Items  []Value
	Around Members // of the objects that the list was found in, the outer one's first, without what may be a list
}

// Members are members of objects.
type Members []member

type member struct{ name, value Value } // the name in quotes

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
// this order. An object under one of these names may have the array, two levels deep; arrays go before objects. If
// there is no list, or an empty one, the error is ErrSaysError if v says that it is an error; else it is ErrNoList.
func FindList(v Value, collection string) (List, error) {
	list, err := findList(&cursor{text: v}, []string{"data", collection, "items", "results"}, wrappers)
	empty := err == ErrNoList || err == nil && len(list.Items) == 0
	if empty && v.SaysError() {
		err = ErrSaysError
	}
	return list, err
}

// findList goes past a value, and into objects as deep as it may. The error is ErrNoList if there is no list.
func findList(c *cursor, names []string, depth int) (list List, err error) {
	switch {
	case c.text[c.at] == '[':
		return c.list()
	case c.text[c.at] != '{' || depth == 0:
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
			if found, failed := findList(c, names, depth-1); failed != ErrNoList {
				list, err, best = found, failed, rank
			}
		} else if value := c.value(); len(around) < maxAround {
			around = append(around, member{name, value})
		}
	}
	if err == nil {
		list.Around = append(around, list.Around...)
	}
	return list, err
}

// list goes past an array and returns its elements.
func (c *cursor) list() (List, error) {
	items := make([]Value, 0, 16)
	for c.more() {
		if item := c.value(); len(items) <= maxItems {
			items = append(items, item)
		}
	}
	if len(items) > maxItems {
		return List{}, ErrTooMany
	}
	return List{Items: items}, nil
}
