package wire

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

const lighthouse = `{"data":{"id":7,"name":"Lighthouse"}}`

// bodiesOf are patterns of the bodies in testdata/responses. The empty pattern is a body that is cut off.
var bodiesOf = map[string]string{
	"wrong-type.http":           "Lighthouse",
	"no-type.http":              "Lighthouse",
	"gzip.http":                 "Lighthouse",
	"gzip-two-members.http":     "Lighthouse",
	"deflate-in-name-only.http": "Lighthouse",
	"identity.http":             "Lighthouse",
	"chunked.http":              "Lighthouse",
	"until-close.http":          "Lighthouse",
	"deflate.http":              `^x`,
	"deleted.http":              `^\s*\{"id":7`,
	"page.http":                 `^\s*<`,
	"empty.http":                `^\s*$`,
	"no-content.http":           `^\s*$`,
	"no-content-gzip.http":      `^\s*$`,
	"empty-gzip.http":           `^\s*$`,
	"cut-off.http":              "",
	"cut-off-gzip.http":         "",
	"cut-off-chunked.http":      "",
	"broken-gzip.http":          "",
}

// The framing, encoding or type of a response must not decide whether a paid record is read, whether the caller's
// transport decompresses or not.
func TestReadBody(t *testing.T) {
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
			got := post(t, opened(t, base), s.url, nil)
			if bodiesOf[name] == "" {
				assert.ErrorIs(t, got.err, ErrCutOff, "%s: %q", name, got.body)
				continue
			}
			assert.NoError(t, got.err, name)
			assert.Regexp(t, bodiesOf[name], got.body, name)
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(bodiesOf)), names)
}

// plain returns a response with this body.
func plain(body string) *http.Response {
	return &http.Response{ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}
}

func TestReadBodyReturnsTheBytesBeforeAnError(t *testing.T) {
	reset := errors.New("connection reset by peer")
	broken := io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(reset))
	body, err := ReadBody(&http.Response{Body: io.NopCloser(broken), ContentLength: -1}, 100)
	assert.Equal(t, "abc", body)
	assert.ErrorIs(t, err, ErrCutOff)
	assert.ErrorIs(t, err, reset)
	assert.EqualError(t, err, "the response was cut off: connection reset by peer")
}

// A response that is too large must say so, and must not take the memory that it asks for: least of all if a few
// kilobytes on the wire stand for gigabytes, or if a length is only claimed. One of a known length takes no more memory
// than it needs.
func TestResponsesTakeNoMoreMemoryThanTheirLimit(t *testing.T) {
	const limit, small = 1 << 20, 32 << 10
	bomb := packed(strings.Repeat(" ", 64*limit))
	endless := &http.Response{Body: io.NopCloser(zero{}), ContentLength: -1}
	claiming := &http.Response{Body: io.NopCloser(strings.NewReader("{")), ContentLength: 1 << 40}
	const tooLarge = "the response is larger than 1048576 bytes (WithMaxResponseSize)"
	for name, tt := range map[string]struct {
		resp  *http.Response
		limit int64
		err   string
		size  int
		most  uint64 // bytes of memory
	}{
		"compressed":          {passed(t, "gzip", strings.NewReader(bomb)), limit, tooLarge, limit, 16 * limit},
		"plain":               {plain(strings.Repeat(" ", limit+1)), limit, tooLarge, limit, 16 * limit},
		"without an end":      {endless, limit, tooLarge, limit, 16 * limit},
		"as large as allowed": {plain(strings.Repeat(" ", limit)), limit, "", limit, 16 * limit},
		"of a known length":   {plain(strings.Repeat("7", small)), small, "", small, 2 * small},
		"of a claimed length": {claiming, claiming.ContentLength, "", 1, 4 << 20},
	} {
		var body string
		var err error
		took := fakes.Allocated(func() { body, err = ReadBody(tt.resp, tt.limit) })
		if tt.err == "" {
			assert.NoError(t, err, name)
		} else {
			assert.EqualError(t, err, tt.err, name)
		}
		assert.Len(t, body, tt.size, name)
		assert.Less(t, took, tt.most, name)
	}
}
