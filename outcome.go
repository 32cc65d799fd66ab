package aicontent

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"reflect"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// Outcome is what the service did with a failed call, as far as the client can prove it: see [OutcomeOf].
type Outcome int

// Severity: NotSent < Rejected < Done < Unknown. Of several attempts the most severe decides.
const (
	OutcomeUnknown  Outcome = iota // the service may have executed the request, or not
	OutcomeNotSent                 // the service did not get the whole request
	OutcomeRejected                // the service responded that it did not execute the request
	OutcomeDone                    // the service executed the request, but the response is of no use
)

// String returns the outcome's name, such as "not sent".
func (o Outcome) String() string {
	names := map[Outcome]string{OutcomeNotSent: "not sent", OutcomeRejected: "rejected", OutcomeDone: "done"}
	return cmp.Or(names[o], "unknown")
}

// OutcomeOf returns the outcome of the call that returned err. It looks into wrapped and joined errors. Nil is Done;
// an error that is not of this package, and a nil pointer to one that is, are Unknown.
//
// The table tells it for each way in which an attempt can fail, and whether another attempt follows: for Store, and
// for the other methods, which do no harm if they are executed twice.
//
//	the call ended with                                                     outcome   others  store
//	invalid arguments                                                       NotSent   no      no
//	the context, a limiter, a key source or a hook, before a byte was sent  NotSent   no      no
//	no connection                                                           NotSent   yes     yes
//	a certificate that is not trusted                                       NotSent   no      no
//	a connection that broke before a byte was written                       NotSent   yes     yes
//	an upload cut off by the network, a stall, 500, 502, 503 or 504         NotSent   -       yes
//	an upload cut off by its reader, the context or a redirect              NotSent   -       no
//	an HTTP/2 stream that was refused (REFUSED_STREAM)                      Rejected  yes     yes
//	429                                                                     Rejected  yes     yes
//	503 with Retry-After                                                    Rejected  yes     yes
//	401, and the key source then returns another key                        Rejected  once    once
//	any other 4xx but 408                                                   Rejected  no      no
//	307 or 308                                                              Rejected  no      no
//	301, 302, 303 or 304, for List and Show                                 Rejected  no      -
//	301, 302, 303 or 304, for Store, Update and Delete                      Unknown   no      no
//	408, 500, 502, 504, or 503 without Retry-After                          Unknown   yes     no
//	any other 5xx                                                           Unknown   no      no
//	2xx with JSON that says it is an error                                  Unknown   no      no
//	201 or 204 without a record                                             Done      no      no
//	any other 2xx with JSON of another shape                                Done      no      no
//	201 that is cut off, or any other 2xx that is cut off within its JSON   Done      yes     no
//	any other 2xx with an HTML page instead of JSON                         Unknown   no      no
//	any other 2xx that is empty or blank                                    Unknown   no      no
//	any other 2xx that is cut off before a byte of JSON                     Unknown   yes     no
//	a broken connection or a timeout, after a byte was written              Unknown   yes     no
//	the context, after a byte was written                                   Unknown   no      no
//
// An upload is cut off if it ended before any byte of the form's last boundary, which follows the file, was written.
// No known form parser accepts such a request as complete. From that byte on, the last two rows hold for it too.
//
// Of several attempts the most severe outcome counts: NotSent < Rejected < Done < Unknown. For Delete, an empty 2xx
// response is success, one that was cut off is if its outcome is Done, and a 404 is after an attempt of unknown
// outcome. Redirects of List and Show within the origin of the base URL are followed; the table is about those that
// are not. [ErrPagination] is Done: all pages before it were read.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeDone
	}
	if outcome, found := findOutcome(err); found {
		return outcome
	}
	return OutcomeUnknown
}

// worse returns the more severe of two outcomes.
func worse(a, b Outcome) Outcome {
	if a == OutcomeUnknown || b == OutcomeUnknown {
		return OutcomeUnknown
	}
	return max(a, b)
}

// findOutcome looks for errors of this package in err, and reports whether there is one.
func findOutcome(err error) (Outcome, bool) {
	if err == ErrPagination {
		return OutcomeDone, true
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return OutcomeUnknown, true
	}
	if e, ok := err.(interface{ facts() summary }); ok && e.facts().op != "" {
		return e.facts().outcome, true
	}
	// An error that a program made itself, in a test, is judged by what it holds.
	switch e := err.(type) {
	case *ValidationError:
		return OutcomeNotSent, true
	case *APIError:
		return outcomeOfStatus(e.StatusCode, e.Method, e.RetryAfter > 0 || e.Header.Get("Retry-After") != ""), true
	case *DecodeError:
		if errors.Is(e.Err, ErrPagination) {
			return OutcomeDone, true
		}
		return outcomeOfSuccess(e.StatusCode, e.Body), true
	case *TransportError, *ConflictError:
		if wire.NeverConnected(err) {
			return OutcomeNotSent, true
		}
		return OutcomeUnknown, true
	case interface{ Unwrap() error }:
		return findOutcome(e.Unwrap())
	case interface{ Unwrap() []error }:
		most, any := OutcomeNotSent, false
		for _, err := range e.Unwrap() {
			if o, found := findOutcome(err); found {
				most, any = worse(most, o), true
			}
		}
		return most, any
	}
	return OutcomeUnknown, false
}

// outcomeOfStatus is the table's part about responses other than 2xx.
func outcomeOfStatus(status int, method string, retryAfter bool) Outcome {
	switch {
	case status >= 400 && status <= 499 && status != http.StatusRequestTimeout,
		status == http.StatusServiceUnavailable && retryAfter,
		status == http.StatusTemporaryRedirect, status == http.StatusPermanentRedirect,
		status >= 300 && status <= 399 && method == http.MethodGet:
		return OutcomeRejected
	}
	return OutcomeUnknown
}

// outcomeOfSuccess is the table's part about a 2xx that does not hold what was asked for. A server may send its
// status before it has done anything, and a portal, a proxy or a login page may send it in its place: 201, 204 and
// JSON are the evidence.
func outcomeOfSuccess(status int, body []byte) Outcome {
	v, err := lenient.Parse(body)
	if err == nil {
		if _, err := lenient.Record(v, "", new(Image).fields(nil)); errors.Is(err, lenient.ErrSaysError) {
			return OutcomeUnknown
		}
	}
	begun := err == nil || errors.Is(err, lenient.ErrCutOff) || bytes.HasPrefix(lenient.Trim(body), []byte("{"))
	if begun || status == http.StatusCreated || status == http.StatusNoContent {
		return OutcomeDone
	}
	return OutcomeUnknown
}
