package service

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// The rules that a [Violation] names.
const (
	RulePath                  = "path"                   // no path of the API
	RuleMethod                = "method"                 // not offered at the path
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

// violate notes a violation, unless the service is lenient.
func (r *reader) violate(rule, field, value string) {
	if r.config.Lenient {
		return
	}
	if len(value) > 80 {
		value = value[:80] + "…"
	}
	r.Violations = append(r.Violations, Violation{rule, field, value})
}

// authorized reports whether the request carries the key.
func (r *reader) authorized() bool {
	given := r.Header.Values("Authorization")
	token, ok := "", len(given) == 1
	if ok {
		token, ok = strings.CutPrefix(given[0], "Bearer ")
	}
	if !ok || token == "" || strings.ContainsAny(token, " \t") {
		r.violate(RuleAuthorization, "Authorization", "")
	}
	return ok && token == r.Key
}

// checkQuery judges the query of a request that may have these parameters.
func (r *reader) checkQuery(fields []contract.Field) []Problem {
	if r.config.Lenient {
		return nil
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		r.violate(RuleQuery, "", "")
		return []Problem{{"query", "The query is malformed."}}
	}
	problems := r.checkNames(RuleUndocumentedParameter, fields, r.Query)
	for _, f := range fields {
		if r.Query.Has(f.Name) && f.Kind != contract.Text {
			v, _ := last(r.Query, f.Name)
			problems = append(problems, r.checkValue(f, v)...)
		}
	}
	return problems
}

// checkForm judges the form. problems are those already found with its files.
func (r *reader) checkForm(fields []contract.Field, problems []Problem) []Problem {
	fileProblem := len(problems) > 0
	problems = append(problems, r.checkNames(RuleUndocumentedField, fields, r.Form)...)
	for _, field := range fields {
		value, present := last(r.Form, field.Name)
		switch {
		case field.Kind == contract.Audio:
			if r.Upload == nil && !fileProblem {
				problems = append(problems, Problem{field.Name, required(field.Name)})
			}
		case value == "" && (field.Required || field.Filled && present):
			problems = append(problems, Problem{field.Name, required(field.Name)})
		case present && field.Kind != contract.Text && (value != "" || !r.config.Lenient):
			problems = append(problems, r.checkValue(field, value)...)
		}
	}
	return problems
}

// checkNames judges the names of parameters or fields. Lenient servers take the last value of those they
// know.
func (r *reader) checkNames(rule string, fields []contract.Field, values url.Values) []Problem {
	if r.config.Lenient {
		return nil
	}
	var problems []Problem
	for name, given := range values {
		if r.config.Allowed[name] {
			continue
		}
		if _, ok := contract.Find(fields, name); !ok {
			r.violate(rule, name, given[0])
			problems = append(problems, Problem{name, "The " + label(name) + " field is not part of the API."})
			continue
		}
		if len(given) > 1 {
			r.violate(RuleRepeated, name, strings.Join(given, ", "))
			problems = append(problems, Problem{name, "The " + label(name) + " field must be given once."})
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return problems
}

func (r *reader) checkValue(f contract.Field, value string) []Problem {
	if r.config.Allowed[f.Name] {
		return nil
	}
	switch f.Kind {
	case contract.Flag:
		if _, ok := r.boolean(value); !ok {
			r.violate(RuleBoolean, f.Name, value)
			return []Problem{{f.Name, "The " + label(f.Name) + " field must be true or false."}}
		}
	case contract.Choice:
		if !slices.Contains(f.Values, value) {
			r.violate(RuleValue, f.Name, value)
			return []Problem{{f.Name, "The selected " + label(f.Name) + " is invalid."}}
		}
	case contract.Number:
		if strings.Trim(value, "0123456789") != "" || strings.Trim(value, "0") == "" {
			r.violate(RuleValue, f.Name, value)
			return []Problem{{f.Name, "The " + label(f.Name) + " field must be at least 1."}}
		}
	}
	return nil
}

// boolean reads a boolean as this deployment writes it.
func (r *reader) boolean(value string) (b, ok bool) {
	yes, no := "1", "0"
	if r.config.BooleanWords {
		yes, no = "true", "false"
	}
	return value == yes, value == yes || value == no
}

func required(field string) string { return "The " + label(field) + " field is required." }

func label(field string) string { return strings.ReplaceAll(field, "_", " ") }

// acceptsJSON reports whether the header lists application/json.
func acceptsJSON(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		mediaType, _, _ := strings.Cut(part, ";")
		if strings.TrimSpace(mediaType) == "application/json" {
			return true
		}
	}
	return false
}
