package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/response"
	"github.com/aicontent/aicontent-go/internal/upload"
)

// Sentinels for [errors.Is]. An [APIError] matches the one of its status code; a 404 needs JSON.
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

// ErrPagination ends an iteration over pages if the service does not say whether more follow, repeats one, or reports
// that the list became shorter meanwhile. It is in that page's [*DecodeError]. The records before it are valid, but
// there may be more.
var ErrPagination = errors.New("pagination")

// ErrFile means that the file of an upload could not be read: its reader failed or panicked, or the file changed. It is
// in a [*ValidationError] if reading fails before the first attempt, otherwise in a [*CallError].
var ErrFile error = upload.ErrSource

// ValidationError lists the problems with the arguments of a call, at most one for each field. Nothing was sent. It
// matches [ErrInvalid].
type ValidationError struct {
	Problems []FieldProblem

	op     Operation
	causes []error
}

// FieldProblem describes a problem with one value.
type FieldProblem struct {
	Field  string `json:"field"`           // the name in the API, such as per_page
	Value  any    `json:"value,omitempty"` // as given; nil if there is none, or it is secret
	Reason string `json:"reason"`          // the allowed values, in words for a user
	Hint   string `json:"hint,omitempty"`  // for the programmer; may be empty
}

// Error returns one line: each field with its value, the allowed values and the hint. A hint appears once.
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

// Outcome returns OutcomeNotExecuted.
func (e *ValidationError) Outcome() Outcome { return OutcomeNotExecuted }

// Retryable returns false.
func (e *ValidationError) Retryable() bool { return false }

// RetryAt returns the zero time.
func (e *ValidationError) RetryAt() time.Time { return time.Time{} }

// Reason returns each field with the allowed values, for the function [Reason].
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

// APIError is a response with a status other than 2xx, including a refused redirect. It matches a sentinel such as
// [ErrNotFound]. The API key is masked wherever the service sent it back.
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
	login   bool // the service redirects to a login page
	foreign bool // it does not say whether a record exists: a proxy may have sent it, or it responds to a search
}

// Error returns one line: the operation, status, message and attempts.
func (e *APIError) Error() string {
	status := strconv.Itoa(e.StatusCode)
	text := strings.TrimSpace(strings.TrimPrefix(response.Text(e.Message, e.Fields), status))
	text = cmp.Or(text, strings.ToLower(http.StatusText(e.StatusCode)))
	text = redact.Shorten(text, 500) // a paragraph: the message for several fields fits, and a log line stays one
	return e.line(e.Method+" "+e.Path, strings.TrimSuffix(status+": "+text, ": "))
}

// Outcome returns the outcome for [OutcomeOf]. An APIError that a program made is judged by its StatusCode.
func (e *APIError) Outcome() Outcome {
	if e.op == "" {
		return Outcome(e.judge().Outcome)
	}
	return e.outcome
}

// Retryable answers the function [Retryable], judged like Outcome.
func (e *APIError) Retryable() bool { return e.retryable || e.op == "" && e.judge().Retryable }

// RetryAt answers the function [RetryAt]. For an APIError that a program made, RetryAfter counts from now.
func (e *APIError) RetryAt() time.Time {
	if e.op == "" && e.RetryAfter > 0 && e.Retryable() {
		return time.Now().Add(e.RetryAfter)
	}
	return e.retryAt
}

func (e *APIError) judge() engine.Verdict {
	facts := engine.Facts{
		Kind: engine.Create, Status: e.StatusCode, Complete: true, Content: engine.Content{Kind: engine.JSON},
	}
	return engine.Judge(facts)
}

// Is reports whether target is the sentinel of the status code.
func (e *APIError) Is(target error) bool {
	sentinel := map[int]error{
		400: ErrBadRequest, 401: ErrUnauthorized, 403: ErrForbidden, 404: ErrNotFound,
		409: ErrConflict, 412: ErrConflict, 413: ErrTooLarge, 422: ErrInvalid, 429: ErrRateLimited,
	}[e.StatusCode]
	if e.foreign && target == ErrNotFound {
		return false
	}
	return target == sentinel || target == ErrServer && e.StatusCode/100 == 5 || target == ErrUnauthorized && e.login
}

