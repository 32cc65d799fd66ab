package aicontent

import (
	"net/http"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/lenient"
)

// observation is what was seen of one attempt: plain facts. A request without a file counts as complete.
type observation struct {
	seen, wrote bool // by the SDK's transport: the attempt, and a byte of the request
	complete    bool // the end of the form was handed out
	end         end
	status      int // 0: no response
	content     content
	cut         bool // the response ended too early
	lost        bool // an earlier attempt of the call may have been executed
	begun       bool // a byte of a download was written
}

// end is why an attempt ended.
type end int

const (
	endBroken    end = iota // a network, a timeout, a stall, or a middleware; or the response came
	endCancelled            // by the context of the call
	endReader               // the file could not be read
	endIdle                 // the reader of the file stalled
	endWriter               // the writer of a download failed
	endRefused              // HTTP/2 REFUSED_STREAM
	endFinal                // for what another attempt meets again, such as an untrusted certificate
)

// content is what the body of a response holds.
type content int

const (
	contentNone  content = iota // no byte, or white space
	contentAsked                // what was asked for
	contentJSON                 // another JSON object or array
	contentError                // JSON that says it is an error
	contentPage                 // HTML
	contentText                 // anything else, which includes other JSON: plain text may look like it
)

// isJSON reports whether the service itself responded, as far as that can be known.
func (c content) isJSON() bool { return c == contentJSON || c == contentError }

// verdict is what an observation proves.
type verdict struct {
	outcome   Outcome
	ok        bool // the attempt succeeded
	follow    follow
	retryable bool // the same call may be made again: it is safe, and may help
}

// follow is what may follow an attempt.
type follow int

const (
	followNone  follow = iota
	followRenew        // the same request with another key
	followRetry        // the same request
)

const (
	noAttempt = OutcomeNotExecuted // of a call that has made no attempt
	listed    = OutcomeExecuted    // of a list that was read, and of a record that it shows
)

// judge is the table of OutcomeOf: the one place that says what an attempt proves.
func judge(op *operation, o observation) verdict {
	var v verdict
	switch o.status / 100 {
	case 0:
		v = judgeSilence(op, o)
	case 2:
		v = judgeSuccess(op, o)
	default:
		v = judgeStatus(op, o)
	}
	if op.creates() && (v.outcome == OutcomeUnknown || v.outcome == OutcomeExecuted) {
		v.follow, v.retryable = followNone, false // or what was made is billed twice
	}
	return v
}

// judgeSilence is the table's part about attempts without a response.
func judgeSilence(op *operation, o observation) verdict {
	v := verdict{outcome: OutcomeUnknown, follow: followRetry, retryable: true}
	switch {
	case o.end == endRefused && !op.creates():
		v.outcome = OutcomeNotExecuted
	case !o.complete, o.seen && !o.wrote:
		v.outcome = OutcomeNotExecuted
	}
	switch o.end {
	case endCancelled:
		v.follow = followNone
	case endReader, endFinal:
		v.follow, v.retryable = followNone, false
	case endIdle:
		v.retryable = false
	}
	return v
}

// judgeSuccess is the table's part about 2xx. A server may send its status before it has done anything, and a portal,
// a proxy or a login page may send it in its place: only 201 and 204 are evidence without what was asked for.
func judgeSuccess(op *operation, o observation) verdict {
	v := verdict{outcome: OutcomeUnknown}
	made := (o.status == 201 || o.status == 204) && o.content != contentError
	// Nothing else of the response to a delete is needed.
	v.ok = o.end != endWriter && (o.content == contentAsked || made && o.cut && op.method == http.MethodDelete)
	switch {
	case v.ok, made:
		v.outcome = OutcomeExecuted
	case !o.complete:
		v.outcome = OutcomeNotExecuted
	}
	if v.ok || o.end == endWriter {
		return v
	}
	v.retryable = !made && (o.cut || o.content == contentNone || o.content == contentPage)
	if o.cut && o.end != endCancelled && !o.begun {
		v.follow = followRetry
	}
	return v
}

// judgeStatus is the table's part about all other responses. An intermediary may send a 4xx of its own after the
// service has acted: only JSON counts as the service's word, and what proxies send before they forward a request.
func judgeStatus(op *operation, o observation) verdict {
	status := o.status
	refused := status/100 == 4 && status != 408 && status != 499
	mute := refused && !o.content.isJSON()
	foreign := mute && op.creates() && !slices.Contains([]int{400, 401, 411, 413, 414, 417, 421, 429, 431}, status)
	v := verdict{outcome: OutcomeUnknown, retryable: transient(status) || mute && op.mayBeMisled(status)}
	if status == 307 || status == 308 || status/100 == 3 && op.method == http.MethodGet || refused && !foreign {
		v.outcome = OutcomeNotExecuted
	}
	if !o.complete && (v.outcome == OutcomeUnknown || status/100 == 3) {
		v.outcome = OutcomeNotExecuted
	}
	switch {
	case status == 404 && op.method == http.MethodDelete && o.lost && !mute:
		return verdict{outcome: OutcomeExecuted, ok: true} // an earlier attempt has deleted it
	case transient(status):
		v.follow = followRetry
	case status == 401:
		v.follow = followRenew
	}
	return v
}

// mayBeMisled reports whether a status without JSON may be a proxy's, during a deploy or below a wrong base URL.
func (op *operation) mayBeMisled(status int) bool {
	return !op.creates() && op != imagesDownload && (status == 403 || status == 404 || status == 405)
}

// transient reports whether another attempt may end with another status.
func transient(status int) bool {
	return status == 408 || status == 429 || status/100 == 5 && status != 501 && status != 505
}

// contentOf tells what a body holds that is not what was asked for.
func contentOf(body string, header http.Header) content {
	v, err := lenient.Parse(body)
	kind := strings.ToLower(header.Get("Content-Type"))
	switch {
	case lenient.HoldsError(v, ""):
		return contentError
	case v.IsObject(), v.IsArray():
		return contentJSON
	case err == lenient.ErrEmpty:
		return contentNone
	case err == lenient.ErrHTML, err != nil && strings.HasPrefix(kind, "text/html"):
		return contentPage
	}
	return contentText
}
