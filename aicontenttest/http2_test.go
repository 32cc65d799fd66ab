package aicontenttest

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// A proxy that loses one response keeps the connection, on which other requests are under way.
func TestOverHTTP2AFaultEndsItsStreamAlone(t *testing.T) {
	s := NewServer(t, HTTP2())
	hc := s.HTTPClient()
	for i, f := range []Fault{CloseBeforeRead(), LoseResponse()} {
		s.Fault(f)
		_, err := hc.Do(signed(t, s, post("/api/v1/images", storeForm)))
		assert.ErrorContains(t, err, "INTERNAL_ERROR", f.Name)
		assert.Len(t, s.Records(), i)
	}
	s.Fault(LoseResponse().WithReset())
	_, err := hc.Do(signed(t, s, post("/api/v1/images", storeForm)))
	require.Error(t, err)
	resp, err := hc.Do(signed(t, s, get("/api/v1/images")))
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, 2, resp.ProtoMajor)
	var connections []int
	for _, r := range s.Requests() {
		connections = append(connections, r.Connection)
	}
	assert.Equal(t, []int{1, 1, 1, 2}, connections, "a reset ends the connection")
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
		resp, err := hc.Do(signed(t, s, get("/api/v1/images")))
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	assert.Equal(t, []int{1, 2}, []int{s.Requests()[0].Connection, s.Requests()[1].Connection})
}
