package aicontent

import (
	"bytes"
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

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/errtext"
	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
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
// The first bytes decide whether a response is a picture, not its Content-Type. The error is a [*DecodeError] for a
// picture that ends early, and for a response that is empty, text, JSON, XML or HTML, or compressed in an unknown way.
// The end of a response without a length, which is rare, shows nothing.
//
// Download is retried after transient failures until the first byte is written to w. A later failure leaves the written
// bytes in w: call again with an empty w. [WithResponseTimeout] limits the wait for the header, [WithStallTimeout] the
// time without progress; WithMaxResponseSize does not apply.
func (s *ImagesService) Download(ctx context.Context, image *Image, w io.Writer, opts ...CallOption) (int64, error) {
	c := s.core()
	set, problems := c.set(ctx, opts)
	address, bad := c.picture(image)
	problems = slices.Concat(problems, check(!isNil(w), "w", nil, "must not be nil"), bad)
	if err := invalid(ImagesDownload, problems); err != nil {
		return 0, err
	}
	req := &request{settings: set, op: imagesDownload}
	var written int64
	req.Request = engine.Request{
		Kind: engine.Fetch, Method: http.MethodGet, URL: *address,
		Header: http.Header{"Accept": {"image/*, */*;q=0.8"}}, // some firewalls refuse a request without it
	}
	_, err := c.do(ctx, req, func(r engine.Reply) (content engine.Content) {
		if r.Picture == nil {
			return contentOf(r, nil)
		}
		written, content, content.Err = copyPicture(r, w, c.lastKeys())
		return content
	})
	return written, err
}

// picture returns the address of an image's picture.
func (c *Client) picture(image *Image) (*url.URL, []FieldProblem) {
	if image == nil || image.URL == "" {
		return nil, problem("url", nil, "is required: the service sent none for the image")
	}
	u, err := c.base.JoinPath("/").Parse(image.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, problem("url", c.lastKeys().Text(image.URL), "must be an http or https URL")
	}
	return u, nil
}

// maxRedirects is how many redirects a download follows: as many as net/http follows.
const maxRedirects = 10

// checkRedirect is the type of [http.Client.CheckRedirect].
type checkRedirect func(req *http.Request, via []*http.Request) error

// downloadRedirect follows redirects of a download where the user's client would. The Referer would hand a signed URL
// to the next host.
func downloadRedirect(users checkRedirect) checkRedirect {
	return func(req *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("%w: gave up after %d of them", engine.ErrRedirect, maxRedirects)
		}
		if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
			return fmt.Errorf("%w: it does not lead to an http or https URL", engine.ErrRedirect)
		}
		req.Header.Del("Referer")
		if users == nil {
			return nil
		}
		err := users(req, via)
		if err == nil || err == http.ErrUseLastResponse {
			return err
		}
		return fmt.Errorf("%w: %w", engine.ErrRedirect, err)
	}
}

// sniffed is how many bytes http.DetectContentType looks at.
const sniffed = 512

// copyPicture writes the picture in a 2xx response to w, and returns the number of bytes written. It writes nothing of
// another response. The keys are masked in the error.
func copyPicture(r engine.Reply, w io.Writer, keys redact.Keys) (n int64, content engine.Content, err error) {
	from := &body{Reader: r.Picture}
	head, err := readHead(from)
	if refused, document := noPicture(r, head, err != nil); refused != "" {
		rest, _ := io.ReadAll(io.LimitReader(from, maxErrorBody))
		content.Body = string(head) + string(rest)
		content.Kind = kindOf(content.Body, r.Header)
		var message string
		if document {
			message, _ = errtext.Read([]byte(content.Body), keys)
		}
		return 0, content, errors.New(strings.TrimSuffix(refused+": "+message, ": "))
	}
	// Without the writer's other methods, so that it gets each byte as it comes.
	n, err = io.Copy(struct{ io.Writer }{w}, io.MultiReader(bytes.NewReader(head), from))
	content.Begun, err = n > 0, redact.NotNil(err)
	switch {
	case err != nil && !errors.Is(err, from.failed):
		content.WriterFailed = true
		return n, content, fmt.Errorf("writing the picture after %d bytes: %w", n, err)
	case err == nil && r.Length >= 0 && n < r.Length:
		err = io.ErrUnexpectedEOF
	case err == nil && r.Status == http.StatusPartialContent && !complete(r.Header.Get("Content-Range"), n):
		err = errors.New("the server sent a part of it without being asked (206)")
	case err == nil:
		return n, engine.Content{Kind: engine.Asked}, nil
	}
	came := fmt.Sprintf("%d bytes", n)
	if r.Length >= 0 {
		came = fmt.Sprintf("%d of %d bytes", n, r.Length)
	}
	content.Kind, content.Cut = engine.Text, true
	return n, content, fmt.Errorf("the picture was cut off: %s came: %w", came, shield(nil, err))
}

// readHead returns the first bytes of a picture: as few as tell its format, up to as many as http.DetectContentType
// looks at. The error is nil at the end of the body.
func readHead(r io.Reader) (head []byte, err error) {
	head = make([]byte, 0, sniffed)
	for err == nil && len(head) < sniffed && !strings.HasPrefix(http.DetectContentType(head), "image/") {
		var n int
		n, err = r.Read(head[len(head):sniffed])
		head = head[:len(head)+n]
	}
	if err == io.EOF {
		err = nil
	}
	return head, err
}

// noPicture says why a response is no picture, judged by its first bytes, and whether it is a document, which may have
// a message. The text is empty for a picture. Bytes in a format that http.DetectContentType does not know, such as
// AVIF, count as a picture unless their Content-Type is that of a document, and so do plain text with the Content-Type
// of a picture, and a head that was cut off.
func noPicture(r engine.Reply, head []byte, cut bool) (refused string, document bool) {
	const instead = " instead of a picture"
	label, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	kind, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	encoding := r.Header.Get("Content-Encoding")
	switch {
	case len(head) == 0 && !cut, r.Status == http.StatusNoContent, r.Status == http.StatusResetContent:
		return "got nothing" + instead, false
	case strings.HasPrefix(kind, "image/"), label == "image/svg+xml" && bytes.Contains(head, []byte("<svg")):
		return "", false
	case isDocument(label):
		return "got " + label + instead, true
	case cut:
		return "", false
	case encoding != "" && encoding != "identity":
		return fmt.Sprintf("got a picture in the Content-Encoding %q, which cannot be decoded", encoding), false
	case strings.HasPrefix(label, "image/") && kind == "text/plain" && isPlain(head):
		return "", false
	case isDocument(kind):
		return "got " + kind + instead, true
	}
	return "", false
}

// isPlain reports whether a text begins neither like JSON nor like XML.
func isPlain(head []byte) bool {
	text := lenient.Trim(string(head))
	return text != "" && !strings.ContainsAny(text[:1], "{[<")
}

// isDocument reports whether a media type is that of a text or a document.
func isDocument(mediaType string) bool {
	return documents.MatchString(mediaType) && mediaType != "image/svg+xml"
}

var documents = regexp.MustCompile(`^(text/.*|application/(json|xml)|.*\+(json|xml))$`)

// complete reports whether a Content-Range of n bytes covers the whole.
func complete(contentRange string, n int64) bool {
	return contentRange == fmt.Sprintf("bytes 0-%d/%d", n-1, n)
}

// body is the body of a response that remembers why it failed.
type body struct {
	io.Reader
	failed error // of all Reads to come; nil for none and for io.EOF
}

func (b *body) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	n, err := b.Reader.Read(p)
	if err != io.EOF {
		b.failed = err
	}
	return n, err
}
