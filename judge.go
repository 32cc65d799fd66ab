package aicontent

import (
	"bytes"
	"errors"
	"net/http"
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
	rewinds     bool // a download can start over: nothing was written, or the writer can be set back
}

// end is why an attempt ended.
type end int

const (
	endBroken    end = iota // a network, a timeout, a stall, or a middleware; or the response came
	endCancelled            // by the context of the call
	endReader               // the file could not be read
	endIdle                 // the reader of the file stalled
	endWriter               // the writer of a download failed
	endRedirect             // a redirect was refused without a response
	endRefused              // HTTP/2 REFUSED_STREAM
	endUntrusted            // the server's certificate, or a proxy that would see the key
)

// content is what the body of a response holds.
type content int

const (
	contentNone  content = iota // no byte, or white space
	contentAsked                // what was asked for
	contentJSON                 // another JSON object or array, or the beginning of one
	contentValue                // any other JSON, which plain text may look like
	contentError                // JSON that says it is an error
	contentPage                 // HTML
	contentLogin                // HTML, to which a redirect led
	contentText
)

// verdict is what an observation proves.
type verdict struct {
	outcome   Outcome
	ok        bool // the attempt succeeded
	follow    follow
	temporary bool // the same call may succeed later
}

// follow is what may follow an attempt.
type follow int

const (
	followNone   follow = iota
	followSearch        // the same create request, but only if a search proves that nothing was created
	followRenew         // the same request with another key
	followRetry         // the same request
)

const (
	noAttempt = OutcomeNotSent // of a call that has made no attempt
	listed    = OutcomeDone    // of a list that was read, and of a record that it shows
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
	if op.creates() && (v.outcome == OutcomeUnknown || v.outcome == OutcomeDone) && v.follow == followRetry {
		v.follow = followSearch
	}
	return v
}

// judgeSilence is the table's part about attempts without a response.
func judgeSilence(op *operation, o observation) verdict {
	v := verdict{outcome: OutcomeUnknown, follow: followRetry, temporary: true}
	switch {
	case o.end == endRedirect, o.end == endRefused && !op.creates():
		v.outcome = OutcomeRejected
	case !o.complete, o.seen && !o.wrote:
		v.outcome = OutcomeNotSent
	}
	switch o.end {
	case endCancelled:
		v.follow = followNone
	case endReader, endRedirect, endUntrusted:
		v.follow, v.temporary = followNone, false
	case endIdle:
		v.temporary = false
	}
	return v
}

// judgeSuccess is the table's part about 2xx. A server may send its status before it has done anything, and a portal,
// a proxy or a login page may send it in its place: 201, 204 and JSON are the evidence.
func judgeSuccess(op *operation, o observation) verdict {
	if o.content == contentAsked || o.end == endWriter {
		return verdict{outcome: OutcomeDone, ok: o.end != endWriter}
	}
	v := verdict{outcome: OutcomeUnknown}
	isJSON := o.content == contentJSON || o.content == contentValue
	if o.content != contentError && (o.status == 201 || o.status == 204 || isJSON) {
		v.outcome = OutcomeDone
	}
	if o.cut && v.outcome == OutcomeDone && op.method == http.MethodDelete {
		v.ok = true // nothing else of the response is needed
		return v
	}
	v.temporary = o.cut || v.outcome == OutcomeUnknown && (o.content == contentNone || o.content == contentPage)
	switch {
	case o.end == endCancelled:
	case op == imagesDownload && !o.rewinds:
	case o.cut:
		v.follow = followRetry
	case op.creates():
		v.follow = followSearch
	}
	return v
}

// judgeStatus is the table's part about all other responses. An intermediary may send a 403, 404 or 405 of its own
// after the service has acted: only JSON counts as the service's word.
func judgeStatus(op *operation, o observation) verdict {
	status := o.status
	v := verdict{outcome: OutcomeUnknown, temporary: transient(status)}
	isJSON := o.content == contentJSON || o.content == contentError
	foreign := op.creates() && !isJSON && (status == 403 || status == 404 || status == 405)
	switch {
	case status == 307, status == 308, status/100 == 3 && op.method == http.MethodGet,
		status/100 == 4 && status != 408 && status != 499 && !foreign:
		v.outcome = OutcomeRejected
	}
	if !o.complete && (v.outcome == OutcomeUnknown || status/100 == 3) {
		v.outcome = OutcomeNotSent
	}
	switch {
	case status == 404 && op.method == http.MethodDelete && o.lost && o.content != contentPage:
		return verdict{outcome: OutcomeDone, ok: true} // an earlier attempt has deleted it
	case transient(status):
		v.follow = followRetry
	case status == 401:
		v.follow = followRenew
	case op.creates() && v.outcome == OutcomeUnknown && !foreign:
		v.follow = followSearch
	}
	return v
}

// transient reports whether another attempt may end with another status.
func transient(status int) bool {
	return status == 408 || status == 429 || status/100 == 5 && status != 501 && status != 505
}

// contentOf tells what a body holds that is not what was asked for.
func contentOf(body []byte, header http.Header) content {
	text := lenient.Trim(body)
	v, err := lenient.Parse(text)
	begun := err == nil || errors.Is(err, lenient.ErrCutOff)
	switch {
	case err == nil && saysError(v):
		return contentError
	case bytes.HasPrefix(text, []byte("{")), begun && bytes.HasPrefix(text, []byte("[")):
		return contentJSON
	case begun:
		return contentValue
	case err == lenient.ErrEmpty:
		return contentNone
	case err == lenient.ErrHTML, saysHTML(header):
		return contentPage
	}
	return contentText
}

func saysError(v lenient.Value) bool {
	_, err := lenient.Record(v, "", new(Image).fields(nil))
	return err == lenient.ErrSaysError
}

func saysHTML(header http.Header) bool {
	return strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), "text/html")
}
