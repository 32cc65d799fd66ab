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
	// maxErrorFields bounds how many fields are told of a form's fields, maxSaid the length of each text, in bytes.
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
		said.read(v)
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
	if field = c.clean(field); len(c.fields) < maxErrorFields || c.fields[field] != nil {
		c.fields[field] = append(c.fields[field], text)
	}
}

// clean puts a text on one bounded line, without the API key.
func (c *complaint) clean(text string) string { return oneLine(text, c.key) }

// read takes the members that services put their errors in, the most telling first.
func (c *complaint) read(v value) {
	if !v.isObject() {
		c.list("", v)
		return
	}
	c.list("", v.member("message"))
	failed := v.member("error")
	c.list("", failed.member("message"))
	c.list("", failed.member("errors"))
	c.list("", failed.member("details"))
	if c.silent() || failed.isString() {
		c.list("", failed)
	}
	c.say(v.member("error_description").text())
	title, detail := v.member("title").text(), v.member("detail")
	if detail.isString() && title != "" {
		c.say(title + ": " + detail.text())
	} else {
		c.say(title)
		c.list("", detail)
	}
	c.list("", v.member("errors"))
	if c.silent() {
		c.say(v.member("description").text())
		c.say(v.member("status").text())
	}
}

func (c *complaint) silent() bool { return len(c.messages) == 0 && len(c.fields) == 0 }

// list takes what is said of a field, or of all where it is empty: a text, a list of them, or an object that has one for each
// field or describes one itself.
func (c *complaint) list(field string, v value) {
	switch {
	case v.isArray():
		for element := range v.elements() {
			if !element.isArray() {
				c.list(field, element)
			}
		}
	case v.isObject():
		if text := first(v, "message", "detail", "msg", "reason", "description", "title"); text != "" {
			name := first(v, "field", "name", "param", "parameter", "property")
			if name == "" {
				name = pathEnd(v.member("loc")) + pathEnd(v.member("source").member("pointer"))
			}
			if name == "" {
				name = field
			}
			c.blame(name, text)
			return
		}
		if field != "" {
			c.blame(field, shortened(masked(string(v), c.key), 200))
			return
		}
		for key, member := range v.members() {
			if !member.isObject() {
				c.each(key.text(), member)
			}
		}
	default:
		c.blame(field, v.text())
	}
}

// each takes one member of an object of fields.
func (c *complaint) each(field string, v value) {
	if !v.isArray() {
		c.blame(field, v.text())
		return
	}
	for element := range v.elements() {
		if element.isObject() {
			c.list(field, element)
			continue
		}
		c.blame(field, element.text())
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

// entities are those that titles hold; a library for all of them is not worth its size.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&apos;", "'", "&nbsp;", " ", "&mdash;", "—", "&amp;", "&")

// pageTitle is a page's title or first heading, else its first words, without tags.
func pageTitle(page []byte) string {
	// A title stands near the beginning, and a page may be long.
	text := string(page[:min(len(page), 16<<10)])
	for _, tag := range []string{"title", "h1"} {
		if title := untagged(between(text, "<"+tag, "</"+tag)); title != "" {
			return title
		}
	}
	return shortened(untagged(text), 200)
}

// between is what stands between an opening tag and what closes it, whatever the case of their letters.
func between(text, open, closing string) string {
	folded := strings.Map(asciiLower, text)
	start := strings.Index(folded, open)
	if start < 0 {
		return ""
	}
	inner := strings.IndexByte(folded[start:], '>')
	if inner < 0 {
		return ""
	}
	start += inner + 1
	end := strings.Index(folded[start:], closing)
	if end < 0 {
		return ""
	}
	return text[start : start+end]
}

// asciiLower keeps every letter's length, so that positions stay what they are.
func asciiLower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// untagged drops tags, scripts and styles, and puts what is left on one line.
func untagged(text string) string {
	var out strings.Builder
	for text != "" {
		before, after, found := strings.Cut(text, "<")
		out.WriteString(before + " ")
		if !found {
			break
		}
		tag, rest, _ := strings.Cut(after, ">")
		for _, hidden := range []string{"script", "style"} {
			if name := strings.Map(asciiLower, tag); name == hidden || strings.HasPrefix(name, hidden+" ") {
				_, rest, _ = strings.Cut(rest, "</"+hidden)
				_, rest, _ = strings.Cut(rest, ">")
			}
		}
		text = rest
	}
	return strings.Join(strings.Fields(entities.Replace(out.String())), " ")
}
