package lenient

import "slices"

// List is a list that was found in a response.
type List struct {
	Items  Value    // the array
	Around Envelope // the objects that it was found in
}

// FindList finds the array of a list: v itself, or what it has under data, the collection's name, items or results, in this
// order. An object under one of these names may have the array, two levels deep; arrays go before objects. If there is
// no list, the error is ErrSaysError if v says that it is an error, and else ErrNoList.
func FindList(v Value, collection string) (List, error) {
	list, found := findList(v, [...]string{"data", collection, "items", "results"}, wrappers)
	switch {
	case found:
		return list, nil
	case v.IsObject() && v.Member("id").IsNull() && v.saysError():
		return List{}, ErrSaysError
	}
	return List{}, ErrNoList
}

func findList(v Value, names [4]string, depth int) (list List, found bool) {
	if v.IsArray() {
		return List{Items: v}, true
	}
	if !v.IsObject() || depth == 0 {
		return List{}, false
	}
	best := 2 * len(names)
	c := cursor{text: v}
	for c.enter(); c.more(); {
		name := c.name()
		from := c.at
		member := c.value()
		rank := slices.IndexFunc(names[:], name.is)
		if rank >= 0 && !member.IsArray() {
			rank += len(names)
		}
		if rank < 0 || rank > best {
			continue
		}
		if inner, ok := findList(member, names, depth-1); ok {
			best, list, found = rank, inner, true
			list.Around[wrappers-depth] = level{v, from, c.at}
		}
	}
	return list, found
}

// Envelope is the objects around a list, without what the list was found under. It costs no memory, as each look
// goes over their text. The zero value has no members.
type Envelope [wrappers]level

// level is an object and where the member with the list stands in it.
type level struct {
	object   Value
	from, to int
}

// Member returns the member with the name: of the nearest object that has it, the last one if it is there several times, and nil if
// there is none.
func (e Envelope) Member(name string) Value {
	for _, l := range slices.Backward(e[:]) {
		if l.object == nil {
			continue
		}
		var found Value
		c := cursor{text: l.object}
		for c.enter(); c.more(); {
			key := c.name()
			if c.at == l.from {
				c.at = l.to
			} else if member := c.value(); key.is(name) {
				found = member
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}
