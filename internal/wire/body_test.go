package wire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

const lighthouse = `{"data":{"id":7,"name":"Lighthouse"}}`

// What compresses, splits or labels a response must not decide whether a paid record is read, whether the transport
// decompresses or not.
func TestReadBody(t *testing.T) {
	cases := map[string]struct {
		body string // how it begins, where it is not Lighthouse
		err  error
	}{
		"wrong-type.http": {}, "no-type.http": {}, "gzip.http": {}, "gzip-two-members.http": {}, "deflate.http": {body: "x"},
		"deflate-in-name-only.http": {}, "identity.http": {}, "chunked.http": {}, "until-close.http": {}, "deleted.http": {body: `{"id":7`},
		"empty.http": {body: "-"}, "no-content.http": {body: "-"}, "no-content-gzip.http": {body: "-"}, "empty-gzip.http": {body: "-"},
		"page.http": {body: "<"}, "cut-off.http": {err: ErrCutOff}, "cut-off-gzip.http": {err: ErrCutOff}, "cut-off-chunked.http": {err: ErrCutOff},
		"broken-gzip.http": {err: ErrCutOff},
	}
	files, err := filepath.Glob("../../testdata/responses/*")
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		name := filepath.Base(file)
		names = append(names, name)
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		s := serve(t, false, func(nc net.Conn) {
			if _, err := request(bufio.NewReader(nc)); err == nil {
				_, _ = nc.Write(raw)
			}
		})
		for _, plain := range []bool{false, true} {
			base := s.base()
			base.DisableCompression = plain
			got := send(t.Context(), closing(t, New(base, false)), Limits{}, http.MethodPost, s.url, nil)
			tt := cases[name]
			switch {
			case tt.err != nil:
				assert.ErrorIs(t, got.err, tt.err, "%s: %q", name, got.body)
			case tt.body == "-":
				assert.NoError(t, got.err, name)
				assert.Empty(t, strings.TrimSpace(got.body), name)
			case tt.body != "":
				assert.NoError(t, got.err, name)
				assert.True(t, strings.HasPrefix(strings.TrimSpace(got.body), tt.body), "%s: %q", name, got.body)
			default:
				assert.NoError(t, got.err, name)
				assert.Contains(t, got.body, "Lighthouse", name)
			}
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(cases)), names, "files and cases")
}

func encoded(encoding, body string) *http.Response {
	return &http.Response{Header: http.Header{"Content-Encoding": {encoding}}, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}
}

// A body that is not gzip is read as it came, whatever its header says: a proxy that has decompressed it, and left the
// header, does no harm, and what cannot be read can be looked at.
func TestEncodings(t *testing.T) {
	for _, tt := range []struct{ encoding, body string }{
		{"br", "\x8b\x12\x80" + lighthouse + "\x03"},
		{"zstd", "\x28\xb5\x2f\xfd\x04\x58\x01\x01\x00" + lighthouse},
		{"deflate", "\x78\x9c\x03\x00\x00\x00\x00\x01"},
		{"br", lighthouse}, {"gzip", lighthouse}, {"gzip", "\x1f\x00" + lighthouse}, {"gzip", "\x1f"}, {"gzip", " \r\n"}, {"br", ""}, {"", lighthouse},
	} {
		resp := encoded(tt.encoding, tt.body)
		body, err := ReadBody(resp, 1<<20)
		require.NoError(t, err, "%s: %q", tt.encoding, tt.body)
		assert.Equal(t, tt.body, body)
		assert.Equal(t, tt.encoding, resp.Header.Get("Content-Encoding"))
	}
}

// A body that is gzip is decompressed, whatever its header says, and has no encoding any more.
func TestGzip(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(lighthouse))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for _, encoding := range []string{"gzip", "x-gzip", "br", "identity", ""} {
		resp := encoded(encoding, packed.String())
		body, err := ReadBody(resp, 1<<20)
		require.NoError(t, err, encoding)
		assert.Equal(t, lighthouse, body, encoding)
		assert.Empty(t, resp.Header.Get("Content-Encoding"))
	}
	// Of one that breaks off all that can be is decompressed, and the error is the network's.
	part := packed.Bytes()[:packed.Len()-8]
	for _, tt := range []struct {
		came []byte
		body string
	}{{part, lighthouse}, {part[:3], ""}} {
		resp := encoded("gzip", "")
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(tt.came), errReader{}))
		body, err := ReadBody(resp, 1<<20)
		require.ErrorIs(t, err, ErrCutOff)
		require.ErrorIs(t, err, io.ErrClosedPipe)
		assert.Equal(t, tt.body, body)
	}
}

// A compressed response that cannot be opened is one that is damaged on its way.
func TestCompressedResponsesThatCannotBeOpened(t *testing.T) {
	for _, body := range []string{"\x1f\x8b\xff", "\x1f\x8b", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"} {
		body, err := ReadBody(encoded("gzip", body), 100)
		assert.ErrorIs(t, err, ErrCutOff)
		assert.Empty(t, body)
	}
}

func TestReadBodyReturnsWhatCameBeforeAnError(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("abc"), errReader{})
	body, err := ReadBody(&http.Response{Body: io.NopCloser(broken), ContentLength: -1}, 100)
	assert.Equal(t, "abc", body)
	require.ErrorIs(t, err, ErrCutOff)
	assert.ErrorIs(t, err, io.ErrClosedPipe)
	assert.Equal(t, "the response was cut off: "+io.ErrClosedPipe.Error(), err.Error())
}

// A response whose length is known costs no more memory than it needs.
func TestReadBodyOfKnownLength(t *testing.T) {
	const limit = 32 << 10
	resp := encoded("", strings.Repeat("7", limit))
	var body string
	var err error
	took := fakes.Allocated(func() { body, err = ReadBody(resp, limit) })
	require.NoError(t, err)
	assert.Len(t, body, limit)
	assert.Less(t, took, uint64(2*limit))
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A response that is too large must say so, and must not take the memory that it asks for: least of all when a few
// kilobytes on the wire stand for gigabytes, or when a length is only claimed.
func TestTooLargeResponses(t *testing.T) {
	const limit = 1 << 20
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = z.Write(bytes.Repeat([]byte(" "), limit))
	}
	require.NoError(t, z.Close())
	for name, resp := range map[string]*http.Response{
		"compressed":     encoded("gzip", bomb.String()),
		"plain":          encoded("", strings.Repeat(" ", limit+1)),
		"without an end": {Body: io.NopCloser(zero{}), ContentLength: -1},
	} {
		var body string
		var err error
		took := fakes.Allocated(func() { body, err = ReadBody(resp, limit) })
		require.EqualError(t, err, "the response is larger than 1048576 bytes (WithMaxResponseSize)", name)
		assert.Len(t, body, limit, name)
		assert.Less(t, took, uint64(16*limit), name)
	}
	body, err := ReadBody(encoded("", strings.Repeat(" ", limit)), limit)
	require.NoError(t, err)
	assert.Len(t, body, limit)
	took := fakes.Allocated(func() {
		_, err = ReadBody(&http.Response{ContentLength: 1 << 40, Body: io.NopCloser(strings.NewReader("{"))}, 1<<40)
	})
	require.NoError(t, err)
	assert.Less(t, took, uint64(4<<20))
}
