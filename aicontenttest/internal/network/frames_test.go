package network

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResetsAreRewrittenByteByByte(t *testing.T) {
	const (
		settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		data     = "\x00\x00\x03\x00\x00\x00\x00\x00\x05abc"
		reset    = "\x00\x00\x04\x03\x00\x00\x00\x00\x05\x00\x00\x00\x02"
		other    = "\x00\x00\x04\x03\x00\x00\x00\x00\x07\x00\x00\x00\x02"
		refused  = "\x00\x00\x04\x03\x00\x00\x00\x00\x05\x00\x00\x00\x07"
	)
	sent := settings + data + other + reset + other
	for size := range len(sent) {
		f := new(frames)
		f.refuse(5)
		var got []byte
		for p := []byte(sent); len(p) > 0; {
			n := min(size+1, len(p))
			got = append(got, f.rewrite(p[:n])...)
			p = p[n:]
		}
		assert.Equal(t, settings+data+other+refused+other, string(got))
	}
}

// readConn is a connection that can only be read.
type readConn struct {
	net.Conn
	io.Reader
}

func (c readConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }

func TestRequestsAreGivenTheirStream(t *testing.T) {
	const (
		settings = "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64"
		field    = "\x00\x14aicontenttest-stream\x01"
		data     = "\x00\x00\x03\x00\x00\x00\x00\x00\x05abc"
	)
	for name, c := range map[string]struct{ sent, want string }{
		"one frame": {
			"\x00\x00\x02\x01\x05\x00\x00\x00\x05ab" + data,
			"\x00\x00\x1a\x01\x05\x00\x00\x00\x05ab" + field + "5" + data,
		},
		"padding": {
			"\x00\x00\x05\x01\x0c\x00\x00\x00\x07\x02abPP",
			"\x00\x00\x1d\x01\x0c\x00\x00\x00\x07\x02ab" + field + "7PP",
		},
		"continuation": {
			"\x00\x00\x02\x01\x00\x00\x00\x00\x09ab\x00\x00\x01\x09\x00\x00\x00\x00\x09c\x00\x00\x01\x09\x04\x00\x00\x00\x09d",
			"\x00\x00\x02\x01\x00\x00\x00\x00\x09ab\x00\x00\x01\x09\x00\x00\x00\x00\x09c\x00\x00\x19\x09\x04\x00\x00\x00\x09d" + field + "9",
		},
		"trailers": {
			"\x00\x00\x01\x01\x04\x00\x00\x00\x01a\x00\x00\x01\x01\x05\x00\x00\x00\x01t",
			"\x00\x00\x19\x01\x04\x00\x00\x00\x01a" + field + "1\x00\x00\x01\x01\x05\x00\x00\x00\x01t",
		},
		"cut off": {
			"\x00\x00\x09\x01\x04\x00\x00\x00\x01abc",
			"\x00\x00\x09\x01\x04\x00\x00\x00\x01abc",
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole := clientPreface + settings + c.sent
			want := clientPreface + settings + c.want
			for _, slow := range []func(io.Reader) io.Reader{
				func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader,
			} {
				in := newFrames(readConn{Reader: slow(strings.NewReader(whole))})
				got, err := io.ReadAll(readConn{Reader: readerFunc(in.read)})
				require.NoError(t, err)
				assert.Equal(t, want, string(got))
			}
		})
	}
	t.Run("HTTP/1.1", func(t *testing.T) {
		for _, sent := range []string{"POST / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nXX", "P", "GET"} {
			in := newFrames(readConn{Reader: iotest.OneByteReader(strings.NewReader(sent))})
			got, err := io.ReadAll(readerFunc(in.read))
			require.NoError(t, err)
			assert.Equal(t, sent, string(got))
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
