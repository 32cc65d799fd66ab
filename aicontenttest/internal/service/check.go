package service

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
	RuleEncoding              = "encoding"               // text that is not UTF-8
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
	r.account = slices.IndexFunc(r.Keys, func(keys []string) bool { return slices.Contains(keys, token) })
	return ok && r.account >= 0
}

// checkQuery judges the query of a request that may have these parameters.
func (r *reader) checkQuery(fields []contract.Field) []Problem {
	if r.config.Lenient {
		return nil
	}
	if !wellFormed(r.URL.RawQuery) {
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
		value, present := r.input(field.Name)
		problem := func(says string) {
			problems = append(problems, Problem{field.Name, "The " + label(field.Name) + " field " + says})
		}
		switch {
		case field.Kind == contract.Audio:
			if r.Upload == nil && !fileProblem {
				problem("is required.")
			} else if r.Upload != nil && r.config.AudioTypes && !slices.Contains(audioTypes, r.Upload.Format) {
				problem("must be a file of type: mp3, mp4, mpeg, mpga, m4a, wav, webm.")
			}
		case value == "" && field.Required:
			problem("is required.")
		case value == "" && present && field.IfEmpty != "":
			problem(field.IfEmpty)
		case r.config.LengthLimits && field.MaxLength > 0 && utf8.RuneCountInString(value) > field.MaxLength:
			problem(fmt.Sprintf("must not be greater than %d characters.", field.MaxLength))
		case present && field.Kind != contract.Text && (value != "" || !r.config.Lenient):
			problems = append(problems, r.checkValue(field, value)...)
		}
	}
	return problems
}

// validText reports whether all text is UTF-8. A database refuses what is not.
func (r *reader) validText() bool {
	valid := true
	check := func(name, value string) {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			r.violate(RuleEncoding, name, value)
			valid = false
		}
	}
	for _, values := range []url.Values{r.Query, r.Form} {
		for name, given := range values {
			for _, value := range given {
				check(name, value)
			}
		}
	}
	if r.Upload != nil && !r.config.Lenient {
		check(contract.FilePart, r.Upload.Name)
	}
	return valid
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
		if _, ok := positive(value); !ok {
			r.violate(RuleValue, f.Name, value)
			return []Problem{{f.Name, "The " + label(f.Name) + " field must be at least 1."}}
		}
	}
	return nil
}

// word is a boolean as this deployment reads it.
func (r *reader) word(b bool) string {
	switch {
	case r.config.BooleanWords:
		return strconv.FormatBool(b)
	case b:
		return "1"
	}
	return "0"
}

func (r *reader) boolean(value string) (b, ok bool) {
	return value == r.word(true), value == r.word(true) || value == r.word(false)
}

func label(field string) string { return strings.ReplaceAll(field, "_", " ") }

// acceptsJSON reports whether the header lists application/json.
func acceptsJSON(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		mediaType, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
			return true
		}
	}
	return false
}
