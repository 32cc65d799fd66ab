package aicontent

import (
	"cmp"
	"reflect"
	"slices"
)

// Outcome is what the service did with a failed call, as far as the client can prove it: see [OutcomeOf].
type Outcome int

// From least to most severe: NotSent < Rejected < Done < Unknown. Of several attempts, the most severe outcome counts.
const (
	OutcomeUnknown  Outcome = iota // the service may or may not have executed the request
	OutcomeNotSent                 // the service did not get the whole request
	OutcomeRejected                // the service responded that it did not execute the request
	OutcomeDone                    // the service executed the request, but its response could not be read
)

// String returns the outcome's name, such as "not sent".
func (o Outcome) String() string {
	names := map[Outcome]string{OutcomeNotSent: "not sent", OutcomeRejected: "rejected", OutcomeDone: "done"}
	return cmp.Or(names[o], "unknown")
}

// OutcomeOf returns the outcome of the call that returned err. It calls the method Outcome of the first error in the
// tree of err, as [errors.As] walks it, that has both this method and Temporary() bool; of joined errors, the most
// severe outcome counts. All errors of this package have the methods, and a program's own may. Nil is Done. A nil
// pointer, an error without the methods, and an error of this package that a program made itself are Unknown.
//
// The table lists how an attempt can fail, and whether it is retried (1x is a single time): for Store, and for the
// other methods, which are safe to execute twice. The last column is [Temporary].
//
//	the call ended with                                                           outcome   others  store  temporary
//	invalid arguments                                                             NotSent   no      no     no
//	the context, a limiter, a key source or a hook, before a byte was sent        NotSent   no      no     yes
//	no connection, or one that broke before a byte was written                    NotSent   yes     yes    yes
//	an untrusted certificate, or a port that speaks http to an https:// URL       NotSent   no      no     no
//	an upload cut off by the network, a stall, 408, or 5xx except 501 and 505     NotSent   -       yes    yes
//	an upload cut off by the context                                              NotSent   -       no     yes
//	an upload cut off by its reader, or by a 3xx, 4xx or 5xx that proves nothing  NotSent   -       no     no
//	a refused HTTP/2 stream (REFUSED_STREAM), except for Store                    Rejected  yes     -      yes
//	429                                                                           Rejected  yes     yes    yes
//	401, if the key source then returns another key                               Rejected  1x      1x     no
//	403, 404 or 405 without JSON, for List, Show, Update and Delete               Rejected  no      -      yes
//	400, 401, 411, 413, 414, 417, 421 or 431                                      Rejected  no      no     no
//	any other 4xx except 408 and 499, for Store only with JSON                    Rejected  no      no     no
//	307, 308, or for List and Show any other 3xx                                  Rejected  no      no     no
//	201 or 204 without a record, unless JSON says that it is an error             Done      no      no     no
//	201 or 204 that is cut off                                                    Done      yes     no     no
//	any other 2xx that is cut off                                                 Unknown   yes     no     others
//	any other 2xx that is empty, blank or an HTML page                            Unknown   no      no     others
//	408, or 5xx except 501 and 505                                                Unknown   yes     no     others
//	any other response without what was asked for                                 Unknown   no      no     no
//	no response, after a byte was written or a middleware kept the attempt back   Unknown   yes     no     others
//	the context, after a byte was written                                         Unknown   no      no     others
//
// An upload is cut off if it ended before any byte of the form's last boundary, which follows the file, was handed to
// the transport. No known parser accepts such a form as complete. From that byte on, the last rows apply. A 2xx that
// would be Unknown is NotSent if it cuts off an upload.
//
// JSON is an object or array here. A firewall or proxy may send any other 4xx after the service has acted; the statuses
// that need no JSON are sent before a request is forwarded. Rejected trusts the service, and everything in front of it,
// to send its statuses only for a request that was not executed. A 503 proves nothing, whatever its headers, nor does a
// 200 without the record.
//
// A Delete succeeds with any complete 2xx except an HTML page and JSON that says that it is an error (see "Responses"
// in the package documentation) or that nothing was deleted, with a 201 or 204 that is cut off, and, after an attempt
// of unknown outcome, with a 404 with JSON. [ErrPagination] is Done: the pages before it were read. Package once
// documents the outcomes of its own errors.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeDone
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

// Temporary reports whether the same call may be made again: whether that is safe, and may help. It is all that a job
// queue needs to ask. Safe means that nothing is billed twice: of a failed Store call only NotSent and Rejected can be
// temporary. An Update made again may overwrite what others wrote meanwhile, and a Delete made again may end with
// [ErrNotFound], which then means done.
//
// The table of [OutcomeOf] has the answers for attempts; "others" is yes, except for Store. A Retry-After that is too
// long and a retry budget that is used up are temporary. Nil, a [*ConflictError], [ErrFile], [ErrPagination], a name
// that FindByName does not find and errors without the methods are not. It calls the method Temporary of the same
// errors as [OutcomeOf]; of joined errors, all that have the methods must be temporary. The errors of package once have
// an answer of their own, as its calls are safe to repeat whatever their outcome.
func Temporary(err error) bool {
	found := verdicts(err)
	permanent := func(e judged) bool { return !e.Temporary() }
	return len(found) > 0 && !slices.ContainsFunc(found, permanent)
}

// worse returns the more severe of two outcomes.
func worse(a, b Outcome) Outcome {
	if a == OutcomeUnknown || b == OutcomeUnknown {
		return OutcomeUnknown
	}
	return max(a, b)
}

// judged is an error that knows what became of its call: each of this package's, and those of programs that have both
// methods.
type judged interface {
	Outcome() Outcome
	Temporary() bool
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
