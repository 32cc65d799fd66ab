package aicontent

import (
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/redact"
)

// Outcome says whether the service executed a failed call: see [OutcomeOf].
type Outcome int

// The outcomes have no order. If the attempts of a call differ, Unknown counts first, then Executed.
const (
	OutcomeUnknown     = Outcome(engine.Unknown)     // the service may or may not have executed the request
	OutcomeNotExecuted = Outcome(engine.NotExecuted) // the service did not execute the request
	OutcomeExecuted    = Outcome(engine.Executed)    // the service executed it, but its response could not be read
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

// OutcomeOf returns the outcome of the call that returned err. After NotExecuted, the call created and changed nothing.
// After Executed or Unknown, a Store call may have been billed. Before you store it again, look for the record; after
// Unknown, wait first, because it may appear minutes later.
//
// [Retryable] is the second answer that a program needs: whether it may make the same call again.
//
// The table lists how an attempt can end. Each row gives the outcome, and then the next step, for Store and for all
// other methods:
//
//   - retried: the SDK makes another attempt. If no attempt succeeds, Retryable is true.
//   - retryable: the SDK makes no other attempt, but Retryable is true.
//   - new key: the SDK makes one attempt with the new key. If it fails, Retryable is false.
//   - final: the SDK makes no other attempt, and Retryable is false.
//
// The first row that applies counts.
//
//	the attempt ended with                                    outcome      Store      other methods
//	invalid arguments                                         NotExecuted  final      final
//	the context, limiter, key source or hook, before sending  NotExecuted  retryable  retryable
//	the context, during an upload                             NotExecuted  retryable  retryable
//	an untrusted certificate, or http on an https:// port     NotExecuted  final      final
//	no connection                                             NotExecuted  retried    retried
//	the network, a stall, 408 or 5xx, during an upload        NotExecuted  retried    retried
//	429                                                       NotExecuted  retried    retried
//	401, if the key source then returns another key           NotExecuted  new key    new key
//	403, 404 or 405 without JSON, except for Download         NotExecuted  -          retryable
//	400, 401, 411, 413, 414, 417, 421 or 431                  NotExecuted  final      final
//	any other 4xx; for Store only with JSON                   NotExecuted  final      final
//	307 or 308; for List, Show and Download any 3xx           NotExecuted  final      final
//	201 or 204 whose JSON reports no error                    Executed     final      final
//	a 2xx that is cut off, empty or HTML, during an upload    NotExecuted  retryable  retryable
//	any other response or a failed reader, during an upload   NotExecuted  final      final
//	a picture that is cut off after its first byte            Unknown      -          retryable
//	any other 2xx that is cut off                             Unknown      final      retried
//	any other 2xx that is empty, blank or an HTML page        Unknown      final      retryable
//	408 or 5xx                                                Unknown      final      retried
//	the context, at any other time                            Unknown      final      retryable
//	a refused redirect, or a certificate below a middleware   Unknown      final      final
//	no response for another reason                            Unknown      final      retried
//	any other response, or a picture whose writer failed      Unknown      final      final
//
// Before sending means that the SDK's own transport saw no connection. During an upload means before the first byte of
// the form's closing boundary, without which no server has the complete form. JSON is an object or an array. Here, 4xx
// excludes 408 and 499, and 5xx excludes 501 and 505.
//
// A firewall or proxy may send a 4xx of its own after the service has acted, so most of them need JSON to count.
// Proxies send the statuses without JSON before they forward a request. If a proxy sends such a status after it
// forwarded one, NotExecuted is wrong. A 503 proves nothing, whatever its headers, nor does a 200 without the record.
//
// A Delete succeeds with any complete 2xx, except an HTML page and JSON that reports an error (see "Responses" in the
// package documentation) or says that nothing was deleted. It also succeeds with a 201 or 204 that is cut off and,
// after an attempt of unknown outcome, with a 404 with JSON. [ErrPagination] is Executed, because the pages before it
// were read.
//
// An error of your own counts if it has the methods Outcome() Outcome and Retryable() bool, and may also have RetryAt()
// time.Time. If err wraps several such errors, the outermost counts; of joined errors, Unknown counts first, then
// Executed. Nil is Executed, and an error without the methods is Unknown. An error of this package that a program made
// itself is Unknown, too, except for an [*APIError]: its status is judged as the response to a Store with a JSON body.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeExecuted
	}
	found := eachBranch[judged](err)
	if len(found) == 0 {
		return OutcomeUnknown
	}
	together := engine.NotExecuted
	for _, e := range found {
		together = engine.Together(together, engine.Outcome(e.Outcome()))
	}
	return Outcome(together)
}

// Retryable reports whether you may make the same call again, because it is safe and may help. A job queue needs no
// other check but [RetryAt]. Safe means that nothing is billed twice: of a failed Store call, only NotExecuted can be
// retryable. An Update made again may overwrite changes that others made meanwhile. A Delete made again may end with
// [ErrNotFound], which then means success.
//
// The table of [OutcomeOf] has the answers for attempts. A Retry-After above the policy's limit and a used-up retry
// budget are retryable, and so is [ErrPagination] if the list became shorter. Nil, a [*ConflictError], [ErrFile], any
// other ErrPagination and a name that FindByName does not find are not. Joined errors are retryable only if each that
// has the method is. An error of package once may be retryable whatever its outcome, because its calls are safe to
// repeat.
func Retryable(err error) bool {
	found := eachBranch[judged](err)
	permanent := func(e judged) bool { return !e.Retryable() }
	return len(found) > 0 && !slices.ContainsFunc(found, permanent)
}

// RetryAt returns the earliest time at which the call that returned err is worth making again: the end of a
// Retry-After, or the time at which package once looks next. If it is zero, use a backoff of your own. Of joined
// errors, the latest time counts.
func RetryAt(err error) time.Time {
	var at time.Time
	for _, e := range eachBranch[interface{ RetryAt() time.Time }](err) {
		if e.RetryAt().After(at) {
			at = e.RetryAt()
		}
	}
	return at
}

// Reason returns the cause of err for the people who use a program, on one line, without the operation and hints for
// programmers. It is empty for nil.
//
//	*ValidationError   each field and what is allowed
//	*APIError          the service's message, else the text of the status
//	*DecodeError       "the response could not be read"
//	*CallError         "no connection to the service" if no byte of the request was sent, else "the connection to the
//	                   service broke"; "timed out", "stopped", "refused: …" or another kind of failure
//	*ConflictError     its Problem
//	method Reason()    its result, such as of FindByName for a missing name, and of package once's errors
//	several of these   their reasons, joined by "; "
//	any other error    its text
func Reason(err error) string {
	if err == nil {
		return ""
	}
	var reasons []string
	for _, e := range eachBranch[interface{ Reason() string }](err) {
		reasons = append(reasons, e.Reason())
	}
	if len(reasons) == 0 {
		reasons = []string{oneLine.Replace(err.Error())}
	}
	return redact.Line(strings.Join(reasons, "; "))
}

// judged is implemented by errors that know the outcome of their call.
type judged interface {
	Outcome() Outcome
	Retryable() bool
}

// eachBranch returns the first error of type T on each branch of err.
func eachBranch[T any](err error) (list []T) {
	switch e := err.(type) {
	case T:
		return []T{e}
	case interface{ Unwrap() error }:
		return eachBranch[T](e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			list = append(list, eachBranch[T](err)...)
		}
	}
	return list
}
