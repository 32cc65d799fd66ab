package aicontent

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/names"
	"github.com/aicontent/aicontent-go/internal/redact"
)

// The checks return the problems, nil for none. A request with a problem is not sent.

const waivable = "WithoutValidation sends it anyway"

// problem is the one way in which a problem is made.
func problem(field string, value any, reason string, hints ...string) []FieldProblem {
	hint := strings.TrimPrefix(strings.Join(hints, "; "), "; ")
	return []FieldProblem{{Field: field, Value: value, Reason: reason, Hint: hint}}
}

// check returns the problem of a value, and nothing if the value is ok.
func check(ok bool, field string, value any, reason string, hints ...string) []FieldProblem {
	if ok {
		return nil
	}
	return problem(field, value, reason, hints...)
}

// invalid makes the error of an operation: nil for no problems, at most one for each field, the first.
func invalid(op Operation, problems []FieldProblem, causes ...error) error {
	var list []FieldProblem
	for _, p := range problems {
		if !slices.ContainsFunc(list, func(have FieldProblem) bool { return have.Field == p.Field }) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &ValidationError{Problems: list, op: op, causes: causes}
}

// checkForm reports missing fields, empty fields and text that is not UTF-8. What WithFormField gave is sent as it is.
func checkForm(r *request, args arguments, documented url.Values) (problems []FieldProblem) {
	form := r.form
	given := func(field string) bool {
		return slices.ContainsFunc(r.moreForm, func(p pair) bool { return p.key == field })
	}
	for _, field := range r.op.required {
		if !given(field) && empty(form, field) {
			problems = append(problems, problem(field, form.Get(field), "is required")...)
		}
	}
	if r.Kind == engine.Create && !empty(documented, "name") && given("name") { // it would not be found by its name
		const reason = "must be given once: as Name of the params, or as a form field"
		problems = append(problems, problem("name", form.Get("name"), reason)...)
	}
	if r.op.record && form.Has("name") && empty(form, "name") { // an update
		const hint = "leave it nil to keep the current one"
		problems = append(problems, problem("name", form.Get("name"), "must not be empty", hint)...)
	}
	if args.file != nil && form.Has(filePart) {
		const reason = "must be given as TranscriptionStoreParams.File, not as a form field"
		problems = append(problems, problem(filePart, form.Get(filePart), reason)...)
	}
	return append(problems, checkText(form)...)
}

// empty reports whether a field is missing, or has only characters that the service trims.
func empty(form url.Values, field string) bool { return names.Canonical(form.Get(field)) == "" }

// checkText reports names and values that are not UTF-8, which services answer with a 500.
func checkText(values url.Values) (problems []FieldProblem) {
	for name, list := range values {
		for _, value := range list {
			if !utf8.ValidString(name) || !utf8.ValidString(value) {
				problems = append(problems, problem(redact.Line(name), value, "must be valid UTF-8")...)
			}
		}
	}
	slices.SortFunc(problems, func(a, b FieldProblem) int { return strings.Compare(a.Field, b.Field) })
	return problems
}

// unlisted reports the fields of a struct of parameters whose values are set and not documented.
func unlisted(params any) (problems []FieldProblem) {
	if params == nil {
		return nil
	}
	fields := reflect.ValueOf(params)
	for i := range fields.NumField() {
		value := fields.Field(i).Interface()
		listed, ok := value.(interface{ Valid() bool })
		if ok && !fields.Field(i).IsZero() && !listed.Valid() {
			name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("url"), ",")
			problems = append(problems, problem(name, value, allowed(value), waivable)...)
		}
	}
	return problems
}

// allowed tells the documented values of a type.
func allowed(value any) string {
	for _, list := range documented {
		if reflect.TypeOf(list).Elem() == reflect.TypeOf(value) {
			values := strings.Fields(strings.Trim(fmt.Sprint(list), "[]"))
			return "must be one of " + strings.Join(values, ", ")
		}
	}
	return "must be a country code of ISO 3166-1 alpha-2 in capital letters, such as US or DE, not a language"
}

