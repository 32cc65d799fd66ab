// Package errtext finds what an error response says, in the shapes that deployments and their proxies send.
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

// maxTexts bounds what is kept of a body: more than a form of ten fields can be wrong in, and less than a page of log.
const maxTexts = 100

// Read returns the general message of an error response, and its messages about each field. Body must be as it was
// received. The texts are masked, each on one line. If the body has messages about fields alone, message repeats them.
//
// It reads the members message (a text, or an object with a member for each field), error (a text, or an object with a
// message), errors (an object like that of message), and title and detail (RFC 9457). Of any other body, the message is
// the beginning, and of an HTML page the title. It is empty if there is none.
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

// maxBeginning is how many bytes of a body without a message are shown: enough to recognize who sent it.
const maxBeginning = 200

var (
	page  = regexp.MustCompile(`(?i)<html|<!doctype html|<title`)
	title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
)

// beginning returns the first characters of a body, or the title of an HTML page. It is masked before it is cut.
func beginning(body string, markup bool, keys redact.Keys) string {
	if markup && page.MatchString(body) {
		found := title.FindStringSubmatch(body)
		if found == nil {
			return ""
		}
		body = html.UnescapeString(found[1])
	}
	if strings.Trim(lenient.Trim(body), "{}[]nul\" ") == "" { // JSON that says nothing
		return ""
	}
	return redact.Shorten(keys.Line(lenient.Trim(body)), maxBeginning)
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
