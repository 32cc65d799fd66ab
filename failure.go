package aicontent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go/internal/errtext"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
)

// callError is an error type of this package that an attempt can come to.
type callError interface {
	error
	with(summary) error // a copy that knows its call
	facts() summary
}

// summary is what an error knows of its call beyond the last attempt. It is zero for an error that no call returned.
type summary struct {
	op, host string
	outcome  Outcome
	passing  bool // the same request may succeed later
	attempts int
	stopped  error    // what ended the wait for another attempt
	details  []string // what stands in parentheses in the error's text
}

func (s summary) facts() summary { return s }

// causes are the error's own and what ended the wait for another attempt.
func (s summary) causes(err error) []error {
	return slices.DeleteFunc([]error{err, s.stopped}, func(err error) bool { return err == nil })
}

// line makes an error's text: the operation, or the request where that is not known, what happened, and the details.
func (s summary) line(request, text string) string {
	if len(s.details) > 0 {
		text += " (" + strings.Join(s.details, "; ") + ")"
	}
	return strings.TrimPrefix(cmp.Or(s.op, request)+": "+text, ": ")
}

// logValue groups what all errors of calls have in common.
func (s summary) logValue(err error, attrs ...slog.Attr) slog.Value {
	if s.op != "" {
		attrs = append([]slog.Attr{slog.String("op", s.op), slog.String("host", s.host), slog.Int("attempts", s.attempts)}, attrs...)
	}
	return slog.GroupValue(append(attrs, slog.String("outcome", OutcomeOf(err).String()))...)
}

// fail makes the error of the whole call. Stopped is what ended the wait for another attempt, or all of it; nil for nothing.
func (h *history) fail(r *request, stopped error) error {
	s := summary{op: r.op, host: r.url.Host, outcome: h.worst, attempts: h.count}
	conflict, taken := stopped.(*ConflictError)
	switch {
	case taken:
		return &ConflictError{conflict.Name, conflict.IDs, conflict.Reason, s}
	case h.count == 0:
		return &TransportError{Method: r.method, Path: r.url.EscapedPath(), Err: stopped, summary: s}
	}
	s.stopped, s.passing = stopped, !h.last.final && (h.last.transient || h.last.outcome == OutcomeUnknown)
	add := func(holds bool, detail string) {
		if holds {
			s.details = append(s.details, detail)
		}
	}
	add(stopped != nil, fmt.Sprintf("gave up waiting to retry: %v", stopped))
	add(h.last.note != "", h.last.note)
	add(h.count > 1, h.attempts())
	add(h.last.requestID != "", "request "+h.last.requestID)
	add(h.last.status == 0, "host "+s.host)
	done := map[string]string{http.MethodPost: "created", http.MethodPatch: "updated", http.MethodPut: "updated", http.MethodDelete: "deleted"}[r.method]
	if done != "" {
		add(h.worst == OutcomeUnknown, "outcome unknown: it may have been "+done)
		add(h.worst == OutcomeDone, "outcome done: it was "+done)
		add(h.worst == OutcomeNotSent, "nothing was "+done)
	}
	return h.last.err.with(s)
}

// attempts tells how often the call was tried, and what came before the last attempt.
func (h *history) attempts() string {
	text := fmt.Sprintf("attempt %d of %d", h.count, h.policy.MaxAttempts)
	if len(h.words) == 1 && h.words[0].word == h.last.word {
		if n := h.words[0].count; n > 1 {
			return fmt.Sprintf("%s, the same %d times before", text, n)
		}
		return text + ", the same before"
	}
	const most = 5
	var words []string
	for _, t := range h.words[:min(len(h.words), most)] {
		if t.count > 1 {
			t.word += fmt.Sprintf(" (%d times)", t.count)
		}
		words = append(words, t.word)
	}
	if others := len(h.words) - most; others > 0 {
		words = append(words, fmt.Sprintf("and %d others", others))
	}
	return text + "; before: " + strings.Join(words, "; ")
}

// explained is an error of the network after what it means. One meaning may have many errors.
type explained struct {
	meaning string
	error
}

