package aicontent

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
	"net/url"
	"strings"
)

// maxErrorBody is how much is read of an answer that is no success, in bytes.
const maxErrorBody = 1 << 20

var (
	errCutOff = errors.New("the answer was cut off")
	errPage   = errors.New("a page came in place of JSON: a proxy, a portal or a login page answered")
	errEmpty  = errors.New("the answer is empty")
	errJSON   = errors.New("the answer is not JSON")
)

// Response is an answer as it came, for what the records do not tell: see [WithResponse].
// The API key is masked wherever the service sent it back.
type Response struct {
	StatusCode int
	Header     http.Header
	Body       []byte // decompressed; of an answer that is no success, up to 1 MiB
	RequestID  string // of the usual headers; empty where none was sent
	Attempts   int    // how many attempts it took, counted from 1
}

// answer is what the readers of records and pages get to see of a success.
type answer struct {
	body   []byte
	header http.Header
	params url.Values // the query that was sent
}

func newResponse(resp *http.Response, body []byte, n int, key string) *Response {
	header := maskedHeader(resp.Header, key)
	return &Response{
		StatusCode: resp.StatusCode,
		Header:     header,
		Body:       bytes.Clone(masked(body, key)),
		RequestID:  requestID(header),
		Attempts:   n,
	}
}

// requestID takes the first of the headers that services and proxies use.
func requestID(header http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Amzn-Requestid", "X-Amzn-Trace-Id", "X-Trace-Id", "Cf-Ray"} {
		if id := header.Get(name); id != "" {
			return shortened(id, 200)
		}
	}
	return ""
}

// readBody reads an answer up to a limit, decompressed. With an error it returns what came before it.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	r, err := decompressed(resp)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCutOff, err)
	}
	// A length that the service only claims is not worth much memory.
	const trusted = 1 << 20
	size := int64(4096)
	if resp.ContentLength > 0 && !resp.Uncompressed {
		size = min(resp.ContentLength, limit, trusted) + 1
	}
	buf := make([]byte, 0, size)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return buf[:limit], fmt.Errorf("the answer is larger than %d bytes (WithMaxResponseSize)", limit)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, fmt.Errorf("%w: %w", errCutOff, err)
		}
	}
}

// decompressed undoes what net/http has not: a transport without compression, and a service that compresses unasked. What
// the body begins with counts for more than its header, as proxies decompress and forget to say so.
func decompressed(resp *http.Response) (io.Reader, error) {
	encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	if encoding == "" || encoding == "identity" {
		return resp.Body, nil
	}
	r := bufio.NewReader(resp.Body)
	head, err := r.Peek(2)
	switch {
	case err != nil:
		return r, nil
	case head[0] == 0x1f && head[1] == 0x8b:
		return gzip.NewReader(r)
	case head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0:
		return zlib.NewReader(r)
	case encoding == "deflate" && !isJSONStart(head[0]):
		// By the standard it is zlib's format; some services send it bare.
		return flate.NewReader(r), nil
	}
	return r, nil
}

// trimmed takes off a byte order mark and white space.
func trimmed(body []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
}

// isJSONStart reports whether JSON objects and arrays begin so.
func isJSONStart(b byte) bool { return b == '{' || b == '[' }

// parse checks once that a body is JSON; what walks over it afterwards need not doubt it.
func parse(body []byte) (value, error) {
	text := trimmed(body)
	switch {
	case len(text) == 0:
		return nil, errEmpty
	case text[0] == '<':
		return nil, errPage
	case valid(text):
		return text, nil
	case isJSONStart(text[0]):
		return nil, invalid(text)
	}
	return nil, errJSON
}
