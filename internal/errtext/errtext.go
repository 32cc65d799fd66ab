// Package errtext reads the messages of error responses, in the formats of deployments and their proxies.
package errtext

import (
	"cmp"
	"errors"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
)

// LookFirst is the next step after a plain Store call of unknown outcome. A Store call of package once looks by itself.
const LookFirst = ": look for it before you store again"

// maxTexts is the largest number of messages: enough for every fault of a form with ten fields.
const maxTexts = 100

// Read returns the general message of an error response and its messages about each field, masked, each on one line.
// Body must be as received: masking may break its JSON. If the body has messages about fields only, message repeats
// them.
//
// Read looks at these members:
//
//   - message: a text, or an object with a member for each field
//   - error: a text, or an object with a message
//   - errors: an object with a member for each field
//   - title and detail (RFC 9457)
//
// If there are none, the message is the title of an HTML page, else the beginning of the body. It may be empty.
func Read(body []byte, keys redact.Keys) (message string, fields map[string][]string) {
	v, err := lenient.Parse(body)
	r := reader{keys: keys, texts: map[string][]string{}}
	r.add("", text(v.Member("message")))
	r.add("", text(v.Member("error")))
	r.add("", text(v.Member("error").Member("message")))
	r.add("", join([]string{text(v.Member("title")), text(v.Member("detail"))}, ": "))
	r.fields(v.Member("message"))
	r.fields(v.Member("errors"))
	message = join(r.texts[""], "; ")
	delete(r.texts, "")
	switch {
	case len(r.texts) > 0:
		message = cmp.Or(message, Text("", r.texts))
	case message == "":
		return beginning(cmp.Or(text(v), string(body)), errors.Is(err, lenient.ErrHTML), keys), nil
	default:
		r.texts = nil
	}
	return redact.Shorten(message, redact.MaxLine), r.texts
}

// maxBeginning is the length of the message, in bytes, taken from a body without one: enough to recognize the sender.
const maxBeginning = 200

var (
	page  = regexp.MustCompile(`(?i)<html|<!doctype html|<title`)
	title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
)

// beginning returns the first characters of a body, or the title of an HTML page. It masks the text before cutting it,
// because a part of a key would not be recognized.
func beginning(body string, markup bool, keys redact.Keys) string {
	if markup && page.MatchString(body) {
		found := title.FindStringSubmatch(body)
		if found == nil {
			return ""
		}
		body = html.UnescapeString(found[1])
	}
	if strings.Trim(lenient.Trim(body), "{}[]nul\" ") == "" { // empty JSON, such as {} or [null]
		return ""
	}
	return redact.Shorten(keys.Line(lenient.Trim(body)), maxBeginning)
}

// Text returns one line with the message and then the texts of each field, sorted by field. It omits a message that
// repeats a field's text.
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
	// Read makes a message from the fields if the body has none, and may have shortened it.
	if strings.HasPrefix(list, strings.TrimSuffix(message, "…")) {
		return list
	}
	return join([]string{message, list}, "; ")
}

// join is [strings.Join] without the empty texts, and without punctuation before a separator.
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

// reader collects the messages of a body.
type reader struct {
	keys  redact.Keys
	texts map[string][]string // by field; "" is the general message
	count int
}

// add adds a message about a field, unless the field has the same one already.
func (r *reader) add(field, text string) {
	field, text = r.keys.Line(field), r.keys.Line(text)
	if text == "" || r.count == maxTexts || slices.Contains(r.texts[field], text) {
		return
	}
	r.texts[field] = append(r.texts[field], text)
	r.count++
}

// fields adds the members of an object. The name is a field; the value is a message or a list of messages.
func (r *reader) fields(v lenient.Value) {
	for name, said := range v.Members() {
		r.add(name.Text(), text(said))
		for element := range said.Elements() {
			r.add(name.Text(), text(element))
		}
	}
}

// text returns the text of a string. Any other value has none.
func text(v lenient.Value) string {
	if !v.IsString() {
		return ""
	}
	return v.Text()
}
