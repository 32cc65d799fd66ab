package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// Download writes the picture at image.URL to w and returns how many bytes it wrote.
//
// The request is bare: no API key, no headers, queries or cookies of the client, no middleware, no client certificate
// and no rate limiter; the proxy, dialer and CA settings hold. The service chooses the URL, and so the hosts that are contacted: a program
// that must not reach some hosts has to check it first, or give a client whose dialer does. A relative URL is resolved
// against the base URL. Only http and https are fetched, with up to ten redirects.
//
// It is retried after transient failures until the first byte is written to w. [WithTimeout] limits the wait for the
// header, [WithStallTimeout] the time without a byte of the body; [WithMaxResponseSize] does not apply. A picture that is
// cut off is an error that says how many bytes came.
func (s *ImagesService) Download(ctx context.Context, image *Image, w io.Writer, opts ...CallOption) (int64, error) {
	const op = "images.download"
	c := s.core()
	if c == nil || c.base == nil {
		return 0, invalid(op, problem("client", nil, "was not created with NewClient"))
	}
	r := &request{op: op, method: http.MethodGet, settings: *c.defaults, bare: true}
	problems := r.begin(ctx, opts)
	if w == nil {
		problems = append(problems, problem("w", nil, "must not be nil")...)
	}
	if image == nil || image.URL == "" {
		problems = append(problems, problem("url", nil, "is required: the service sent none for the image")...)
	} else if u, err := c.base.Parse(image.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		problems = append(problems, problem("url", image.URL, "must be an http or https URL")...)
	} else {
		r.url = u
	}
	if err := invalid(op, problems); err != nil {
		return 0, err
	}
	var written int64
	err := c.send(ctx, r, func(ctx context.Context, r *request, n int, _ redact.Key) (res result) {
		written, res = c.fetch(ctx, r, n, w)
		return res
	})
	return written, err
}

// errRedirect is the error of a redirect that a download does not follow. Another attempt would meet it again.
var errRedirect = errors.New("redirect refused")

// downloadRedirect follows redirects of a download. The Referer would hand a signed URL to the next host.
func downloadRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("%w: gave up after %d of them", errRedirect, maxRedirects)
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return fmt.Errorf("%w: it leads to something other than http and https", errRedirect)
	}
	req.Header.Del("Referer")
	return nil
}

// fetch sends the request of a download once, and writes the body to w.
func (c *Client) fetch(ctx context.Context, r *request, n int, w io.Writer) (int64, result) {
	watched, watch := wire.Watch(ctx, wire.Limits{Wait: r.limits().Wait})
	defer watch.Stop()
	watched, cancel := context.WithCancelCause(watched)
	defer cancel(nil)
	u := *r.url
	req := (&http.Request{Method: r.method, URL: &u, Host: u.Host, Header: http.Header{"User-Agent": {c.userAgent}}}).WithContext(watched)
	resp, err := c.download().Do(req)
	if err != nil {
		err = withoutURL(err)
		res := result{outcome: OutcomeUnknown, transient: true, final: ctx.Err() != nil || wire.Untrusted(err) || errors.Is(err, errRedirect)}
		if !watch.Wrote(err) {
			res.outcome = OutcomeNotSent
		}
		return 0, res.transport(r, cmp.Or(contextError(ctx), watch.Expired(), explain(err, watch.Wrote(err), true, 0)))
	}
	defer resp.Body.Close()
	watch.Answered()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := wire.ReadBody(resp, maxErrorBody)
		if r.response != nil {
			*r.response = newResponse(resp, body, n, "")
		}
		res := c.rejected(r, "", true, resp, body)
		res.status, res.requestID = resp.StatusCode, requestID(resp.Header, "")
		return 0, res
	}
	if r.response != nil {
		*r.response = newResponse(resp, nil, n, "")
	}
	res := result{outcome: OutcomeDone, status: resp.StatusCode, requestID: requestID(resp.Header, ""), word: "ok"}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		e := &DecodeError{StatusCode: resp.StatusCode, Method: r.method, Path: r.url.EscapedPath(), Header: resp.Header, RequestID: res.requestID, Err: errors.New("got an HTML page instead of a picture")}
		res.err, res.outcome, res.word = e, OutcomeUnknown, "HTML"
		return 0, res
	}
	watch.Pause()
	var written int64
	buf := make([]byte, 32<<10)
	for {
		var clock *time.Timer
		if r.stall > 0 {
			clock = time.AfterFunc(r.stall, func() { cancel(&wire.TimeoutError{Receiving: true, Limit: r.stall}) })
		}
		size, err := resp.Body.Read(buf)
		if clock != nil {
			clock.Stop()
		}
		if size > 0 {
			wrote, err := w.Write(buf[:size])
			written += int64(wrote)
			if err == nil && wrote < size {
				err = io.ErrShortWrite
			}
			if err != nil {
				return written, res.transport(r, fmt.Errorf("writing the picture after %d bytes: %w", written, err))
			}
		}
		if err == io.EOF && written < resp.ContentLength {
			err = io.ErrUnexpectedEOF
		}
		switch {
		case err == io.EOF:
			return written, res
		case err != nil:
			res.transient, res.final = true, written > 0 || ctx.Err() != nil
			cause := cmp.Or(contextError(ctx), timeoutCause(watched), err)
			if resp.ContentLength >= 0 {
				return written, res.transport(r, fmt.Errorf("the picture was cut off: %d of %d bytes came: %w", written, resp.ContentLength, cause))
			}
			return written, res.transport(r, fmt.Errorf("the picture was cut off: %d bytes came: %w", written, cause))
		}
	}
}

// transport gives the result an error that is not a response.
func (res result) transport(r *request, err error) result {
	err = redact.Key("").Error(err)
	res.err = &TransportError{Method: r.method, Path: r.url.EscapedPath(), Err: err}
	res.word = word(err)
	return res
}

// timeoutCause is the timeout that ended a context, or nil.
func timeoutCause(ctx context.Context) error {
	var late *wire.TimeoutError
	if errors.As(context.Cause(ctx), &late) {
		return late
	}
	return nil
}