// Reason returns the message, else the text of the status, for the function [Reason].
func (e *APIError) Reason() string {
	status := cmp.Or(strings.ToLower(http.StatusText(e.StatusCode)), "status "+strconv.Itoa(e.StatusCode))
	return cmp.Or(response.Text(e.Message, e.Fields), status)
}

// Unwrap returns the error that prevented a retry, such as the context's, or nil.
func (e *APIError) Unwrap() error { return e.stopped }

// DecodeError is a 2xx response without a usable record, list or picture, or a page that matches [ErrPagination].
type DecodeError struct {
	StatusCode int
	Method     string
	Path       string // as sent, without the query
	RequestID  string // from the usual headers; empty if none was sent
	Header     http.Header
	Body       []byte // up to 1 MiB
	Attempts   int    // number of attempts, from 1
	Err        error  // the problem with it

	summary
	message string // from the service, if the response reports an error
}

// Error returns one line: the operation, the status and the problem.
func (e *DecodeError) Error() string {
	return e.line(e.Method+" "+e.Path, fmt.Sprintf("%d: %v", e.StatusCode, e.Err))
}

// Reason returns the service's message if the response reports an error, else "the response could not be read", for the
// function [Reason].
func (e *DecodeError) Reason() string { return cmp.Or(e.message, "the response could not be read") }

// Unwrap returns the cause, and the error that prevented a retry, if there is one.
func (e *DecodeError) Unwrap() []error { return e.causes(e.Err) }

// CallError is a failure without a response: the network, a timeout, the context, a rate limiter, a key source, a hook,
// or the writer of Download. It is a [net.Error]. [errors.Is] and [errors.As] find the cause.
type CallError struct {
	Method   string
	Path     string // as sent, without the query
	Attempts int    // number of attempts; 0 if the call ended before the first
	Err      error

	summary
	refused   bool // a hook, a rate limiter or a key source returned Err
	unwritten bool // the writer of Download returned Err
	unsent    bool // nothing was sent of the last request
}

// Error returns one line: the operation and the cause.
func (e *CallError) Error() string { return e.line(e.Method+" "+e.Path, fmt.Sprint(e.Err)) }

// Unwrap returns the cause, and the error that prevented a retry, if there is one.
func (e *CallError) Unwrap() []error { return e.causes(e.Err) }

// Temporary is the same as Retryable, for [net.Error].
func (e *CallError) Temporary() bool { return e.Retryable() }

// Reason returns the kind of failure, for the function [Reason].
func (e *CallError) Reason() string {
	switch {
	case e.refused:
		return "refused: " + fmt.Sprint(e.Err)
	case e.unwritten:
		return "the picture could not be written"
	case errors.Is(e.Err, ErrFile):
		return "the file could not be read"
	case errors.Is(e.Err, context.Canceled):
		return "stopped"
	case e.Timeout():
		return "timed out"
	case e.unsent:
		return "no connection to the service"
	}
	return "the connection to the service broke"
}

// Timeout reports whether a time limit or the deadline of the context ended the call. The cause of a cancelled context
// does not count.
func (e *CallError) Timeout() bool {
	var t interface{ Timeout() bool }
	return !errors.Is(e.Err, context.Canceled) && (errors.As(e.Err, &t) && t.Timeout() ||
		// Only errors.Is leads to an error whose text held the key.
		errors.Is(e.Err, os.ErrDeadlineExceeded) || errors.Is(e.Err, context.DeadlineExceeded))
}

// ConflictError reports that a name does not stand for one record: FindByName found several, or package once knows it
// for another one. It matches [ErrConflict].
type ConflictError struct {
	Name    string
	IDs     []ID   // of the records with the name, at most two
	Problem string // why the records conflict

	summary
}

// Error returns one line: the operation, the name, the problem and the IDs.
func (e *ConflictError) Error() string {
	ids := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		ids[i] = string(id)
	}
	text := fmt.Sprintf("name %s: %s", redact.Quote(e.Name), e.Problem)
	if len(ids) > 0 {
		text += fmt.Sprintf(" (id %s)", strings.Join(ids, ", "))
	}
	return e.line("", text)
}

// Reason returns Problem, for the function [Reason].
func (e *ConflictError) Reason() string { return e.Problem }

