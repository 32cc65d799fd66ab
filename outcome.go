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

// Outcome is what the service did with a failed call, as far as the client can prove it: see the package documentation.
type Outcome int

// Severity: NotSent < Rejected < Done < Unknown. Of several attempts the most severe decides.
const (
	OutcomeUnknown  Outcome = iota // the service may have executed the request, or not
	OutcomeNotSent                 // the service did not get the whole request
	OutcomeRejected                // the service responded that it did not execute the request
	OutcomeDone                    // the service executed the request
)

// String returns the outcome's name, such as "not sent".
func (o Outcome) String() string {
	names := map[Outcome]string{OutcomeNotSent: "not sent", OutcomeRejected: "rejected", OutcomeDone: "done"}
	return cmp.Or(names[o], "unknown")
}

// OutcomeOf returns the outcome of the call that returned err: that of its most severe attempt. Nil is Done. It looks
// into wrapped and joined errors; an error that is not of this package is Unknown.
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

// outcomeOfSuccess is the table's part about a 2xx that does not hold what was asked for. A server may send its status before it
// has done anything, and a portal, a proxy or a login page may send it in its place: 201, 204 and JSON are the evidence.
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
