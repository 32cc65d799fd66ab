package response

import "slices"

// maxItems limits the length of a list, because a few compressed kilobytes may hold millions of items. It is a thousand
// times the largest documented page.
const maxItems = 100_000

// List is a list in a response.
type List struct {
	Items  []Value // parts of the response: a kept record must be read from a clone
	Around Value   // an object with the members of the objects around the list, from the innermost out
}

// FindList finds the list in a response: v itself, or the array under data, the collection's name, items or results,
// the first of these in this order. An object under one of these names may hold the array in the same way.
//
// Without a list the error is ErrNoList. If v reports an error and has no list, or an empty one, it is ErrSaysError.
func FindList(v Value, collection string) (List, error) {
	items, around, _, found := findList(v, 0, []string{"data", collection, "items", "results"}, 2)
	switch {
	case len(items) == 0 && v.SaysError():
		return List{}, ErrSaysError
	case !found:
		return List{}, ErrNoList
	case len(items) > maxItems:
		return List{}, ErrTooMany
	}
	return List{items, Value("{" + string(around) + "}")}, nil
}

// findList finds the list in the value at index i, in objects down to depth, and the members around it, each after a
// comma. It also returns the index after the value, because a second pass over it would take a tenth of the time of the
// whole.
func findList(v Value, i int, places []string, depth int) (items []Value, around []byte, end int, found bool) {
	switch {
	case v[i] == '[':
		items, end = v.elements(i)
		return items, nil, end, true
	case v[i] != '{' || depth == 0:
		return nil, nil, v.end(i), false
	}
	var beside []byte
	best := len(places)
	for i = v.next(i + 1); v[i] != '}'; i = v.next(end) {
		end = v.end(i)
		place, from := slices.Index(places, v[i:end].name()), v.next(end)
		if place < 0 || place > best {
			end = v.end(from)
			beside = append(append(beside, ','), v[i:end]...)
			continue
		}
		list, inner, after, ok := findList(v, from, places, depth-1)
		if end = after; ok {
			items, around, found, best = list, inner, true, place
		}
	}
	return items, append(around, beside...), i + 1, found
}

// elements returns the first elements of the array at index i, maxItems and one more, and the index after the array.
func (v Value) elements(i int) (list []Value, end int) {
	for i = v.next(i + 1); v[i] != ']'; i = v.next(end) {
		if end = v.end(i); len(list) <= maxItems {
			list = append(list, v[i:end])
		}
	}
	return list, i + 1
}