// Is reports whether target is [ErrConflict].
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// summary is the part of an error that concerns its whole call. It is zero for an error that no call returned.
type summary struct {
	op        Operation // empty for an error that a program made
	outcome   Outcome
	retryable bool
	retryAt   time.Time
	stopped   error  // prevented another attempt; nil for none
	note      string // in parentheses at the end of the error's text; may be empty
}

// Outcome returns the outcome for [OutcomeOf]. It is Unknown for an error that a program made itself.
func (s summary) Outcome() Outcome { return s.outcome }

// Retryable answers the function [Retryable].
func (s summary) Retryable() bool { return s.retryable }

// RetryAt answers the function [RetryAt].
func (s summary) RetryAt() time.Time { return s.retryAt }

// causes returns the error's own cause, and the error that prevented another attempt.
func (s summary) causes(err error) []error {
	return slices.DeleteFunc([]error{err, s.stopped}, func(err error) bool { return err == nil })
}

// line returns the text of an error, on one line: the operation (or the request, if no call returned the error), the
// problem and the note.
func (s summary) line(request, text string) string {
	if s.note != "" {
		text += " (" + s.note + ")"
	}
	text = oneLine.Replace(text)
	subject := cmp.Or(string(s.op), strings.TrimSpace(request)) // a program may leave out method and path
	return strings.TrimPrefix(subject+": "+text, ": ")
}

var oneLine = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\r", "; ")

// ending is the end of a call or of an attempt, from which newError makes an error.
type ending struct {
	outcome   Outcome
	retryable bool
	last      engine.Attempt // with the response that the error is about
	why       engine.Why
	stopped   error // the error behind why; nil for none
	noReply   bool  // no attempt of the call got a response
}

func endingOf(f *engine.Failure) ending {
	return ending{Outcome(f.Outcome), f.Retryable, f.Last, f.Why, f.Stopped, !f.Replied}
}

// newError builds the error of a call, of an attempt, or of a list that was read and cannot be used.
func (c *Client) newError(req *request, e ending) error {
	reply, keys := e.last.Reply, e.last.Reply.Keys
	s := summary{op: req.op.name, outcome: e.outcome, retryable: e.retryable, stopped: stopped(e, keys)}
	if search := req.set.search; search != nil {
		s.op = search.op
	}
	if e.retryable && e.last.RetryAfter > 0 {
		s.retryAt = time.Now().Add(e.last.RetryAfter)
	}
	var message string
	var fields map[string][]string
	if reply.Status != 0 && (reply.Status/100 != 2 || e.last.Facts.Content.Kind == engine.Error) {
		message, fields = response.Message(reply.Body, keys)
	}
	s.note = c.note(req, e, fields)
	method, path := req.sent.Method, keys.Text(req.sent.URL.EscapedPath())
	body := keys.Text(reply.Body)
	body = body[:min(len(body), maxErrorBody)]
	switch {
	case e.last.Number == 0: // the call ended before its first attempt
		refused := e.why == engine.HookError || e.why == engine.LimiterError || e.why == engine.KeyError
		call := &CallError{Method: method, Path: path, Err: s.stopped, summary: s, refused: refused}
		call.stopped = nil
		return call
	case reply.Status == 0 || e.last.Facts.Content.WriterFailed:
		return &CallError{
			Method: method, Path: path, Attempts: e.last.Number, Err: cause(req, e.last, keys), summary: s,
			unwritten: reply.Status != 0, unsent: e.last.Facts.Unsent,
		}
	case reply.Status/100 == 2:
		err := exceeded(req.op.kind, keys.Error(e.last.Err))
		if message != "" {
			err = fmt.Errorf("%w: %s", err, message)
		}
		return &DecodeError{
			StatusCode: reply.Status, Method: method, Path: path, RequestID: reply.RequestID(),
			Header: keys.Header(reply.Header), Body: []byte(body), Attempts: e.last.Number, Err: err,
			summary: s, message: message,
		}
	}
	moved, login := redirection(req, reply, keys)
	return &APIError{
		StatusCode: reply.Status, Method: method, Path: path, Message: cmp.Or(moved, message), Fields: fields,
		RequestID: reply.RequestID(), RetryAfter: e.last.RetryAfter, Header: keys.Header(reply.Header),
		Body: []byte(body), Attempts: e.last.Number, summary: s,
		login: login, foreign: !isJSON(e.last) || req.set.search != nil,
	}
}

