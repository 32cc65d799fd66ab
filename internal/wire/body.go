package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// decompress makes the body of resp decompress itself if it begins as gzip, whatever the header says: proxies
// decompress and leave the header, or compress without one.
func decompress(resp *http.Response) {
	if resp.Body == nil || resp.Body == http.NoBody {
		return
	}
	resp.Body = &body{ReadCloser: resp.Body, resp: resp}
	switch strings.ToLower(resp.Header.Get("Content-Encoding")) {
	case "gzip", "x-gzip":
		relabel(resp)
	}
}

// relabel describes a body without gzip, as net/http does. A list of encodings stays, as the others remain.
// RoundTrippers may share a header, so it is not changed in place.
func relabel(resp *http.Response) {
	resp.Header = resp.Header.Clone()
	resp.Header.Del("Content-Length")
	if !strings.Contains(resp.Header.Get("Content-Encoding"), ",") {
		resp.Header.Del("Content-Encoding")
	}
	resp.ContentLength, resp.Uncompressed = -1, true
}

// body is the body of a response. Its first two bytes decide whether it is decompressed. It holds nothing else back.
type body struct {
	io.ReadCloser // the body as it came
	resp          *http.Response
	plain         bool      // the first bytes are not gzip's
	zip           *unzipper // decompresses the body; nil for none, and at the end
	err           error     // of each Read at that end
}

func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case b.zip != nil:
		return b.unzip(p)
	case b.plain || len(p) == 0:
		return Read(b.ReadCloser, p)
	case len(p) < len(gzipMagic):
		// There is no room for the first two bytes.
		roomy := *b
		b.plain, b.ReadCloser = true, struct {
			io.Reader
			io.Closer
		}{bufio.NewReader(&roomy), b.ReadCloser}
		return b.ReadCloser.Read(p)
	}
	n, err := Read(b.ReadCloser, p)
	for n == 1 && p[0] == gzipMagic[0] && err == nil {
		var more int
		more, err = Read(b.ReadCloser, p[1:])
		n += more
	}
	if b.plain = n > 0; !bytes.HasPrefix(p[:n], []byte(gzipMagic)) {
		return n, err
	}
	if !b.resp.Uncompressed {
		relabel(b.resp)
	}
	b.zip = unzippers.Get().(*unzipper)
	// If the error came with these bytes, it comes again, or the stream is incomplete.
	b.zip.src.Reset(io.MultiReader(bytes.NewReader(bytes.Clone(p[:n])), strict{b.ReadCloser}))
	if err := b.zip.open(); err != nil {
		return 0, b.check(err)
	}
	return b.unzip(p)
}

// unzip decompresses the next bytes.
func (b *body) unzip(p []byte) (int, error) {
	n, err := b.zip.z.Read(p)
	if err == io.EOF {
		err = b.zip.next()
	}
	return n, b.check(err)
}

// check ends the decompression if err is not nil.
func (b *body) check(err error) error {
	if err == nil {
		return nil
	}
	b.err = err
	if err != io.EOF {
		b.err = fmt.Errorf("%w: %w", ErrCutOff, redact.NotNil(err))
	}
	b.zip.src.Reset(nil)
	unzippers.Put(b.zip)
	b.zip = nil
	return b.err
}

// Read reads from the body of a RoundTripper, which may break the contract of [io.Reader]: an impossible count is an
// error, and so are a hundred Reads without a byte or an error, which would never end.
func Read(r io.Reader, p []byte) (int, error) {
	for range 100 {
		n, err := r.Read(p)
		switch {
		case n < 0 || n > len(p):
			return 0, fmt.Errorf("the body returned an impossible count of %d bytes", n)
		case n > 0 || err != nil || len(p) == 0:
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// strict reads with [Read].
type strict struct{ io.Reader }

func (s strict) Read(p []byte) (int, error) { return Read(s.Reader, p) }

// pieces are buffers for the Reads of a body, so that the string is its only copy.
var pieces = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// trusted is the most memory that is allocated because a server claims a length. A page of 100 long records has less.
const trusted = 1 << 20

// ReadBody reads the body of a response, up to limit bytes. With an error it also returns the bytes before it. The
// error of a body that ends too early matches [ErrCutOff]. ReadBody does not close the body.
func ReadBody(resp *http.Response, limit int64) (string, error) {
	piece := pieces.Get().(*[16 << 10]byte)
	defer pieces.Put(piece)
	var body strings.Builder
	body.Grow(int(min(max(resp.ContentLength, 0), limit, trusted)))
	for {
		n, err := Read(resp.Body, piece[:])
		body.Write(piece[:n])
		switch {
		case int64(body.Len()) > limit:
			err = fmt.Errorf("the response is larger than %d bytes (WithMaxResponseSize)", limit)
			return body.String()[:limit], err
		case err == io.EOF && body.Cap() > body.Len()*5/4:
			return strings.Clone(body.String()), nil // a field of a record would keep the whole buffer
		case err == io.EOF:
			return body.String(), nil
		case err != nil:
			if err = redact.NotNil(err); !errors.Is(err, ErrCutOff) {
				err = fmt.Errorf("%w: %w", ErrCutOff, err)
			}
			return body.String(), err
		}
	}
}
