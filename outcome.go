package aicontent

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// Outcome is what the service did with a failed call, as far as the client can prove it: see [OutcomeOf].
type Outcome int

// The outcomes have no order. If the attempts of a call differ, Unknown counts first, then Executed.
const (
	OutcomeUnknown     Outcome = iota // the service may or may not have executed the request
	OutcomeNotExecuted                // the service did not execute the request
	OutcomeExecuted                   // the service executed the request, but its response could not be read
)

// String returns "unknown", "not executed" or "executed".
func (o Outcome) String() string {
	switch o {
	case OutcomeNotExecuted:
		return "not executed"
	case OutcomeExecuted:
		return "executed"
	}
	return "unknown"
}

// OutcomeOf returns the outcome of the call that returned err. It calls the method Outcome of the first error in the
// tree of err, as [errors.As] walks it, that has both this method and Retryable() bool. Of joined errors, Unknown counts
// first, then Executed. All errors of this package have the methods, and a program's own may. Nil is Executed. A nil
// pointer, an error without the methods, and an error of this package that a program made itself are Unknown.
//
// The table lists how an attempt can fail, and whether it is retried (1x is a single time): for Store, and for the
// other methods, which are safe to execute twice. The last column is [Retryable].
//
//	the call ended with                                                           outcome      others  store  retryable
//	invalid arguments                                                             NotExecuted  no      no     no
//	the context, a limiter, a key source or a hook, before a byte was sent        NotExecuted  no      no     yes
//	no connection, or one that broke before a byte was written                    NotExecuted  yes     yes    yes
//	an untrusted certificate, or a port that speaks http to an https:// URL       NotExecuted  no      no     no
//	an upload cut off by the network, a stall, 408, or 5xx except 501 and 505     NotExecuted  -       yes    yes
//	an upload cut off by the context                                              NotExecuted  -       no     yes
//	an upload cut off by its reader, or by a 3xx, 4xx or 5xx that proves nothing  NotExecuted  -       no     no
//	a refused HTTP/2 stream (REFUSED_STREAM), except for Store                    NotExecuted  yes     -      yes
//	429                                                                           NotExecuted  yes     yes    yes
//	401, if the key source then returns another key                               NotExecuted  1x      1x     no
//	403, 404 or 405 without JSON, for List, Show, Update and Delete               NotExecuted  no      -      yes
//	400, 401, 411, 413, 414, 417, 421 or 431                                      NotExecuted  no      no     no
//	any other 4xx except 408 and 499, for Store only with JSON                    NotExecuted  no      no     no
//	307, 308, or for List and Show any other 3xx                                  NotExecuted  no      no     no
//	201 or 204 without a record, unless JSON says that it is an error             Executed     no      no     no
//	201 or 204 that is cut off                                                    Executed     yes     no     no
//	any other 2xx that is cut off                                                 Unknown      yes     no     others
//	any other 2xx that is empty, blank or an HTML page                            Unknown      no      no     others
//	408, or 5xx except 501 and 505                                                Unknown      yes     no     others
//	any other response without what was asked for                                 Unknown      no      no     no
//	no response, after a byte was written or a middleware kept the attempt back   Unknown      yes     no     others
//	the context, after a byte was written                                         Unknown      no      no     others
//
// An upload is cut off if it ended before any byte of the form's last boundary, which follows the file, was handed to
// the transport. No known parser accepts such a form as complete. From that byte on, the last rows apply. A 2xx that
// would be Unknown is NotExecuted if it cuts off an upload.
//
// JSON is an object or array here. A firewall or proxy may send any other 4xx after the service has acted; the statuses
// that need no JSON are sent before a request is forwarded. NotExecuted trusts the service, and everything in front of
// it, to send its statuses only for a request that was not executed. A 503 proves nothing, whatever its headers, nor
// does a 200 without the record.
//
// A Delete succeeds with any complete 2xx except an HTML page and JSON that says that it is an error (see "Responses"
// in the package documentation) or that nothing was deleted, with a 201 or 204 that is cut off, and, after an attempt
// of unknown outcome, with a 404 with JSON. [ErrPagination] is Executed: the pages before it were read. Package once
// documents the outcomes of its own errors.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeExecuted
	}
	found := verdicts(err)
	if len(found) == 0 {
		return OutcomeUnknown
	}
	worst := noAttempt
	for _, e := range found {
		worst = worse(worst, e.Outcome())
	}
	return worst
}

