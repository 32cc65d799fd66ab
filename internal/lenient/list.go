package lenient

import (
	"errors"
	"fmt"
	"slices"
)

// maxItems bounds a list, as a few kilobytes, compressed, can be millions of items and gigabytes of memory.
const maxItems = 100_000

// ErrTooMany is the error for a list of more than 100,000 items.
var ErrTooMany = fmt.Errorf("the response holds more than %d records", maxItems)

// List is a list that was found in a response.
type List struct {
	Items  []Value
	Around Envelope // the objects that it was found in
}

// FindList finds a list: v itself, or the array that it has under data, the collection's name, items or results, in this
// order. An object under one of these names may have the array, two levels deep; arrays go before objects. If there is
// no list, the error is ErrSaysError if v says that it is an error, and else ErrNoList.
func FindList(v Value, collection string) (List, error) {
	if len(v) == 0 {
		return List{}, ErrNoList
	}
	items, levels, err := findList(&cursor{text: v}, [...]string{"data", collection, "items", "results"}, 0)
	switch {
	case err == nil:
		return List{items, Envelope{v, levels}}, nil
	case errors.Is(err, ErrNoList) && v.IsObject() && v.Member("id").IsNull() && v.saysError():
		return List{}, ErrSaysError
	}
	return List{}, err
}

// findList goes past a value. It returns nil levels and ErrNoList if that has no list.
func findList(c *cursor, names [4]string, depth int) (items []Value, levels [wrappers]level, err error) {
	switch {
	case c.text[c.at] == '[':
		items, err = c.elements()
		return items, levels, err
	case c.text[c.at] != '{' || depth == wrappers:
		c.skip()
		return nil, levels, ErrNoList
	}
	start, best := c.at, 2*len(names)
	err = ErrNoList
	for c.enter(); c.more(); {
		name := c.name()
		rank := slices.IndexFunc(names[:], name.is)
		if rank >= 0 && c.text[c.at] != '[' {
			rank += len(names)
		}
		if rank < 0 || rank > best {
			c.skip()
			continue
		}
		from := c.at
		if found, inside, failed := findList(c, names, depth+1); failed != ErrNoList {
			best, items, levels, err = rank, found, inside, failed
			levels[depth] = level{start, from, c.at}
		}
	}
	return items, levels, err
}

// elements goes past an array and returns its elements.
func (c *cursor) elements() ([]Value, error) {
	items := []Value{}
	for c.enter(); c.more(); {
		if item := c.value(); len(items) <= maxItems {
			items = append(items, item)
		}
	}
	if len(items) > maxItems {
		return nil, ErrTooMany
	}
	return items, nil
}

// Envelope is the objects around a list, without the member that holds the list. It keeps none of their members: each look goes
// over the text. The zero value has no members.
type Envelope struct {
	text   Value
	levels [wrappers]level // the outermost first; zero where there is none
}

// level is where an object begins, and from where to where its member with the list goes.
type level struct{ start, from, to int }

// Member returns the member with the name: of the nearest object that has it, the last one if it is there several times, and nil if
// there is none.
func (e Envelope) Member(name string) Value {
	for _, l := range slices.Backward(e.levels[:]) {
		if l.to == 0 {
			continue
		}
		var found Value
		c := cursor{e.text, l.start}
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
