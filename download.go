package aicontent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/response"
)

// Download writes the picture at image.URL to w and returns the number of bytes written. For an image without a URL,
// the error is a [*ValidationError]: call Show again later.
//
// The service chooses the URL, and so the hosts, which learn the User-Agent but no API key, header, query, cookie or
// client certificate of the client. To refuse hosts, check the URL first, or use a client whose CheckRedirect and
// dialer refuse them. A RoundTripper given to WithHTTPClient that adds a credential sends it to these hosts, too. Its
// Timeout and CheckRedirect, proxy, dialer and CA settings apply; middleware and rate limiter do not. A relative URL is
// resolved against the base URL. Only http and https URLs are fetched, with up to ten redirects.
//
// The error is a [*DecodeError] for a picture that ends early, and for a response that is empty, compressed, or begins
// like JSON, HTML or XML (an SVG is XML). Anything else counts as a picture, whatever its Content-Type. A few hosts
// send no length: then a picture seems complete even if the connection closes early.
//
// Download is retried after transient failures until the first byte is written to w. A later failure leaves the written
// bytes in w: call again with an empty w. [WithResponseTimeout] limits the wait for the header, [WithStallTimeout] the
// time without progress; WithMaxResponseSize does not apply.
func (s *ImagesService) Download(ctx context.Context, image *Image, w io.Writer, opts ...CallOption) (int64, error) {
	c := s.client
	set, problems := c.set(opts)
	address, bad := c.picture(image)
	if err := newValidationError(ImagesDownload, append(problems, bad...)); err != nil {
		return 0, err
	}
	req := &request{set: set, op: imagesDownload, sent: engine.Request{
		Kind: engine.Fetch, Method: http.MethodGet, URL: *address,
		Header: http.Header{
			"Accept":          {"image/*, */*;q=0.8"}, // some firewalls refuse a request without it
			"Accept-Encoding": {"identity"},           // because a compressed response has no length
		},
	}}
	last, failure := c.sender().Do(ctx, req.sent, c.engineSettings(req), func(r engine.Reply) engine.Content {
		content := contentOf(r, nil)
		if r.Picture != nil {
			content = copyPicture(r, w)
			r.Body = content.Body
		}
		set.keep(r)
		return content
	})
	if failure != nil {
		n, _ := failure.Last.Facts.Content.Value.(int64)
		return n, c.newError(req, endingOf(failure))
	}
	return last.Facts.Content.Value.(int64), nil
}

// picture returns the address of an image's picture.
func (c *Client) picture(image *Image) (*url.URL, []FieldProblem) {
	if image.URL == "" {
		return nil, problem("url", nil, "is required: the service sent none for the image")
	}
	u, err := c.base.JoinPath("/").Parse(image.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, problem("url", c.lastKeys().Text(image.URL), "must be an http or https URL")
	}
	return u, nil
}

// checkRedirect is the type of [http.Client.CheckRedirect].
type checkRedirect func(req *http.Request, via []*http.Request) error

// downloadRedirect follows up to ten redirects of a download, as net/http does, where the user's client would. The
// Referer would hand a signed URL to the next host.
func downloadRedirect(users checkRedirect) checkRedirect {
	return func(req *http.Request, via []*http.Request) (err error) {
		req.Header.Del("Referer")
		switch {
		case len(via) > 10:
			err = errors.New("gave up after 10 of them")
		case req.URL.Scheme != "http" && req.URL.Scheme != "https":
			err = errors.New("it does not lead to an http or https URL")
		case users != nil:
			err = users(req, via)
		}
		if err == nil || err == http.ErrUseLastResponse {
			return err
		}
		return fmt.Errorf("%w: %w", engine.ErrRedirect, err)
	}
}

// headSize is the number of bytes of a response in which a document, after white space, is expected to begin.
const headSize = 512

// copyPicture writes the picture in a 2xx response to w. Nothing is written of another response, nor of a picture that
// ends early within its head. The value of the content is the number of bytes written.
func copyPicture(r engine.Reply, w io.Writer) engine.Content {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		err := fmt.Errorf("the picture has the Content-Encoding %q, which was not asked for", encoding)
		return engine.Content{Kind: engine.Text, Err: err}
	}
	from, to := bufio.NewReader(r.Picture), &destination{Writer: w}
	var n int64
	head, err := from.Peek(headSize)
	if err == nil || err == io.EOF {
		if refused := noPicture(head); refused != "" {
			body, _ := io.ReadAll(io.LimitReader(from, maxErrorBody))
			message, _ := response.Message(string(body), r.Keys)
			err := errors.New(strings.TrimSuffix(refused+": "+message, ": "))
			return engine.Content{Kind: kindOf(string(body), r.Header), Body: string(body), Err: err}
		}
		n, err = io.Copy(to, from)
	}
	content := engine.Content{Kind: engine.Text, Value: n, Begun: n > 0}
	switch {
	case err == nil:
		content.Kind = engine.Asked
	case to.failed != nil:
		content.WriterFailed = true
		content.Err = fmt.Errorf("writing the picture after %d bytes: %w", n, err)
	default:
		content.Cut = true
		content.Err = fmt.Errorf("the picture was cut off: %w", shield(nil, err))
	}
	return content
}

// noPicture returns the reason why a response with this head is no picture. It is empty for a picture.
func noPicture(head []byte) string {
	text := response.Trim(string(head))
	switch {
	case text == "":
		return "got nothing instead of a picture"
	case strings.Contains("{[<", text[:1]):
		return "got JSON, XML or HTML instead of a picture"
	}
	return ""
}

// destination is the writer of a picture. It keeps its error apart from those of the response, and hides the writer's
// other methods, so that it gets each byte as it comes.
type destination struct {
	io.Writer
	failed error
}

func (d *destination) Write(p []byte) (n int, err error) {
	n, d.failed = d.Writer.Write(p)
	return n, d.failed
}
