package aicontenttest

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRefusedStreamsSayThatNothingWasDone(t *testing.T) {
	s := NewServer(t, HTTP2())
	hc := s.HTTPClient()
	s.FaultN(1, RefuseStream())
	req := signed(t, s, post("/api/v1/images", storeForm))
	resp, err := hc.Do(req)
	require.NoError(t, err, "net/http sends a refused request again, a POST too")
	resp.Body.Close()
	require.Len(t, s.Requests(), 2)
	assert.Equal(t, "refuse-stream", s.Requests()[0].Fault)
	assert.False(t, s.Requests()[0].Acted)
	assert.Len(t, s.Images(), 1)

	s.Fault(CloseBeforeRead())
	_, err = hc.Do(signed(t, s, post("/api/v1/images", storeForm)))
	assert.ErrorContains(t, err, "INTERNAL_ERROR", "an ordinary reset promises nothing")
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