// newValidationError returns an error with the first problem of each field, or nil if there are no problems.
func newValidationError(op Operation, problems []FieldProblem, causes ...error) error {
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

// newWaitError returns the error of a Wait whose context has ended. Err is the error of the last Show, or nil.
func (c *Client) newWaitError(ctx context.Context, in *collection, exists bool, err error) error {
	s := summary{op: Operation(in.name + ".wait"), retryable: true, retryAt: RetryAt(err)}
	if !errors.Is(err, ctx.Err()) { // as that of a Show which the context ended does
		err = errors.Join(shield(c.lastKeys(), engine.ContextError(ctx)), err)
	}
	if exists {
		s.outcome = OutcomeExecuted
		err = fmt.Errorf("the record exists, but is not complete: %w", err)
	}
	return &CallError{Err: err, summary: s}
}

// maxErrorBody is the number of bytes of a response that an error keeps.
const maxErrorBody = 1 << 20

func isJSON(a engine.Attempt) bool {
	return a.Facts.Content.Kind == engine.JSON || a.Facts.Content.Kind == engine.Error
}

// stopped returns the error that ended a call other than by its last attempt.
func stopped(e ending, keys redact.Keys) error {
	err := shield(keys, e.stopped)
	switch e.why {
	case engine.FileError:
		return exceeded(engine.Create, shield(keys, e.stopped, ErrFile))
	case engine.LimiterError:
		return fmt.Errorf("rate limiter: %w", err)
	case engine.KeyError:
		return fmt.Errorf("API key source: %w", err)
	}
	return err
}

// note returns the part of an error's text in parentheses: whether the record may exist, the next step, and the numbers
// that help to find the request in a log.
func (c *Client) note(req *request, e ending, fields map[string][]string) string {
	last, kind := e.last, req.op.kind
	if last.Number == 0 {
		return ""
	}
	var parts []string
	add := func(holds bool, format string, args ...any) {
		if holds {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	if done := map[engine.Kind]string{
		engine.Create: "created", engine.Change: "updated", engine.Remove: "deleted",
	}[kind]; done != "" {
		next := map[engine.Kind]string{engine.Create: ": look for it before you store again"}[kind]
		add(e.outcome == OutcomeUnknown, "it may have been %s%s", done, next)
		add(e.outcome == OutcomeExecuted, "it was %s", done)
		add(e.outcome == OutcomeNotExecuted && (e.noReply || !last.Facts.Complete), "nothing was %s", done)
	}
	add(e.stopped != nil, "not retried: %v", stopped(e, last.Reply.Keys))
	hint := c.hint(req, e, fields)
	add(hint != "", "%s", hint)
	add(last.Number > 1, "attempt %d of %d", last.Number, max(last.Number, req.set.policy.MaxAttempts))
	id := last.Reply.RequestID()
	add(id != "", "request %s", id)
	add(last.Reply.Status == 0, "host %s", req.sent.URL.Host)
	return last.Reply.Keys.Text(strings.Join(parts, "; ")) // a picture's host may hold the key
}

// hint returns the next step for the programmer, if there is one.
func (c *Client) hint(req *request, e ending, fields map[string][]string) string {
	last, status := e.last, e.last.Reply.Status
	file := req.sent.Body != nil && req.sent.Body.HasFile()
	timeout, late := errors.AsType[net.Error](last.Err)
	switch foreign := !isJSON(last); {
	case e.why == engine.LongWait:
		return fmt.Sprintf("the service asks to wait %v, the retry policy allows %v (MaxRetryAfter)",
			last.RetryAfter, req.set.policy.MaxRetryAfter)
	case e.why == engine.NoReplay:
		return "not retried: the file's reader can be read only once, or a Read of it has not returned"
	case e.why == engine.NoBudget:
		return "not retried: the client's retry budget is used up (WithRetryBudget)"
	// The error of a ResponseHeaderTimeout has the same type, so the time decides.
	case status == 0 && c.timeout > 0 && last.Took >= c.timeout && late && timeout.Timeout():
		return fmt.Sprintf("the http.Client's Timeout of %v ended the attempt (WithHTTPClient)", c.timeout)
	case req.op.kind == engine.Fetch:
		return ""
	case status == http.StatusUnauthorized:
		return fmt.Sprintf("%s did not accept the key %s", req.sent.URL.Host, c.keyFrom)
	case last.Err == http.ErrSchemeMismatch, status/100 == 3, status == 404 && !req.op.record,
		foreign && req.op.kind != engine.Create && (status == 403 || status == 404 || status == 405):
		return fmt.Sprintf("is the base URL %s right?", c.base)
	case file && status == 422 && fields["name"] != nil && fields[filePart] != nil:
		return "the service got an empty form: is the upload larger than it accepts (PHP's post_max_size)?"
	case file && req.sent.Body.FileSize < 0 && (status == 400 || status == 411 || status == 422):
		return "the upload was chunked, which some services do not accept: set File.Size"
	}
	return ""
}

// cause returns the error of an attempt, with the name of the option for the limit that it exceeded.
func cause(req *request, last engine.Attempt, keys redact.Keys) error {
	if last.Facts.End == engine.Unread {
		return shield(keys, last.Err, ErrFile)
	}
	return exceeded(req.op.kind, shield(keys, last.Err))
}

// exceeded returns err with the name of the option for the limit that was exceeded, if one was.
func exceeded(kind engine.Kind, err error) error {
	late, isLate := errors.AsType[*engine.TimeoutError](err)
	option := "WithResponseTimeout"
	switch {
	case errors.Is(err, engine.ErrTooLarge):
		option = "WithMaxResponseSize"
	case !isLate || errors.Is(err, context.Canceled): // whose cause may be the timeout of another call
		return err
	case late.Stalled:
		option = "WithStallTimeout"
	case kind == engine.Create:
		option = "WithStoreTimeout"
	}
	return fmt.Errorf("%w (%s)", err, option)
}

// redirection returns the target of a redirect, which no API call follows, and whether it is a login page. The text is
// empty for any other response.
func redirection(req *request, reply engine.Reply, keys redact.Keys) (moved string, login bool) {
	location := reply.Header.Get("Location")
	to, err := req.sent.URL.Parse(location)
	switch {
	case reply.Status/100 != 3 || location == "" || err != nil:
		return "", false
	case req.op.kind == engine.Fetch:
		return "redirect refused by the http.Client's CheckRedirect", false
	}
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	moved = "the service redirects to " + keys.Line(to.String())
	if strings.EqualFold(path.Base(to.Path), "login") {
		return "the API key is not accepted: " + moved, true
	}
	return moved, false
}

// shield holds an error of other code: a context's cause, or the error of a hook, limiter, key source, middleware,
// reader, writer or the network. Its text is clean and has one line. It answers errors.Is and errors.As for that error,
// except for the sentinels and types of this module, which always speak of the call itself. It also matches the errors
// in also. A nil err is returned as nil.
func shield(keys redact.Keys, err error, also ...error) error {
	if err == nil {
		return nil
	}
	return &shielded{keys.Error(err), also}
}

type shielded struct {
	err  error
	also []error
}

func (s *shielded) Error() string { return s.err.Error() }

// Is reports whether target is in the tree of the error.
func (s *shielded) Is(target error) bool {
	own := slices.Contains(sentinels, target) || isOwn(reflect.TypeOf(target))
	return slices.Contains(s.also, target) || !own && errors.Is(s.err, target)
}

// As finds target in the tree of the error.
func (s *shielded) As(target any) bool {
	return !isOwn(reflect.TypeOf(target).Elem()) && errors.As(s.err, target)
}

var sentinels = []error{
	ErrBadRequest, ErrUnauthorized, ErrForbidden, ErrNotFound, ErrConflict, ErrTooLarge, ErrInvalid, ErrRateLimited,
	ErrServer, ErrPagination, ErrFile,
}

// isOwn reports whether a type, or its element, belongs to this package or to package once.
func isOwn(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	module := reflect.TypeFor[Client]().PkgPath()
	return t.PkgPath() == module || t.PkgPath() == module+"/once"
}
