package aicontent

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go/internal/errtext"
	"github.com/aicontent/aicontent-go/internal/upload"
)

// callError is an error type of this package that an attempt can come to.
type callError interface {
	error
	with(summary) error // a copy that knows its call
	facts() *summary
}

// summary is what an error knows of its call beyond the last attempt. It is zero for an error that no call returned.
type summary struct {
	op        Operation // empty for an error that a program made
	host      string
	outcome   Outcome
	retryable bool // the same call may be made again: it is safe, and may help
	retryAt   time.Time
	attempts  int
	stopped   error    // what ended the wait for another attempt
	details   []string // what stands in parentheses in the error's text
}

func (s *summary) facts() *summary { return s }

// Outcome is what [OutcomeOf] returns: Unknown for an error that a program made itself.
func (s summary) Outcome() Outcome { return s.outcome }

// Retryable is what the function [Retryable] returns: false for an error that a program made itself.
func (s summary) Retryable() bool { return s.retryable }

// RetryAt is what the function [RetryAt] returns: zero for an error that a program made itself.
func (s summary) RetryAt() time.Time { return s.retryAt }

// causes are the error's own and what ended the wait for another attempt.
func (s summary) causes(err error) []error {
	return slices.DeleteFunc([]error{err, s.stopped}, func(err error) bool { return err == nil })
}

// line makes an error's text, on one line: the operation, or the request if that is not known, then what happened and
// the details. The caller's own errors may have several lines, or begin with the same operation.
func (s summary) line(request, text string) string {
	if len(s.details) > 0 {
		text += " (" + strings.Join(s.details, "; ") + ")"
	}
	text = oneLine.Replace(text)
	subject := cmp.Or(string(s.op), request)
	if subject == "" || strings.HasPrefix(text, subject+": ") {
		return text
	}
	return subject + ": " + text
}

var oneLine = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\r", "; ")

// explain says what an error of the network means. Complete tells whether all was sent; limit is the Timeout of the
// user's client, 0 where it has not passed: the error of a ResponseHeaderTimeout has the same type.
func explain(err error, wrote, complete bool, limit time.Duration) error {
	var timeout net.Error
	const wsaReset, wsaAborted = syscall.Errno(10054), syscall.Errno(10053) // Windows has numbers of its own
	closed := []error{
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
		syscall.ECONNRESET, syscall.EPIPE, wsaReset, wsaAborted,
	}
	endedBy := func(target error) bool { return errors.Is(err, target) }
	meaning := "the service closed the connection before a response came"
	switch {
	case limit > 0 && errors.As(err, &timeout) && timeout.Timeout():
		meaning = fmt.Sprintf("the http.Client's Timeout of %v ended the attempt (WithHTTPClient)", limit)
	case errors.Is(err, http.ErrSchemeMismatch):
		meaning = "the port speaks http, not https: is the base URL right?"
	case !wrote, errors.As(err, new(*upload.ReadError)), !slices.ContainsFunc(closed, endedBy):
		return err
	case !complete:
		meaning = "the service closed the connection during the upload"
	}
	return fmt.Errorf("%s: %w", meaning, err)
}

// failed is the error of a request that ended for another reason than a response.
func (r *request) failed(err error) *CallError {
	return &CallError{Method: r.method, Path: r.url.EscapedPath(), Err: err}
}

// failed is the error of an attempt that ended for another reason than a response.
func (x *exchange) failed(err error) *CallError { return x.call.failed(x.key.Error(err)) }

// maxErrorBody is how many bytes are kept of a response that is an error: frameworks' debug pages fit, and many errors
// that are kept at once do not fill the memory.
const maxErrorBody = 1 << 20

// decodeError keeps as much of the body as of any other error.
func (x *exchange) decodeError(body string, err error) *DecodeError {
	body = x.key.Text(body)
	body = body[:min(len(body), maxErrorBody)]
	return &DecodeError{
		StatusCode: x.seen.status, Method: x.call.method, Path: x.call.url.EscapedPath(),
		RequestID: x.requestID(), Header: x.key.Header(x.header), Body: []byte(body), Err: err,
	}
}

// unclear is the error of a list that was read, but cannot be used.
func (x *exchange) unclear(err error, retryable bool) error {
	s := summary{op: x.call.op.name, host: x.call.url.Host, outcome: listed, attempts: x.call.count}
	s.retryable = retryable
	return x.decodeError("", err).with(s)
}

// apiError reads a response other than 2xx, in whatever shape it comes.
func (x *exchange) apiError(resp *http.Response) *APIError {
	e := &APIError{
		StatusCode: x.seen.status, Method: x.call.method, Path: x.call.url.EscapedPath(),
		RetryAfter: parseRetryAfter(x.header.Get("Retry-After"), time.Now()),
		RequestID:  x.requestID(), Header: x.key.Header(x.header), Body: []byte(x.key.Text(x.body)),
	}
	e.Message, e.Fields = errtext.Read([]byte(x.body), x.key)
	if x.seen.status/100 == 3 {
		e.redirected(resp, x)
	}
	return e
}

// redirected says where a redirect leads. No redirect of an API call is followed.
func (e *APIError) redirected(resp *http.Response, x *exchange) {
	target, err := resp.Location()
	if err != nil {
		return
	}
	// It is relative where a RoundTripper leaves out the response's request.
	target = x.call.client.base.ResolveReference(target)
	to := x.key.Line(target.Scheme + "://" + target.Host + target.EscapedPath())
	name := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(path.Base(target.Path)))
	e.login = x.call.op != imagesDownload && (name == "login" || name == "signin" || name == "logon")
	switch {
	case e.login:
		e.Message = "the API key is not accepted: the service redirects to " + to
	case x.call.op == imagesDownload:
		e.Message = "redirect refused by the http.Client's CheckRedirect"
	default:
		e.Message = fmt.Sprintf("the service redirects to %s: is the base URL %s right?", to, x.call.client.base)
	}
}
