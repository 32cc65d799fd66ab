package aicontenttest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// A proxy that loses one response keeps the connection, on which other requests are under way.
func TestOverHTTP2AFaultEndsItsStreamAlone(t *testing.T) {
	s := NewServer(t, HTTP2())
	hc := s.HTTPClient()
	sent := func(r request) (resp *http.Response, err error, reused bool) {
		req, again := traced(signed(t, s, r))
		resp, err = hc.Do(req)
		return resp, err, *again
	}
	for i, f := range []Fault{CloseBeforeRead(), LoseResponse(), LoseResponse().WithReset()} {
		s.Fault(f)
		_, err, reused := sent(post("/api/v1/images", storeForm))
		require.Error(t, err)
		assert.Equal(t, i < 2, strings.Contains(err.Error(), "INTERNAL_ERROR"), "%s: %v", f.Name, err)
		assert.Len(t, s.Records(), i)
		assert.Equal(t, i > 0, reused, f.Name)
	}
	resp, err, reused := sent(get("/api/v1/images"))
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, 2, resp.ProtoMajor)
	assert.False(t, reused, "a reset ends the connection")
}

func TestHTTP2ServersSpeakHTTP1Too(t *testing.T) {
	s := NewServer(t, HTTP2())
	transport := s.HTTPClient().Transport.(*http.Transport)
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	resp, err := transport.RoundTrip(signed(t, s, get("/api/v1/images")))
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, 1, resp.ProtoMajor)
	page, err := s.Client().Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)
	assert.Empty(t, page.Items)
}

func TestConnectionCloseEndsAnHTTP2Connection(t *testing.T) {
	s := NewServer(t, HTTP2())
	hc := s.HTTPClient()
	s.Fault(Status(503, "").WithHeader("Connection", "close"))
	for range 2 {
		req, reused := traced(signed(t, s, get("/api/v1/images")))
		resp, err := hc.Do(req)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		assert.False(t, *reused)
	}
}
