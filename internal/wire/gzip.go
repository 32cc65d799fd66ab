package wire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// gzipMagic is the beginning of every gzip stream.
const gzipMagic = "\x1f\x8b"

// decode makes resp decompress its own body if that begins as gzip, whatever the header says: proxies decompress and
// forget to say so, or the other way round. The header then has no Content-Encoding for gzip and no Content-Length, as
// with net/http. RoundTrippers may share a header, so it is never changed in place.
func decode(resp *http.Response) {
	if resp.Body == nil || resp.Body == http.NoBody {
		return
	}
	b := &sniffed{ReadCloser: resp.Body, resp: resp}
	resp.Body = b
	codings := strings.Join(resp.Header["Content-Encoding"], ",")
	last := strings.TrimSpace(codings[strings.LastIndexByte(codings, ',')+1:])
	if strings.EqualFold(last, "gzip") || strings.EqualFold(last, "x-gzip") {
		b.relabel()
	}
}

// sniffed is a body whose first two bytes decide whether it is decompressed. It holds nothing else back.
type sniffed struct {
	io.ReadCloser // the body as it came
	resp          *http.Response
	relabeled     bool      // the header has no gzip any more
	plain         bool      // the first bytes are not gzip's
	text          io.Reader // in place of the body as it came; nil for none
}

// Read decides with the first bytes, which may change the header and the length of the response.
func (b *sniffed) Read(p []byte) (int, error) {
	switch {
	case b.text != nil:
		return b.text.Read(p)
	case b.plain || len(p) == 0:
		return b.ReadCloser.Read(p)
	case len(p) < len(gzipMagic):
		b.text = bufio.NewReader(&sniffed{ReadCloser: b.ReadCloser, resp: b.resp, relabeled: b.relabeled})
		return b.text.Read(p)
	}
	n, err := b.ReadCloser.Read(p)
	for n == 1 && p[0] == gzipMagic[0] && err == nil {
		var more int
		more, err = b.ReadCloser.Read(p[1:])
		n += more
	}
	b.plain = n > 0
	if !bytes.HasPrefix(p[:n], []byte(gzipMagic)) {
		return n, err
	}
	if !b.relabeled {
		b.relabel()
	}
	b.resp.Uncompressed = true
	var rest io.Reader = b.ReadCloser
	if err != nil {
		rest = failing{err}
	}
	b.text = unzip(io.MultiReader(bytes.NewReader(bytes.Clone(p[:n])), rest))
	return b.text.Read(p)
}

// relabel removes gzip, or what was said in its place, from the header.
func (b *sniffed) relabel() {
	b.relabeled = true
	h := b.resp.Header.Clone()
	codings := strings.Join(h["Content-Encoding"], ",")
	h.Del("Content-Encoding")
	h.Del("Content-Length")
	if last := strings.LastIndexByte(codings, ','); last >= 0 {
		h.Set("Content-Encoding", codings[:last])
	}
	b.resp.Header, b.resp.ContentLength = h, -1
}

// failing is a Reader that returns an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// unzipper decompresses one gzip member after the other.
type unzipper struct {
	src *bufio.Reader // of which z takes no byte more than it needs
	z   *gzip.Reader
}

// unzippers saves the 40 KiB of each one.
var unzippers = sync.Pool{New: func() any { return &unzipper{bufio.NewReader(nil), new(gzip.Reader)} }}

// unzipped is a gzip stream that is decompressed. Bytes that follow its last member are ignored. Its errors match
// [ErrCutOff].
type unzipped struct {
	*unzipper       // nil at the end
	err       error // of each Read at the end
}

func unzip(r io.Reader) *unzipped {
	u := &unzipped{unzipper: unzippers.Get().(*unzipper)}
	u.src.Reset(r)
	u.end(u.open())
	return u
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.z.Read(p)
	if err == io.EOF {
		err = u.next()
	}
	u.end(err)
	return n, u.err
}

// open begins a member.
func (u *unzipper) open() error {
	err := u.z.Reset(u.src)
	u.z.Multistream(false)
	return err
}

// next begins the next member. The error is io.EOF if there is none.
func (u *unzipper) next() error {
	switch head, err := u.src.Peek(len(gzipMagic)); {
	case string(head) == gzipMagic:
		return u.open()
	case err != nil:
		return err
	}
	return io.EOF
}

// end ends the stream, if err is not nil.
func (u *unzipped) end(err error) {
	if err == nil {
		return
	}
	if err != io.EOF {
		err = fmt.Errorf("%w: %w", ErrCutOff, err)
	}
	u.err = err
	u.src.Reset(nil)
	unzippers.Put(u.unzipper)
	u.unzipper = nil
}
