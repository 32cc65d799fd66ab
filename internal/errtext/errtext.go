// Package errtext finds what an error response says, in the shapes that deployments and their proxies send.
package errtext

import (
	"cmp"
	"html"
	"maps"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
)

// maxTexts bounds the messages, the fields, and the texts of one field.
const maxTexts = 100

// Read returns what the body of an error response says in general and about each field. Body must be as it was
// received; the texts are without the key, each on one line. Where the body speaks of fields alone, message repeats
// them. Both are empty if it says nothing.
func Read(body []byte, key redact.Key) (message string, fields map[string][]string) {
	r := reader{key, map[string][]string{}}
	if v, err := lenient.Parse(body); err == nil {
		r.read(v)
	} else {
		// A page's title ends at a tag, which must not be one within the key.
		r.add("", plain(string(lenient.Trim(key.Bytes(body)))))
	}
	message = join(r.texts[""], "; ")
	delete(r.texts, "")
	if len(r.texts) == 0 {
		return redact.Shorten(message, redact.MaxLine), nil
	}
	return redact.Shorten(cmp.Or(message, Text("", r.texts)), redact.MaxLine), r.texts
}

// plain returns the title of an HTML page, "" for a page without one, and any other text as it is.
func plain(text string) string {
	if !strings.HasPrefix(text, "<") {
		return text
	}
	const title = "title"
	for text != "" {
		_, text, _ = strings.Cut(text, "<")
		if len(text) > len(title) && strings.EqualFold(text[:len(title)], title) {
			_, text, _ = strings.Cut(text, ">")
			text, _, _ = strings.Cut(text, "<")
			return html.UnescapeString(text)
		}
	}
	return ""
}

// Text returns one line that holds the message and the texts of each field, in the order of their names. A message that
// repeats a field's text is left out.
func Text(message string, fields map[string][]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, text := range fields[name] {
			if text != "" && strings.HasPrefix(message, text) {
				message = ""
			}
		}
		parts = append(parts, name+": "+join(fields[name], ", "))
	}
	// Where the body speaks of fields alone the message lists them, and may have been shortened.
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
	full := len(known) == maxTexts || known == nil && len(r.texts) == maxTexts
	if text == "" || full || slices.Contains(known, text) {
		return
	}
	r.texts[field] = append(known, text)
}

// read takes a text, or the members of an object in which services say what is wrong.
func (r *reader) read(v lenient.Value) {
	r.field("", v)
	r.list(v.Member("message"))
	failure := v.Member("error")
	if failure.IsObject() {
		failure = failure.Member("message")
	}
	r.list(failure)
	r.list(v.Member("error_description"))
	var problem []string
	for _, name := range []string{"title", "detail"} {
		if text := v.Member(name); text.IsString() {
			problem = append(problem, text.Text())
		}
	}
	r.add("", join(problem, ": "))
	r.list(v.Member("errors"))
}

// list takes a text, an object with a member for each field, or a list of texts and of objects with a message and
// perhaps a field.
func (r *reader) list(v lenient.Value) {
	r.field("", v)
	for element := range v.Elements() {
		r.field(element.Member("field").Text(), element.Member("message"))
	}
	for name, texts := range v.Members() {
		r.field(name.Text(), texts)
	}
}

// field takes what is said about a field, or in general where that has no name: a text or a list of texts.
func (r *reader) field(name string, v lenient.Value) {
	if v.IsString() {
		r.add(name, v.Text())
	}
	for element := range v.Elements() {
		if element.IsString() {
			r.add(name, element.Text())
		}
	}
}
