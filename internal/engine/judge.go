package engine

import "slices"

// Outcome tells whether the service executed a request. The outcomes have no order.
type Outcome int

const (
	Unknown Outcome = iota
	NotExecuted
	Executed
)

// Together returns the outcome of a call whose attempts had these outcomes. A value that is none of them is Unknown.
func Together(a, b Outcome) Outcome {
	for _, o := range []Outcome{NotExecuted, Executed} {
		if (a == o || a == NotExecuted) && (b == o || b == NotExecuted) {
			return o
		}
	}
	return Unknown
}

// Facts are the observations of an attempt.
type Facts struct {
	Seen     bool // the SDK's transport was called and has returned
	Wrote    bool // a byte of the request may have been written
	Complete bool // the transport has taken a byte of the form's closing boundary, or there is no file
	End      End
	Status   int // 0 without a response
	Content  Content
	Lost     bool // an earlier attempt of the call may have been executed
}

// End is the reason for the end of an attempt.
type End int

const (
	Broke     End = iota // the network, a timeout, a stall or a middleware; also the end with a response
	Cancelled            // the context of the call ended
	Unread               // the file could not be read
	Idle                 // the file returned no bytes for too long
	Refused              // HTTP/2 REFUSED_STREAM
	Fatal                // a cause that affects every attempt, such as an untrusted certificate
)

// Verdict is the conclusion from the facts.
type Verdict struct {
	Outcome   Outcome
	OK        bool // the attempt succeeded
	Next      Next
	Retryable bool // the same call is safe to make again, and may succeed
}

// Next is the permitted step after an attempt.
type Next int

const (
	Stop  Next = iota
	Renew      // the same request with another key
	Retry      // the same request
)

// retryable tells for which calls a failure is retryable.
type retryable int

const (
	never retryable = iota
	always
	others // all but Store
)

// rule is a row of the table in the documentation of aicontent.OutcomeOf.
type rule struct {
	row           string
	when          func(Kind, Facts) bool
	outcome       Outcome
	others, store Next
	retryable     retryable
}

// Judge returns the verdict of the first rule that applies.
func Judge(kind Kind, f Facts) Verdict {
	if succeeded(kind, f) {
		return Verdict{Outcome: Executed, OK: true}
	}
	r := rules[slices.IndexFunc(rules, func(r rule) bool { return r.when(kind, f) })]
	v := Verdict{Outcome: r.outcome, Next: r.others, Retryable: r.retryable != never}
	if kind == Create {
		v.Next, v.Retryable = r.store, r.retryable == always
	}
	return v
}

// succeeded reports whether the attempt succeeded. A Delete also succeeds with a 201 or 204 whose body is cut off, and
// with a 404 after an attempt that may have been executed.
func succeeded(kind Kind, f Facts) bool {
	switch {
	case f.Content.WriterFailed:
		return false
	case f.Status == 404:
		return kind == Remove && f.Lost && f.isJSON()
	}
	return f.is2xx() && (f.Content.Kind == Asked || kind == Remove && f.made() && f.Content.Cut)
}