// check reports an ID that cannot be one segment of a path. Everything else is escaped and sent.
func (id ID) check() []FieldProblem {
	// A proxy may unescape a path before it resolves "..", and another one may do so after it.
	plain, err := url.PathUnescape(string(id))
	if err != nil {
		plain = string(id)
	}
	switch {
	case strings.TrimSpace(string(id)) == "":
		return problem("id", id, "is required")
	case isDots(plain):
		return problem("id", id, "must not be a relative path segment")
	case strings.ContainsAny(plain, `/\`):
		return problem("id", id, `must not contain / or \, escaped or not: a proxy may split the path there`)
	case strings.ContainsFunc(plain, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return problem("id", id, "must not contain white space or control characters")
	}
	return nil
}

// isDots reports whether a path segment means the folder itself, or the one above.
func isDots(segment string) bool { return segment == "." || segment == ".." }

// checkDuration reports a negative duration, and one meant in seconds: WithResponseTimeout(30) is 30 nanoseconds.
func checkDuration(field string, d time.Duration) []FieldProblem {
	switch {
	case d < 0:
		return problem(field, d, "must not be negative")
	case d > 0 && d < time.Millisecond:
		return problem(field, d, "must be 0 or at least 1ms", "write 30*time.Second for 30 seconds")
	}
	return nil
}

// checkTimeout reports an http.Client's Timeout that would end a Store call before its own limit, which is infinite if
// it is 0.
func checkTimeout(timeout, store time.Duration) []FieldProblem {
	reason := fmt.Sprintf("must be 0, or at least the store timeout of %v", store)
	if store == 0 {
		reason = "must be 0 if the store timeout is infinite"
	}
	return check(timeout == 0 || store > 0 && timeout >= store, "http_client_timeout", timeout,
		reason+": it counts the upload too, and would end Store calls that are billed",
		"leave it 0: WithResponseTimeout, WithStoreTimeout and WithStallTimeout limit each attempt")
}

// checkNil reports an argument whose methods would panic. Nil itself is not one.
func checkNil(field string, v any, hints ...string) []FieldProblem {
	return check(v == nil || !isNil(v), field, nil, fmt.Sprintf("must not be a nil %T", v), hints...)
}

// isNil reports whether v is nil, or an interface that holds a nil pointer or function.
func isNil(v any) bool {
	value := reflect.ValueOf(v)
	holder := value.Kind() == reflect.Pointer || value.Kind() == reflect.Func
	return v == nil || holder && value.IsNil()
}

// reservedHeaders are set by the SDK, or speak of the connection or the upload, which net/http manages.
var reservedHeaders = []string{
	"Authorization", "Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Trailer",
	"Connection", "Expect", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Upgrade",
}

// checkHeader reports a name that is not an HTTP token, or not for the caller to set, and a bad value without showing
// it: it may be secret.
func checkHeader(name, value string) []FieldProblem {
	const token = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	switch {
	case name == "" || strings.Trim(name, token) != "":
		return problem("header", name, "must be an HTTP header name: letters, digits and dashes")
	case slices.Contains(reservedHeaders, http.CanonicalHeaderKey(name)):
		return problem("header", name, "is set by the SDK and cannot be changed")
	}
	return checkHeaderValue(http.CanonicalHeaderKey(name), value, nil)
}

// checkHeaderValue reports characters that would end a header line, and white space that HTTP would cut off. The
// problem shows the argument shown: the value, or nil for a secret one.
func checkHeaderValue(field, value string, shown any) []FieldProblem {
	reason, hint := unexpected(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
	switch {
	case reason != "":
		return problem(field, shown, reason, hint)
	case strings.Trim(value, " \t") != value:
		return problem(field, shown, "must not begin or end with a space or tab, which HTTP drops")
	}
	return nil
}

var keyLength = fmt.Sprintf("must have at least %d characters: a shorter one cannot be masked", redact.MinKey)

// checkKey reports an API key that cannot be sent, without showing it. The first problem says the most.
func checkKey(key string) []FieldProblem {
	const field, alone = "api_key", "pass the key alone: the SDK makes the Authorization header"
	if strings.TrimSpace(key) == "" {
		return problem(field, nil, "is required")
	}
	for _, prefix := range []string{"Bearer ", "Authorization:"} {
		if len(key) >= len(prefix) && strings.EqualFold(key[:len(prefix)], prefix) {
			return problem(field, nil, fmt.Sprintf("must not begin with %q", prefix), alone)
		}
	}
	first, last := key[0], key[len(key)-1]
	reason, hint := unexpected(key, func(r rune) bool { return r <= ' ' || r > '~' })
	switch {
	case reason != "":
		return problem(field, nil, reason, hint)
	case strings.ContainsRune("\"'`", rune(first)) && first == last:
		return problem(field, nil, "must not be in quotation marks")
	case len(key) < redact.MinKey:
		return problem(field, nil, keyLength)
	}
	return nil
}

// unexpected names the first character of text that is refused, and where it stands. It returns nothing if there is
// none. It shows printable ASCII characters only, because text may be a key.
func unexpected(text string, refused func(rune) bool) (reason, hint string) {
	at := strings.IndexFunc(text, refused)
	if at < 0 {
		return "", ""
	}
	if !strings.ContainsFunc(strings.TrimSpace(text), refused) {
		hint = "strings.TrimSpace removes it"
	}
	r, _ := utf8.DecodeRuneInString(text[at:])
	return fmt.Sprintf("must not contain %s (at byte %d)", describe(r), at), hint
}

// describe names a character that stands in a text by mistake.
func describe(r rune) string {
	switch {
	case strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r):
		return "a line break"
	case r == ' ':
		return "a space"
	case r == '\t':
		return "a tab"
	case r == '\ufeff':
		return "a byte order mark"
	case strings.ContainsRune("\"'`", r) || unicode.In(r, unicode.Pi, unicode.Pf):
		return "a quotation mark"
	case unicode.IsSpace(r):
		return fmt.Sprintf("white space (%U)", r)
	case unicode.IsControl(r):
		return fmt.Sprintf("a control character (%U)", r)
	case r == utf8.RuneError:
		return "text that is not UTF-8"
	case invisible(r):
		return fmt.Sprintf("an invisible character (%U)", r)
	case r > unicode.MaxASCII:
		return "a character outside ASCII"
	}
	return string(r)
}

// invisible reports whether r is white space, an invisible character or an invalid one.
func invisible(r rune) bool {
	ignored := unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
	return unicode.IsSpace(r) || unicode.IsControl(r) || ignored || r == utf8.RuneError
}
