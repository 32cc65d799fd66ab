package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// packed is the text as a gzip stream.
func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// passed returns a response with this body as a Transport passes it on.
func passed(t *testing.T, encoding string, body io.Reader) *http.Response {
	header := http.Header{"Content-Length": {"1000"}, "X-Other": {"kept"}}
	if encoding != "" {
		header["Content-Encoding"] = []string{encoding}
	}
	transport := New(fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: header, ContentLength: 1000, Body: io.NopCloser(body)}, nil
	}), false)
	return untimed(t, transport, http.MethodGet, "http://127.0.0.1/")
}

// A proxy may decompress a body and leave the header, or compress a body without one. A body in an encoding that cannot
// be decompressed keeps its header.
func TestABodyThatBeginsAsGzipIsDecompressedWhateverItsHeaderSays(t *testing.T) {
	two := packed(lighthouse[:10]) + packed(lighthouse[10:])
	const brotli = "\x8b\x12\x80" + lighthouse + "\x03"
	const zstd = "\x28\xb5\x2f\xfd\x04\x58\x01\x01\x00" + lighthouse
	const deflate = "\x78\x9c\x03\x00\x00\x00\x00\x01"
	for _, tt := range []struct{ encoding, body, read, left string }{
		{"gzip", packed(lighthouse), lighthouse, ""},
		{"GZIP", packed(lighthouse), lighthouse, ""},
		{"x-gzip", packed(lighthouse), lighthouse, ""},
		{"br", packed(lighthouse), lighthouse, ""},
		{"identity", packed(lighthouse), lighthouse, ""},
		{"", packed(lighthouse), lighthouse, ""},
		{"br, gzip", packed(lighthouse), lighthouse, "br, gzip"},
		{"gzip", two, lighthouse, ""},
		{"gzip", packed("") + packed(lighthouse) + packed(""), lighthouse, ""},
		{"gzip", packed(lighthouse) + "\n", lighthouse, ""},
		{"gzip", packed(lighthouse) + "\x1f", lighthouse, ""},
		{"", two + strings.Repeat("\x00", 10_000), lighthouse, ""},

		{"gzip", lighthouse, lighthouse, ""},
		{"x-gzip", lighthouse, lighthouse, ""},
		{"gzip", "\x1f\x00" + lighthouse, "\x1f\x00" + lighthouse, ""},
		{"gzip", "\x1f", "\x1f", ""},
		{"gzip", " \r\n", " \r\n", ""},
		{"gzip", "", "", ""},
		{"br", brotli, brotli, "br"},
		{"zstd", zstd, zstd, "zstd"},
		{"deflate", deflate, deflate, "deflate"},
		{"gzip, br", "\x0b\x02\x80", "\x0b\x02\x80", "gzip, br"},
		{"br", lighthouse, lighthouse, "br"},
		{"br", "", "", "br"},
		{"", lighthouse, lighthouse, ""},
		{"", "\x1f", "\x1f", ""},
	} {
		for name, source := range map[string]func(io.Reader) io.Reader{
			"whole":         func(r io.Reader) io.Reader { return r },
			"byte by byte":  iotest.OneByteReader,
			"with its end":  iotest.DataErrReader,
			"with an error": func(r io.Reader) io.Reader { return iotest.DataErrReader(iotest.OneByteReader(r)) },
		} {
			for dest, read := range map[string]func(io.Reader) io.Reader{
				"ReadAll":      func(r io.Reader) io.Reader { return r },
				"byte by byte": iotest.OneByteReader,
			} {
				resp := passed(t, tt.encoding, source(strings.NewReader(tt.body)))
				body, err := io.ReadAll(read(resp.Body))
				require.NoError(t, err, "%q: %s, %s", tt.encoding, name, dest)
				assert.Equal(t, tt.read, string(body))
				assert.Equal(t, tt.left, resp.Header.Get("Content-Encoding"))
				assert.Equal(t, "kept", resp.Header.Get("X-Other"))
				if tt.body != tt.read {
					assert.NotContains(t, resp.Header, "Content-Length")
					assert.EqualValues(t, -1, resp.ContentLength)
					assert.True(t, resp.Uncompressed)
				}
				require.NoError(t, resp.Body.Close())
			}
		}
	}
}

