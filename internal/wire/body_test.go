package wire

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

const lighthouse = `{"data":{"id":7,"name":"Lighthouse"}}`

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
