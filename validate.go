package aicontent

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/names"
	"github.com/aicontent/aicontent-go/internal/redact"
)

// The checks return problems, nil for none. A request with a problem is not sent.

const waivable = "WithoutValidation sends it anyway"

// problem returns a list of one problem. Every problem is made here.
func problem(field string, value any, reason string, hints ...string) []FieldProblem {
	return []FieldProblem{{Field: field, Value: value, Reason: reason, Hint: strings.Join(hints, "; ")}}
}

// check returns the problem of a value, or nil if the value is ok.
func check(ok bool, field string, value any, reason string, hints ...string) []FieldProblem {
	if ok {
		return nil
	}
	return problem(field, value, reason, hints...)
}

// checkForm reports missing fields, empty fields and invalid UTF-8. Documented has the fields of the params; more has
// those of WithFormField, which may be empty.
func checkForm(args arguments, form, documented url.Values, more []pair) (problems []FieldProblem) {
	given := func(field string) bool {
		return slices.ContainsFunc(more, func(p pair) bool { return p.key == field })
	}
	report := func(ok bool, field, reason string, hints ...string) {
		problems = append(problems, check(ok, field, form.Get(field), reason, hints...)...)
	}
	for _, field := range args.op.required {
		report(given(field) || !empty(form, field), field, "is required")
	}
	if args.op.kind == engine.Create { // FindByName would not find a record with another name
		report(empty(documented, "name") || !given("name"), "name",
			"must be given once: as Name of the params, or as a form field")
	} else {
		report(!form.Has("name") || !empty(form, "name"), "name",
			"must not be empty", "leave it nil to keep the current one")
	}
	report(args.file == nil || !form.Has(filePart), filePart,
		"must be given as TranscriptionStoreParams.File, not as a form field")
	return append(problems, checkText(form)...)
}

// empty reports whether a field is missing, or has only characters trimmed by the service.
func empty(form url.Values, field string) bool { return names.Canonical(form.Get(field)) == "" }

// checkText reports names and values with invalid UTF-8, because services respond to it with a 500.
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

// unlisted reports the fields of params, a struct, with undocumented values.
func unlisted(params any) []FieldProblem {
	if params == nil {
		return nil
	}
	var problems []FieldProblem
	for field, v := range reflect.ValueOf(params).Fields() {
		value, ok := v.Interface().(interface{ Valid() bool })
		if ok && !v.IsZero() && !value.Valid() {
			name, _, _ := strings.Cut(field.Tag.Get("url"), ",")
			problems = append(problems, problem(name, value, allowed(value), waivable)...)
		}
	}
	return problems
}

// allowed tells the documented values of a type.
func allowed(value any) string {
	var list []string
	for _, v := range documented {
		if reflect.TypeOf(v) == reflect.TypeOf(value) {
			list = append(list, fmt.Sprint(v))
		}
	}
	if list == nil {
		return "must be a country code of ISO 3166-1 alpha-2 in capital letters, such as US or DE, not a language"
	}
	return "must be one of " + strings.Join(list, ", ")
}

// idReason describes the allowed IDs.
const idReason = "must be a path segment such as 7, without slashes, white space and control characters"

// wrongIDs matches texts that are not one segment of a path.
var wrongIDs = regexp.MustCompile(`[/\\\pZ\p{Cc}]|^\.?\.?$`)

// check reports an ID that is not one segment of a path. Any other ID is escaped and sent.
func (id ID) check() []FieldProblem {
	// A proxy may unescape a path before it resolves "..", and another one may do so after it.
	plain, err := url.PathUnescape(string(id))
	if err != nil {
		plain = string(id)
	}
	if wrongIDs.MatchString(plain) {
		return problem("id", id, idReason)
	}
	return nil
}

// checkDuration reports a negative duration, and one meant in seconds: WithResponseTimeout(30) is 30 nanoseconds.
func checkDuration(field string, d time.Duration) []FieldProblem {
	return check(d == 0 || d >= time.Millisecond, field, d,
		"must be 0 or at least 1ms", "write 30*time.Second for 30 seconds")
}

// checkHTTPClient reports a nil client, and a transport that refuses HTTP/1, which create requests use.
func checkHTTPClient(hc *http.Client) []FieldProblem {
	if hc == nil {
		return problem("http_client", nil, "must not be nil")
	}
	t, ok := hc.Transport.(*http.Transport)
	return check(!ok || t.Protocols == nil || t.Protocols.HTTP1(), "http_client_transport", nil,
		"must have HTTP/1 in its Protocols: create requests use no other")
}

// checkTimeout reports an http.Client's Timeout that would end a Store call before its own limit, which is infinite if
// it is 0.
func checkTimeout(timeout, store time.Duration) []FieldProblem {
	return check(timeout == 0 || store > 0 && timeout >= store, "http_client_timeout", timeout,
		"must be 0, or at least the store timeout: it counts the upload too, and would end Store calls that are billed",
		"leave it 0: WithResponseTimeout, WithStoreTimeout and WithStallTimeout limit each attempt")
}

// reservedHeaders are set by the SDK, or by net/http for the connection and the upload.
var reservedHeaders = []string{
	"Authorization", "Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Trailer",
	"Connection", "Expect", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Upgrade",
}

// headerNames matches the valid names of headers.
var headerNames = regexp.MustCompile("^[\\w!#$%&'*+.^`|~-]+$")

// checkHeader reports an invalid or reserved name, or an invalid value. It does not show the value: it may be secret.
func checkHeader(name, value string) []FieldProblem {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !headerNames.MatchString(name):
		return problem("header", name, "must be an HTTP header name: letters, digits and dashes, such as X-Tenant")
	case slices.Contains(reservedHeaders, canonical):
		return problem("header", name, "is set by the SDK and cannot be changed")
	}
	return checkHeaderValue(canonical, value, nil)
}

// checkHeaderValue reports a value that HTTP would change or refuse. The problem shows the argument shown: the value,
// or nil for a secret one.
func checkHeaderValue(field, value string, shown any) []FieldProblem {
	control := strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
	return check(!control && strings.TrimSpace(value) == value, field, shown,
		"must be one line without control characters, and without white space at its ends")
}

// printable matches texts of ASCII characters without spaces.
var printable = regexp.MustCompile("^[!-~]*$")

// checkKey reports an API key that cannot be sent or masked. It does not show the key.
func checkKey(key argument) []FieldProblem {
	hint := ""
	if strings.Contains(strings.ToLower(key.value), "bearer ") {
		hint = "give the key alone: the SDK adds Bearer"
	}
	ok := len(key.value) >= redact.MinKey && printable.MatchString(key.value)
	return check(ok, key.field, nil, fmt.Sprintf(
		"must be at least %d ASCII characters without spaces and line breaks, such as sk-live-0123456789",
		redact.MinKey), hint)
}