func (e explained) Error() string { return e.meaning + ": " + e.error.Error() }
func (e explained) Unwrap() error { return e.error }

// explain says what an error of the network means. Complete tells whether all was sent; limit is the Timeout of the user's client, 0
// where it has not passed: the error of a ResponseHeaderTimeout has the same type.
func explain(err error, wrote, complete bool, limit time.Duration) error {
	var timeout net.Error
	closed := []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE}
	switch {
	case limit > 0 && errors.As(err, &timeout) && timeout.Timeout():
		return explained{fmt.Sprintf("the Timeout of %v of the http.Client that was given (WithHTTPClient) ended the attempt", limit), err}
	case !wrote, errors.As(err, new(*upload.ReadError)), !slices.ContainsFunc(closed, func(target error) bool { return errors.Is(err, target) }):
		return err
	case !complete:
		return explained{"the service closed the connection during the upload", err}
	}
	return explained{"the service closed the connection before a response came", err}
}

// word is what the log and the errors of later attempts say of a failure: its meaning if it has one, and no addresses, so that the
// same is seen to be the same.
func word(err error) string {
	text := err.Error()
	if e := (explained{}); errors.As(err, &e) {
		text = e.meaning
	} else if op := (*net.OpError)(nil); errors.As(err, &op) {
		text = strings.ReplaceAll(text, op.Error(), op.Op+": "+op.Err.Error())
	}
	return redact.Shorten(text, 100)
}

// newAPIError reads a response other than 2xx, in whatever shape it comes.
func newAPIError(base *url.URL, r *request, key redact.Key, resp *http.Response, body []byte) *APIError {
	e := &APIError{
		StatusCode: resp.StatusCode, Method: r.method, Path: r.url.EscapedPath(),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
		Header:     key.Header(resp.Header), Body: key.Bytes(body),
	}
	e.Message, e.Fields = errtext.Read(body, key)
	e.RequestID = requestID(e.Header, key)
	if slices.Contains([]int{301, 302, 303, 307, 308}, resp.StatusCode) {
		e.redirected(resp, base, r.method, key)
	}
	return e
}

// redirected says why a redirect was not followed.
func (e *APIError) redirected(resp *http.Response, base *url.URL, method string, key redact.Key) {
	target, err := resp.Location()
	if err != nil {
		return
	}
	target = base.ResolveReference(target) // It is relative where a RoundTripper leaves out the response's request.
	const login = "the API key is not accepted: the service redirects to a login page"
	name := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(path.Base(target.Path)))
	e.login = name == "login" || name == "signin" || name == "logon"
	switch from, to := origin(base), key.Line(origin(target)); {
	case from != to:
		e.Message = fmt.Sprintf("redirect from %s to %s refused: the API key is for the first only", from, to)
		if e.login {
			e.Message = login + "; " + e.Message
		}
	case e.login:
		e.Message = login
	case method != http.MethodGet:
		e.Message = fmt.Sprintf("redirect refused: a %s is not repeated at another address; is the base URL right?", method)
	default:
		hops := 0
		for r := resp.Request; r != nil && r.Response != nil; r = r.Response.Request {
			hops++
		}
		if e.Message = "redirect refused by CheckRedirect of the http.Client that was given"; hops >= maxRedirects {
			e.Message = fmt.Sprintf("gave up after %d redirects", maxRedirects)
		}
	}
}

// addressNote says that a 404 is not about a record: there is no API at the base URL.
func (c *Client) addressNote(r *request, e *APIError) string {
	list := strings.HasSuffix(r.op, ".list") || r.create()
	html := bytes.HasPrefix(bytes.TrimSpace(e.Body), []byte("<"))
	switch {
	case e.StatusCode != http.StatusNotFound || r.bare || !list && !html && e.Message != "":
	case strings.HasSuffix(c.base.Path, "/api"):
		return fmt.Sprintf("the SDK adds %s to the base URL itself: did you mean %s?", apiPrefix, strings.TrimSuffix(c.base.String(), "/api"))
	case list:
		return fmt.Sprintf("there is no API at %s%s: is the base URL right?", c.base, apiPrefix)
	}
	return ""
}
