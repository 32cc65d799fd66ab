package response

import "slices"

const (
	// maxItems limits the length of a list, because a few compressed kilobytes may hold millions of items. It is a
	// thousand times the largest documented page.
	maxItems = 100_000
	// maxAround limits the members around a list, because a million of them would take ten times the memory of their
	// text. Laravel's plain paginator has 13.
	maxAround = 100
)

// member is a member of an object.
type member struct {
	name  string
	value Value
}

// List is a list in a response.
type List struct {
	Items  []Value
	around []member // of the objects around the list, from the outermost in
}

// FindList finds the list in a response: v itself, or the array under data, the collection's name, items or results,
// the first of these in this order. An object under one of these names may hold the array in the same way.
//
// Without a list the error is ErrNoList. If v reports an error and has no list, or an empty one, it is ErrSaysError.
func FindList(v Value, collection string) (List, error) {
	list, _, err := findList(v, 0, []string{"data", collection, "items", "results"}, 2)
	switch {
	case len(list.Items) == 0 && v.SaysError():
		return List{}, ErrSaysError
	case len(list.Items) > maxItems:
		return List{}, ErrTooMany
	}
	return list, err
}

// findList finds the list in the value at index i, in objects down to depth. It also returns the index after the value,
// because a second pass over it would take a tenth of the time of the whole.
func findList(v Value, i int, places []string, depth int) (list List, end int, err error) {
	switch {
	case v[i] == '[':
		list.Items, end = v.elements(i)
		return list, end, nil
	case v[i] != '{' || depth == 0:
		return List{}, v.end(i), ErrNoList
	}
	var around []member
	best := len(places)
	err = ErrNoList
	for i = v.next(i + 1); v[i] != '}'; i = v.next(end) {
		end = v.end(i)
		name, from := v[i:end].name(), v.next(end)
		place := slices.Index(places, name)
		if place < 0 || place > best {
			if end = v.end(from); len(around) < maxAround {
				around = append(around, member{name, v[from:end]})
			}
			continue
		}
		var found List
		var failed error
		if found, end, failed = findList(v, from, places, depth-1); failed == nil {
			list, err, best = found, nil, place
		}
	}
	list.around = append(around, list.around...)
	return list, i + 1, err
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

// SaysError reports whether an object around the list reports an error.
func (l List) SaysError() bool {
	return slices.ContainsFunc(l.around, func(m member) bool { return saysError(m.name, m.value) })
}

// member returns the value of the last member around the list with the name, or an empty value.
func (l List) member(name string) Value {
	for _, m := range slices.Backward(l.around) {
		if m.name == name {
			return m.value
		}
	}
	return ""
}
