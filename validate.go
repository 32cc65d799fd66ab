package aicontent

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// problems collects what is wrong with a call before anything of it is sent.
type problems struct {
	list   []FieldProblem
	causes []error // for errors.Is and errors.As
	// lenient is WithoutValidation: values are the deployment's to judge, what is required stays required.
	lenient bool
}

// add notes a problem. The first one of a field is kept: the later ones follow from it.
func (p *problems) add(field string, value any, reason string) {
	for _, have := range p.list {
		if have.Field == field {
			return
		}
	}
	p.list = append(p.list, FieldProblem{Field: field, Value: value, Reason: reason})
}

// addValue notes a problem that a deployment other than the documented one may not have.
func (p *problems) addValue(field string, value any, reason string) {
	if !p.lenient {
		p.add(field, value, reason+" (WithoutValidation sends it all the same)")
	}
}

func (p *problems) err(op string) error {
	if len(p.list) == 0 {
		return nil
	}
	return &ValidationError{Problems: p.list, op: op, causes: p.causes}
}

// required refuses an empty text. The service trims white space, so that nothing else is empty too.
func (p *problems) required(field, value string) {
	if strings.TrimSpace(value) == "" {
		p.add(field, value, "is required")
	}
}

// notBlank refuses a text that is given but empty, where leaving it nil means "do not change".
func (p *problems) notBlank(field string, value *string) {
	if value != nil && strings.TrimSpace(*value) == "" {
		p.add(field, *value, "must not be empty; leave it nil to keep what is there")
	}
}

// oneOf refuses a value that is set and not documented. The zero value is "not set".
func oneOf[T comparable](p *problems, field string, value T, allowed []term[T]) {
	var unset T
	if value == unset || known(allowed, value) {
		return
	}
	list := make([]string, len(allowed))
	for i, t := range allowed {
		list[i] = fmt.Sprint(t.value)
	}
	p.addValue(field, value, "must be one of "+strings.Join(list, ", "))
}

func (p *problems) country(field string, code CountryCode) {
	if code == "" || code.Valid() {
		return
	}
	reason := "must be an ISO 3166-1 alpha-2 code: a country, such as US or DE, not a language"
	if upper := CountryCode(strings.ToUpper(string(code))); upper.Valid() {
		reason = fmt.Sprintf("must be an ISO 3166-1 alpha-2 code in upper case: %s", upper)
	}
	p.addValue(field, code, reason)
}

// check refuses what cannot be one segment of a path. Everything else is escaped and sent.
func (id ID) check(p *problems) {
	switch {
	case strings.TrimSpace(string(id)) == "":
		p.add("id", id, "is required")
	case id == "." || id == "..":
		p.add("id", id, "must not be a relative path segment")
	case strings.ContainsFunc(string(id), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		p.add("id", id, "must not contain white space or control characters")
	case !utf8.ValidString(string(id)):
		p.add("id", id, "must be valid UTF-8")
	}
}

// ownHeaders are those that the SDK sets or that speak of the connection, which is net/http's.
var ownHeaders = []string{
	"Authorization", "Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Trailer",
	"Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Upgrade",
}

// headerName refuses what is no HTTP token and what is not the caller's to set.
func (p *problems) headerName(key string) bool {
	const token = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	switch {
	case key == "" || strings.Trim(key, token) != "":
		p.add("header", key, "must be an HTTP header name: letters, digits and dashes")
	case slices.ContainsFunc(ownHeaders, func(own string) bool { return strings.EqualFold(key, own) }):
		p.add("header", key, "is set by the SDK and cannot be given")
	default:
		return true
	}
	return false
}

// headerValue refuses what would end a header line or be cut off at its ends. A secret value, as any header's may
// be, stays out of the problem.
func (p *problems) headerValue(field, value string, secret bool) {
	var shown any
	if !secret {
		shown = value
	}
	switch {
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }):
		p.add(field, shown, "must not contain control characters or line breaks")
	case strings.Trim(value, " \t") != value:
		p.add(field, shown, "must not begin or end with a space or tab, which HTTP drops")
	}
}

// formName refuses what cannot be the name of a part in a multipart form.
func (p *problems) formName(key string) {
	const field = "form_field"
	switch {
	case key == "":
		p.add(field, key, "must have a name")
	case strings.ContainsFunc(key, unicode.IsControl):
		p.add(field, key, "must not contain control characters or line breaks")
	}
}
