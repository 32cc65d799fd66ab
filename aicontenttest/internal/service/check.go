package service

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// violate notes a violation, unless the service is lenient.
func (r *reader) violate(rule, field, value string) {
	if r.config.Lenient {
		return
	}
	if len(value) > 80 {
		value = value[:80] + "…"
	}
	if field != "" {
		rule += fmt.Sprintf(": %s=%q", field, value)
	}
	r.Violations = append(r.Violations, rule)
}

// problem notes a message of the validator about a field. As in Laravel, :attribute stands for the field.
func (r *reader) problem(field, message string) {
	message = strings.ReplaceAll(message, ":attribute", strings.ReplaceAll(field, "_", " "))
	r.problems = append(r.problems, Problem{field, message})
}

// reject notes a violation and its problem.
func (r *reader) reject(rule, field, value, message string) {
	r.violate(rule, field, value)
	r.problem(field, message)
}

// authorized reports whether the request carries a key.
func (r *reader) authorized() bool {
	given := r.Header.Values("Authorization")
	token, ok := "", len(given) == 1
	if ok {
		token, ok = strings.CutPrefix(given[0], "Bearer ")
	}
	if !ok || token == "" || strings.ContainsAny(token, " \t") {
		r.violate("authorization", "Authorization", "")
	}
	return ok && slices.Contains(r.Keys, token)
}

// checkQuery judges the query. The fields are the permitted parameters.
func (r *reader) checkQuery(fields []contract.Field) {
	if r.config.Lenient {
		return
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		r.violate("query", "", "")
		r.problem("query", "The :attribute is malformed.")
		return
	}
	r.checkNames("undocumented-parameter", fields, r.Query)
	for _, f := range fields {
		if value, given := last(r.Query, f.Name); given {
			r.checkValue(f, value)
		}
	}
}

// checkForm judges the form, whose files were judged before.
func (r *reader) checkForm(fields []contract.Field) {
	noFile := r.Upload == nil && len(r.problems) == 0
	r.checkNames("undocumented-field", fields, r.Form)
	for _, f := range fields {
		value, given := last(r.Form, f.Name)
		missing := value == ""
		if f.Kind == contract.Audio {
			missing = noFile
		}
		switch {
		case missing && f.Required:
			r.problem(f.Name, "The :attribute field is required.")
		case value == "" && given && f.IfEmpty != "":
			r.problem(f.Name, f.IfEmpty)
		case r.config.LengthLimits && f.MaxLength > 0 && utf8.RuneCountInString(value) > f.MaxLength:
			r.problem(f.Name, fmt.Sprintf("The :attribute field must not be greater than %d characters.", f.MaxLength))
		case given && (value != "" || !r.config.Lenient):
			r.checkValue(f, value)
		}
	}
}

// validText reports whether all text is UTF-8. A database refuses other text.
func (r *reader) validText() bool {
	valid := true
	check := func(name, value string) {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			r.violate("encoding", name, value)
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

// checkNames judges the names of parameters or fields. Lenient servers take the last value of a known name.
func (r *reader) checkNames(rule string, fields []contract.Field, values url.Values) {
	if r.config.Lenient {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given := values[name]
		_, known := contract.Find(fields, name)
		switch {
		case r.config.Allowed[name]:
		case !known:
			r.reject(rule, name, given[0], "The :attribute field is not part of the API.")
		case len(given) > 1:
			r.reject("repeated", name, strings.Join(given, ", "), "The :attribute field must be given once.")
		}
	}
}

func (r *reader) checkValue(f contract.Field, value string) {
	_, boolean := r.boolean(value)
	_, number := positive(value)
	switch {
	case r.config.Allowed[f.Name]:
	case f.Kind == contract.Flag && !boolean:
		r.reject("boolean", f.Name, value, "The :attribute field must be true or false.")
	case f.Kind == contract.Choice && !slices.Contains(f.Values, value):
		r.reject("value", f.Name, value, "The selected :attribute is invalid.")
	case f.Kind == contract.Number && !number:
		r.reject("value", f.Name, value, "The :attribute field must be at least 1.")
	}
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
