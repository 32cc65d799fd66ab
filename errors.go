package aicontent

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sentinels for [errors.Is]. An [APIError] matches the one of its status code.
var (
	ErrBadRequest   = errors.New("bad request")       // 400
	ErrUnauthorized = errors.New("unauthorized")      // 401, and a redirect to a login page
	ErrForbidden    = errors.New("forbidden")         // 403
	ErrNotFound     = errors.New("not found")         // 404
	ErrConflict     = errors.New("conflict")          // 409, and two records with the name of a store with [WithOnce]
	ErrTooLarge     = errors.New("too large")         // 413
	ErrInvalid      = errors.New("invalid")           // 422, and any [ValidationError]
	ErrRateLimited  = errors.New("too many requests") // 429
	ErrServer       = errors.New("server error")      // 500 to 599
)

// ErrPagination ends a walk over pages when the service does not say whether more follow, or gives one again.
// What came before it is right, and there may be more.
var ErrPagination = errors.New("pagination")

// ValidationError says what is wrong with a call that was therefore not sent: every problem
// at once, at most one a field. It matches [ErrInvalid], and its [Outcome] is NotSent.
type ValidationError struct {
	Problems []FieldProblem

	op     string
	causes []error
}

// FieldProblem is what is wrong with one value.
type FieldProblem struct {
	Field  string // the name on the wire, such as per_page
	Value  any    // the value as given; nil where there is none, or where it is secret
	Reason string // what is allowed
}

// Error names every field, value and what is allowed, on one line.
func (e *ValidationError) Error() string {
	var b strings.Builder
	if e.op != "" {
		b.WriteString(e.op + ": ")
	}
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.Field)
		switch value := fmt.Sprint(p.Value); {
		case p.Value == nil || value == "":
		default:
			b.WriteString(" " + quoted(value))
		}
		b.WriteString(": " + p.Reason)
	}
	return b.String()
}

// Unwrap gives what made a file unreadable, such as [io/fs.ErrNotExist].
func (e *ValidationError) Unwrap() []error { return e.causes }

// Is reports whether target is [ErrInvalid].
func (e *ValidationError) Is(target error) bool { return target == ErrInvalid }

// APIError is an answer with a status other than 2xx. It matches the sentinel of its status:
// errors.Is(err, ErrNotFound). A redirect that was refused is one too.
//
// The API key is masked wherever the service sent it back.
type APIError struct {
	StatusCode int
	Method     string
	Path       string              // as sent, without the query
	Message    string              // what the service said, on one line; empty where it said nothing
	Fields     map[string][]string // what it said of each field; nil where it named none
	RequestID  string              // of the usual headers; empty where none was sent
	RetryAfter time.Duration       // 0 where the service did not say
	Header     http.Header         // of the answer
	Body       []byte              // of the answer, up to 1 MiB of it
	Attempts   int                 // how often the request was tried

	trail
}

// Error is one line: operation, status, and what the service said.
func (e *APIError) Error() string {
	text := e.said()
	if text == "" {
		text = strings.ToLower(http.StatusText(e.StatusCode))
	}
	return e.line(e.Method, e.Path, fmt.Sprintf("%d: %s", e.StatusCode, shortened(text, maxErrorText)))
}

// said is the message and what was said of each field, in the order of their names.
// A message that only says the same as a field is left out.
func (e *APIError) said() string {
	var parts []string
	message := e.Message
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		said := strings.Join(e.Fields[name], ", ")
		if said != "" && strings.HasPrefix(message, said) {
			message = ""
		}
		parts = append(parts, name+": "+said)
	}
	if message != "" {
		parts = slices.Insert(parts, 0, message)
	}
	return strings.Join(parts, "; ")
}

// Is reports whether target is the sentinel of the status code.
func (e *APIError) Is(target error) bool {
	switch target {
	case ErrBadRequest:
		return e.StatusCode == http.StatusBadRequest
	case ErrUnauthorized:
		return e.StatusCode == http.StatusUnauthorized || e.login
	case ErrForbidden:
		return e.StatusCode == http.StatusForbidden
	case ErrNotFound:
		return e.StatusCode == http.StatusNotFound
	case ErrConflict:
		return e.StatusCode == http.StatusConflict
	case ErrTooLarge:
		return e.StatusCode == http.StatusRequestEntityTooLarge
	case ErrInvalid:
		return e.StatusCode == http.StatusUnprocessableEntity
	case ErrRateLimited:
		return e.StatusCode == http.StatusTooManyRequests
	case ErrServer:
		return e.StatusCode >= 500 && e.StatusCode <= 599
	}
	return false
}

// Unwrap gives what ended the call while it waited to try again, nil where nothing did.
func (e *APIError) Unwrap() error { return e.ended }

// DecodeError is a 2xx answer that cannot be read as what was asked for. The service may well
// have acted: see [OutcomeOf].
type DecodeError struct {
	StatusCode int
	Method     string
	Path       string // as sent, without the query
	Body       []byte // what came, up to 1 MiB of it
	Err        error  // what is wrong with it

	trail
}

// Error is one line: operation, status, and what is wrong with the answer.
func (e *DecodeError) Error() string {
	return e.line(e.Method, e.Path, fmt.Sprintf("%d: cannot read the answer: %v", e.StatusCode, e.Err))
}

// Unwrap gives the cause, and what ended the call while it waited to try again.
func (e *DecodeError) Unwrap() []error { return causes(e.Err, e.ended) }

// TransportError says that no answer came: the network, a timeout, the context, a rate limiter or a key
// source ended the call. The cause is found by [errors.Is] and [errors.As].
type TransportError struct {
	Method   string
	Path     string // as sent, without the query
	Attempts int    // how often the request was tried; 0 when it ended before the first
	Err      error

	trail
}

// Error is one line: operation and cause.
func (e *TransportError) Error() string { return e.line(e.Method, e.Path, fmt.Sprint(e.Err)) }

// Unwrap gives the cause, and what ended the call while it waited to try again.
func (e *TransportError) Unwrap() []error { return causes(e.Err, e.ended) }

// Timeout reports whether the cause is a timeout, as net.Error has it.
func (e *TransportError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

func causes(list ...error) []error {
	return slices.DeleteFunc(list, func(err error) bool { return err == nil })
}

// trail is what an error knows of the call beyond its last attempt.
type trail struct {
	op      string
	attempt string   // "attempt 3 of 4"; empty after a single one
	earlier []string // why the attempts before the last one failed
	ended   error    // what ended the wait for a further attempt
	fate    fate     // what the service did, over all attempts
	login   bool     // the service sent the caller to a login page
	final   bool     // a further attempt would end the same way
}

// line puts the operation before the text and the story behind it.
func (t *trail) line(method, path, text string) string {
	op := t.op
	if op == "" {
		op = method + " " + path
	}
	if t.ended != nil {
		text += fmt.Sprintf(" (gave up waiting to try again: %v)", t.ended)
	}
	if t.attempt != "" {
		text += " (" + t.attempt
		if len(t.earlier) > 0 {
			text += "; before: " + strings.Join(t.earlier, "; ")
		}
		text += ")"
	}
	return op + ": " + text
}

func (t *trail) story() *trail { return t }

// maxErrorText bounds what of a service's words goes into an error's text, in bytes.
const maxErrorText = 500

// shortened cuts a text at a rune's border.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit] + "…"
}

// quoted shows a value that may hold anything, on one line and bounded.
func quoted(value string) string {
	return strconv.Quote(shortened(value, 80))
}
