package response

import (
	"cmp"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/redact"
)

const (
	maxTexts     = 100 // of a message: enough for every fault of a form with ten fields
	maxBeginning = 200 // bytes of a body without a message: enough to recognize the sender
)

// Message returns the general message of an error response and its messages about each field, masked, each on one line.
// Body must be as received: masking may break its JSON. If the body has messages about fields only, message repeats
// them.
//
// The message is the first of these members:
//
//   - message: a text or a list of texts
//   - error_description, a text
//   - error: a text, or an object with a message
//   - title and detail (RFC 9457)
//
// The fields are the members of message or errors, if that is an object. Without any of them, the message is the title
// of an HTML page, else the beginning of the body. It may be empty.
func Message(body string, keys redact.Keys) (message string, fields map[string][]string) {
	v, _ := Parse(body)
	line := func(v Value) string { return join(texts(v, keys), "; ") }
	said, failure := v.member("message"), v.member("error")
	fields = fieldTexts(keys, said, v.member("errors"))
	message = cmp.Or(
		line(said),
		line(v.member("error_description")),
		line(failure),
		line(failure.member("message")),
		join([]string{line(v.member("title")), line(v.member("detail"))}, ": "),
		Text("", fields),
		beginning(body, keys),
	)
	return redact.Shorten(message, redact.MaxLine), fields
}

// texts returns a text, or the texts of a list, masked and each on one line. Anything else has none.
func texts(v Value, keys redact.Keys) (list []string) {
	items := []Value{v}
	if v.Kind() == '[' {
		items, _ = v.elements(0)
	}
	for _, item := range items[:min(len(items), maxTexts)] {
		line := keys.Line(item.Text())
		if item.Kind() == '"' && line != "" && !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}

// fieldTexts returns the texts of the members of objects by name, at most maxTexts. It is nil for none.
func fieldTexts(keys redact.Keys, objects ...Value) (fields map[string][]string) {
	count := 0
	for _, v := range objects {
		for name, said := range v.members() {
			name = keys.Line(name)
			for _, text := range texts(said, keys) {
				if count == maxTexts {
					return fields
				}
				if fields == nil {
					fields = map[string][]string{}
				}
				fields[name] = append(fields[name], text)
				count++
			}
		}
	}
	return fields
}

var (
	page  = regexp.MustCompile(`(?i)^<(html|!doctype html)`)
	title = regexp.MustCompile(`(?is)^<(?:.*?<)?title[^>]*>(.*?)</title>`)
)

// beginning returns the title of an HTML page, or the first characters of any other body but empty JSON. It masks the
// text before it cuts it, because a part of a key would not be recognized.
func beginning(body string, keys redact.Keys) string {
	body = Trim(body)
	switch found := title.FindStringSubmatch(body); {
	case found != nil:
		body = html.UnescapeString(found[1])
	case page.MatchString(body), strings.Trim(body, "{}[]nul\" ") == "":
		return ""
	}
	return redact.Shorten(keys.Line(body), maxBeginning)
}

// Text returns one line with the message and then the texts of each field, sorted by field. It omits a message that
// repeats a field's text, or all fields, as [Message] does if the body has no other message.
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
	if strings.HasPrefix(list, strings.TrimSuffix(message, "…")) { // Message may have shortened it
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
