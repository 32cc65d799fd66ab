package aicontenttest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The rules that a [Violation] names.
const (
	RulePath                  = "path"                   // no address of the interface
	RuleMethod                = "method"                 // not offered at the address
	RuleAuthorization         = "authorization"          // missing or no bearer token
	RuleAccept                = "accept"                 // list or show without application/json
	RuleBody                  = "body"                   // a body where none is due, or one that cannot be read
	RuleContentType           = "content-type"           // not the one of the operation
	RuleMultipart             = "multipart"              // malformed
	RuleFileName              = "file-name"              // a file part without one
	RuleQuery                 = "query"                  // malformed
	RuleUndocumentedParameter = "undocumented-parameter" // in the query
	RuleUndocumentedField     = "undocumented-field"     // in the form
	RuleRepeated              = "repeated"               // a parameter or field sent twice
	RuleValue                 = "value"                  // not in the field's table
	RuleBoolean               = "boolean"                // written in the wrong form
)

// A Violation is something in a request that the interface does not allow.
type Violation struct {
	Rule    string
	Request int    // number in the book
	Line    string // method, path and query of the request
	Field   string // parameter, field or header at fault; empty where it is none
	Value   string // as sent, cut short; empty for Authorization
}

func (v Violation) String() string {
	s := fmt.Sprintf("%s: request %d: %s", v.Rule, v.Request, v.Line)
	if v.Field != "" {
		s += fmt.Sprintf(": %s=%q", v.Field, v.Value)
	}
	return s
}

// violate records a violation and fails the test that has made the request.
func (c *call) violate(rule, field, value string) {
	if c.server.lenient {
		return
	}
	if len(value) > 80 {
		value = value[:80] + "…"
	}
	v := Violation{Rule: rule, Request: c.entry.Number, Line: c.r.Method + " " + c.r.RequestURI, Field: field, Value: value}
	c.server.book.violation(v)
	if f := c.server.onViolation; f != nil {
		f(v)
	}
	if t := c.server.t; t != nil {
		t.Errorf("aicontenttest: the interface does not allow this: %s", v)
	}
}

// authorized answers nil when the request carries the key.
func (c *call) authorized() *Answer {
	given := c.r.Header.Values("Authorization")
	token, ok := "", len(given) == 1
	if ok {
		token, ok = strings.CutPrefix(given[0], "Bearer ")
	}
	if !ok || token == "" || strings.ContainsAny(token, " \t") {
		c.violate(RuleAuthorization, "Authorization", "")
	}
	if ok && token == c.server.APIKey {
		return nil
	}
	if c.server.shape.loginRedirect || !c.wantsJSON() {
		a := htmlAnswer(http.StatusFound, "Redirecting to the login page")
		a.Header.Set("Location", c.server.URL+loginPath)
		return a
	}
	return c.message(http.StatusUnauthorized, "Unauthenticated.")
}

// wantsJSON decides as Laravel does: by the type that the client named first.
func (c *call) wantsJSON() bool {
	first, _, _ := strings.Cut(c.r.Header.Get("Accept"), ",")
	return strings.Contains(first, "/json") || strings.Contains(first, "+json")
}

// problem is what the validator says about a field.
type problem struct{ field, message string }

// checkQuery finds what a list may not be asked, or an address without parameters may not carry.
func (c *call) checkQuery(fields []field) []problem {
	if c.server.lenient {
		return nil
	}
	if _, err := url.ParseQuery(c.r.URL.RawQuery); err != nil {
		c.violate(RuleQuery, "", "")
		return []problem{{"query", "The query is malformed."}}
	}
	problems := c.checkNames(RuleUndocumentedParameter, fields, c.query)
	for _, f := range fields {
		if c.query.Has(f.name) && f.kind != text {
			v, _ := last(c.query, f.name)
			problems = append(problems, c.checkValue(f, v)...)
		}
	}
	return problems
}

// checkForm finds what keeps a form from being acted on.
func (c *call) checkForm(fields []field, f form) []problem {
	problems := append(f.problems, c.checkNames(RuleUndocumentedField, fields, f.values)...)
	for _, field := range fields {
		value, present := f.get(field.name)
		switch {
		case field.kind == audio:
			if f.upload == nil && f.problems == nil {
				problems = append(problems, problem{field.name, required(field.name)})
			}
		case value == "" && (field.required || field.filled && present):
			problems = append(problems, problem{field.name, required(field.name)})
		case present && field.kind != text && (value != "" || !c.server.lenient):
			problems = append(problems, c.checkValue(field, value)...)
		}
	}
	return problems
}

// checkNames is for strict servers: others take the last value of what they know.
func (c *call) checkNames(rule string, fields []field, values url.Values) []problem {
	if c.server.lenient {
		return nil
	}
	var problems []problem
	for name, given := range values {
		if c.server.allowed[name] {
			continue
		}
		if _, ok := find(fields, name); !ok {
			c.violate(rule, name, given[0])
			problems = append(problems, problem{name, "The " + label(name) + " field is not part of the interface."})
			continue
		}
		if len(given) > 1 {
			c.violate(RuleRepeated, name, strings.Join(given, ", "))
			problems = append(problems, problem{name, "The " + label(name) + " field must be given once."})
		}
	}
	slices.SortFunc(problems, func(a, b problem) int { return strings.Compare(a.field, b.field) })
	return problems
}

func (c *call) checkValue(f field, value string) []problem {
	if c.server.allowed[f.name] {
		return nil
	}
	switch f.kind {
	case flag:
		if _, ok := c.server.boolean(value); !ok {
			c.violate(RuleBoolean, f.name, value)
			return []problem{{f.name, "The " + label(f.name) + " field must be true or false."}}
		}
	case choice:
		if !slices.Contains(f.values, value) {
			c.violate(RuleValue, f.name, value)
			return []problem{{f.name, "The selected " + label(f.name) + " is invalid."}}
		}
	case number:
		if strings.Trim(value, "0123456789") != "" || strings.Trim(value, "0") == "" {
			c.violate(RuleValue, f.name, value)
			return []problem{{f.name, "The " + label(f.name) + " field must be at least 1."}}
		}
	}
	return nil
}

// boolean reads the form of a boolean that this deployment takes.
func (s *Server) boolean(value string) (b, ok bool) {
	yes, no := "1", "0"
	if s.booleanWords {
		yes, no = "true", "false"
	}
	return value == yes, value == yes || value == no
}

func required(field string) string { return "The " + label(field) + " field is required." }

func label(field string) string { return strings.ReplaceAll(field, "_", " ") }

// acceptsJSON reports whether the header says that an answer in JSON is wanted.
func acceptsJSON(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		mediaType, _, _ := strings.Cut(part, ";")
		if strings.TrimSpace(mediaType) == "application/json" {
			return true
		}
	}
	return false
}
