package wire

import (
	"bufio"
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

// plain is a response with this body.
func plain(body string) *http.Response {
	return &http.Response{ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}
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
	resp := plain(strings.Repeat("7", limit))
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
	bomb := packed(strings.Repeat(" ", 64*limit))
	for name, resp := range map[string]*http.Response{
		"compressed":     passed(t, "gzip", strings.NewReader(bomb)),
		"plain":          plain(strings.Repeat(" ", limit+1)),
		"without an end": {Body: io.NopCloser(zero{}), ContentLength: -1},
	} {
		var body string
		var err error
		took := fakes.Allocated(func() { body, err = ReadBody(resp, limit) })
		require.EqualError(t, err, "the response is larger than 1048576 bytes (WithMaxResponseSize)", name)
		assert.Len(t, body, limit, name)
		assert.Less(t, took, uint64(16*limit), name)
	}
	body, err := ReadBody(plain(strings.Repeat(" ", limit)), limit)
	require.NoError(t, err)
	assert.Len(t, body, limit)
	took := fakes.Allocated(func() {
		_, err = ReadBody(&http.Response{ContentLength: 1 << 40, Body: io.NopCloser(strings.NewReader("{"))}, 1<<40)
	})
	require.NoError(t, err)
	assert.Less(t, took, uint64(4<<20))
}
