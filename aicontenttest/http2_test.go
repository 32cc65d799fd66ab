package aicontenttest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
