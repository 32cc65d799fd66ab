package wire

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// ReadBody reads the body of a response, up to limit bytes. With an error it also returns what came before it. It
// does not close the body.
//
// A body that begins as gzip is decompressed, as net/http does unless a transport is told not to, and has no
// Content-Encoding any more. What the header says does not count: proxies decompress and forget to say so.
func ReadBody(resp *http.Response, limit int64) (string, error) {
	body, err := readUpTo(resp.Body, resp.ContentLength, limit)
	if !strings.HasPrefix(body, "\x1f\x8b") {
		return body, err
	}
	resp.Header.Del("Content-Encoding")
	z, broken := gzip.NewReader(strings.NewReader(body))
	if broken != nil {
		return "", cmp.Or(err, fmt.Errorf("%w: %w", ErrCutOff, broken))
	}
	body, broken = readUpTo(z, -1, limit)
	return body, cmp.Or(err, broken)
}

// pieces are what bodies are read into, piece by piece: so the string is their only copy.
var pieces = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// readUpTo reads up to limit bytes. A negative length is unknown.
func readUpTo(r io.Reader, length, limit int64) (string, error) {
	// A length that the server only claims is not worth much memory. A page of 100 long records has less than that.
	const trusted = 1 << 20
	piece := pieces.Get().(*[16 << 10]byte)
	defer pieces.Put(piece)
	var body strings.Builder
	body.Grow(int(min(max(length, 0), limit, trusted)))
	for {
		n, err := r.Read(piece[:])
		body.Write(piece[:n])
		switch {
		case int64(body.Len()) > limit:
			err = fmt.Errorf("the response is larger than %d bytes (WithMaxResponseSize)", limit)
			return body.String()[:limit], err
		case err == io.EOF && body.Cap() > body.Len()*5/4:
			return strings.Clone(body.String()), nil // what is kept of it keeps all of it
		case err == io.EOF:
			return body.String(), nil
		case err != nil:
			return body.String(), fmt.Errorf("%w: %w", ErrCutOff, err)
		}
	}
}