// A record that is cut off must never look complete, wherever that happens.
func TestAGzipStreamThatEndsTooEarlyIsCutOff(t *testing.T) {
	whole := packed(lighthouse)
	for n := len(gzipMagic); n < len(whole); n++ {
		body, err := ReadBody(passed(t, "gzip", strings.NewReader(whole[:n])), 100)
		require.ErrorIs(t, err, ErrCutOff, "after %d bytes", n)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "after %d bytes", n)
		assert.True(t, strings.HasPrefix(lighthouse, body))
	}
	for _, broken := range []string{
		"\x1f\x8b\xff" + whole[3:], whole[:20] + "\xff\xff" + whole[22:], whole + "\x1f\x8b\xff",
	} {
		_, err := ReadBody(passed(t, "gzip", strings.NewReader(broken)), 100)
		require.ErrorIs(t, err, ErrCutOff, "%q", broken)
	}
	// The error is the network's, and all that can be decompressed is.
	reset := errors.New("connection reset by peer")
	for n, text := range map[int]string{2: "", 3: "", len(whole) - 8: lighthouse, len(whole): lighthouse} {
		resp := passed(t, "gzip", io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(reset)))
		body, err := ReadBody(resp, 100)
		assert.Equal(t, text, body)
		require.ErrorIs(t, err, reset)
		assert.EqualError(t, err, "the response was cut off: connection reset by peer")
		_, err = resp.Body.Read(make([]byte, 10))
		assert.ErrorIs(t, err, reset, "an error that stays")
	}
}

// A slow picture moves on with each byte, and a compressed body with each part that its sender has flushed.
func TestBodiesAreNotHeldBack(t *testing.T) {
	var stream bytes.Buffer
	z := gzip.NewWriter(&stream)
	flushed := func(text string) string {
		stream.Reset()
		_, _ = io.WriteString(z, text)
		_ = z.Flush()
		return stream.String()
	}
	type part struct{ sent, read string }
	for name, parts := range map[string][]part{
		"plain":      {{"\x89", "\x89"}, {"P", "P"}, {"\x1f\x8bNG", "\x1f\x8bNG"}},
		"compressed": {{flushed("first"), "first"}, {flushed("second"), "second"}},
	} {
		source, sink := io.Pipe()
		resp := passed(t, "", source)
		for _, part := range parts {
			go func() { _, _ = io.WriteString(sink, part.sent) }()
			buf := make([]byte, 100)
			n, err := io.ReadAtLeast(resp.Body, buf, len(part.read))
			require.NoError(t, err, name)
			assert.Equal(t, part.read, string(buf[:n]), name)
		}
		require.NoError(t, resp.Body.Close(), "the stream never ends")
	}
}

// A RoundTripper may answer many requests with one header.
func TestTheHeaderOfARoundTripperIsNotChanged(t *testing.T) {
	shared := http.Header{"Content-Encoding": {"gzip"}, "Content-Length": {"1"}, "Location": {"https://[::1/%zz"}}
	want := shared.Clone()
	body := packed(lighthouse)
	statuses := map[string]int{"/tenant": 200, "/moved": 302}
	transport := New(fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: statuses[r.URL.Path], Header: shared, Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	}), false)
	var group sync.WaitGroup
	for range 16 {
		for path := range statuses {
			group.Go(func() {
				got := get(t, transport, "http://127.0.0.1"+path)
				assert.NoError(t, got.err)
				assert.Equal(t, lighthouse, got.body)
			})
		}
	}
	group.Wait()
	assert.Equal(t, want, shared)
}

// A program that has turned compression off finds it so.
func TestAcceptEncodingIsEmptyIfCompressionIsOff(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header.Values("Accept-Encoding"), "; "))
	}))
	t.Cleanup(srv.Close)
	for name, tt := range map[string]struct {
		transport *Transport
		want      string
	}{
		"an *http.Transport":      {New(nil, false), "gzip"},
		"with DisableCompression": {New(&http.Transport{DisableCompression: true}, false), ""},
		"a RoundTripper":          {New(otherKind{http.DefaultTransport}, false), "gzip"},
	} {
		assert.Equal(t, tt.want, tt.transport.AcceptEncoding(), name)
		if tt.transport.exact {
			got := get(t, closing(t, tt.transport), srv.URL)
			require.NoError(t, got.err)
			assert.Empty(t, got.body, "%s: net/http must not ask, as it would decompress by the header alone", name)
		}
	}
}
