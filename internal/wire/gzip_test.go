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
	transport := New(roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: header, ContentLength: 1000, Body: io.NopCloser(body)}, nil
	}), false)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/", nil)
	require.NoError(t, err)
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	return resp
}

func TestABodyThatBeginsAsGzipIsDecompressedWhateverItsHeaderSays(t *testing.T) {
	two := packed(lighthouse[:10]) + packed(lighthouse[10:])
	for _, tt := range []struct{ encoding, body, left string }{
		{"gzip", packed(lighthouse), ""},
		{"GZIP", packed(lighthouse), ""},
		{"x-gzip", packed(lighthouse), ""},
		{"br", packed(lighthouse), ""},
		{"identity", packed(lighthouse), ""},
		{"", packed(lighthouse), ""},
		{"br, gzip", packed(lighthouse), "br, gzip"},
		{"gzip", two, ""},
		{"gzip", packed("") + packed(lighthouse) + packed(""), ""},
		{"gzip", packed(lighthouse) + "\n", ""},
		{"gzip", packed(lighthouse) + "\x1f", ""},
		{"", two + strings.Repeat("\x00", 10_000), ""},
	} {
		for name, source := range map[string]func(io.Reader) io.Reader{
			"whole":         func(r io.Reader) io.Reader { return r },
			"byte by byte":  iotest.OneByteReader,
			"with its end":  iotest.DataErrReader,
			"with an error": func(r io.Reader) io.Reader { return iotest.DataErrReader(iotest.OneByteReader(r)) },
		} {
			for dest, read := range map[string]func(io.Reader) ([]byte, error){
				"ReadAll":      io.ReadAll,
				"byte by byte": func(r io.Reader) ([]byte, error) { return io.ReadAll(iotest.OneByteReader(r)) },
			} {
				resp := passed(t, tt.encoding, source(strings.NewReader(tt.body)))
				body, err := read(resp.Body)
				require.NoError(t, err, "%q: %s, %s", tt.encoding, name, dest)
				assert.Equal(t, lighthouse, string(body))
				assert.Equal(t, tt.left, resp.Header.Get("Content-Encoding"))
				assert.NotContains(t, resp.Header, "Content-Length")
				assert.Equal(t, "kept", resp.Header.Get("X-Other"))
				assert.EqualValues(t, -1, resp.ContentLength)
				assert.True(t, resp.Uncompressed)
				require.NoError(t, resp.Body.Close())
			}
		}
	}
}

// A proxy that has decompressed a body and left the header does no harm. A body in an encoding that cannot be
// decompressed keeps its header.
func TestABodyThatIsNotGzipIsPassedOnAsItCame(t *testing.T) {
	for _, tt := range []struct{ encoding, body, left string }{
		{"gzip", lighthouse, ""},
		{"x-gzip", lighthouse, ""},
		{"gzip", "\x1f\x00" + lighthouse, ""},
		{"gzip", "\x1f", ""},
		{"gzip", " \r\n", ""},
		{"gzip", "", ""},
		{"br", "\x8b\x12\x80" + lighthouse + "\x03", "br"},
		{"zstd", "\x28\xb5\x2f\xfd\x04\x58\x01\x01\x00" + lighthouse, "zstd"},
		{"deflate", "\x78\x9c\x03\x00\x00\x00\x00\x01", "deflate"},
		{"gzip, br", "\x0b\x02\x80", "gzip, br"},
		{"br", lighthouse, "br"},
		{"br", "", "br"},
		{"", lighthouse, ""},
		{"", "\x1f", ""},
	} {
		for name, read := range map[string]func(io.Reader) ([]byte, error){
			"ReadAll":      io.ReadAll,
			"byte by byte": func(r io.Reader) ([]byte, error) { return io.ReadAll(iotest.OneByteReader(r)) },
		} {
			resp := passed(t, tt.encoding, iotest.OneByteReader(strings.NewReader(tt.body)))
			body, err := read(resp.Body)
			require.NoError(t, err, "%s: %q, %s", tt.encoding, tt.body, name)
			assert.Equal(t, tt.body, string(body))
			assert.Equal(t, tt.left, resp.Header.Get("Content-Encoding"))
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
	for _, broken := range []string{"\x1f\x8b\xff" + whole[3:], whole[:20] + "\xff\xff" + whole[22:], whole + "\x1f\x8b\xff"} {
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
	source, sink := io.Pipe()
	resp := passed(t, "", source)
	buf := make([]byte, 100)
	for _, text := range []string{"\x89", "P", "\x1f\x8bNG"} {
		go func() { _, _ = io.WriteString(sink, text) }()
		n, err := resp.Body.Read(buf)
		require.NoError(t, err)
		assert.Equal(t, text, string(buf[:n]))
	}

	source, sink = io.Pipe()
	resp = passed(t, "", source)
	go func() {
		z := gzip.NewWriter(sink)
		for _, text := range []string{"first", "second"} {
			_, _ = io.WriteString(z, text)
			_ = z.Flush()
		}
		// The stream never ends.
	}()
	for _, text := range []string{"first", "second"} {
		n, err := io.ReadFull(resp.Body, buf[:len(text)])
		require.NoError(t, err)
		assert.Equal(t, text, string(buf[:n]))
	}
	require.NoError(t, resp.Body.Close())
}

// A RoundTripper may answer many requests with one header.
func TestTheHeaderOfARoundTripperIsNotChanged(t *testing.T) {
	shared := http.Header{"Content-Encoding": {"gzip"}, "Content-Length": {"1"}, "Location": {"https://[::1/%zz"}}
	want := shared.Clone()
	body := packed(lighthouse)
	transport := New(roundTripper(func(r *http.Request) (*http.Response, error) {
		status := 200
		if r.URL.Path == "/moved" {
			status = 302
		}
		return &http.Response{StatusCode: status, Header: shared, Body: io.NopCloser(strings.NewReader(body))}, nil
	}), false)
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			path := []string{"/tenant", "/moved"}[i%2]
			got := send(t.Context(), transport, Limits{}, http.MethodGet, "http://127.0.0.1"+path, nil)
			assert.NoError(t, got.err)
			assert.Equal(t, lighthouse, got.body)
		})
	}
	group.Wait()
	assert.Equal(t, want, shared)
}

// A program that has turned compression off finds it so.
func TestAcceptEncoding(t *testing.T) {
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
			got := send(t.Context(), closing(t, tt.transport), Limits{}, http.MethodGet, srv.URL, nil)
			require.NoError(t, got.err)
			assert.Empty(t, got.body, "%s: net/http must not ask, as it would decompress by the header alone", name)
		}
	}
}
