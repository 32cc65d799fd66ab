package aicontent

import (
	"cmp"
	"errors"
	"net/http"
	"reflect"
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

// OutcomeOf returns the outcome of the call that returned err, which may be wrapped or joined with others. Nil is Done.
// An error from elsewhere is Unknown, and so is a nil pointer to an error of this package.
//
// The table lists how an attempt can fail, and whether it is retried: for Store, and for the other methods, which are
// safe to execute twice. The last column is [Temporary].
//
//	the call ended with                                                        outcome   others  store  temporary
//	invalid arguments                                                          NotSent   no      no     no
//	the context, a limiter, a key source or a hook, before a byte was sent     NotSent   no      no     yes
//	no connection                                                              NotSent   yes     yes    yes
//	an untrusted certificate                                                   NotSent   no      no     no
//	a connection that broke before a byte was written                          NotSent   yes     yes    yes
//	an upload cut off by the network, a stall, 408, or 5xx except 501 and 505  NotSent   -       yes    yes
//	an upload cut off by the context                                           NotSent   -       no     yes
//	an upload cut off by its reader                                            NotSent   -       no     no
//	an upload cut off by 3xx, 499, 501, 505, or 403 to 405 without JSON        NotSent   -       no     no
//	a refused HTTP/2 stream (REFUSED_STREAM), except for Store                 Rejected  yes     -      yes
//	429                                                                        Rejected  yes     yes    yes
//	401, if the key source then returns another key                            Rejected  once    once   no
//	403, 404 or 405 without JSON, for Store                                    Unknown   -       no     no
//	any other 4xx except 408 and 499                                           Rejected  no      no     no
//	307 or 308                                                                 Rejected  no      no     no
//	any other 3xx, for List and Show                                           Rejected  no      -      no
//	any other 3xx, for Store, Update and Delete                                Unknown   no      no     no
//	408, or 5xx except 501 and 505                                             Unknown   yes     no     yes
//	499, 501 or 505                                                            Unknown   no      no     no
//	2xx with JSON that says it is an error                                     Unknown   no      no     no
//	201 or 204 without a record                                                Done      no      no     no
//	any other 2xx with JSON of another shape                                   Done      no      no     no
//	201 that is cut off, or any other 2xx that is cut off within its JSON      Done      yes     no     yes
//	any other 2xx with an HTML page instead of JSON                            Unknown   no      no     yes
//	any other 2xx that is empty or blank                                       Unknown   no      no     yes
//	any other 2xx that is cut off before a byte of JSON                        Unknown   yes     no     yes
//	no response, because a middleware kept the attempt from the transport      Unknown   yes     no     yes
//	a broken connection or a timeout, after a byte was written                 Unknown   yes     no     yes
//	the context, after a byte was written                                      Unknown   no      no     yes
//
// An upload is cut off if it ended before any byte of the form's last boundary, which follows the file, was handed to
// the transport. No known parser accepts such a form as complete. From that byte on, the last rows apply.
//
// Rejected trusts the service, and everything in front of it, to send these statuses only for a request that was not
// executed. A 503 proves nothing, whatever its headers: a proxy may send it while the service is still working.
//
// With [WithOnce], the outcome is the record's: Unknown while an earlier request for the name may still create it. A
// Delete succeeds with any complete 2xx response except an HTML page and JSON that says it is an error, with one that
// is cut off if the table says Done, and, after an attempt of unknown outcome, with a 404 that is not an HTML page.
// Redirects of List and Show within the base URL's origin are followed; the table is about the others. [ErrPagination]
// is Done: the pages before it were read.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeDone
	}
	v, _ := verdictOf(err)
	return v.outcome
}

// Temporary reports whether the same call may succeed later: what a job queue needs to know before it retries. The
// table of [OutcomeOf] has the answers for attempts. A Retry-After that is too long and a retry budget that is used up
// are temporary. Nil, a [*ConflictError], [ErrFile], [ErrPagination] and errors from elsewhere are not. Of joined
// errors, all of this package's must be temporary.
//
// Temporary says nothing about the outcome: if that is Unknown or Done, only a Store call with [WithOnce] is safe to
// repeat.
func Temporary(err error) bool {
	v, _ := verdictOf(err)
	return v.temporary
}

// worse returns the more severe of two outcomes.
func worse(a, b Outcome) Outcome {
	if a == OutcomeUnknown || b == OutcomeUnknown {
		return OutcomeUnknown
	}
	return max(a, b)
}

// verdictOf looks for errors of this package in err, and reports whether there is one. Without one it is Unknown. An
// error that a program made itself, in a test, is judged by its fields.
func verdictOf(err error) (v verdict, found bool) {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return verdict{}, true
	}
	if e, ok := err.(interface{ facts() summary }); ok && e.facts().op != "" {
		return verdict{outcome: e.facts().outcome, temporary: e.facts().temporary}, true
	}
	switch e := err.(type) {
	case *ValidationError:
		return verdict{outcome: noAttempt}, true
	case *APIError:
		o := observation{status: e.StatusCode, complete: true, content: contentOf(e.Body, e.Header)}
		return judge(&operation{method: e.Method}, o), true
	case *DecodeError:
		if errors.Is(e.Err, ErrPagination) {
			return unclear, true
		}
		o := observation{status: e.StatusCode, complete: true, content: contentOf(e.Body, e.Header)}
		return judge(&operation{method: e.Method}, o), true
	case *TransportError:
		return verdict{temporary: !errors.Is(e.Err, ErrFile)}, true
	case *ConflictError:
		return verdict{}, true
	case interface{ Unwrap() error }:
		return verdictOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		v = verdict{outcome: noAttempt, temporary: true}
		for _, err := range e.Unwrap() {
			if one, ok := verdictOf(err); ok {
				found = true
				v.outcome, v.temporary = worse(v.outcome, one.outcome), v.temporary && one.temporary
			}
		}
		if found {
			return v, true
		}
	}
	if err == ErrPagination {
		return unclear, true
	}
	return verdict{}, false
}

// unclear is the verdict of a list that was read, but cannot be used.
var unclear = judge(images.list, observation{status: http.StatusOK, complete: true, content: contentJSON})
