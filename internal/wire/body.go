package wire

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// ErrCutOff is matched by the error of a body that ends too early, or cannot be decompressed.
var ErrCutOff = errors.New("the response was cut off")

// ReadBody reads the body of a response, up to limit bytes. With an error it also returns what came before it. It
// does not close the body.
//
// A body that begins as gzip is decompressed, as net/http does unless a transport is told not to, and has no
// Content-Encoding any more. What the header says does not count: proxies decompress and forget to say so.
func ReadBody(resp *http.Response, limit int64) ([]byte, error) {
	body, err := readUpTo(resp.Body, resp.ContentLength, limit)
	if !bytes.HasPrefix(body, []byte("\x1f\x8b")) {
		return body, err
	}
	resp.Header.Del("Content-Encoding")
	z, broken := gzip.NewReader(bytes.NewReader(body))
	if broken != nil {
		return nil, cmp.Or(err, fmt.Errorf("%w: %w", ErrCutOff, broken))
	}
	body, broken = readUpTo(z, -1, limit)
	return body, cmp.Or(err, broken)
}

// readUpTo reads up to limit bytes. A negative length is unknown.
func readUpTo(r io.Reader, length, limit int64) ([]byte, error) {
	// A length that the server only claims is not worth much memory. A page of 100 long records has less than that.
	const trusted = 1 << 20
	size := int64(4096)
	if length > 0 {
		size = min(length, limit, trusted) + 1
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
