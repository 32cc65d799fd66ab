package aicontent

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go/internal/errtext"
	"github.com/aicontent/aicontent-go/internal/redact"
)

// callError is an error type of this package that an attempt can come to.
type callError interface {
	error
	with(*summary) error // a copy that knows its call
	summary() *summary   // nil for an error that no call returned
}

// summary is what an error knows of its call beyond the last attempt. It does not change once it is made.
type summary struct {
	op       string
	host     string
	outcome  Outcome
	passing  bool // the same request may succeed later
	attempts int
	stopped  error    // what ended the wait for another attempt
	details  []string // what stands in parentheses in the error's text
}

// end is fail for a store with WithOnce that a look ended; no error means that the record was found.
func (h *history) end(r *request, err error) error {
	if r.response != nil && *r.response != nil && (*r.response).Found {
		(*r.response).Attempts = h.count
	}
	if err == nil {
		return nil
	}
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		return conflict.with(&summary{op: r.op, host: r.url.Host, outcome: h.worst, attempts: h.count})
	}
	return h.fail(r, err)
}

// fail makes the error of the whole call: that of the last attempt, or of what ended the call before the first. Stopped is what
// ended the wait for another attempt, nil for nothing.
func (h *history) fail(r *request, stopped error) error {
	s := &summary{op: r.op, host: r.url.Host, outcome: h.worst, attempts: h.count}
	if h.count == 0 {
		e := &TransportError{Method: r.method, Path: r.url.EscapedPath(), Err: stopped}
		return e.with(s)
	}
	s.stopped, s.passing = stopped, !h.last.final && (h.last.transient || h.last.outcome == OutcomeUnknown)
	if stopped != nil {
		s.details = append(s.details, fmt.Sprintf("gave up waiting to retry: %v", stopped))
	}
	if h.last.note != "" {
		s.details = append(s.details, h.last.note)
	}
	if h.count > 1 {
		s.details = append(s.details, h.attempts())
	}
	if h.last.requestID != "" {
		s.details = append(s.details, "request "+h.last.requestID)
	}
	if h.last.status == 0 {
		s.details = append(s.details, "host "+r.url.Host)
	}
	if done := map[string]string{http.MethodPost: "created", http.MethodPatch: "updated", http.MethodPut: "updated", http.MethodDelete: "deleted"}[r.method]; done != "" {
		switch h.worst {
		case OutcomeUnknown:
			s.details = append(s.details, "outcome unknown: it may have been "+done)
		case OutcomeDone:
			s.details = append(s.details, "outcome done: it was "+done)
		case OutcomeNotSent:
			s.details = append(s.details, "nothing was "+done)
		}
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
	for i, t := range h.words {
		if i == most {
			words = append(words, fmt.Sprintf("and %d others", len(h.words)-most))
			break
		}
		if t.count > 1 {
			t.word += fmt.Sprintf(" (%d times)", t.count)
		}
		words = append(words, t.word)
	}
	return text + "; before: " + strings.Join(words, "; ")
}

// line makes an error's text: the operation, what happened, and the details.
func (s *summary) line(method, path, text string) string {
	op := method + " " + path
	if s != nil && s.op != "" {
		op = s.op
	}
	if s != nil && len(s.details) > 0 {
		text += " (" + strings.Join(s.details, "; ") + ")"
	}
	return op + ": " + text
}

// logValue groups what all errors of calls have in common.
func (s *summary) logValue(outcome Outcome, attrs ...slog.Attr) slog.Value {
	if s != nil {
		attrs = append([]slog.Attr{slog.String("op", s.op), slog.String("host", s.host), slog.Int("attempts", s.attempts)}, attrs...)
	}
	return slog.GroupValue(append(attrs, slog.String("outcome", outcome.String()))...)
}

// explained is an error of the network with what it means for whoever reads it.
type explained struct {
	meaning string
	err     error
}

func (e *explained) Error() string { return e.meaning + ": " + e.err.Error() }
func (e *explained) Unwrap() error { return e.err }

// explain says what an error of the network means. Complete is false for an upload that had not been sent whole; limit is the
// Timeout of the user's client.
func explain(err error, wrote, complete bool, limit time.Duration) error {
	var timeout net.Error
	closed := wrote && slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE}, func(target error) bool {
		return errors.Is(err, target)
	})
	switch {
	case limit > 0 && errors.As(err, &timeout) && timeout.Timeout() && !errors.As(err, new(*net.OpError)):
		return &explained{fmt.Sprintf("the Timeout of %v of the http.Client that was given (WithHTTPClient) ended the attempt", limit), err}
	case closed && !complete:
		return &explained{"the service closed the connection during the upload", err}
	case closed:
		return &explained{"the service closed the connection before a response came", err}
	}
	return err
}

// word is what the log and the errors of later attempts say of a failure: without addresses, so that the same is seen to be the same.
func word(err error) string {
	var meaning *explained
	var op *net.OpError
	text := err.Error()
	switch {
	case errors.As(err, &meaning):
		text = meaning.meaning
	case errors.As(err, &op):
		text = op.Op + ": " + op.Err.Error()
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
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		e.redirected(resp, base, r.method, key)
	}
	return e
}

// redirected says why a redirect was not followed.
func (e *APIError) redirected(resp *http.Response, base *url.URL, method string, key redact.Key) {
	location := resp.Header.Get("Location")
	target, err := base.Parse(location)
	if location == "" || err != nil {
		return
	}
	if resp.Request != nil && resp.Request.URL != nil {
		if target, err = resp.Request.URL.Parse(location); err != nil {
			return
		}
	}
	const login = "the API key is not accepted: the service redirects to a login page"
	e.login = loginPath(target.Path)
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

// loginPath reports whether a path is named as login pages are.
func loginPath(path string) bool {
	path = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(strings.TrimRight(path, "/")))
	switch path[strings.LastIndexByte(path, '/')+1:] {
	case "login", "signin", "logon":
		return true
	}
	return false
}

// addressNote says that a 404 is not about a record: there is no API at the base URL.
func (c *Client) addressNote(r *request, e *APIError) string {
	list := strings.HasSuffix(r.op, ".list") || r.create()
	html := len(e.Body) > 0 && strings.HasPrefix(strings.TrimSpace(string(e.Body[:min(len(e.Body), 64)])), "<")
	if e.StatusCode != http.StatusNotFound || r.bare || !list && !html && e.Message != "" {
		return ""
	}
	meant, found := strings.CutSuffix(c.base.String(), "/api")
	switch {
	case found:
		return fmt.Sprintf("the SDK adds %s to the base URL itself: did you mean %s?", apiPrefix, meant)
	case list:
		return fmt.Sprintf("there is no API at %s%s: is the base URL right?", c.base, apiPrefix)
	}
	return ""
}