// Retryable reports whether the same call may be made again: whether that is safe, and may help. It is all that a job
// queue needs to ask. Safe means that nothing is billed twice: of a failed Store call only NotExecuted can be
// retryable. An Update made again may overwrite what others wrote meanwhile, and a Delete made again may end with
// [ErrNotFound], which then means done.
//
// The table of [OutcomeOf] has the answers for attempts; "others" is yes, except for Store. A Retry-After that is too
// long and a retry budget that is used up are retryable. Nil, a [*ConflictError], [ErrFile], [ErrPagination], a name
// that FindByName does not find and errors without the methods are not. It calls the method Retryable of the same
// errors as [OutcomeOf]; of joined errors, all that have the methods must be retryable. The errors of package once have
// an answer of their own, as its calls are safe to repeat whatever their outcome.
func Retryable(err error) bool {
	found := verdicts(err)
	permanent := func(e judged) bool { return !e.Retryable() }
	return len(found) > 0 && !slices.ContainsFunc(found, permanent)
}

// RetryAt returns the earliest time at which the call that returned err is worth making again: the end of a
// Retry-After, or the time at which package once looks next. It is zero if err has no such time: then use a backoff of
// your own. It calls the method RetryAt() time.Time of the same errors as [OutcomeOf]; of joined errors, the latest
// time counts.
func RetryAt(err error) time.Time {
	var at time.Time
	for _, e := range verdicts(err) {
		if e, ok := e.(interface{ RetryAt() time.Time }); ok && e.RetryAt().After(at) {
			at = e.RetryAt()
		}
	}
	return at
}

// Reason returns the cause of err for the people who use a program, on one line: without the operation, hints for
// programmers and the names of options. It is empty for nil.
//
//	*ValidationError   each field and what is allowed
//	*APIError          the service's message, else the text of the status
//	*DecodeError       "the response could not be read"
//	*CallError         "no connection to the service", "timed out", "stopped", "refused: …" or what else failed
//	*ConflictError     its Reason
//	errors with a method Reason() string, such as package once's: what that returns
//	several of these   their reasons, joined by "; "
//	any other error    its text
func Reason(err error) string {
	if err == nil {
		return ""
	}
	found := reasons(err)
	if len(found) == 0 {
		found = []string{err.Error()}
	}
	return redact.Key("").Line(strings.Join(found, "; "))
}

// reasons returns the reason of the first error on each branch of err that has one.
func reasons(err error) (list []string) {
	switch e := err.(type) {
	case *ConflictError:
		return []string{e.Reason}
	case interface{ Reason() string }:
		return []string{e.Reason()}
	case interface{ Unwrap() error }:
		return reasons(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			list = append(list, reasons(err)...)
		}
	}
	return list
}

// worse returns the outcome of two attempts together.
func worse(a, b Outcome) Outcome {
	for _, o := range []Outcome{OutcomeUnknown, OutcomeExecuted} {
		if a == o || b == o {
			return o
		}
	}
	return OutcomeNotExecuted
}

// judged is an error that knows what became of its call: each of this package's, and those of programs that have both
// methods.
type judged interface {
	Outcome() Outcome
	Retryable() bool
}

// verdicts asks the first error that is judged on each branch of err.
func verdicts(err error) (list []judged) {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return []judged{summary{}}
	}
	switch e := err.(type) {
	case judged:
		return []judged{e}
	case interface{ Unwrap() error }:
		return verdicts(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			list = append(list, verdicts(err)...)
		}
	}
	return list
}
