package aicontent

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go/internal/errtext"
	"github.com/aicontent/aicontent-go/internal/redact"
)

// history is what the attempts of a call have come to so far.
type history struct {
	policy  RetryPolicy
	count   int
	last    result
	worst   Outcome
	words   []tally // of the attempts before the last, in the order of their first
	key     redact.Key
	renewed bool // a 401 has been answered with another key
	taken   int  // from the retry budget
}

type tally struct {
	word  string
	count int
}

func newHistory(r *request) *history {
	return &history{policy: r.retry.complete(), worst: OutcomeNotSent}
}

// add takes the result of the next attempt.
func (h *history) add(r result) {
	if h.count > 0 {
		known := false
		for i := range h.words {
			if known = h.words[i].word == h.last.word; known {
				h.words[i].count++
				break
			}
		}
		if !known {
			h.words = append(h.words, tally{h.last.word, 1})
		}
	}
	h.count++
	h.last = r
	h.worst = worse(h.worst, r.outcome)
}

// next decides on another attempt, and takes it from the budget.
func (h *history) next(c *Client, r *request) (time.Duration, bool) {
	if h.last.status == http.StatusUnauthorized && c.rotates && !r.bare && !h.renewed && !h.last.spent && h.count < h.policy.MaxAttempts {
		h.renewed = true
		return 0, true
	}
	pause, again := h.policy.next(h.count, h.last, r.create(), r.unique != nil, rand.Float64())
	if again && h.last.retryAfter == 0 && !r.looking {
		if !c.budget.take() {
			h.last.note = "not retried: the client's retry budget is used up (WithRetryBudget)"
			return 0, false
		}
		h.taken++
	}
	return pause, again
}

// deleted reports whether a delete that may have been executed by an earlier attempt finds nothing.
func (h *history) deleted(r *request) bool {
	return r.method == http.MethodDelete && h.count > 1 && h.worst == OutcomeUnknown && h.last.status == http.StatusNotFound
}

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

// end is fail for a call that ends between two attempts; no error is no failure.
func (h *history) end(r *request, err error) error {
	if r.response != nil && *r.response != nil && (*r.response).Found {
		(*r.response).Attempts = h.count
	}
	var conflict *ConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
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
	s.stopped, s.passing = stopped, h.last.transient || h.last.outcome == OutcomeUnknown
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
	if word := map[string]string{http.MethodPost: "created", http.MethodPatch: "updated", http.MethodPut: "updated", http.MethodDelete: "deleted"}[r.method]; word != "" {
		switch h.worst {
		case OutcomeUnknown:
			s.details = append(s.details, "outcome unknown: it may have been "+word)
		case OutcomeDone:
			s.details = append(s.details, "outcome done: it was "+word)
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

// explain says what an error of the network means for whoever reads it. Complete is false for an upload that had not been sent
// whole; limit is the Timeout of the user's client.
func explain(err error, wrote, complete bool, limit time.Duration) error {
	var timeout net.Error
	switch {
	case limit > 0 && errors.As(err, &timeout) && timeout.Timeout() && !errors.As(err, new(*net.OpError)):
		return fmt.Errorf("the Timeout of %v of the http.Client that was given (WithHTTPClient) ended the attempt: %w", limit, err)
	case !wrote:
		return err
	case !complete && (errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)):
		return fmt.Errorf("the service closed the connection during the upload: %w", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return fmt.Errorf("the service closed the connection before a response came: %w", err)
	}
	return err
}

// newAPIError reads a response other than 2xx, in whatever shape it comes.
func newAPIError(base *url.URL, r *request, key redact.Key, resp *http.Response, body []byte) *APIError {
	e := &APIError{
		StatusCode: resp.StatusCode, Method: r.method, Path: r.url.EscapedPath(),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
		Header:     key.Header(resp.Header), Body: key.Bytes(body),
	}
	e.Message, e.Fields = errtext.Read(body, key)
	e.RequestID = requestID(e.Header)
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
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
		e.Message = fmt.Sprintf("gave up after %d redirects", maxRedirects)
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
	if e.StatusCode != http.StatusNotFound || !list && !html && e.Message != "" {
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
