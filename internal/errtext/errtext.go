// Package errtext finds what an error response says, in the shapes that deployments and their proxies send.
package errtext

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
)

// maxTexts bounds what is kept of a body: more than a form of ten fields can be wrong in, and less than a page of log.
const maxTexts = 100

// Read returns what the body of an error response says in general and about each field. Body must be as it was
// received; the texts are without the key, each on one line. Where the body speaks of fields alone, message repeats
// them. Both are empty if it says nothing.
//
// It reads the members message (a text, or an object with a member for each field), error (a text, or an object with a
// message), errors (an object like that of message), title and detail (RFC 9457), and plain text of one line.
func Read(body []byte, keys redact.Keys) (message string, fields map[string][]string) {
	v, err := lenient.Parse(body)
	if err != nil {
		return keys.Line(plain(lenient.Trim(string(body)))), nil
	}
	r := reader{keys: keys, texts: map[string][]string{}}
	r.add("", text(v.Member("message")))
	r.add("", text(v.Member("error")))
	r.add("", text(v.Member("error").Member("message")))
	r.add("", join([]string{text(v.Member("title")), text(v.Member("detail"))}, ": "))
	r.fields(v.Member("message"))
	r.fields(v.Member("errors"))
	message = join(r.texts[""], "; ")
	delete(r.texts, "")
	if len(r.texts) == 0 {
		r.texts = nil
	}
	return redact.Shorten(cmp.Or(message, Text("", r.texts)), redact.MaxLine), r.texts
}

// plain returns a text of one line as it is, and nothing of any other, or of a page.
func plain(text string) string {
	if strings.HasPrefix(text, "<") || strings.ContainsAny(text, "\r\n") {
		return ""
	}
	return text
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
	list := join(parts, "; ")
	// Where the body speaks of fields alone the message lists them, and may have been shortened.
	if strings.HasPrefix(list, strings.TrimSuffix(message, "…")) {
		return list
	}
	return join([]string{message, list}, "; ")
}

// join is strings.Join for texts that may be empty, or end in punctuation, which only the last one keeps.
func join(texts []string, separator string) string {
	var line string
	for _, text := range texts {
		if line != "" && text != "" {
			line = strings.TrimRight(line, ".,:;") + separator
		}
		line += text
	}
	return line
}

// reader collects what a body says.
type reader struct {
	keys  redact.Keys
	texts map[string][]string // of each field; those of no field have the name ""
	count int
}

// add adds what is said about a field, unless it is there already.
func (r *reader) add(field, text string) {
	field, text = r.keys.Line(field), r.keys.Line(text)
	if text == "" || r.count == maxTexts || slices.Contains(r.texts[field], text) {
		return
	}
	r.texts[field] = append(r.texts[field], text)
	r.count++
}

// fields takes what an object says about each field: a text or a list of texts.
func (r *reader) fields(v lenient.Value) {
	for name, said := range v.Members() {
		r.add(name.Text(), text(said))
		for element := range said.Elements() {
			r.add(name.Text(), text(element))
		}
	}
}

// text returns a text, and nothing of any other value.
func text(v lenient.Value) string {
	if !v.IsString() {
		return ""
	}
	return v.Text()
}
