package lenient

import "slices"

// maxItems bounds a list to a thousand times the largest documented page: a few kilobytes, compressed, can be millions
// of items and gigabytes of memory.
const maxItems = 100_000

// List is a list that was found in a response.
type List struct {
	Items []Value
	// Around has the members of the objects that the list was found in, but for the one with the list. Of members
	// with the same name the one nearest to the list is the last. It is nil for a bare array.
	Around Value
}

// FindList finds a list: v itself, or the array that it has under data, the collection's name, items or results, in
// this order. An object under one of these names may have the array, two levels deep; arrays go before objects. If
// there is no list, or an empty one, the error is ErrSaysError if v says that it is an error; else it is ErrNoList.
func FindList(v Value, collection string) (List, error) {
	list, err := findList(&cursor{text: v}, []string{"data", collection, "items", "results"}, wrappers)
	empty := err == ErrNoList || err == nil && len(list.Items) == 0
	if empty && v.Member("id").IsNull() && v.SaysError() {
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
	start, best := c.at, 2*len(names)
	from, to := 0, 0
	err = ErrNoList
	for c.more() {
		member := c.at
		rank := slices.Index(names, c.name().Text())
		if rank >= 0 && c.text[c.at] != '[' {
			rank += len(names)
		}
		if rank < 0 || rank > best {
			c.skip()
			continue
		}
		if found, failed := findList(c, names, depth-1); failed != ErrNoList {
			list, err, best, from, to = found, failed, rank, member, c.at
		}
	}
	if err == nil {
		list.Around = around(c.text[start:from], c.text[to:c.at], list.Around)
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

// around returns an object with the members around a list: those before and after it, with the object's
// brackets, and those of the object inside. A member without a name stands for what was cut out.
func around(before, after, inside Value) Value {
	members := slices.Concat(before, Value(`"":0`), after)
	if inside != nil {
		members[len(members)-1] = ','
		members = append(members, inside[1:]...)
	}
	return members
}
