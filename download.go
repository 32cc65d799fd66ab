package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// Download writes the picture at image.URL to w and returns how many bytes it wrote.
//
// The request is bare: no API key, no headers, queries or cookies of the client, no middleware, no client certificate and no
// rate limiter; the proxy, dialer and CA settings hold. The service chooses the URL, and so the hosts that are contacted: a
// program that must not reach some hosts has to check it first, or give a client whose dialer does. A relative URL is resolved
// against the base URL. Only http and https are fetched, with up to ten redirects.
//
// It is retried after transient failures until the first byte is written to w. [WithTimeout] limits the wait for the header,
// [WithStallTimeout] the time without a byte of the body; [WithMaxResponseSize] does not apply. A picture that is cut off is an
// error that says how many bytes came.
func (s *ImagesService) Download(ctx context.Context, image *Image, w io.Writer, opts ...CallOption) (int64, error) {
	c, call := s.core(), call{op: "images.download"}
	r, problems := c.begin(ctx, call, opts)
	if r == nil {
		return 0, invalid(call.op, problems)
	}
	problems = append(problems, problemIf(w == nil, "w", nil, "must not be nil")...)
	if image == nil || image.URL == "" {
		problems = append(problems, problem("url", nil, "is required: the service sent none for the image")...)
	} else if u, err := c.base.Parse(image.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		problems = append(problems, problem("url", image.URL, "must be an http or https URL")...)
	} else {
		r.url = u
	}
	if err := invalid(r.op, problems); err != nil {
		return 0, err
	}
	r.client, r.bare = c.download(), true
	r.read = func(reply) error { return errors.New("got an HTML page instead of a picture") }
	var written int64
	r.save = func(ctx context.Context, attempt *wire.Attempt, resp *http.Response) (res result) {
		written, res = r.copy(ctx, attempt, resp, w)
		return res
	}
	err := c.send(ctx, r)
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

// copy writes the body of a download to w. A clock runs while a byte is waited for.
func (r *request) copy(ctx context.Context, attempt *wire.Attempt, resp *http.Response, w io.Writer) (int64, result) {
	attempt.Pause()
	var stalled atomic.Bool
	var readError error
	body := readerFunc(func(p []byte) (int, error) {
		if r.stall > 0 {
			clock := time.AfterFunc(r.stall, func() {
				stalled.Store(true)
				attempt.Stop()
			})
			defer clock.Stop()
		}
		n, err := resp.Body.Read(p)
		if err != io.EOF {
			readError = err
		}
		return n, err
	})
	// The writer's other methods stay out of it, so that it gets each byte as it comes.
	written, err := io.Copy(struct{ io.Writer }{w}, body)
	res := result{outcome: OutcomeDone, word: "ok"}
	switch {
	case err != nil && !errors.Is(err, readError):
		return written, res.transport(r, fmt.Errorf("writing the picture after %d bytes: %w", written, err))
	case err == nil && (written < resp.ContentLength || context.Cause(ctx) == io.EOF):
		err = io.ErrUnexpectedEOF // net/http returns the cause of a context as it is
	case err == nil:
		return written, res
	case stalled.Load():
		err = &wire.TimeoutError{Receiving: true, Limit: r.stall}
	}
	came := fmt.Sprintf("%d bytes", written)
	if resp.ContentLength >= 0 {
		came = fmt.Sprintf("%d of %d bytes", written, resp.ContentLength)
	}
	res.transient, res.final = true, written > 0 || ctx.Err() != nil
	return written, res.transport(r, fmt.Errorf("the picture was cut off: %s came: %w", came, cmp.Or(contextError(ctx), err)))
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
