package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/internal/errtext"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
)

// Sentinels for [errors.Is]. An [APIError] matches the one for its status code.
var (
	ErrBadRequest   = errors.New("bad request")       // 400
	ErrUnauthorized = errors.New("unauthorized")      // 401, and a redirect to a login page
	ErrForbidden    = errors.New("forbidden")         // 403
	ErrNotFound     = errors.New("not found")         // 404 with JSON: without it, a proxy may have responded
	ErrConflict     = errors.New("conflict")          // 409, 412, and any [ConflictError]
	ErrTooLarge     = errors.New("too large")         // 413
	ErrInvalid      = errors.New("invalid")           // 422, and any [ValidationError]
	ErrRateLimited  = errors.New("too many requests") // 429
	ErrServer       = errors.New("server error")      // 500 to 599
)

// ErrPagination ends an iteration over pages if the service does not say whether more follow, or repeats one. It is in
// that page's [*DecodeError], without the body. The records before it are valid, but there may be more.
var ErrPagination = errors.New("pagination")

// ErrFile means that the file of an upload could not be read: its reader failed or stalled, or the file changed. It is
// in a [*ValidationError] if reading fails before the first attempt, and in a [*CallError] if the reader stalls,
// or fails later.
var ErrFile error = upload.ErrSource

// ValidationError lists everything that is wrong with the arguments of a call, at most one problem for each field.
// Nothing was sent: its [Outcome] is NotExecuted. It matches [ErrInvalid].
type ValidationError struct {
	Problems []FieldProblem

	op     Operation
	causes []error
}

// FieldProblem describes what is wrong with one value.
type FieldProblem struct {
	Field  string `json:"field"`           // the name in the API, such as per_page
	Value  any    `json:"value,omitempty"` // as given; nil if there is none, or it is secret
	Reason string `json:"reason"`          // what is allowed, in words that a user may see
	Hint   string `json:"hint,omitempty"`  // for the programmer; may be empty
}

// Error is one line: each field, its value, what is allowed, and the hint, which is not repeated.
func (e *ValidationError) Error() string {
	var list []string
	for i, p := range e.Problems {
		text := p.Field
		if value := fmt.Sprint(p.Value); p.Value != nil && value != "" {
			text += " " + redact.Quote(value)
		}
		text += ": " + p.Reason
		again := slices.ContainsFunc(e.Problems[i+1:], func(later FieldProblem) bool { return later.Hint == p.Hint })
		if p.Hint != "" && !again {
			text += " (" + p.Hint + ")"
		}
		list = append(list, text)
	}
	return strings.TrimPrefix(string(e.op)+": "+oneLine.Replace(strings.Join(list, "; ")), ": ")
}

// Outcome is NotExecuted.
func (e *ValidationError) Outcome() Outcome { return noAttempt }

// Retryable is false.
func (e *ValidationError) Retryable() bool { return false }

// Reason is what [Reason] returns: each field and what is allowed.
func (e *ValidationError) Reason() string {
	list := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		list[i] = p.Field + ": " + p.Reason
	}
	return strings.Join(list, "; ")
}

// Is reports whether target is [ErrInvalid].
func (e *ValidationError) Is(target error) bool { return target == ErrInvalid }

// Unwrap returns the causes, such as why a file cannot be read.
func (e *ValidationError) Unwrap() []error { return e.causes }

// APIError is a response with a status other than 2xx, including a refused redirect. It matches the sentinel of its
// status: errors.Is(err, ErrNotFound). The API key is masked wherever the service sent it back.
type APIError struct {
	StatusCode int
	Method     string
	Path       string              // as sent, without the query
	Message    string              // from the service, or why a redirect was refused; one line, may be empty
	Fields     map[string][]string // its messages for each field; nil for none
	RequestID  string              // from the usual headers; empty if none was sent
	RetryAfter time.Duration       // 0 if the service did not say
	Header     http.Header
	Body       []byte // up to 1 MiB
	Attempts   int    // number of attempts, from 1

	summary
	login bool // the service redirects to a login page
	blind bool // it does not tell whether there is a record: not the service's own word, or of a search that failed
}

// Error is one line: the operation, status, message and attempts.
func (e *APIError) Error() string {
	status := strconv.Itoa(e.StatusCode)
	text := strings.TrimSpace(strings.TrimPrefix(errtext.Text(e.Message, e.Fields), status))
	text = cmp.Or(text, strings.ToLower(http.StatusText(e.StatusCode)))
	text = redact.Shorten(text, 500) // a paragraph: the message for several fields fits, and a log line stays one
	return e.line(e.Method+" "+e.Path, strings.TrimSuffix(status+": "+text, ": "))
}

