package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// pieces are buffers for the Reads of a body: so the string is its only copy.
var pieces = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// trusted is how much memory a length is worth that the server only claims. A page of 100 long records has less.
const trusted = 1 << 20

// ReadBody reads the body of a response, up to limit bytes. With an error it also returns the bytes before it. The
// error of a body that ends too early matches [ErrCutOff]. ReadBody does not close the body.
func ReadBody(resp *http.Response, limit int64) (string, error) {
	piece := pieces.Get().(*[16 << 10]byte)
	defer pieces.Put(piece)
	var body strings.Builder
	body.Grow(int(min(max(resp.ContentLength, 0), limit, trusted)))
	for {
		n, err := resp.Body.Read(piece[:])
		body.Write(piece[:n])
		switch {
		case int64(body.Len()) > limit:
			err = fmt.Errorf("the response is larger than %d bytes (WithMaxResponseSize)", limit)
			return body.String()[:limit], err
		case err == io.EOF && body.Cap() > body.Len()*5/4:
			return strings.Clone(body.String()), nil // what is kept of it keeps all of it
		case err == io.EOF:
			return body.String(), nil
		case err != nil && !errors.Is(err, ErrCutOff):
			err = fmt.Errorf("%w: %w", ErrCutOff, err)
			fallthrough
		case err != nil:
			return body.String(), err
		}
	}
}
