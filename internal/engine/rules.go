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
	Kind     Kind // of the request
	Unsent   bool // certainly nothing was sent
	Complete bool // the transport has read a byte of the form's closing boundary, or there is no file
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
	Fatal                // a cause that affects every attempt, such as an untrusted certificate
)

// Verdict is the conclusion from the facts.
type Verdict struct {
	Outcome   Outcome
	OK        bool // the attempt succeeded
	Next      step
	Retryable bool // the same call is safe to make again, and may succeed
}

// step is an entry of the table for Store or for the other methods: the permitted step after an attempt, and whether
// the caller may make the call again afterwards. The empty step, of a success, is final.
type step string

const (
	final     step = "final"
	retryable step = "retryable" // by the caller
	retried   step = "retried"   // by the engine, and then retryable
	newKey    step = "new key"   // retried by the engine with another key, and then final
	otherRow  step = "-"         // the row does not apply
)

// rule is a row of the table in the documentation of aicontent.OutcomeOf.
type rule struct {
	row           string
	when          func(Facts) bool
	outcome       Outcome
	store, others step
}

// Judge returns the verdict of the first rule that applies.
func Judge(f Facts) Verdict {
	if f.succeeded() {
		return Verdict{Outcome: Executed, OK: true}
	}
	for _, r := range rules {
		step := r.others
		if f.Kind == Create {
			step = r.store
		}
		if step != otherRow && r.when(f) {
			return Verdict{Outcome: r.outcome, Next: step, Retryable: step == retryable || step == retried}
		}
	}
	return Verdict{Outcome: Unknown}
}

// succeeded reports whether the attempt succeeded. A Delete also succeeds with a 201 or 204 whose body is cut off, and
// with a 404 after an attempt that may have been executed.
func (f Facts) succeeded() bool {
	switch {
	case f.Content.WriterFailed:
		return false
	case f.Status == 404:
		return f.Kind == Remove && f.Lost && f.isJSON()
	}
	return f.is2xx() && (f.Content.Kind == Asked || f.Kind == Remove && f.made() && f.Content.Cut)
}

// rules are in the order of the table. The first matching rule counts, so a rule may rely on the mismatch of all
// earlier rules. The last rule always matches.
var rules = []rule{
	{"the context, limiter, key source or hook, before sending", func(f Facts) bool {
		return f.End == Cancelled && f.unsent()
	}, NotExecuted, retryable, retryable},
	{"the context, during an upload", func(f Facts) bool {
		return f.End == Cancelled && !f.Complete && (f.silent() || f.is2xx() && f.Content.Cut && !f.made())
	}, NotExecuted, retryable, retryable},
	{"an untrusted certificate, or http on an https:// port", func(f Facts) bool {
		return f.End == Fatal && f.silent() && (f.Unsent || !f.Complete)
	}, NotExecuted, final, final},
	{"no connection", func(f Facts) bool {
		return f.End == Broke && f.unsent()
	}, NotExecuted, retried, retried},
	{"the network, a stall, 408 or 5xx, during an upload", func(f Facts) bool {
		return !f.Complete && (f.silent() && f.End == Broke || f.Status != 429 && f.transient())
	}, NotExecuted, retried, retried},
	{"429", func(f Facts) bool {
		return f.Status == 429
	}, NotExecuted, retried, retried},
	{"401, if the key source then returns another key", func(f Facts) bool {
		return f.Status == 401 && f.Kind != Fetch
	}, NotExecuted, newKey, newKey},
	{"403, 404 or 405 without JSON, except for Download", func(f Facts) bool {
		return f.Kind != Fetch && !f.isJSON() && (f.Status == 403 || f.Status == 404 || f.Status == 405)
	}, NotExecuted, otherRow, retryable},
	// Servers and proxies send these before they forward a request, so they need no JSON.
	{"400, 401, 411, 413, 414, 417, 421 or 431", func(f Facts) bool {
		return slices.Contains([]int{400, 401, 411, 413, 414, 417, 421, 431}, f.Status)
	}, NotExecuted, final, final},
	// A proxy or firewall may send any other 4xx after the service has acted. Only JSON counts as the service's word.
	{"any other 4xx; for Store only with JSON", func(f Facts) bool {
		return f.Status/100 == 4 && f.Status != 408 && f.Status != 499 && (f.Kind != Create || f.isJSON())
	}, NotExecuted, final, final},
	{"307 or 308; for List, Show and Download any 3xx", func(f Facts) bool {
		return f.Status == 307 || f.Status == 308 || f.Status/100 == 3 && (f.Kind == Read || f.Kind == Fetch)
	}, NotExecuted, final, final},
	{"201 or 204 whose JSON reports no error", Facts.made, Executed, final, final},
	{"a 2xx that is cut off, empty or HTML, during an upload", func(f Facts) bool {
		return !f.Complete && f.is2xx() && (f.cutOff() || f.empty())
	}, NotExecuted, retryable, retryable},
	{"any other response or a failed reader, during an upload", func(f Facts) bool {
		return !f.Complete
	}, NotExecuted, final, final},
	{"a picture that is cut off after its first byte", func(f Facts) bool {
		return f.is2xx() && f.Content.Cut && f.Content.Begun
	}, Unknown, otherRow, retryable},
	{"any other 2xx that is cut off", func(f Facts) bool {
		return f.is2xx() && f.cutOff()
	}, Unknown, final, retried},
	{"any other 2xx that is empty, blank or an HTML page", Facts.empty, Unknown, final, retryable},
	{"408 or 5xx", Facts.transient, Unknown, final, retried},
	{"the context, at any other time", func(f Facts) bool {
		return f.End == Cancelled && (f.silent() || f.is2xx() && f.Content.Cut)
	}, Unknown, final, retryable},
	{"a refused redirect, or a certificate below a middleware", func(f Facts) bool {
		return f.silent() && f.End == Fatal
	}, Unknown, final, final},
	{"no response for another reason", Facts.silent, Unknown, final, retried},
	{"any other response, or a picture whose writer failed", func(Facts) bool {
		return true
	}, Unknown, final, final},
}

func (f Facts) silent() bool { return f.Status == 0 }
func (f Facts) is2xx() bool  { return f.Status/100 == 2 }

// unsent reports whether certainly nothing was sent and nothing received.
func (f Facts) unsent() bool { return f.silent() && f.Unsent }

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