// Is reports whether target is the sentinel of the status code.
func (e *APIError) Is(target error) bool {
	sentinel := map[int]error{
		400: ErrBadRequest, 401: ErrUnauthorized, 403: ErrForbidden, 404: ErrNotFound,
		409: ErrConflict, 412: ErrConflict, 413: ErrTooLarge, 422: ErrInvalid, 429: ErrRateLimited,
	}[e.StatusCode]
	if e.blind && target == ErrNotFound {
		return false
	}
	return target == sentinel || target == ErrServer && e.StatusCode/100 == 5 || target == ErrUnauthorized && e.login
}

// Reason is what [Reason] returns: the message, else the text of the status.
func (e *APIError) Reason() string {
	status := cmp.Or(strings.ToLower(http.StatusText(e.StatusCode)), "status "+strconv.Itoa(e.StatusCode))
	return cmp.Or(errtext.Text(e.Message, e.Fields), status)
}

// Unwrap returns what prevented a retry, such as the context's error, or nil.
func (e *APIError) Unwrap() error { return e.stopped }

func (e APIError) with(s summary) error {
	e.summary, e.Attempts = s, s.attempts
	return &e
}

// DecodeError is a 2xx response without a usable record, list or picture, or a page that matches [ErrPagination]. The
// service may have executed the request: see [OutcomeOf].
type DecodeError struct {
	StatusCode int
	Method     string
	Path       string // as sent, without the query
	RequestID  string // from the usual headers; empty if none was sent
	Header     http.Header
	Body       []byte // up to 1 MiB
	Attempts   int    // number of attempts, from 1
	Err        error  // what is wrong with it

	summary
}

// Error is one line: the operation, the status and what is wrong.
func (e *DecodeError) Error() string {
	return e.line(e.Method+" "+e.Path, fmt.Sprintf("%d: %v", e.StatusCode, e.Err))
}

// Reason is what [Reason] returns.
func (e *DecodeError) Reason() string { return "the response could not be read" }

// Unwrap returns the cause, and what prevented a retry, if anything.
func (e *DecodeError) Unwrap() []error { return e.causes(e.Err) }

func (e DecodeError) with(s summary) error {
	e.summary, e.Attempts = s, s.attempts
	return &e
}

// CallError is a failure other than a response: the network, a timeout, the context, a rate limiter, a key source,
// a hook, or the writer of Download. It is a [net.Error]. [errors.Is] and [errors.As] find the cause.
type CallError struct {
	Method   string
	Path     string // as sent, without the query
	Attempts int    // number of attempts; 0 if the call ended before the first
	Err      error

	summary
}

// Error is one line: the operation and the cause.
func (e *CallError) Error() string { return e.line(e.Method+" "+e.Path, fmt.Sprint(e.Err)) }

// Unwrap returns the cause, and what prevented a retry, if anything.
func (e *CallError) Unwrap() []error { return e.causes(e.Err) }

// Temporary is the same as Retryable, for [net.Error].
func (e *CallError) Temporary() bool { return e.Retryable() }

// Reason is what [Reason] returns: the kind of failure.
func (e *CallError) Reason() string {
	switch {
	case errors.Is(e.Err, ErrFile):
		return "the file could not be read"
	case errors.Is(e.Err, context.Canceled):
		return "stopped"
	case e.Timeout():
		return "timed out"
	case errors.As(e.Err, new(*net.OpError)), errors.As(e.Err, new(*net.DNSError)):
		return "no connection to the service"
	case e.Attempts == 0:
		return "refused: " + e.Err.Error()
	}
	return "the connection to the service broke"
}

// Timeout reports whether the cause is a timeout.
func (e *CallError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout() ||
		// Only errors.Is leads to an error whose text held the key.
		errors.Is(e.Err, os.ErrDeadlineExceeded) || errors.Is(e.Err, context.DeadlineExceeded)
}

func (e CallError) with(s summary) error {
	e.summary, e.Attempts = s, s.attempts
	return &e
}

// ConflictError reports that the name does not stand for one record alone: FindByName found several, or package once
// knows it for another one. It matches [ErrConflict].
type ConflictError struct {
	Name   string
	IDs    []ID   // of the records with the name, at most two
	Reason string // why the records conflict

	summary
}

// Error is one line: the operation, the name, the reason and the IDs.
func (e *ConflictError) Error() string {
	ids := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		ids[i] = string(id)
	}
	name := redact.Quote(e.Name)
	return e.line("", fmt.Sprintf("name %s: %s (id %s)", name, e.Reason, strings.Join(ids, ", ")))
}

// Is reports whether target is [ErrConflict].
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
