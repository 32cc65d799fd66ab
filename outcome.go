package aicontent

import "net/http"

// Outcome says what became of a failed call at the service, as far as that is proven.
// The package documentation has the table.
type Outcome int

// The outcomes. Unknown is the zero value: nothing is proven.
const (
	OutcomeUnknown  Outcome = iota // the service may have acted, or not
	OutcomeNotSent                 // no byte of the request was written
	OutcomeRejected                // the service answered that it did not act
	OutcomeDone                    // the service acted
)

// String is the outcome's name, such as "not sent".
func (o Outcome) String() string {
	switch o {
	case OutcomeNotSent:
		return "not sent"
	case OutcomeRejected:
		return "rejected"
	case OutcomeDone:
		return "done"
	}
	return "unknown"
}

// OutcomeOf says what the service did with the call that returned err, over all its attempts: the worst of them counts,
// and Unknown is the worst. A nil error is Done. Wrapped and joined errors are looked into;
// an error that is not of this package is Unknown.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeDone
	}
	f := fateOf(err)
	if f == unjudged {
		return OutcomeUnknown
	}
	return f.outcome()
}

// fate is an outcome that may not be settled yet; a larger one is worse.
type fate int

const (
	unjudged fate = iota
	notSent
	rejected
	done
	unknown
)

func (f fate) outcome() Outcome {
	return [...]Outcome{OutcomeUnknown, OutcomeNotSent, OutcomeRejected, OutcomeDone, OutcomeUnknown}[f]
}

// fateOf looks for the errors of this package, and takes the worst of those that were joined.
func fateOf(err error) fate {
	if err == ErrPagination {
		return done
	}
	if judged, ok := err.(interface{ judge() fate }); ok {
		return judged.judge()
	}
	switch wrapped := err.(type) {
	case interface{ Unwrap() error }:
		return fateOf(wrapped.Unwrap())
	case interface{ Unwrap() []error }:
		worst := unjudged
		for _, err := range wrapped.Unwrap() {
			worst = max(worst, fateOf(err))
		}
		return worst
	}
	return unjudged
}

func (e *ValidationError) judge() fate { return notSent }

func (e *APIError) judge() fate {
	if e.fate != unjudged {
		return e.fate
	}
	return fateOfStatus(e.StatusCode, e.Method, e.RetryAfter > 0 || e.Header.Get("Retry-After") != "")
}

func (e *DecodeError) judge() fate {
	if e.fate != unjudged {
		return e.fate
	}
	return fateOfBody(e.Body)
}

func (e *TransportError) judge() fate {
	if e.fate != unjudged {
		return e.fate
	}
	if neverConnected(e.Err) {
		return notSent
	}
	return unknown
}

// fateOfStatus is the table's part that speaks of answers other than 2xx.
func fateOfStatus(status int, method string, retryAfter bool) fate {
	switch {
	case status == http.StatusRequestTimeout:
		return unknown
	case status >= 400 && status <= 499:
		return rejected
	case status == http.StatusServiceUnavailable && retryAfter:
		return rejected
	case status == http.StatusTemporaryRedirect, status == http.StatusPermanentRedirect:
		return rejected
	case status >= 300 && status <= 303 && method == http.MethodGet:
		return rejected
	}
	return unknown
}

// fateOfBody is the table's part that speaks of 2xx answers that cannot be read: the service itself answers
// JSON or nothing; anything else may come from a portal, a proxy or a login page.
func fateOfBody(body []byte) fate {
	text := trimmed(body)
	if len(text) == 0 || isJSONStart(text[0]) {
		return done
	}
	return unknown
}