// rules are in the order of the table. The first matching rule counts, so a rule may rely on the mismatch of all
// earlier rules. The last rule always matches.
var rules = []rule{
	{"a context, limiter, key source or hook, before any byte", func(_ Kind, f Facts) bool {
		return f.End == Cancelled && f.unsent()
	}, NotExecuted, Stop, Stop, always},
	{"an untrusted certificate, or http on an https:// port", func(_ Kind, f Facts) bool {
		return f.End == Fatal && f.silent() && (f.unsent() || !f.Complete)
	}, NotExecuted, Stop, Stop, never},
	{"no connection, or one that broke before any byte", func(_ Kind, f Facts) bool {
		return f.unsent() && (f.End == Broke || f.End == Refused)
	}, NotExecuted, Retry, Retry, always},
	{"an upload cut off by the context", func(_ Kind, f Facts) bool {
		return !f.Complete && f.End == Cancelled && (f.silent() || f.is2xx() && f.Content.Cut && !f.made())
	}, NotExecuted, Stop, Stop, always},
	{"an upload whose file stalls", func(_ Kind, f Facts) bool {
		return !f.Complete && f.silent() && f.End == Idle
	}, NotExecuted, Retry, Retry, never},
	{"an upload cut off by the network, a stall, 408 or 5xx", func(_ Kind, f Facts) bool {
		broke := f.silent() && (f.End == Broke || f.End == Refused)
		return !f.Complete && (broke || f.Status != 429 && f.transient())
	}, NotExecuted, Retry, Retry, always},
	{"a refused HTTP/2 stream (REFUSED_STREAM), except Store", func(k Kind, f Facts) bool {
		return k != Create && f.silent() && f.End == Refused
	}, NotExecuted, Retry, Stop, always},
	{"429", func(_ Kind, f Facts) bool {
		return f.Status == 429
	}, NotExecuted, Retry, Retry, always},
	{"401, if the key source then returns another key", func(k Kind, f Facts) bool {
		return f.Status == 401 && k != Fetch
	}, NotExecuted, Renew, Renew, never},
	{"403, 404 or 405 without JSON; not Store, not Download", func(k Kind, f Facts) bool {
		return k != Create && k != Fetch && !f.isJSON() && (f.Status == 403 || f.Status == 404 || f.Status == 405)
	}, NotExecuted, Stop, Stop, always},
	// Servers and proxies send these before they forward a request, so they need no JSON.
	{"400, 401, 411, 413, 414, 417, 421 or 431", func(_ Kind, f Facts) bool {
		return slices.Contains([]int{400, 401, 411, 413, 414, 417, 421, 431}, f.Status)
	}, NotExecuted, Stop, Stop, never},
	// A proxy or firewall may send any other 4xx after the service has acted. Only JSON counts as the service's word.
	{"any other 4xx; for Store only with JSON", func(k Kind, f Facts) bool {
		return f.Status/100 == 4 && f.Status != 408 && f.Status != 499 && (k != Create || f.isJSON())
	}, NotExecuted, Stop, Stop, never},
	{"307 or 308; for List, Show and Download any 3xx", func(k Kind, f Facts) bool {
		return f.Status == 307 || f.Status == 308 || f.Status/100 == 3 && (k == Read || k == Fetch)
	}, NotExecuted, Stop, Stop, never},
	{"201 or 204 that is cut off", func(_ Kind, f Facts) bool {
		return f.made() && f.cutOff()
	}, Executed, Retry, Stop, never},
	{"any other 201 or 204 whose JSON reports no error", func(_ Kind, f Facts) bool {
		return f.made()
	}, Executed, Stop, Stop, never},
	{"an upload cut off by a 2xx that is itself cut off", func(_ Kind, f Facts) bool {
		return !f.Complete && f.is2xx() && f.cutOff()
	}, NotExecuted, Retry, Retry, always},
	{"an upload cut off by a 2xx that is empty or HTML", func(_ Kind, f Facts) bool {
		return !f.Complete && f.empty()
	}, NotExecuted, Stop, Stop, always},
	{"an upload cut off by its reader or any other response", func(_ Kind, f Facts) bool {
		return !f.Complete
	}, NotExecuted, Stop, Stop, never},
	{"a picture that is cut off after its first byte", func(_ Kind, f Facts) bool {
		return f.is2xx() && f.Content.Cut && f.Content.Begun
	}, Unknown, Stop, Stop, others},
	{"any other 2xx that is cut off", func(_ Kind, f Facts) bool {
		return f.is2xx() && f.cutOff()
	}, Unknown, Retry, Stop, others},
	{"any other 2xx that is empty, blank or an HTML page", func(_ Kind, f Facts) bool {
		return f.empty()
	}, Unknown, Stop, Stop, others},
	{"408 or 5xx", func(_ Kind, f Facts) bool {
		return f.transient()
	}, Unknown, Retry, Stop, others},
	{"the context, after a byte was sent", func(_ Kind, f Facts) bool {
		return f.End == Cancelled && (f.silent() || f.is2xx() && f.Content.Cut)
	}, Unknown, Stop, Stop, others},
	{"a refused redirect, or a certificate below a middleware", func(_ Kind, f Facts) bool {
		return f.silent() && f.End == Fatal
	}, Unknown, Stop, Stop, never},
	{"no response, though a byte may have been sent", func(_ Kind, f Facts) bool {
		return f.silent()
	}, Unknown, Retry, Stop, others},
	{"any other response, or a picture whose writer failed", func(Kind, Facts) bool {
		return true
	}, Unknown, Stop, Stop, never},
}

func (f Facts) silent() bool { return f.Status == 0 }
func (f Facts) is2xx() bool  { return f.Status/100 == 2 }

// unsent reports whether certainly no byte of the request was written.
func (f Facts) unsent() bool { return f.silent() && f.Seen && !f.Wrote }

// isJSON reports whether the body is JSON other than the expected content. It counts as the service's own response.
func (f Facts) isJSON() bool { return f.Content.Kind == JSON || f.Content.Kind == Error }

// made reports whether the status proves that the request was executed. Any other 2xx proves nothing: a server may send
// it before it acts, and a portal or a login page may send it instead of the service.
func (f Facts) made() bool { return (f.Status == 201 || f.Status == 204) && f.Content.Kind != Error }

// cutOff reports whether the response ended too early, except by the context or after the first byte of a picture.
func (f Facts) cutOff() bool { return f.Content.Cut && f.End != Cancelled && !f.Content.Begun }

// empty reports whether a 2xx response is empty, blank or an HTML page.
func (f Facts) empty() bool {
	return f.is2xx() && !f.Content.WriterFailed && (f.Content.Kind == None || f.Content.Kind == Page)
}

// transient reports whether the status may differ in another attempt.
func (f Facts) transient() bool {
	return f.Status == 408 || f.Status == 429 || f.Status/100 == 5 && f.Status != 501 && f.Status != 505
}
