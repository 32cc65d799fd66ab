package wire

import (
	"bufio"
	"compress/gzip"
	"io"
	"sync"
)

// gzipMagic is the beginning of every gzip stream.
const gzipMagic = "\x1f\x8b"

// unzippers saves the 40 KiB of each one.
var unzippers = sync.Pool{New: func() any { return &unzipper{bufio.NewReader(nil), new(gzip.Reader)} }}

// unzipper decompresses a stream, one gzip member after the other.
type unzipper struct {
	src *bufio.Reader // of which z takes no byte more than it needs
	z   *gzip.Reader
}

// open begins a member.
func (u *unzipper) open() error {
	err := u.z.Reset(u.src)
	u.z.Multistream(false)
	return err
}

// next begins the next member. The error is io.EOF if there is none: other bytes that follow are ignored.
func (u *unzipper) next() error {
	switch head, err := u.src.Peek(len(gzipMagic)); {
	case string(head) == gzipMagic:
		return u.open()
	case err != nil:
		return err
	}
	return io.EOF
}
