package aicontent

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// maxErrorFields bounds how many fields are told of, and how many texts of each; maxSaid the length of each text, in bytes.
	maxErrorFields = 100
	maxSaid        = 1000
)

// newAPIError reads an answer that is no success, in whatever shape it comes. The caller adds what it knows of
// the call.
func newAPIError(resp *http.Response, body []byte, base *url.URL, key string) *APIError {
	clean := masked(body, key)
	said := complaint{key: key}
	// Masked before it is cut, so that no cut leaves a part of the key.
	text := trimmed(bytes.ToValidUTF8(clean, []byte("\uFFFD")))
	switch v, err := parse(body); {
	case err == nil:
		said.read(v, false)
	case len(text) == 0:
	case text[0] == '<':
		said.say(pageTitle(text))
	default:
		said.say(string(text[:min(len(text), maxSaid)]))
	}
	e := &APIError{
		StatusCode: resp.StatusCode,
		Message:    shortened(strings.Join(said.messages, "; "), maxSaid),
		Fields:     said.fields,
		RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
		Header:     maskedHeader(resp.Header, key),
		Body:       clean,
	}
	e.RequestID = requestID(e.Header)
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		e.redirect(resp, base, key)
	}
	return e
}

// redirect says why a redirect was not followed.
func (e *APIError) redirect(resp *http.Response, base *url.URL, key string) {
	target, err := resp.Location()
	if err != nil {
		return
	}
	const unaccepted = "a login page, as it does when it does not accept the API key"
	e.login = loginPath(target.Path)
	switch from, to := origin(base), oneLine(origin(target), key); {
	case from != to:
		e.Message = fmt.Sprintf("redirect from %s to %s refused: the API key is for the first alone", from, to)
		if e.login {
			e.Message += "; the service redirected to " + unaccepted
		}
	case e.login:
		e.Message = "redirect refused: the service redirected to " + unaccepted
	case resp.Request.Method != http.MethodGet:
		e.Message = fmt.Sprintf("redirect refused: a %s is never sent on; is the base URL right?", resp.Request.Method)
	default:
		e.Message = fmt.Sprintf("gave up after %d redirects", maxRedirects)
	}
}

// loginPath reports whether a path is named as login pages are.
func loginPath(path string) bool {
	path = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(strings.TrimRight(path, "/")))
	return slices.Contains([]string{"login", "signin", "logon"}, path[strings.LastIndexByte(path, '/')+1:])
}

// complaint is what an error's body says, as far as it can be told apart.
type complaint struct {
	key      string
	messages []string
	fields   map[string][]string
}

// say takes a message, once and on one line.
func (c *complaint) say(text string) {
	if text = c.clean(text); text == "" {
		return
	}
	for _, said := range c.messages {
		if said == text {
			return
		}
	}
	if len(c.messages) < maxErrorFields {
		c.messages = append(c.messages, text)
	}
}

// blame takes what is said of a field. Without a name it is a message.
func (c *complaint) blame(field, text string) {
	if field == "" {
		c.say(text)
		return
	}
	if text = c.clean(text); text == "" {
		return
	}
	if c.fields == nil {
		c.fields = map[string][]string{}
	}
	field = c.clean(field)
	if said := c.fields[field]; len(said) < maxErrorFields && (said != nil || len(c.fields) < maxErrorFields) {
		c.fields[field] = append(c.fields[field], text)
	}
}

// clean puts a text on one bounded line, without the API key.
func (c *complaint) clean(text string) string { return oneLine(text, c.key) }

// read takes the members that services put their errors in, the most telling first. An error that is itself an object
// has the same ones.
func (c *complaint) read(v value, inner bool) {
	if !v.isObject() {
		c.list("", v, 0)
		return
	}
	c.list("", v.member("message"), 0)
	switch failed := v.member("error"); {
	case failed.isObject() && !inner:
		c.read(failed, true)
	case failed.isString(), failed.isArray():
		c.list("", failed, 0)
	}
	c.say(v.member("error_description").text())
	if title, detail := v.member("title").text(), v.member("detail"); title != "" && detail.isString() {
		c.say(title + ": " + detail.text())
	} else {
		c.say(title)
		c.list("", detail, 0)
	}
	for _, name := range []string{"errors", "details", "invalid-params", "invalid_params"} {
		c.list("", v.member(name), 0)
	}
	if c.silent() {
		for key, member := range v.members() {
			if member.isArray() {
				c.list(key.text(), member, 0)
			}
		}
	}
	if c.silent() {
		c.say(first(v, "description", "status", "code"))
	}
}

func (c *complaint) silent() bool { return len(c.messages) == 0 && len(c.fields) == 0 }

// list takes what is said of a field, or of all where it is empty: a text, a list of texts or of objects that describe one
// error each, or an object with a member for each field.
func (c *complaint) list(field string, v value, depth int) {
	switch {
	case v.isArray():
		for element := range v.elements() {
			if element.isObject() {
				c.item(field, element, depth)
				continue
			}
			c.blame(field, element.text())
		}
	case v.isObject():
		if first(v, "field", "param", "parameter", "property") != "" {
			c.item(field, v, depth)
			return
		}
		c.named(field, v, depth)
	case v.isString():
		c.blame(field, v.text())
	}
}

// item takes an object that describes one error, or, where it has no text, names fields.
func (c *complaint) item(field string, v value, depth int) {
	name := first(v, "field", "name", "param", "parameter", "property", "attribute")
	for _, path := range []value{v.member("loc"), v.member("path"), v.member("source").member("pointer")} {
		if name == "" {
			name = pathEnd(path)
		}
	}
	text := first(v, "message", "detail", "msg", "reason", "defaultMessage", "title")
	// A description may also be the field of that name.
	if text == "" && (name != "" || v.member("code") != nil) {
		text = first(v, "description")
	}
	if text == "" {
		c.named(field, v, depth)
		return
	}
	if name == "" {
		name = field
	}
	c.blame(name, text)
}

// named takes an object with a member for each field. Fields within fields get a dot between their names.
func (c *complaint) named(field string, v value, depth int) {
	const deepest = 3
	if depth == deepest {
		return
	}
	for key, member := range v.members() {
		name := key.text()
		switch name {
		case "message", "detail", "msg", "error", "non_field_errors", "base", "_", "$", "":
			name = field
		default:
			if field != "" {
				name = field + "." + name
			}
		}
		c.list(name, member, depth+1)
	}
}

// first is the text of the first member that is a string and not empty.
func first(v value, names ...string) string {
	for _, name := range names {
		if m := v.member(name); m.isString() && m.text() != "" {
			return m.text()
		}
	}
	return ""
}

// pathEnd is the last element of a path to a field, as a list or with slashes.
func pathEnd(v value) string {
	end := v.text()
	for element := range v.elements() {
		end = element.text()
	}
	return end[strings.LastIndexByte(end, '/')+1:]
}
