package wire

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// ErrCutOff is matched by the error of a body that ends too early, or cannot be decompressed.
var ErrCutOff = errors.New("the response was cut off")

// ReadBody reads the body of a response, decompressed, up to limit bytes. With an error it also returns what came
// before it. It does not close the body.
func ReadBody(resp *http.Response, limit int64) ([]byte, error) {
	r, err := decompressed(resp)
	if err != nil {
		return nil, err
	}
	// A length that the server only claims is not worth much memory.
	const trusted = 1 << 20
	size := int64(4096)
	if resp.ContentLength > 0 {
		size = min(resp.ContentLength, limit, trusted) + 1
	}
	buf := make([]byte, 0, size)
	for {
		buf = slices.Grow(buf, 1)
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return buf[:limit], fmt.Errorf("the response is larger than %d bytes (WithMaxResponseSize)", limit)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, fmt.Errorf("%w: %w", ErrCutOff, err)
		}
	}
}

// decompressed undoes what net/http has not undone: for a transport without compression, and a server that compresses
// unasked. What the body begins with counts for more than its header, as proxies decompress and forget to say so.
func decompressed(resp *http.Response) (r io.Reader, err error) {
	encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	if encoding == "" || encoding == "identity" {
		return resp.Body, nil
	}
	// A body that is shorter, or whose reading fails, shows it when it is read.
	body := bufio.NewReader(resp.Body)
	head, _ := body.Peek(512)
	switch {
	case len(head) < 2 || isText(head):
		return body, nil
	case head[0] == 0x1f && head[1] == 0x8b:
		r, err = gzip.NewReader(body)
	case head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0:
		r, err = zlib.NewReader(body)
	case encoding == "deflate":
		// By its standard it is zlib's format; some servers send it bare.
		return flate.NewReader(body), nil
	default:
		return nil, fmt.Errorf("the response has the Content-Encoding %q, which was not requested", encoding)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCutOff, err)
	}
	return r, nil
}

// isText reports whether head begins JSON or HTML, and not a compressed body, which holds control characters.
func isText(head []byte) bool {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' && r != '\n' }
	return len(text) == 0 || strings.IndexByte(`{["<`, text[0]) >= 0 && !bytes.ContainsFunc(text, control)
}
