// Package errtext finds what an error response says, in the shapes that web frameworks send.
package errtext

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
)

const (
	maxTexts  = 100 // messages, fields, and texts of one field
	maxDepth  = 3   // fields within fields, and errors within errors
	maxMarkup = 16 << 10
)

// Read returns what the body of an error response says in general and about each field. Body must be as it was received; the
// texts are without the key, each on one line. Where the body speaks of fields alone, message repeats them. Both are empty
// if it says nothing.
func Read(body []byte, key redact.Key) (message string, fields map[string][]string) {
	r := reader{key, map[string][]string{}}
	if v, err := lenient.Parse(body); err == nil {
		r.read(v, 0)
	} else {
		// The text is masked before it is cut: a part of the key would not be found.
		text := string(lenient.Trim(key.Bytes(body)))
		text = text[:min(len(text), maxMarkup)]
		if strings.HasPrefix(text, "<") {
			text = pageTitle(text)
		}
		r.add("", text)
	}
	message = join(r.texts[""], "; ")
	delete(r.texts, "")
	if len(r.texts) == 0 {
		return redact.Shorten(message, redact.MaxLine), nil
	}
	return redact.Shorten(cmp.Or(message, Text("", r.texts)), redact.MaxLine), r.texts
}

// Text returns one line that holds the message and the texts of each field, in the order of their names. A message that repeats
// a field's text is left out.
func Text(message string, fields map[string][]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		texts := fields[name]
		if slices.ContainsFunc(texts, func(text string) bool { return text != "" && strings.HasPrefix(message, text) }) {
			message = ""
		}
		parts = append(parts, name+": "+join(texts, ", "))
	}
	if !strings.HasPrefix(join(parts, "; "), strings.TrimSuffix(message, "…")) {
		parts = slices.Insert(parts, 0, message)
	}
	return join(parts, "; ")
}

// join is strings.Join for texts that may end in punctuation, which only the last one keeps.
func join(texts []string, separator string) string {
	var b strings.Builder
	for i, text := range texts {
		if i < len(texts)-1 {
			text = strings.TrimRight(text, ".,:;") + separator
		}
		b.WriteString(text)
	}
	return b.String()
}

// reader collects what a body says.
type reader struct {
	key   redact.Key
	texts map[string][]string // of each field; those of no field have the name ""
}

// add adds what is said about a field, unless it is there already.
func (r *reader) add(field, text string) {
	field, text = r.key.Line(field), r.key.Line(text)
	known := r.texts[field]
	if text == "" || len(known) == maxTexts || known == nil && len(r.texts) == maxTexts || slices.Contains(known, text) {
		return
	}
	r.texts[field] = append(known, text)
}

// read takes the members in which frameworks put errors. An error that is an object has the same members.
func (r *reader) read(v lenient.Value, depth int) {
	if !v.IsObject() {
		r.list("", v, 0)
		return
	}
	take := func(name string) { r.list("", v.Member(name), 0) }
	take("message")
	if depth < maxDepth {
		r.read(v.Member("error"), depth+1)
	}
	take("error_description")
	if title, detail := v.Member("title"), v.Member("detail"); title.IsString() && detail.IsString() {
		r.add("", join([]string{title.Text(), detail.Text()}, ": "))
	} else {
		take("title")
		take("detail")
	}
	take("errors")
	take("violations")
	if len(r.texts) == 0 {
		for name, member := range v.Members() {
			if onlyStrings(member) {
				r.member("", name.Text(), member, 0)
			}
		}
	}
}

// list takes what is said about a field, or in general where the field has no name: a text, an error as an object, an
// object with a member for each field, or a list of these.
func (r *reader) list(field string, v lenient.Value, depth int) {
	switch {
	case v.IsString():
		r.add(field, v.Text())
	case v.IsArray():
		for element := range v.Elements() {
			if !element.IsArray() {
				r.list(field, element, depth)
			}
		}
	case v.IsObject():
		text := first(v, "message", "detail", "msg", "defaultMessage", "title")
		// Without a code, a description is the field of that name.
		if text == "" && !v.Member("code").IsNull() {
			text = first(v, "description")
		}
		if text != "" {
			if name := fieldName(v); name != "" {
				field = name
			}
			r.add(field, text)
			return
		}
		if depth < maxDepth {
			for name, member := range v.Members() {
				r.member(field, name.Text(), member, depth+1)
			}
		}
	}
}

// member takes what is said about the field with the name, or about the field around it.
func (r *reader) member(field, name string, v lenient.Value, depth int) {
	switch name {
	case "message", "detail", "non_field_errors", "__all__", "base", "$", "":
		name = field
	default:
		if field != "" {
			name = field + "." + name
		}
	}
	r.list(name, v, depth)
}

// fieldName returns the field that an error object names, or "".
func fieldName(v lenient.Value) string {
	for _, name := range []string{"field", "param", "property", "propertyPath", "loc", "path", "source"} {
		path := v.Member(name)
		end := cmp.Or(path.Text(), path.Member("pointer").Text())
		for element := range path.Elements() {
			end = element.Text()
		}
		if end = end[strings.LastIndexByte(end, '/')+1:]; end != "" {
			return end
		}
	}
	return ""
}

// first returns the text of the first member that is a string and not empty.
func first(v lenient.Value, names ...string) string {
	for _, name := range names {
		if m := v.Member(name); m.IsString() && m.Text() != "" {
			return m.Text()
		}
	}
	return ""
}

// onlyStrings reports whether v is an array with strings and nothing else.
func onlyStrings(v lenient.Value) bool {
	for element := range v.Elements() {
		if !element.IsString() {
			return false
		}
	}
	return v.IsArray()
}
