package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/errtext"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// Download writes the picture at image.URL to w and returns the number of bytes written.
//
// The service chooses the URL, and so the hosts that are contacted. If some must not be reached, check the URL first,
// or use a client whose CheckRedirect and dialer refuse them. Of what the client knows, the hosts get the User-Agent
// alone: no API key, header, query, cookie or client certificate. Middleware and rate limiter are bypassed. The proxy,
// dialer and CA settings apply, and so do the Timeout and CheckRedirect given to [WithHTTPClient]. A relative URL is
// resolved against the base URL. Only http and https URLs are fetched, with up to ten redirects.
//
// Download is retried after transient failures until the first byte is written to w, and not after it: the error says
// how much came, what was written remains, and the caller may call again with an empty w. [WithResponseTimeout]
// limits the wait for the header, [WithStallTimeout] the time without progress of the body; [WithMaxResponseSize] does
// not apply. The error is a [*DecodeError] for a picture that is cut off, with the number of
// bytes received, and for a response without a picture: 204, 205, JSON, XML or text.
func (s *ImagesService) Download(ctx context.Context, image *Image, w io.Writer, opts ...CallOption) (int64, error) {
	c := s.core()
	k := newCall(ctx, c, request{op: imagesDownload, method: imagesDownload.method})
	var problems []FieldProblem
	k.settings, problems = c.set(ctx, opts)
	address, bad := c.picture(image)
	problems = slices.Concat(problems, check(w != nil, "w", nil, "must not be nil"), bad)
	if err := invalid(ImagesDownload, problems); err != nil {
		return 0, err
	}
	k.url = *address
	var written int64
	// Attempts of its own: with another http.Client, and without key and rate limiter.
	err := k.send(func(x *exchange) error {
		return x.run(c.network().download, func(resp *http.Response) (err error) {
			written, err = x.copy(resp, w)
			return err
		})
	})
	return written, err
}

// picture is the address of an image's picture.
func (c *Client) picture(image *Image) (*url.URL, []FieldProblem) {
	if image == nil || image.URL == "" {
		return nil, problem("url", nil, "is required: the service sent none for the image")
	}
	u, err := c.base.JoinPath("/").Parse(image.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, problem("url", image.URL, "must be an http or https URL")
	}
	return u, nil
}

// maxRedirects is how many redirects a download follows: as many as net/http follows.
const maxRedirects = 10

// errRedirect is the error of a redirect that is not followed. Another attempt would meet it again.
var errRedirect = errors.New("redirect refused")

// checkRedirect is the type of [http.Client.CheckRedirect].
type checkRedirect func(req *http.Request, via []*http.Request) error

// downloadRedirect follows redirects of a download where the user's client would. The Referer would hand a signed URL
// to the next host.
func downloadRedirect(users checkRedirect) checkRedirect {
	return func(req *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("%w: gave up after %d of them", errRedirect, maxRedirects)
		}
		if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
			return fmt.Errorf("%w: it does not lead to an http or https URL", errRedirect)
		}
		req.Header.Del("Referer")
		if users == nil {
			return nil
		}
		err := users(req, via)
		if err == nil || err == http.ErrUseLastResponse {
			return err
		}
		return fmt.Errorf("%w: %w", errRedirect, err)
	}
}

// noPicture names what a response holds in place of a picture, and is empty otherwise.
func noPicture(resp *http.Response) string {
	if resp.StatusCode == 204 || resp.StatusCode == 205 {
		return "nothing"
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return documents.FindString(kind)
}

var documents = regexp.MustCompile(`^(text/.*|application/(json|xml)|.*\+json)$`)

// copy writes the body of a download to w, and returns how many bytes it wrote.
func (x *exchange) copy(resp *http.Response, w io.Writer) (int64, error) {
	if kind := noPicture(resp); kind != "" {
		_ = x.readBody(resp, maxErrorBody)
		message, _ := errtext.Read([]byte(x.body), x.key)
		return 0, errors.New(strings.TrimSuffix("got "+kind+" instead of a picture: "+message, ": "))
	}
	body := &watched{body: resp.Body, clock: x.clock}
	// Without the writer's other methods, so that it gets each byte as it comes.
	n, err := io.Copy(struct{ io.Writer }{w}, body)
	x.seen.begun = n > 0
	switch {
	case err != nil && !errors.Is(err, body.failed):
		x.seen.end = endWriter
		return n, fmt.Errorf("writing the picture after %d bytes: %w", n, err)
	case err == nil && (n < resp.ContentLength || context.Cause(x.call.ctx) == io.EOF):
		err = io.ErrUnexpectedEOF // net/http returns the cause of a context as it is
	case err == nil:
		return n, nil
	}
	came := fmt.Sprintf("%d bytes", n)
	if resp.ContentLength >= 0 {
		came = fmt.Sprintf("%d of %d bytes", n, resp.ContentLength)
	}
	err = cmp.Or(contextError(x.call.ctx), x.clock.Expired(), err)
	return n, fmt.Errorf("%w: %s came: %w", errPictureCut, came, err)
}

var errPictureCut = errors.New("the picture was cut off")

// watched is a body that must not stall: a clock runs while a byte is waited for.
type watched struct {
	body   io.Reader
	clock  *wire.Clock
	failed error // of the latest Read, except io.EOF
}

func (b *watched) Read(p []byte) (int, error) {
	b.clock.Receiving()
	n, err := b.body.Read(p)
	b.clock.Pause()
	if err != io.EOF {
		b.failed = err
	}
	return n, err
}
